//===- Resize.cpp - interpolation -----------------------------------------------------===//
//
// ONNX's coordinate modes become one scale and one offset for each dimension: x_original = scale*i +
// offset (graph.resize).
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/Onnx/Node.h"
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::onnx_import;

namespace {
struct Sampling {
  std::string mode, coordinates, nearest;
  Shape out;
  std::vector<double> scales; // out / in, as given, or as the sizes imply
};
} // namespace

/// Scale and offset of one dimension (ONNX Resize, coordinate_transformation_mode).
static std::pair<double, double> coordinate(Node &n, const std::string &mode, double scale, int64_t in, int64_t out) {
  if (in == out && scale == 1 && mode != "tf_half_pixel_for_nn")
    return {1, 0};
  if (mode == "half_pixel")
    return {1 / scale, 0.5 / scale - 0.5};
  if (mode == "pytorch_half_pixel")
    return out > 1 ? std::pair(1 / scale, 0.5 / scale - 0.5) : std::pair(0.0, 0.0);
  if (mode == "align_corners") {
    // The specification's length is in*scale before it is rounded down; where that is a whole number the two
    // are equal.
    double length = scale * double(in);
    if (std::fabs(length - double(out)) < 1e-4)
      length = double(out);
    // One result reads coordinate 0, also where the length before rounding is below 1.
    return {out > 1 && length != 1 ? double(in - 1) / (length - 1) : 0, 0};
  }
  if (mode == "asymmetric")
    return {1 / scale, 0};
  if (mode == "tf_half_pixel_for_nn")
    return {1 / scale, 0.5 / scale};
  if (mode == "half_pixel_symmetric") {
    double adjustment = double(out) / (scale * double(in)); // what rounding the length has removed
    return {1 / scale, 0.5 / scale - 0.5 + double(in) / 2 * (1 - adjustment)};
  }
  n.unsupported("coordinate_transformation_mode '" + printable(mode) + "' is not supported",
                "half_pixel, half_pixel_symmetric, pytorch_half_pixel, align_corners, asymmetric or "
                "tf_half_pixel_for_nn",
                "coordinate_transformation_mode");
  return {1 / scale, 0};
}

static void resample(Node &n, const Sampling &s) {
  Value x = n.in(0);
  std::vector<double> scales, offsets;
  for (int64_t d = 0; d < n.rank(0); ++d) {
    auto [scale, offset] = coordinate(n, s.coordinates, s.scales[d], n.shape(0)[d], s.out[d]);
    scales.push_back(scale);
    offsets.push_back(offset);
  }
  bool nearest = s.mode == "nearest";
  if (!nearest && s.mode != "linear")
    n.unsupported("mode '" + printable(s.mode) + "' is not supported", "nearest or linear", "mode");
  double bias = 0;
  bool ceil = false;
  if (nearest) {
    if (s.nearest == "round_prefer_floor")
      bias = -0.5, ceil = true;
    else if (s.nearest == "round_prefer_ceil")
      bias = 0.5;
    else if (s.nearest == "ceil")
      ceil = true;
    else if (s.nearest != "floor")
      n.fail("nearest_mode '" + printable(s.nearest) + "' is not known", "", "nearest_mode");
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
                   p.nearest_bias = n.b.getF64FloatAttr(bias);
                   if (ceil)
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
    double length = std::floor(double(n.shape(0)[axis]) * scale);
    if (!(scale > 0) || !(length >= 1 && length <= double(kMaxElements)))
      n.fail("scale " + std::to_string(scale) + " is not possible for " + Twine(n.shape(0)[axis]) + " elements", "",
             "scales");
    s.scales[axis] = scale;
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

static void resize(Node &n) {
  Sampling s;
  s.mode = n.stringAttribute("mode", "nearest");
  s.coordinates = n.opset >= 11 ? n.stringAttribute("coordinate_transformation_mode", "half_pixel") : "asymmetric";
  s.nearest = n.opset >= 11 ? n.stringAttribute("nearest_mode", "round_prefer_floor") : "floor";
  n.ignore({"cubic_coeff_a", "exclude_outside", "extrapolation_value"}); // these belong to modes that are refused
  if (n.opset >= 18 && n.intAttribute("antialias", 0) != 0)
    n.unsupported("antialias is not supported", "", "antialias");
  Shape axes = allAxes(n.rank(0));
  if (n.opset >= 18)
    if (auto given = n.intsAttribute("axes")) {
      (void)n.axes(*given, n.rank(0));
      axes.clear();
      for (int64_t a : *given)
        axes.push_back(n.axis(a, n.rank(0)));
    }
  std::string policy = n.opset >= 18 ? n.stringAttribute("keep_aspect_ratio_policy", "stretch") : "stretch";
  size_t scalesInput = n.opset >= 11 ? 2 : 1, sizesInput = 3;
  bool hasScales = n.has(scalesInput) && n.type(scalesInput).getNumElements() > 0;
  bool hasSizes = n.opset >= 11 && n.has(sizesInput) && n.type(sizesInput).getNumElements() > 0;
  if (hasScales == hasSizes)
    n.fail("needs either scales or sizes");
  if (hasScales) {
    applyScales(n, s, scalesOf(n, scalesInput), axes);
    return resample(n, s);
  }
  Shape sizes = n.constantInts(sizesInput, "sizes");
  if (sizes.size() != axes.size())
    n.fail("sizes has " + Twine(sizes.size()) + " entries, not " + Twine(axes.size()), "", "sizes");
  s.out = Shape(n.shape(0));
  s.scales.assign(n.rank(0), 1);
  double common = policy == "not_larger" ? INFINITY : 0;
  for (auto [axis, size] : llvm::zip(axes, sizes)) {
    if (size < 1 || size > kMaxElements || n.shape(0)[axis] < 1)
      n.fail("size " + Twine(size) + " is not possible for " + Twine(n.shape(0)[axis]) + " elements", "", "sizes");
    s.out[axis] = size;
    s.scales[axis] = double(size) / double(n.shape(0)[axis]);
    common = policy == "not_larger" ? std::min(common, s.scales[axis]) : std::max(common, s.scales[axis]);
  }
  if (policy == "not_larger" || policy == "not_smaller") {
    for (int64_t axis : axes) { // one scale for all axes; lengths are rounded half up
      s.scales[axis] = common;
      s.out[axis] = int64_t(std::floor(double(n.shape(0)[axis]) * common + 0.5));
    }
  } else if (policy != "stretch") {
    n.fail("keep_aspect_ratio_policy '" + printable(policy) + "' is not known", "", "keep_aspect_ratio_policy");
  }
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
      {"Resize",
       10,
       kMaxOpset,
       {2, 11, 4},
       1,
       "",
       "modes nearest and linear, constant scales or sizes, no antialias or tf_crop_and_resize",
       resize},
      {"Upsample", 7, 9, {1, 9, 2}, 1, "", "modes nearest and linear", upsample},
  };
  return {"Resize", rows};
}
