//===- Sampling.cpp - values of a map at computed coordinates ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Import/Onnx/Node.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::onnx_import;

namespace {
enum class Padding { Zeros, Border, Reflection };

/// These are the elements along one dimension that each point reads: i64 and f32, each [samples, points].
struct Tap {
  Value index, weight;
};

/// This is what GridSample says about all dimensions.
struct Grid {
  Node &n;
  bool alignCorners;
  Padding padding;

  Value f(double v) const { return n.number(v, n.b.getF32Type()); }
  Value atLeast(Value x, double v) const { return n.binary<MaxOp>(x, f(v)); }
  Value atMost(Value x, double v) const { return n.binary<MinOp>(x, f(v)); }

  /// Mirrors x at low and high until it lies between them.
  Value reflected(Value x, double low, double high) const {
    if (high <= low)
      return n.mul(x, f(0));
    Value distance = n.unary<AbsOp>(n.sub(x, f(low)));
    const double range = high - low;
    Value turns = n.unary<FloorOp>(n.div(distance, f(range)));
    Value rest = n.sub(distance, n.mul(turns, f(range)));
    Value odd = n.sub(turns, n.mul(f(2), n.unary<FloorOp>(n.div(turns, f(2)))));
    return n.add(n.select(n.compare(Predicate::gt, odd, f(0)), n.sub(f(range), rest), rest), f(low));
  }

  /// Takes a coordinate in pixels to where the padding finds its value.
  Value padded(Value x, int64_t extent) const {
    if (padding == Padding::Reflection)
      x = reflected(x, alignCorners ? 0 : -0.5, alignCorners ? double(extent - 1) : double(extent) - 0.5);
    return padding == Padding::Zeros ? x : atMost(atLeast(x, 0), double(extent - 1));
  }

  /// Returns the element at a whole coordinate: its index, within the map, and its weight, 0 outside of a map padded by
  /// zeros.
  Tap at(Value coordinate, Value weight, int64_t extent) const {
    Value inside = atMost(atLeast(coordinate, 0), double(extent - 1));
    if (padding == Padding::Zeros) {
      weight = n.select(n.compare(Predicate::eq, inside, coordinate), weight, f(0)); // a NaN is not inside
      inside = n.select(n.compare(Predicate::eq, inside, coordinate), inside, f(0));
    }
    return {n.cast(inside, n.b.getI64Type()), weight};
  }

  Value pixelsOf(Value x, int64_t extent) const { // -1 and 1 are the outer pixels' centres, or their outer edges
    return alignCorners ? n.mul(n.add(x, f(1)), f(double(extent - 1) / 2))
                        : n.sub(n.mul(n.add(x, f(1)), f(double(extent) / 2)), f(0.5));
  }
};
} // namespace

/// Returns the weights of cubic convolution (Keys 1981) with a = -0.75, as torch has them, for elements at distances 1
/// + t, t, 1 - t and 2 - t.
static SmallVector<Value> cubicWeights(Grid g, Value t) {
  Node &n = g.n;
  constexpr double a = -0.75;
  auto near = [&](Value x) { // ((a + 2) x - (a + 3)) x x + 1
    Value inner = n.sub(n.mul(g.f(a + 2), x), g.f(a + 3));
    return n.add(n.mul(n.mul(inner, x), x), g.f(1));
  };
  auto far = [&](Value x) { // ((a x - 5a) x + 8a) x - 4a
    Value inner = n.add(n.mul(n.sub(n.mul(g.f(a), x), g.f(5 * a)), x), g.f(8 * a));
    return n.sub(n.mul(inner, x), g.f(4 * a));
  };
  Value before = far(n.add(t, g.f(1))), left = near(t), right = near(n.sub(g.f(1), t)), behind = far(n.sub(g.f(2), t));
  return {before, left, right, behind};
}

static SmallVector<Tap> tapsOf(Grid g, StringRef mode, Value grid, int64_t extent) {
  Node &n = g.n;
  Value x = g.pixelsOf(grid, extent);
  if (mode == "nearest") {
    Value position = n.unary<RoundOp>(g.padded(x, extent)); // half to even
    return {g.at(position, n.broadcast(g.f(1), shapeOf(x)), extent)};
  }
  if (mode == "linear") {
    x = g.padded(x, extent);
    Value low = n.unary<FloorOp>(x), rest = n.sub(x, low);
    return {g.at(low, n.sub(g.f(1), rest), extent), g.at(n.add(low, g.f(1)), rest, extent)};
  }
  // Cubic: each of the four elements is padded by itself.
  Value low = n.unary<FloorOp>(x);
  SmallVector<Tap> taps;
  for (auto [i, weight] : llvm::enumerate(cubicWeights(g, n.sub(x, low))))
    taps.push_back(g.at(g.padded(n.add(low, g.f(double(i) - 1)), extent), weight, extent));
  return taps;
}

