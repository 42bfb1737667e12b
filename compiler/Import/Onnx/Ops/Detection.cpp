//===- Detection.cpp - boxes: suppression and pooling of regions ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Coordinates are computed in fp32 whatever the network's precision: in 16 bits the corner of a box is off by up to
// half a pixel beyond 1024. No gradient reaches the boxes, as in torchvision.
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/Onnx/Counted.h"
#include "compiler/Import/Onnx/Import.h"
#include "compiler/Import/Onnx/Ops/Places.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::onnx_import;

static Type indexTensor(Node &n, ArrayRef<int64_t> shape) { return n.tensorType(shape, n.b.getI64Type()); }

static Value stopped(Node &n, Value x) { return n.make<StopGradientOp>(x).getResult(); }
static Value inFloat(Node &n, Value x) { return stopped(n, n.cast(x, n.b.getF32Type())); }
static Value smaller(Node &n, Value a, Value b) { return n.binary<MinOp>(a, b); }
static Value larger(Node &n, Value a, Value b) { return n.binary<MaxOp>(a, b); }
static Value toIndex(Node &n, Value x) { return n.cast(x, n.b.getI64Type()); }

/// Returns column i of a matrix of f32 [rows, columns], as the given shape.
static Value column(Node &n, Value x, int64_t i, ArrayRef<int64_t> shape) {
  return n.reshape(n.slice(x, {0, i}, {shapeOf(x)[0], 1}, {1, 1}), shape);
}

//===-- Suppression -----------------------------------------------------------------------===//

namespace {
/// These are corners and areas of boxes, each f32 [samples, 1, boxes].
struct Boxes {
  Value x1, y1, x2, y2, area;
  SmallVector<Value> all() const { return {x1, y1, x2, y2, area}; }
};
} // namespace

static Boxes readBoxes(Node &n, Value boxes, bool centered) {
  const int64_t samples = shapeOf(boxes)[0], count = shapeOf(boxes)[1];
  Value flat = n.reshape(boxes, {samples * count, 4}), part[4];
  for (int64_t i = 0; i < 4; ++i)
    part[i] = column(n, flat, i, {samples, 1, count});
  Boxes b;
  if (centered) { // x, y, width, height
    Value w = n.mul(part[2], n.number(0.5, part[2])), h = n.mul(part[3], n.number(0.5, part[3]));
    b.x1 = n.sub(part[0], w), b.x2 = n.add(part[0], w);
    b.y1 = n.sub(part[1], h), b.y2 = n.add(part[1], h);
  } else { // y, x of two opposite corners
    b.y1 = smaller(n, part[0], part[2]), b.y2 = larger(n, part[0], part[2]);
    b.x1 = smaller(n, part[1], part[3]), b.x2 = larger(n, part[1], part[3]);
  }
  b.area = n.mul(n.sub(b.x2, b.x1), n.sub(b.y2, b.y1));
  return b;
}

/// This step of greedy suppression takes the best box of each sample and class, and drops it and all boxes that overlap
/// it by more than the threshold. Returns its index (-1: no box is left) and the scores that are left.
static std::pair<Value, Value> takeBest(Node &n, Value left, Value lowest, Value threshold, ArrayRef<Value> b) {
  const int64_t samples = shapeOf(left)[0], count = shapeOf(left)[2];
  Value index = n.make<ArgMaxOp>(left, [&](auto &p) {
                   p.axis = n.b.getI64IntegerAttr(2);
                   p.keepdims = n.b.getBoolAttr(true);
                 }).getY();
  Value any = n.compare(Predicate::gt, n.reduce<ReduceMaxOp>(left, {2}, true), lowest);
  Value place = n.add(n.mul(n.numbersAlong(3, 0, samples), n.i64(count)), index);
  auto best = [&](int i) { return n.gather(n.reshape(b[i], {samples * count}), place, 0); };
  Value zero = n.number(0, left);
  Value w = larger(n, n.sub(smaller(n, b[2], best(2)), larger(n, b[0], best(0))), zero);
  Value h = larger(n, n.sub(smaller(n, b[3], best(3)), larger(n, b[1], best(1))), zero);
  Value common = n.mul(w, h);
  Value overlap = n.div(common, n.sub(n.add(b[4], best(4)), common)); // NaN for two boxes without area: not above
  Value same = n.compare(Predicate::eq, n.numbersAlong(3, 2, count), index);
  Value gone = n.binary<OrOp>(same, n.compare(Predicate::gt, overlap, threshold));
  return {n.select(any, index, n.i64(-1)), n.select(gone, lowest, left)};
}

