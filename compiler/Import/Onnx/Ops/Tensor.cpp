//===- Tensor.cpp - shape and order of elements -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Import/Onnx/Fold.h"
#include "compiler/Import/Onnx/Import.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::onnx_import;

/// Outputs input 0 with another shape.
static void outReshaped(Node &n, ArrayRef<int64_t> shape) {
  auto count = elementCount(shape);
  if (!count || *count != n.type(0).getNumElements())
    n.fail("cannot give " + Twine(n.type(0).getNumElements()) + " elements the shape [" +
               llvm::join(llvm::map_range(shape, [](int64_t d) { return std::to_string(d); }), ", ") + "]",
           n.import.rebound ? "the file fixes the batch " + Twine(n.import.rebound->first).str() +
                                  " here: leave out --batch, or export with a free one (torch.onnx.export's "
                                  "dynamic_shapes={\"x\": {0: torch.export.Dim(\"batch\")}})"
                            : "");
  n.out(0, reshaped(n, n.entry(0), shape));
}

//===-- Reshape and its kin --------------------------------------------------------===//

/// --batch has changed a fixed batch, and a constant shape may contain the old one. The shape is changed
/// where nothing else can be meant: the element counts match after scaling one entry by now/before, and where
/// the batch is the leading dimension that is the leading entry. Everything else is an error that names the
/// node; so is a -1 that would absorb the change in any entry but the first.
static void rebindBatch(Node &n, Shape &wanted) {
  const auto &rebound = n.import.rebound;
  if (!rebound || !n.entry(0).fromData || wanted.empty())
    return;
  auto [before, now] = *rebound;
  auto refuse = [&, before = before, now = now] {
    n.fail("its constant shape holds the exported batch " + Twine(before) + ", which --batch=" + Twine(now) +
               " changes",
           "compile with --batch=" + Twine(before) + ", or export the model with a dynamic batch", "shape");
  };
  auto rebind = [&, before = before, now = now](int64_t &entry) {
    entry = entry / before * now;
    n.import.note("Reshape constants hold the exported batch " + std::to_string(before) + " and follow --batch", n.loc);
  };
  ArrayRef<int64_t> x = n.shape(0);
  bool leads = !x.empty() && x[0] == now;
  auto open = llvm::find(wanted, -1);
  if (open != wanted.end()) {
    if (open == wanted.begin() || wanted[0] == 0 || (leads && wanted[0] == now))
      return;
    if (leads && wanted[0] > 0 && wanted[0] == before)
      return rebind(wanted[0]);
    // A constant that is not a dimension of x may be a product with the batch.
    bool suspicious = leads;
    for (int64_t d : wanted)
      suspicious |= before > 1 && d > 0 && d % before == 0 && !llvm::is_contained(x, d);
    return suspicious ? refuse() : void();
  }
  // All entries are given; 0 copies the dimension of x.
  int64_t elements = n.type(0).getNumElements(), product = 1;
  for (auto [i, d] : llvm::enumerate(wanted)) {
    int64_t extent = d == 0 && i < x.size() ? x[i] : d;
    if (extent <= 0 || product > kMaxElements / extent)
      return; // reported below
    product *= extent;
  }
  if (product == elements)
    return;
  if (__int128(product) * now != __int128(elements) * before)
    return refuse();
  SmallVector<int64_t *> exact, divisible;
  for (int64_t &d : leads ? MutableArrayRef<int64_t>(wanted).take_front() : MutableArrayRef<int64_t>(wanted)) {
    if (d == before)
      exact.push_back(&d);
    if (d > 0 && d % before == 0)
      divisible.push_back(&d);
  }
  if (exact.size() == 1)
    return rebind(*exact[0]);
  if (divisible.size() == 1)
    return rebind(*divisible[0]);
  refuse();
}

static void reshape(Node &n) {
  bool allowZero = n.opset >= 14 && n.intAttribute("allowzero", 0) != 0;
  Shape wanted = n.constantInts(1, "shape");
  if (!allowZero)
    rebindBatch(n, wanted);
  int64_t open = -1, product = 1;
  for (auto [i, d] : llvm::enumerate(wanted)) {
    if (d == 0 && !allowZero) {
      if (int64_t(i) >= n.rank(0))
        n.fail("shape entry " + Twine(i) + " copies a dimension that the input does not have", "", "shape");
      d = n.shape(0)[i];
    }
    if (d == -1) {
      if (open >= 0)
        n.fail("the shape has two entries -1", "", "shape");
      open = int64_t(i);
    } else if (d < 0 || (d > 0 && product > kMaxElements / d)) {
      n.fail("shape entry " + Twine(i) + " is " + Twine(d), "", "shape");
    } else {
      product *= d;
    }
  }
  int64_t elements = n.type(0).getNumElements();
  if (open >= 0) {
    if (product == 0 || elements % product)
      n.fail("cannot divide " + Twine(elements) + " elements by " + Twine(product) + " for the entry -1", "", "shape");
    wanted[open] = elements / product;
  }
  outReshaped(n, wanted);
}