/// GridSample (torch's grid_sample): y[n, c, i] = x[n, c, grid[n, i]], interpolated. Coordinates are fp32; both
/// operands have gradients.
static void gridSample(Node &n) {
  std::string mode = n.stringAttribute("mode", n.opset >= 20 ? "linear" : "bilinear");
  const std::string padding = n.stringAttribute("padding_mode", "zeros");
  if (n.opset < 20)
    mode = mode == "bilinear" ? "linear" : mode == "bicubic" ? "cubic" : mode == "nearest" ? mode : "?" + mode;
  if (mode != "linear" && mode != "cubic" && mode != "nearest")
    n.fail("mode '" + printable(mode) + "' is not known", "linear, nearest or cubic", "mode");
  if (padding != "zeros" && padding != "border" && padding != "reflection")
    n.fail("padding_mode '" + printable(padding) + "' is not known", "zeros, border or reflection", "padding_mode");
  const int64_t dims = n.rank(0) - 2;
  if (dims < 1 || n.rank(1) != dims + 2 || n.shape(1).back() != dims || n.shape(1)[0] != n.shape(0)[0])
    n.fail("the grid must be [samples, ..., dimensions] for a map [samples, channels, ...]");
  if (mode == "cubic" && dims != 2)
    n.fail("cubic needs two dimensions", "", "mode");
  if (n.type(0).getNumElements() == 0)
    n.limit("a map without elements is not supported");
  Grid g{n, n.intAttribute("align_corners", 0) != 0,
         padding == "zeros"    ? Padding::Zeros
         : padding == "border" ? Padding::Border
                               : Padding::Reflection};
  const Shape map(n.shape(0));
  const int64_t samples = map[0], channels = map[1];
  const int64_t points = llvm::product_of(n.shape(1).drop_front().drop_back());
  Shape result = {samples, channels};
  llvm::append_range(result, n.shape(1).drop_front().drop_back());
  if (samples * points == 0)
    return n.out(0, HostTensor::fromInts(n.tensorType(result, n.element(0)), {}));
  Value grid = n.reshape(n.cast(n.floatIn(1), n.b.getF32Type()), {samples, points, dims});

  // A point reads the products of its taps along the dimensions. The grid has the last dimension first.
  Value sample = n.iota(n.tensorType({samples, 1}, n.b.getI64Type()), 0);
  SmallVector<Tap> all = {{n.broadcast(sample, {samples, points}), Value()}};
  for (int64_t d = 0; d < dims; ++d) {
    Value coordinate =
        n.reshape(n.slice(grid, {0, 0, dims - 1 - d}, {samples, points, 1}, {1, 1, 1}), {samples, points});
    SmallVector<Tap> next;
    for (const Tap &outer : all)
      for (const Tap &tap : tapsOf(g, mode, coordinate, map[2 + d]))
        next.push_back({n.add(n.mul(outer.index, n.i64(map[2 + d])), tap.index),
                        outer.weight ? n.mul(outer.weight, tap.weight) : tap.weight});
    all = std::move(next);
  }
  SmallVector<Value> places, weights;
  const int64_t count = int64_t(all.size());
  for (const Tap &tap : all) {
    places.push_back(n.reshape(tap.index, {samples, points, 1}));
    weights.push_back(n.reshape(tap.weight, {samples, points, 1}));
  }
  SmallVector<int64_t> order = {0};
  for (int64_t d = 0; d < dims; ++d)
    order.push_back(2 + d);
  order.push_back(1);
  Value x = n.cast(n.floatIn(0), n.b.getF32Type());
  Value rows = n.reshape(n.transpose(x, order), {llvm::product_of(map) / channels, channels});
  Value read = n.gather(rows, n.concat(places, 2), 0); // [samples, points, taps, channels]
  Value y = n.sum(n.mul(read, n.reshape(n.concat(weights, 2), {samples, points, count, 1})), {2}, /*keepdims=*/false);
  n.out(0, n.reshape(n.cast(n.transpose(y, {0, 2, 1}), n.element(0)), result));
}