/// NonMaxSuppression is greedy and by class. The result has samples * classes * most rows, of which those of boxes that
/// were taken are there.
static void nonMaxSuppression(Node &n) {
  const bool centered = n.intAttribute("center_point_box", 0) != 0;
  if (n.rank(0) != 3 || n.rank(1) != 3 || n.shape(0)[2] != 4 || n.shape(0)[0] != n.shape(1)[0] ||
      n.shape(0)[1] != n.shape(1)[2])
    n.fail("boxes must be [samples, boxes, 4] and scores [samples, classes, boxes]");
  const int64_t samples = n.shape(1)[0], classes = n.shape(1)[1], count = n.shape(1)[2];
  int64_t most = n.has(2) ? std::min(n.constantInt(2, "max_output_boxes_per_class"), count) : 0;
  if (samples * classes * count == 0 || most <= 0)
    return n.out(0, HostTensor::fromInts(RankedTensorType::get({0, 3}, n.b.getI64Type()), {}));
  if (isa_and_nonnull<ScanOp>(n.b.getInsertionBlock()->getParentOp()))
    n.limit("it is in the body of a Scan or Loop", "suppress the boxes before or behind the loop");
  Boxes boxes = readBoxes(n, inFloat(n, n.in(0)), centered);
  Value scores = inFloat(n, n.in(1));
  auto number = [&](size_t i, double fallback) {
    return n.has(i) ? n.reshape(inFloat(n, n.in(i)), {}) : n.number(fallback, scores);
  };
  Value threshold = number(3, 0), least = number(4, -HUGE_VAL), lowest = n.number(-HUGE_VAL, scores);
  Value left = n.select(n.compare(Predicate::gt, scores, least), scores, lowest); // a NaN is not above

  SmallVector<Value> invariants = boxes.all();
  invariants.push_back(lowest);
  invariants.push_back(threshold);
  Type taken = indexTensor(n, {samples, classes, 1});
  auto scan = ScanOp::create(n.b, n.loc, most, false, left, invariants, ValueRange(), ScanOp::stackType(most, taken));
  {
    OpBuilder::InsertionGuard guard(n.b);
    n.b.setInsertionPointToEnd(&scan.getBlock());
    SmallVector<Value> arguments(scan.getBlock().getArguments());
    auto [index, rest] = takeBest(n, arguments[0], arguments[6], arguments[7], ArrayRef<Value>(arguments).slice(1, 5));
    ScanYieldOp::create(n.b, n.loc, ValueRange{rest, index});
  }
  const int64_t rows = samples * classes * most;
  Value indices = n.reshape(n.transpose(n.reshape(scan.getResult(1), {most, samples * classes}), {1, 0}), {rows});
  Positions found = positionsOf(n, n.compare(Predicate::ge, indices, n.i64(0)));
  Value place = found.positions;
  SmallVector<Value> columns = {n.div(place, n.i64(classes * most)),
                                n.binary<ModOp>(n.div(place, n.i64(most)), n.i64(classes)),
                                larger(n, n.gather(indices, place, 0), n.i64(0))};
  for (Value &c : columns)
    c = n.reshape(c, {rows, 1});
  n.out(0, n.concat(columns, 1));
  n.count(0, {0, found.count});
}

//===-- Pooling of regions ----------------------------------------------------------------===//

namespace {
/// These are points along one dimension of the map, for each region, bin and point within the bin: [regions, bins,
/// points].
struct Points {
  Value low, high;             // i64, within the map
  Value lowWeight, highWeight; // f32; 0 for points that do not count
  Value count;                 // f32 [regions, 1, 1]: the number of points in a bin
};
} // namespace