static void flatten(Node &n) {
  int64_t rank = n.rank(0), axis = n.intAttribute("axis", 1);
  if (axis < -rank || axis > rank)
    n.fail("axis " + Twine(axis) + " is out of range for rank " + Twine(rank), "", "axis");
  if (axis < 0)
    axis += rank;
  int64_t rows = 1, columns = 1;
  for (auto [i, d] : llvm::enumerate(n.shape(0)))
    (int64_t(i) < axis ? rows : columns) *= d;
  outReshaped(n, {rows, columns});
}

/// The axes of Squeeze and Unsqueeze: an attribute before opset 13, an input since then.
static std::optional<Shape> axesOf(Node &n) {
  if (n.opset < 13)
    return n.intsAttribute("axes");
  return n.has(1) ? std::optional<Shape>(n.constantInts(1, "axes")) : std::nullopt;
}

static void squeeze(Node &n) {
  Shape axes, shape;
  if (auto given = axesOf(n)) {
    axes = n.axes(*given, n.rank(0));
  } else {
    for (auto [i, d] : llvm::enumerate(n.shape(0)))
      if (d == 1)
        axes.push_back(int64_t(i));
  }
  for (auto [i, d] : llvm::enumerate(n.shape(0))) {
    if (!llvm::is_contained(axes, int64_t(i)))
      shape.push_back(d);
    else if (d != 1)
      n.fail("dimension " + Twine(i) + " is " + Twine(d) + ", not 1", "", "axes");
  }
  outReshaped(n, shape);
}

static void unsqueeze(Node &n) {
  auto given = axesOf(n);
  if (!given)
    n.fail("axes are missing", "", "axes");
  int64_t rank = n.rank(0) + int64_t(given->size());
  Shape axes = n.axes(*given, rank), shape;
  const int64_t *next = n.shape(0).begin();
  for (int64_t i = 0; i < rank; ++i)
    shape.push_back(llvm::is_contained(axes, i) ? 1 : *next++);
  outReshaped(n, shape);
}

//===-- Order and repetition --------------------------------------------------------===//

static void transpose(Node &n) {
  int64_t rank = n.rank(0);
  Shape permutation;
  if (auto given = n.intsAttribute("perm")) {
    for (int64_t p : *given)
      permutation.push_back(n.axis(p, rank));
    if (int64_t(n.axes(permutation, rank).size()) != rank)
      n.fail("perm needs " + Twine(rank) + " entries", "", "perm");
  } else {
    for (int64_t i = rank - 1; i >= 0; --i)
      permutation.push_back(i);
  }
  if (foldable(n, 0))
    return n.out(0, foldTranspose(*n.entry(0).constant, permutation));
  n.out(0, n.transpose(n.in(0), permutation));
}

static void expand(Node &n) {
  Shape wanted = n.constantInts(1, "shape");
  auto shape = broadcastShapes(n.shape(0), wanted);
  if (!shape)
    n.fail("the input does not broadcast to the shape", "", "shape");
  (void)n.tensorType(*shape, n.element(0));
  if (n.entry(0).constant && n.entry(0).constant->size() == 1) { // the input has one number for all elements
    const HostTensor &t = *n.entry(0).constant;
    return n.out(0, HostTensor{t.type.clone(*shape), t.bytes, elementCount(*shape) != 1});
  }
  if (foldable(n, 0) && *elementCount(*shape) <= 1 << 16)
    return n.out(0, foldBroadcast(*n.entry(0).constant, *shape));
  n.out(0, n.broadcast(n.in(0), *shape));
}

