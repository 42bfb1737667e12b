//===- Resize.cpp - interpolation -----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ONNX's coordinate modes become one scale and one offset for each dimension: x_original = scale*i +
// offset (graph.resize).
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/Onnx/Node.h"
#include "compiler/Import/Onnx/Ops/ResizeCoordinates.h"
#include "compiler/Import/Onnx/Ops/ResizeTaps.h"
#include "compiler/Import/Onnx/Torch/Metadata.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::onnx_import;

namespace {
struct Sampling {
  std::string mode, coordinates, nearest;
  Shape out;
  std::vector<Fraction> scales; // out / in, as given, or as the sizes imply
  Filter filter = {};
  std::vector<double> region = {}; // of tf_crop_and_resize: where each dimension begins and ends, in its lengths
  double outside = 0;              // what results outside of the operand are, in that mode
};
} // namespace

static constexpr StringLiteral kCrop = "tf_crop_and_resize";

/// Returns where each result of a dimension lies, in pixels of the operand.
static std::vector<double> coordinatesAlong(Node &n, const Sampling &s, int64_t d) {
  const int64_t in = n.shape(0)[d], out = s.out[d];
  std::vector<double> result;
  if (s.coordinates == kCrop) {
    const double start = s.region[d], end = s.region[n.rank(0) + d], last = double(in - 1);
    for (int64_t i = 0; i < out; ++i)
      result.push_back(out > 1 ? start * last + double(i) * (end - start) * last / double(out - 1)
                               : 0.5 * (start + end) * last);
    return result;
  }
  std::optional<Coordinates> exact = coordinatesOf(s.coordinates, s.scales[d], in, out);
  if (!exact)
    n.limit("coordinate_transformation_mode '" + printable(s.coordinates) + "' is not supported",
            "half_pixel, half_pixel_symmetric, pytorch_half_pixel, align_corners, asymmetric, tf_half_pixel_for_nn or "
            "tf_crop_and_resize",
            "coordinate_transformation_mode");
  for (int64_t i = 0; i < out; ++i)
    result.push_back(toDouble(exact->scale * Fraction(i) + exact->offset));
  return result;
}

/// The elements that nearest takes are those at rounded coordinates.
static Taps nearestTaps(ArrayRef<double> coordinates, const Rounding &rounding, int64_t extent) {
  Taps taps;
  taps.taps = 1;
  const double bias = toDouble(rounding.bias);
  for (double at : coordinates) {
    const double index = rounding.ceil ? std::ceil(at + bias) : std::floor(at + bias);
    taps.indices.push_back(std::clamp<int64_t>(int64_t(index), 0, extent - 1));
    taps.weights.push_back(1);
  }
  return taps;
}

/// Resizes dimension by dimension with the elements that each result reads, in fp32.
static void resampleByTaps(Node &n, const Sampling &s) {
  Value x = n.in(0);
  Type element = elementOf(x);
  std::optional<Rounding> rounding = roundingOf(s.nearest);
  if (!rounding)
    n.fail("nearest_mode '" + printable(s.nearest) + "' is not known", "", "nearest_mode");
  x = n.cast(x, element.isF64() ? element : Type(n.b.getF32Type()));
  Value anyOutside;
  for (int64_t d = 0; d < n.rank(0); ++d) {
    const int64_t extent = n.shape(0)[d];
    const bool cropped = s.coordinates == kCrop && (s.region[d] != 0 || s.region[n.rank(0) + d] != 1);
    if (s.out[d] == extent && s.scales[d] == Fraction(1) && !cropped)
      continue;
    std::vector<double> coordinates = coordinatesAlong(n, s, d);
    Taps taps = s.mode == "nearest" ? nearestTaps(coordinates, *rounding, extent)
                                    : tapsOf(s.filter, coordinates, toDouble(s.scales[d]), extent);
    x = applyTaps(n, x, d, taps);
    if (s.coordinates != kCrop)
      continue;
    Shape thin(n.rank(0), 1);
    thin[d] = s.out[d];
    std::vector<int64_t> outside;
    for (double at : coordinates)
      outside.push_back(at < 0 || at > double(extent - 1));
    Value mask = n.constantValue(HostTensor::fromInts(RankedTensorType::get(thin, n.b.getI1Type()), outside));
    anyOutside = anyOutside ? n.binary<OrOp>(anyOutside, mask) : mask;
  }
  if (anyOutside)
    x = n.select(n.broadcast(anyOutside, shapeOf(x)), n.number(s.outside, x), x);
  n.out(0, n.cast(x, element));
}