/// Divides each region [start, start + length) along one dimension of `extent` elements into bins, and each bin into
/// points: `ratio` of them, or, where that is 0, one for about each element of the map, at most as many as a bin of the
/// whole map has.
static Points pointsOf(Node &n, Value start, Value length, int64_t extent, int64_t bins, int64_t ratio) {
  auto f = [&](double v) { return n.number(v, start); };
  auto inFloats = [&](Value i) { return n.cast(i, n.b.getF32Type()); };
  Value bin = n.div(length, f(double(bins)));
  const int64_t points = ratio > 0 ? ratio : std::max<int64_t>((extent + bins - 1) / bins, 1);
  Points p;
  if (ratio > 0)
    p.count = f(double(ratio));
  else
    p.count = larger(n, smaller(n, n.unary<CeilOp>(bin), f(double(points))), f(0)); // 0 for a region without an extent
  Value number = inFloats(n.numbersAlong(3, 2, points));
  Value at = n.add(n.add(start, n.mul(inFloats(n.numbersAlong(3, 1, bins)), bin)),
                   n.div(n.mul(n.add(number, f(0.5)), bin), larger(n, p.count, f(1))));
  Value outside = n.binary<OrOp>(n.compare(Predicate::lt, at, f(-1)), n.compare(Predicate::gt, at, f(double(extent))));
  if (ratio <= 0)
    outside = n.binary<OrOp>(outside, n.compare(Predicate::ge, number, p.count));
  at = smaller(n, larger(n, at, f(0)), f(double(extent - 1)));
  Value low = n.unary<FloorOp>(at), rest = n.sub(at, low);
  p.low = toIndex(n, low);
  p.high = smaller(n, n.add(p.low, n.i64(1)), n.i64(extent - 1));
  p.lowWeight = n.select(outside, f(0), n.sub(f(1), rest));
  p.highWeight = n.select(outside, f(0), rest);
  return p;
}

/// Returns the map [samples, channels, height, width] as rows of channels.
static Value pixels(Node &n, Value map) {
  ArrayRef<int64_t> s = shapeOf(map);
  return n.reshape(n.transpose(map, {0, 2, 3, 1}), {s[0] * s[2] * s[3], s[1]});
}

static void checkRegions(Node &n, int64_t columns) {
  if (n.rank(0) != 4)
    n.fail("the map must be [samples, channels, height, width]");
  if (n.rank(1) != 2 || n.shape(1)[1] != columns)
    n.fail("the regions must be [regions, " + Twine(columns) + "]");
  if (n.type(0).getNumElements() == 0 || n.shape(1)[0] == 0)
    n.limit("a map or a list of regions without elements is not supported");
}