/// Tile: each dimension d becomes [1, d], broadcast to [repeats, d].
static void tile(Node &n) {
  Shape repeats = n.constantInts(1, "repeats"), split, wide, shape;
  if (int64_t(repeats.size()) != n.rank(0))
    n.fail("repeats needs " + Twine(n.rank(0)) + " entries", "", "repeats");
  for (auto [r, d] : llvm::zip(repeats, n.shape(0))) {
    if (r < 0 || r > kMaxElements)
      n.fail("cannot repeat " + Twine(r) + " times", "", "repeats");
    split.append({1, d});
    wide.append({r, d});
    if (!elementCount({r, d}))
      n.limit("the result has more than 2^33 elements", "take a smaller batch", "repeats");
    shape.push_back(r * d);
  }
  (void)n.tensorType(shape, n.element(0));
  if (foldable(n, 0) && *elementCount(shape) <= 1 << 16)
    return n.out(0, foldBroadcast(n.entry(0).constant->reshaped(split), wide).reshaped(shape));
  n.out(0, n.reshape(n.broadcast(n.reshape(n.in(0), split), wide), shape));
}

static void concat(Node &n) {
  if (n.numInputs() == 0)
    n.fail("has no inputs");
  SmallVector<Entry *> parts;
  for (size_t i = 0; i < n.numInputs(); ++i)
    parts.push_back(&n.entry(i));
  n.out(0, concatenated(n, parts, n.axis(n.intAttribute("axis"), n.rank(0))));
}

//===-- Parts ------------------------------------------------------------------------------===//

/// Split: the sizes are an attribute before opset 13 and an input since then; without them the parts are
/// equal (the last may be smaller since opset 18).
static void split(Node &n) {
  int64_t axis = n.axis(n.intAttribute("axis", 0), n.rank(0)), extent = n.shape(0)[axis];
  int64_t parts = int64_t(n.numOutputs());
  std::optional<Shape> sizes = n.opset < 13 ? n.intsAttribute("split")
                               : n.has(1)   ? std::optional<Shape>(n.constantInts(1, "split"))
                                            : std::nullopt;
  if (n.opset >= 18 && n.hasAttribute("num_outputs") && n.intAttribute("num_outputs") != parts)
    n.fail("num_outputs is not the number of outputs", "", "num_outputs");
  if (parts == 0)
    n.fail("has no outputs");
  if (!sizes) {
    int64_t each = (extent + parts - 1) / parts;
    if (n.opset < 18 && extent % parts)
      n.fail(Twine(extent) + " elements do not divide into " + Twine(parts) + " parts");
    sizes.emplace();
    for (int64_t i = 0, left = extent; i < parts; ++i, left -= each)
      sizes->push_back(std::clamp<int64_t>(left, 0, each));
  }
  if (int64_t(sizes->size()) != parts)
    n.fail("split has " + Twine(sizes->size()) + " sizes for " + Twine(parts) + " outputs", "", "split");
  Shape starts(n.rank(0), 0), extents(n.shape(0)), steps(n.rank(0), 1);
  for (auto [i, size] : llvm::enumerate(*sizes)) {
    if (size < 0 || size > extent - starts[axis])
      n.fail("the sizes do not add up to " + Twine(extent), "", "split");
    extents[axis] = size;
    n.out(i, sliced(n, n.entry(0), starts, extents, steps));
    starts[axis] += size;
  }
  if (starts[axis] != extent)
    n.fail("the sizes add up to " + Twine(starts[axis]) + ", not " + Twine(extent), "", "split");
}