static void resample(Node &n, const Sampling &s) {
  if (s.mode != "nearest" && s.mode != "linear" && s.mode != "cubic")
    n.fail("mode '" + printable(s.mode) + "' is not known", "nearest, linear or cubic", "mode");
  if (s.mode == "cubic" || s.coordinates == kCrop || (s.filter.antialias && s.mode == "linear"))
    return resampleByTaps(n, s);
  Value x = n.in(0);
  SmallVector<Coordinates> read;
  for (int64_t d = 0; d < n.rank(0); ++d) {
    std::optional<Coordinates> coordinates = coordinatesOf(s.coordinates, s.scales[d], n.shape(0)[d], s.out[d]);
    if (!coordinates)
      n.unsupported("coordinate_transformation_mode '" + printable(s.coordinates) + "' is not supported",
                    "half_pixel, half_pixel_symmetric, pytorch_half_pixel, align_corners, asymmetric, "
                    "tf_half_pixel_for_nn or tf_crop_and_resize",
                    "coordinate_transformation_mode");
    read.push_back(coordinates.value_or(Coordinates{1, 0}));
  }
  bool nearest = s.mode == "nearest";
  std::optional<Rounding> rounding = nearest ? roundingOf(s.nearest) : Rounding();
  if (!rounding)
    n.fail("nearest_mode '" + printable(s.nearest) + "' is not known", "", "nearest_mode");
  std::vector<double> scales, offsets;
  for (const Coordinates &exact : read) {
    Coordinates rounded = nearest ? awayFromTies(exact, *rounding) : exact;
    scales.push_back(toDouble(rounded.scale));
    offsets.push_back(toDouble(rounded.offset));
  }
  Type element = elementOf(x);
  if (!isFloat(element)) { // integers of up to 16 bits are exact in fp32, all others in fp64
    if (!nearest && !isa<IntegerType>(element))
      n.fail("only numbers are supported");
    x = n.cast(x, element.getIntOrFloatBitWidth() <= 16 ? Type(n.b.getF32Type()) : Type(n.b.getF64Type()));
  }
  auto type = n.tensorType(s.out, elementOf(x));
  Value y = n.make<ResizeOp>(
                 x,
                 [&](auto &p) {
                   p.mode = ResizeModeAttr::get(n.context, nearest ? ResizeMode::nearest : ResizeMode::linear);
                   p.scales = n.b.getDenseF64ArrayAttr(scales);
                   p.offsets = n.b.getDenseF64ArrayAttr(offsets);
                   p.nearest_bias = n.b.getF64FloatAttr(toDouble(rounding->bias));
                   if (rounding->ceil)
                     p.nearest_ceil = n.b.getUnitAttr();
                 },
                 type)
                .getY();
  n.out(0, n.cast(y, element));
}

/// Computes the lengths from the scales: floor(in*scale).
static void applyScales(Node &n, Sampling &s, ArrayRef<double> scales, ArrayRef<int64_t> axes) {
  if (scales.size() != axes.size())
    n.fail("scales has " + Twine(scales.size()) + " entries, not " + Twine(axes.size()), "", "scales");
  s.out = Shape(n.shape(0));
  s.scales.assign(n.rank(0), 1);
  for (auto [axis, scale] : llvm::zip(axes, scales)) {
    int64_t in = n.shape(0)[axis];
    bool possible = scale > 0 && std::isfinite(float(scale)) && float(scale) > 0;
    Fraction ratio = possible ? fractionOf(float(scale)) : Fraction(0);
    llvm::DynamicAPInt length = floor(Fraction(in) * ratio);
    if (length < 1 || length > kMaxElements)
      n.fail("scale " + std::to_string(scale) + " is not possible for " + Twine(in) + " elements", "", "scales");
    s.scales[axis] = ratio;
    s.out[axis] = int64_t(length);
  }
}

static std::vector<double> scalesOf(Node &n, size_t input) {
  if (n.constant(input, "scales").size() > n.rank(0))
    n.fail("scales has " + Twine(n.constant(input, "scales").size()) + " entries", "", "scales");
  return n.constant(input, "scales").doubles();
}

static Shape allAxes(int64_t rank) {
  Shape axes;
  for (int64_t i = 0; i < rank; ++i)
    axes.push_back(i);
  return axes;
}

/// torch's antialiased modes keep a scale that forward gives, and the exporter writes only the sizes that it makes:
/// _upsample_bilinear2d_aa(x, sizes, align_corners, scale of the height, scale of the width).
static void restoreScales(Node &n, Sampling &s) {
  std::optional<torch::Call> call = torch::Metadata::callOf(n.proto);
  if (!call || !s.filter.antialias || n.rank(0) != 4 || call->args.size() < 5 || call->args[2] != "False" ||
      !StringRef(call->target).ends_with("2d_aa"))
    return;
  for (int64_t i = 0; i < 2; ++i)
    if (float scale = 0; llvm::to_float(StringRef(call->args[3 + i]), scale) && scale > 0 && std::isfinite(scale))
      s.scales[2 + i] = fractionOf(scale);
}