/// RoiAlign (He et al. 2017, Mask R-CNN, section 3; torchvision's roi_align): each bin is the mean, or the largest, of
/// values that are interpolated at regular points.
static void roiAlign(Node &n) {
  const std::string mode = n.stringAttribute("mode", "avg");
  const std::string coordinates =
      n.opset >= 16 ? n.stringAttribute("coordinate_transformation_mode", "half_pixel") : "output_half_pixel";
  const int64_t height = n.intAttribute("output_height", 1), width = n.intAttribute("output_width", 1),
                ratio = n.intAttribute("sampling_ratio", 0);
  const double scale = n.floatAttribute("spatial_scale", 1.0);
  checkRegions(n, 4);
  if (height < 1 || width < 1 || height > 1 << 12 || width > 1 << 12 || ratio < 0 || ratio > 64)
    n.fail("output_height, output_width and sampling_ratio are not possible");
  if (mode != "avg" && mode != "max")
    n.fail("mode '" + printable(mode) + "' is not known", "avg or max", "mode");
  const bool half = coordinates == "half_pixel";
  if (!half && coordinates != "output_half_pixel")
    n.fail("coordinate_transformation_mode '" + printable(coordinates) + "' is not known",
           "half_pixel or output_half_pixel", "coordinate_transformation_mode");
  const Shape map(n.shape(0));
  const int64_t regions = n.shape(1)[0], channels = map[1];
  if (ratio == 0)
    n.import.note(
        "with sampling_ratio 0, a region that is longer than the map is read at fewer points than torchvision "
        "reads; one within the map is read at the same ones",
        n.loc);
  if (n.shape(2) != ArrayRef<int64_t>{regions})
    n.fail("batch_indices must have an index for each region");
  n.import.markIndices(n.in(2), map[0], n.loc);
  Value rois = inFloat(n, n.in(1));
  auto corner = [&](int64_t i) {
    Value v = n.mul(column(n, rois, i, {regions, 1, 1}), n.number(scale, rois));
    return half ? n.sub(v, n.number(0.5, rois)) : v;
  };
  Value x1 = corner(0), y1 = corner(1), w = n.sub(corner(2), x1), h = n.sub(corner(3), y1);
  if (!half) {
    w = larger(n, w, n.number(1, w));
    h = larger(n, h, n.number(1, h));
  }
  Points y = pointsOf(n, y1, h, map[2], height, ratio), x = pointsOf(n, x1, w, map[3], width, ratio);
  const int64_t py = shapeOf(y.low)[2], px = shapeOf(x.low)[2], bins = regions * height * width;
  // A point reads four pixels, which are the products of two along each dimension: [regions, height, width, py, px].
  auto rows = [&](Value v) { return n.reshape(v, {regions, height, 1, py, 1}); };
  auto columns = [&](Value v) { return n.reshape(v, {regions, 1, width, 1, px}); };
  Value sample = n.reshape(toIndex(n, n.in(2)), {regions, 1, 1, 1, 1});
  SmallVector<Value> places, weights;
  for (bool low : {true, false})
    for (bool left : {true, false}) {
      Value row = n.add(n.mul(sample, n.i64(map[2])), rows(low ? y.low : y.high));
      places.push_back(n.reshape(n.add(n.mul(row, n.i64(map[3])), columns(left ? x.low : x.high)), {bins, 1, py * px}));
      weights.push_back(
          n.reshape(n.mul(rows(low ? y.lowWeight : y.highWeight), columns(left ? x.lowWeight : x.highWeight)),
                    {bins, 1, py * px, 1}));
    }
  // As ONNX and its runtime define it, max takes the largest of the weighted pixels, not of their sums.
  Value all = pixels(n, n.in(0)), allPlaces = n.concat(places, 1), allWeights = n.concat(weights, 1);
  Value out = inParts(n, bins, 4 * py * px * channels, [&](int64_t from, int64_t count) -> Value {
    Value read = n.gather(all, rowsOf(n, allPlaces, from, count), 0); // [bins, 4, points, channels]
    Value weighted = n.mul(n.cast(read, n.b.getF32Type()), rowsOf(n, allWeights, from, count));
    return mode == "avg" ? n.sum(weighted, {1, 2}, /*keepdims=*/false)
                         : n.reduce<ReduceMaxOp>(weighted, {1, 2}, /*keepdims=*/false);
  });
  if (mode == "avg") {
    auto perRegion = [&](Value v) { return typeOf(v).getRank() ? n.reshape(v, {regions, 1, 1}) : v; };
    Value count = larger(n, n.mul(perRegion(y.count), perRegion(x.count)), n.number(1, rois));
    out = n.div(n.reshape(out, {regions, height * width, channels}), count);
  }
  out = n.reshape(out, {regions, height, width, channels});
  n.out(0, n.cast(n.transpose(out, {0, 3, 1, 2}), n.element(0)));
}

/// Rounds half away from zero, as C's round does.
static Value rounded(Node &n, Value x) {
  return n.mul(n.unary<SignOp>(x), n.unary<FloorOp>(n.add(n.unary<AbsOp>(x), n.number(0.5, x))));
}

/// Returns the elements of each bin of regions [first, last] along one dimension: their indices, i64 [regions, bins,
/// most], and whether they are in the bin.
static std::pair<Value, Value> elementsOf(Node &n, Value first, Value last, int64_t extent, int64_t bins) {
  auto f = [&](double v) { return n.number(v, first); };
  Value length = larger(n, n.add(n.sub(last, first), f(1)), f(1)), bin = n.div(length, f(double(bins)));
  Value number = n.cast(n.numbersAlong(3, 1, bins), n.b.getF32Type());
  auto within = [&](Value v) { return smaller(n, larger(n, n.add(v, first), f(0)), f(double(extent))); };
  Value from = within(n.unary<FloorOp>(n.mul(number, bin)));
  Value to = within(n.unary<CeilOp>(n.mul(n.add(number, f(1)), bin)));
  const int64_t most = std::min(extent, (extent + bins - 1) / bins + 1);
  Value index = n.add(toIndex(n, from), n.numbersAlong(3, 2, most));
  return {smaller(n, index, n.i64(extent - 1)), n.compare(Predicate::lt, index, toIndex(n, to))};
}