/// Slice: the bounds are attributes before opset 10 and inputs since then. They are clamped as the
/// specification says.
static void slice(Node &n) {
  Shape starts, ends, axes, steps;
  if (n.opset < 10) {
    auto s = n.intsAttribute("starts"), e = n.intsAttribute("ends");
    if (!s || !e)
      n.fail("starts or ends are missing");
    starts = *s;
    ends = *e;
    if (auto a = n.intsAttribute("axes"))
      axes = *a;
  } else {
    starts = n.constantInts(1, "starts");
    ends = n.constantInts(2, "ends");
    if (n.has(3))
      axes = n.constantInts(3, "axes");
    if (n.has(4))
      steps = n.constantInts(4, "steps");
  }
  if (axes.empty())
    for (size_t i = 0; i < starts.size(); ++i)
      axes.push_back(int64_t(i));
  if (steps.empty())
    steps.assign(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    n.fail("starts, ends, axes and steps differ in length");
  (void)n.axes(axes, n.rank(0));
  Shape from(n.rank(0), 0), sizes(n.shape(0)), by(n.rank(0), 1);
  for (size_t i = 0; i < starts.size(); ++i) {
    int64_t axis = n.axis(axes[i], n.rank(0)), extent = n.shape(0)[axis], step = steps[i];
    if (step == 0)
      n.fail("a step is zero", "", "steps");
    step = std::clamp<int64_t>(step, -kMaxElements,
                               kMaxElements); // a step beyond any extent has the same effect as a larger one
    auto bound = [&](int64_t v, int64_t low, int64_t high) {
      return std::clamp<int64_t>(v < 0 ? (v < -extent ? -extent - 1 : v) + extent : v, low, high);
    };
    int64_t first = step > 0 ? bound(starts[i], 0, extent) : bound(starts[i], -1, extent - 1);
    int64_t last = step > 0 ? bound(ends[i], 0, extent) : bound(ends[i], -1, extent - 1);
    int64_t span = step > 0 ? last - first : first - last, stride = std::abs(step);
    sizes[axis] = span > 0 ? (span + stride - 1) / stride : 0;
    from[axis] = sizes[axis] ? first : 0;
    by[axis] = sizes[axis] > 1 ? step : 1;
  }
  n.out(0, sliced(n, n.entry(0), from, sizes, by));
}

//===-- Pad ----------------------------------------------------------------------------------===//

/// The index from which result element i of an axis is read, for the modes that repeat elements; low may be
/// negative (crop).
static int64_t sourceIndex(int64_t i, int64_t extent, const std::string &mode) {
  if (mode == "edge")
    return std::clamp<int64_t>(i, 0, extent - 1);
  if (mode == "wrap")
    return ((i % extent) + extent) % extent;
  int64_t period = std::max<int64_t>(2 * (extent - 1), 1); // reflect: 0 1 2 1 0 1 2 ...
  int64_t m = ((i % period) + period) % period;
  return m < extent ? m : period - m;
}

static void pad(Node &n) {
  std::string mode = n.stringAttribute("mode", "constant");
  int64_t rank = n.rank(0);
  Shape pads, axes;
  double value = 0;
  if (n.opset < 11) {
    auto given = n.intsAttribute("pads");
    if (!given)
      n.fail("attribute 'pads' is missing", "", "pads");
    pads = *given;
    value = n.floatAttribute("value", 0.0);
  } else {
    pads = n.constantInts(1, "pads");
    if (n.has(2) && mode == "constant" && n.type(2).getNumElements())
      value = n.constantNumber(2, "constant_value");
    if (n.opset >= 18 && n.has(3))
      axes = n.constantInts(3, "axes");
  }
  if (axes.empty())
    for (int64_t i = 0; i < rank; ++i)
      axes.push_back(i);
  (void)n.axes(axes, rank);
  if (pads.size() != 2 * axes.size())
    n.fail("pads has " + Twine(pads.size()) + " entries, not " + Twine(2 * axes.size()), "", "pads");
  Shape low(rank, 0), high(rank, 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    int64_t axis = n.axis(axes[i], rank);
    low[axis] = pads[i];
    high[axis] = pads[i + axes.size()];
    int64_t extent = n.shape(0)[axis];
    if (std::min(low[axis], high[axis]) < -kMaxElements || std::max(low[axis], high[axis]) > kMaxElements ||
        low[axis] + extent + high[axis] < 0)
      n.fail("pads " + Twine(low[axis]) + " and " + Twine(high[axis]) + " leave nothing of dimension " + Twine(axis),
             "", "pads");
  }
  if (llvm::all_of(pads, [](int64_t p) { return p == 0; }))
    return n.forward(0, 0);
  Value x = n.in(0);
  if (mode == "constant") {
    n.out(0, n.make<PadOp>(x, [&](auto &p) {
                p.value = n.b.getF64FloatAttr(value);
                p.low = n.b.getDenseI64ArrayAttr(low);
                p.high = n.b.getDenseI64ArrayAttr(high);
                p.interior = n.b.getDenseI64ArrayAttr(Shape(rank, 0));
              }).getY());
    return;
  }
  if (mode != "reflect" && mode != "edge" && mode != "wrap")
    n.fail("mode '" + printable(mode) + "' is not known", "constant, reflect, edge or wrap", "mode");
  for (int64_t axis = 0; axis < rank; ++axis) {
    if (low[axis] == 0 && high[axis] == 0)
      continue;
    int64_t extent = n.shape(0)[axis], length = low[axis] + extent + high[axis];
    if (extent == 0 || length > 1 << 22)
      n.fail("dimension " + Twine(axis) + " cannot be padded to " + Twine(length) + " elements", "", "pads");
    Shape index;
    for (int64_t i = 0; i < length; ++i)
      index.push_back(sourceIndex(i - low[axis], extent, mode));
    x = n.gather(x, n.constantValue(HostTensor::vector(n.context, index)), axis);
  }
  n.out(0, x);
}

//===-- Space and depth, triangles ----------------------------------------------------------===//

static int64_t blockSize(Node &n) {
  int64_t block = n.intAttribute("blocksize");
  if (n.rank(0) != 4 || block < 1 || block > INT16_MAX)
    n.fail("needs a 4-dimensional input and a positive blocksize", "", "blocksize");
  return block;
}
static void depthToSpace(Node &n) {
  int64_t k = blockSize(n);
  std::string mode = n.opset >= 11 ? n.stringAttribute("mode", "DCR") : "DCR";
  ArrayRef<int64_t> s = n.shape(0);
  int64_t c = s[1] / (k * k);
  if (s[1] % (k * k) || (mode != "DCR" && mode != "CRD"))
    n.fail("channels do not divide into blocks, or the mode is not DCR or CRD", "", "mode");
  bool dcr = mode == "DCR";
  Value x = n.reshape(n.in(0), dcr ? Shape{s[0], k, k, c, s[2], s[3]} : Shape{s[0], c, k, k, s[2], s[3]});
  x = n.transpose(x, dcr ? Shape{0, 3, 4, 1, 5, 2} : Shape{0, 1, 4, 2, 5, 3});
  n.out(0, n.reshape(x, {s[0], c, s[2] * k, s[3] * k}));
}
static void spaceToDepth(Node &n) {
  int64_t k = blockSize(n);
  std::string mode = n.opset >= 28 ? n.stringAttribute("mode", "DCR") : "DCR";
  if (mode != "DCR" && mode != "CRD")
    n.fail("the mode is not DCR or CRD", "", "mode");
  ArrayRef<int64_t> s = n.shape(0);
  if (s[2] % k || s[3] % k)
    n.fail("height and width do not divide into blocks", "", "blocksize");
  Value x = n.reshape(n.in(0), {s[0], s[1], s[2] / k, k, s[3] / k, k});
  Value depth = n.transpose(x, mode == "DCR" ? Shape{0, 3, 5, 1, 2, 4} : Shape{0, 1, 3, 5, 2, 4});
  n.out(0, n.reshape(depth, {s[0], s[1] * k * k, s[2] / k, s[3] / k}));
}

/// Trilu: keeps the elements with j - i >= k (upper) or j - i <= k (lower).
static void trilu(Node &n) {
  bool upper = n.intAttribute("upper", 1) != 0;
  int64_t rank = n.rank(0), k = n.has(1) ? n.constantInt(1, "k") : 0;
  if (rank < 2)
    n.fail("the input needs two dimensions at least");
  Value x = n.in(0);
  auto index = n.tensorType(n.shape(0).take_back(2), n.b.getI64Type());
  Value difference = n.sub(n.iota(index, 1), n.iota(index, 0));
  Value keep = n.compare(upper ? Predicate::ge : Predicate::le, difference, n.i64(k));
  n.out(0, n.select(keep, x, n.number(0, x)));
}

OpFamily onnx_import::tensorOps() {
  static const OpRow rows[] = {
      {"Reshape", 5, kMaxOpset, 2, 1, "=d", "constant shape", reshape},
      {"Flatten", 1, kMaxOpset, 1, 1, "=", "", flatten},
      {"Squeeze", 1, kMaxOpset, {1, 13, 2}, 1, "=d", "constant axes", squeeze},
      {"Unsqueeze", 1, kMaxOpset, {1, 13, 2}, 1, "=d", "constant axes", unsqueeze},
      {"Transpose", 1, kMaxOpset, 1, 1, "=", "", transpose},
      {"Expand", 8, kMaxOpset, 2, 1, "=d", "constant shape", expand},
      {"Tile", 6, kMaxOpset, 2, 1, "=d", "constant repeats", tile},
      {"Concat", 4, kMaxOpset, kAnyNumber, 1, "=", "", concat},
      {"Split", 2, kMaxOpset, {1, 13, 2}, kAnyNumber, "=d", "constant sizes", split},
      {"Slice", 1, kMaxOpset, {1, 10, 5}, 1, "=d", "constant bounds", slice},
      {"Pad", 2, kMaxOpset, {1, 11, 3, 18, 4}, 1, "", "constant pads; modes constant, reflect, edge, wrap", pad},
      {"DepthToSpace", 1, kMaxOpset, 1, 1, "", "", depthToSpace},
      {"SpaceToDepth", 1, kMaxOpset, 1, 1, "", "", spaceToDepth},
      {"Trilu", 14, kMaxOpset, 2, 1, "", "constant k", trilu},
  };
  return {"Tensor", rows};
}