/// DeformConv (Dai et al. 2017; torchvision's deform_conv2d) is a convolution each of whose taps reads, by linear
/// interpolation, at a place of its own, and is multiplied by a mask of its own. Coordinates are fp32.
static void deformConv(Node &n) {
  const int64_t group = n.intAttribute("group", 1), offsets = n.intAttribute("offset_group", 1);
  if (n.rank(0) != 4 || n.rank(1) != 4 || n.rank(2) != 4)
    n.limit("only two spatial dimensions are supported");
  const Shape x(n.shape(0)), w(n.shape(1)), out(n.shape(2).drop_front(2));
  const Shape kernel = n.intsAttribute("kernel_shape").value_or(Shape(ArrayRef(w).drop_front(2))),
              strides = n.intsAttribute("strides").value_or(Shape(2, 1)),
              dilations = n.intsAttribute("dilations").value_or(Shape(2, 1)),
              pads = n.intsAttribute("pads").value_or(Shape(4, 0));
  const int64_t taps = w[2] * w[3], points = out[0] * out[1];
  if (group < 1 || offsets < 1 || x[1] != w[1] * group || x[1] % offsets != 0 || w[0] % group != 0 ||
      ArrayRef<int64_t>(kernel) != ArrayRef(w).drop_front(2) || strides.size() != 2 || dilations.size() != 2 ||
      pads.size() != 4 ||
      llvm::any_of(
          strides, [](int64_t s) { return s < 1; }) ||
      llvm::any_of(
          dilations, [](int64_t d) { return d < 1 || d > 1 << 20; }) ||
      llvm::any_of(
          pads, [](int64_t p) { return p < 0 || p > 1 << 20; }) ||
      n.shape(2)[0] != x[0] || n.shape(2)[1] != offsets * taps * 2)
    n.fail("the shapes of input, weights and offsets do not fit together");
  for (int64_t d = 0; d < 2; ++d)
    if (out[d] != (x[2 + d] + pads[d] + pads[2 + d] - dilations[d] * (w[2 + d] - 1) - 1) / strides[d] + 1)
      n.fail("the offsets do not have the extent of the result along dimension " + Twine(d));
  if (n.type(0).getNumElements() == 0 || points == 0)
    n.limit("tensors without elements are not supported");
  const Grid g{n, true, Padding::Zeros};
  const int64_t samples = x[0], width = x[1] / offsets;
  // `moved` says where each tap reads: [samples * offsets, taps, points].
  Value moved = n.reshape(n.cast(n.floatIn(2), n.b.getF32Type()), {samples * offsets, taps, 2, points});
  auto coordinate = [&](int64_t d) {
    std::vector<double> regular;
    for (int64_t t = 0; t < taps; ++t)
      for (int64_t p = 0; p < points; ++p) {
        const int64_t tap = d == 0 ? t / w[3] : t % w[3], at = d == 0 ? p / out[1] : p % out[1];
        regular.push_back(double(at * strides[d] - pads[d] + tap * dilations[d]));
      }
    Value off = n.reshape(n.slice(moved, {0, 0, d, 0}, {samples * offsets, taps, 1, points}, {1, 1, 1, 1}),
                          {samples * offsets, taps, points});
    HostTensor table = HostTensor::fromDoubles(RankedTensorType::get({1, taps, points}, n.b.getF32Type()), regular);
    table.splat = regular.size() == 1;
    return n.add(off, n.constantValue(table));
  };
  const int64_t places = samples * offsets * taps * points;
  Value sample = n.iota(n.tensorType({samples * offsets, 1, 1}, n.b.getI64Type()), 0);
  auto linear = [&](int64_t d) -> SmallVector<Tap> {
    Value at = coordinate(d), low = n.unary<FloorOp>(at), rest = n.sub(at, low);
    return {g.at(low, n.sub(g.f(1), rest), x[2 + d]), g.at(n.add(low, g.f(1)), rest, x[2 + d])};
  };
  SmallVector<Value> indices, weights;
  const SmallVector<Tap> rows = linear(0), columns = linear(1);
  for (const Tap &row : rows)
    for (const Tap &column : columns) {
      Value line = n.add(n.mul(sample, n.i64(x[2])), row.index);
      indices.push_back(n.reshape(n.add(n.mul(line, n.i64(x[3])), column.index), {places, 1}));
      weights.push_back(n.reshape(n.mul(row.weight, column.weight), {places, 1}));
    }
  Value pixels = n.reshape(n.cast(n.floatIn(0), n.b.getF32Type()), {samples * offsets, width, x[2] * x[3]});
  pixels = n.reshape(n.transpose(pixels, {0, 2, 1}), {samples * offsets * x[2] * x[3], width});
  Value read = n.mul(n.gather(pixels, n.concat(indices, 1), 0), n.reshape(n.concat(weights, 1), {places, 4, 1}));
  Value columnsRead = n.reshape(n.sum(read, {1}, /*keepdims=*/false), {samples, offsets, taps, points, width});
  if (n.has(4))
    columnsRead =
        n.mul(columnsRead, n.reshape(n.cast(n.floatIn(4), n.b.getF32Type()), {samples, offsets, taps, points, 1}));
  // Each group has a product: [samples, group, points, channels * taps] by [group, channels * taps, results].
  Value left = n.transpose(n.cast(columnsRead, n.element(0)), {0, 1, 4, 3, 2});
  left = n.reshape(left, {samples, group, w[1], points, taps});
  left = n.reshape(n.transpose(left, {0, 1, 3, 2, 4}), {samples, group, points, w[1] * taps});
  Value right = n.transpose(n.reshape(n.floatIn(1), {group, w[0] / group, w[1] * taps}), {0, 2, 1});
  Value y = n.make<MatMulOp>(ValueRange{left, n.broadcast(n.reshape(right, {1, group, w[1] * taps, w[0] / group}),
                                                          {samples, group, w[1] * taps, w[0] / group})})
                .getResult();
  y = n.reshape(n.transpose(y, {0, 1, 3, 2}), {samples, w[0], out[0], out[1]});
  if (n.has(3))
    y = n.add(y, n.reshape(n.in(3), {1, w[0], 1, 1}));
  n.out(0, y);
}