/// MaxRoiPool (Girshick 2015, Fast R-CNN, section 2.1; torchvision's roi_pool) takes the first largest pixel of each
/// bin. A bin without pixels is 0.
static void maxRoiPool(Node &n) {
  const Shape size = n.intsAttribute("pooled_shape").value_or(Shape());
  const double scale = n.floatAttribute("spatial_scale", 1.0);
  checkRegions(n, 5);
  if (size.size() != 2 || size[0] < 1 || size[1] < 1)
    n.fail("pooled_shape must be [height, width]", "", "pooled_shape");
  n.import.note("a region that is longer than the map is pooled over fewer elements than in torchvision", n.loc);
  const Shape map(n.shape(0));
  const int64_t regions = n.shape(1)[0], channels = map[1], bins = regions * size[0] * size[1];
  Value rois = inFloat(n, n.in(1));
  auto corner = [&](int64_t i) {
    return rounded(n, n.mul(column(n, rois, i, {regions, 1, 1}), n.number(scale, rois)));
  };
  auto [y, inRows] = elementsOf(n, corner(2), corner(4), map[2], size[0]);
  auto [x, inColumns] = elementsOf(n, corner(1), corner(3), map[3], size[1]);
  const int64_t py = shapeOf(y)[2], px = shapeOf(x)[2], points = py * px;
  auto rows = [&](Value v) { return n.reshape(v, {regions, size[0], 1, py, 1}); };
  auto columns = [&](Value v) { return n.reshape(v, {regions, 1, size[1], 1, px}); };
  Value sample = toIndex(n, column(n, rois, 0, {regions, 1, 1, 1, 1}));
  sample = smaller(n, larger(n, sample, n.i64(0)), n.i64(map[0] - 1));
  Value place = n.add(n.mul(n.add(n.mul(sample, n.i64(map[2])), rows(y)), n.i64(map[3])), columns(x));
  Value inside = n.binary<AndOp>(rows(inRows), columns(inColumns));
  place = n.reshape(place, {bins, points});
  inside = n.reshape(inside, {bins, points, 1});

  Value all = pixels(n, n.in(0)), lowest = n.number(-HUGE_VAL, all), fixed = stopped(n, all);
  Value first = inParts(n, bins, points * channels, [&](int64_t from, int64_t count) -> Value {
    Value there = rowsOf(n, inside, from, count); // what is read is [bins, points, channels]
    Value read = n.select(there, n.gather(fixed, rowsOf(n, place, from, count), 0), lowest);
    return n
        .make<ArgMaxOp>(read,
                        [&](auto &p) {
                          p.axis = n.b.getI64IntegerAttr(1);
                          p.keepdims = n.b.getBoolAttr(false);
                        })
        .getY();
  });
  // The one pixel that is taken has the gradient.
  Value pick = n.add(n.mul(n.numbersAlong(2, 0, bins), n.i64(points)), first);
  Value pixel = n.gather(n.reshape(place, {bins * points}), pick, 0);
  Value element = n.add(n.mul(pixel, n.i64(channels)), n.numbersAlong(2, 1, channels));
  Value taken = n.gather(n.reshape(all, {shapeOf(all)[0] * channels}), element, 0);
  Value any = n.reduce<ReduceAnyOp>(inside, {1}, false);
  Value out = n.reshape(n.select(any, taken, n.number(0, taken)), {regions, size[0], size[1], channels});
  n.out(0, n.transpose(out, {0, 3, 1, 2}));
}

OpFamily onnx_import::detectionOps() {
  static const OpRow rows[] = {
      {"NonMaxSuppression", 10, kMaxOpset, 5, 1, "", "constant max_output_boxes_per_class; as NonZero",
       nonMaxSuppression},
      {"RoiAlign", 10, kMaxOpset, 3, 1, "", "with sampling_ratio 0, boxes within the map", roiAlign},
      {"MaxRoiPool", 1, kMaxOpset, 2, 1, "", "boxes within the map", maxRoiPool},
  };
  return {"Detection", rows};
}