static void resize(Node &n) {
  Sampling s;
  s.mode = n.stringAttribute("mode", "nearest");
  s.coordinates = n.opset >= 11 ? n.stringAttribute("coordinate_transformation_mode", "half_pixel") : "asymmetric";
  s.nearest = n.opset >= 11 ? n.stringAttribute("nearest_mode", "round_prefer_floor") : "floor";
  s.filter.cubic = s.mode == "cubic";
  s.filter.a = n.floatAttribute("cubic_coeff_a", -0.75);
  s.filter.excludeOutside = n.intAttribute("exclude_outside", 0) != 0;
  s.filter.antialias = n.opset >= 18 && n.intAttribute("antialias", 0) != 0;
  s.outside = n.floatAttribute("extrapolation_value", 0.0);
  Shape axes = allAxes(n.rank(0));
  if (n.opset >= 18)
    if (auto given = n.intsAttribute("axes")) {
      (void)n.axes(*given, n.rank(0));
      axes.clear();
      for (int64_t a : *given)
        axes.push_back(n.axis(a, n.rank(0)));
    }
  if (s.coordinates == kCrop) {
    std::vector<double> region = n.constant(1, "roi").doubles();
    if (region.size() != 2 * axes.size())
      n.fail("roi has " + Twine(region.size()) + " entries, not " + Twine(2 * axes.size()), "", "roi");
    s.region.assign(n.rank(0), 0);
    s.region.resize(2 * n.rank(0), 1);
    for (auto [i, axis] : llvm::enumerate(axes)) {
      s.region[axis] = region[i];
      s.region[n.rank(0) + axis] = region[axes.size() + i];
    }
  }
  std::string policy = n.opset >= 18 ? n.stringAttribute("keep_aspect_ratio_policy", "stretch") : "stretch";
  size_t scalesInput = n.opset >= 11 ? 2 : 1, sizesInput = 3;
  bool hasScales = n.has(scalesInput) && n.type(scalesInput).getNumElements() > 0;
  bool hasSizes = n.opset >= 11 && n.has(sizesInput) && n.type(sizesInput).getNumElements() > 0;
  if (hasScales == hasSizes)
    n.fail("needs either scales or sizes");
  if (hasScales) {
    applyScales(n, s, scalesOf(n, scalesInput), axes);
    // torch aligns the corners of the lengths that it has, which are whole numbers; ONNX those before rounding.
    std::optional<torch::Call> call = torch::Metadata::callOf(n.proto);
    if (s.coordinates == "align_corners" && call && StringRef(call->target).contains("upsample"))
      for (int64_t axis : axes)
        if (n.shape(0)[axis] > 0)
          s.scales[axis] = Fraction(s.out[axis], n.shape(0)[axis]);
    return resample(n, s);
  }
  Shape sizes = n.constantInts(sizesInput, "sizes");
  if (sizes.size() != axes.size())
    n.fail("sizes has " + Twine(sizes.size()) + " entries, not " + Twine(axes.size()), "", "sizes");
  s.out = Shape(n.shape(0));
  s.scales.assign(n.rank(0), 1);
  std::optional<Fraction> common;
  for (auto [axis, size] : llvm::zip(axes, sizes)) {
    if (size < 1 || size > kMaxElements || n.shape(0)[axis] < 1)
      n.fail("size " + Twine(size) + " is not possible for " + Twine(n.shape(0)[axis]) + " elements", "", "sizes");
    s.out[axis] = size;
    s.scales[axis] = Fraction(size, n.shape(0)[axis]);
    if (!common || (policy == "not_larger" ? s.scales[axis] < *common : s.scales[axis] > *common))
      common = s.scales[axis];
  }
  if (policy == "not_larger" || policy == "not_smaller") {
    for (int64_t axis : axes) { // one scale for all axes; lengths are rounded half up
      s.scales[axis] = *common;
      s.out[axis] = int64_t(floor(Fraction(n.shape(0)[axis]) * *common + Fraction(1, 2)));
    }
  } else if (policy != "stretch") {
    n.fail("keep_aspect_ratio_policy '" + printable(policy) + "' is not known", "", "keep_aspect_ratio_policy");
  }
  restoreScales(n, s);
  resample(n, s);
}

/// Upsample: asymmetric coordinates, nearest by floor; the scales are an attribute before opset 9.
static void upsample(Node &n) {
  Sampling s;
  s.mode = n.stringAttribute("mode", "nearest");
  s.coordinates = "asymmetric";
  s.nearest = "floor";
  std::vector<double> scales;
  if (n.opset >= 9)
    scales = scalesOf(n, 1);
  else
    scales = n.floatsAttribute("scales").value_or(std::vector<double>());
  applyScales(n, s, scales, allAxes(n.rank(0)));
  resample(n, s);
}

OpFamily onnx_import::resizeOps() {
  static const OpRow rows[] = {
      {"Resize", 10, kMaxOpset, {2, 11, 4}, 1, "", "constant scales or sizes", resize},
      {"Upsample", 7, 9, {1, 9, 2}, 1, "", "modes nearest and linear", upsample},
  };
  return {"Resize", rows};
}