/// AffineGrid (torch's affine_grid) multiplies theta [samples, d, d + 1] by (x, y, ..., 1) of each pixel. The
/// sums are fp32.
static void affineGrid(Node &n) {
  const bool align = n.intAttribute("align_corners", 0) != 0;
  const Shape size = n.constantInts(1, "the size");
  const int64_t dims = int64_t(size.size()) - 2;
  if (n.rank(0) != 3 || dims < 1 || n.shape(0) != ArrayRef<int64_t>{size[0], dims, dims + 1})
    n.fail("theta must be [samples, d, d + 1] for a size [samples, channels, d extents]");
  const ArrayRef<int64_t> extents = ArrayRef<int64_t>(size).drop_front(2);
  int64_t points = 1;
  for (int64_t extent : extents) {
    if (extent < 1 || extent > (1 << 24) / points)
      n.limit("a grid of no points, or of more than 2^24, is not supported", "", "the size");
    points *= extent;
  }
  RankedTensorType type = n.tensorType({points, dims + 1}, n.b.getF32Type());
  std::vector<double> base;
  for (int64_t p = 0; p < type.getDimSize(0); ++p) {
    int64_t rest = p;
    std::vector<double> reversed; // the last dimension is x
    for (int64_t d = dims - 1; d >= 0; --d) {
      const double i = double(rest % extents[d]), e = double(extents[d]);
      rest /= extents[d];
      reversed.push_back(align ? (e > 1 ? 2 * i / (e - 1) - 1 : 0) : (2 * i + 1) / e - 1);
    }
    llvm::append_range(base, reversed);
    base.push_back(1);
  }
  Value pixels = n.constantValue(HostTensor::fromDoubles(type, base));
  Value theta = n.cast(n.floatIn(0), n.b.getF32Type());
  Value products =
      n.mul(n.reshape(pixels, {1, type.getDimSize(0), 1, dims + 1}), n.reshape(theta, {size[0], 1, dims, dims + 1}));
  Shape result = {size[0]};
  llvm::append_range(result, extents);
  result.push_back(dims);
  n.out(0, n.reshape(n.cast(n.sum(products, {3}, /*keepdims=*/false), n.element(0)), result));
}

OpFamily onnx_import::samplingOps() {
  static const OpRow rows[] = {
      {"GridSample", 16, kMaxOpset, 2, 1, "", "", gridSample},
      {"DeformConv", 19, kMaxOpset, 5, 1, "dwdbd", "two spatial dimensions", deformConv},
      {"AffineGrid", 20, kMaxOpset, 2, 1, "", "constant size", affineGrid},
  };
  return {"Sampling", rows};
}
