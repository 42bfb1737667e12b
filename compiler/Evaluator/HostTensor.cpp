// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Evaluator/HostTensor.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

using namespace mlir;
using namespace mpc;

HostTensor::HostTensor(RankedTensorType type)
    : shape(type.getShape()), element(type.getElementType()), values(size_t(type.getNumElements())) {}
HostTensor::HostTensor(RankedTensorType type, std::vector<double> v)
    : shape(type.getShape()), element(type.getElementType()), values(std::move(v)) {
  assert(int64_t(values.size()) == type.getNumElements() && "one value for each element");
}
HostTensor HostTensor::scalar(Type element, double value) {
  return HostTensor(RankedTensorType::get({}, element), {value});
}
RankedTensorType HostTensor::type() const { return RankedTensorType::get(shape, element); }

SmallVector<int64_t> mpc::stridesOf(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t i = int64_t(shape.size()) - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * shape[i + 1];
  return strides;
}

//===-- Rounding -----------------------------------------------------------------===//

/// Rounds to a binary float with `precision` significant bits (the implicit one included) and normal exponents
/// minExponent to maxExponent.
static double roundToFloat(double v, int precision, int minExponent, int maxExponent) {
  if (v == 0 || !std::isfinite(v))
    return v;
  int exponent = std::max(int(std::bit_cast<uint64_t>(v) >> 52 & 0x7ff) - 1023, minExponent);
  // This is a power of two and normal in double for all formats here, so scaling by it is exact.
  double ulp = std::bit_cast<double>(uint64_t(exponent - (precision - 1) + 1023) << 52);
  double rounded = std::nearbyint(v / ulp) * ulp; // ties to even: the default rounding mode
  // The threshold of overflow is the one of rounding with an unbounded exponent (IEEE 754-2019, 7.4).
  if (std::abs(rounded) >= std::ldexp(1.0, maxExponent + 1))
    return std::copysign(INFINITY, v);
  return rounded;
}

static double roundToInt(double v, unsigned width, bool isUnsigned) {
  if (std::isnan(v))
    return 0;
  v = std::trunc(v);
  const double limit = std::ldexp(1.0, int(width) - (isUnsigned ? 0 : 1));
  if (v < limit && v >= (isUnsigned ? 0.0 : -limit))
    return v;
  // The number is saturated to 64 bits and then taken modulo 2^width.
  int64_t wide = v >= 9223372036854775808.0 ? INT64_MAX : v < -9223372036854775808.0 ? INT64_MIN : int64_t(v);
  uint64_t bits = uint64_t(wide);
  if (width == 64)
    return isUnsigned ? double(bits) : double(wide);
  bits &= (uint64_t(1) << width) - 1;
  if (!isUnsigned && bits >> (width - 1) & 1)
    return double(int64_t(bits) - (int64_t(1) << width));
  return double(bits);
}

double mpc::roundTo(Type element, double v) {
  if (element.isF64())
    return v;
  if (element.isF32())
    return double(float(v));
  if (element.isF16())
    return roundToFloat(v, 11, -14, 15);
  if (element.isBF16())
    return roundToFloat(v, 8, -126, 127);
  if (isa<Float8E4M3FNType>(element))
    return std::clamp(roundToFloat(v, 4, -6, 9), -448.0, 448.0); // the code of 480 would be that of a NaN
  if (isa<Float8E5M2Type>(element))
    return std::clamp(roundToFloat(v, 3, -14, 15), -57344.0, 57344.0);
  auto type = cast<IntegerType>(element);
  if (type.getWidth() == 1)
    return v != 0;
  return roundToInt(v, type.getWidth(), type.isUnsigned());
}

void HostTensor::round() {
  if (element.isF64())
    return;
  if (element.isF32()) {
    for (double &v : values)
      v = double(float(v));
    return;
  }
  for (double &v : values)
    v = roundTo(element, v);
}

//===-- Constants -------------------------------------------------------------------===//

template <typename T>
static void readAs(const char *data, std::vector<double> &values) {
  for (size_t i = 0; i < values.size(); ++i) {
    T v;
    std::memcpy(&v, data + i * sizeof(T), sizeof(T));
    values[i] = double(v);
  }
}

/// Reads little-endian elements, i1 one byte each.
static LogicalResult readRaw(Type element, ArrayRef<char> data, std::vector<double> &values) {
  size_t width = element.isInteger(1) ? 1 : element.getIntOrFloatBitWidth() / 8;
  if (data.size() != width * values.size())
    return failure();
  if (element.isF64()) {
    readAs<double>(data.data(), values);
  } else if (element.isF32()) {
    readAs<float>(data.data(), values);
  } else if (auto floatType = dyn_cast<FloatType>(element)) {
    for (size_t i = 0; i < values.size(); ++i) {
      uint16_t bits = 0;
      std::memcpy(&bits, data.data() + width * i, width);
      values[i] = APFloat(floatType.getFloatSemantics(), APInt(8 * width, bits)).convertToDouble();
    }
  } else {
    bool isUnsigned = cast<IntegerType>(element).isUnsigned() || element.isInteger(1);
    switch (width) {
    case 1:
      isUnsigned ? readAs<uint8_t>(data.data(), values) : readAs<int8_t>(data.data(), values);
      break;
    case 2:
      isUnsigned ? readAs<uint16_t>(data.data(), values) : readAs<int16_t>(data.data(), values);
      break;
    case 4:
      isUnsigned ? readAs<uint32_t>(data.data(), values) : readAs<int32_t>(data.data(), values);
      break;
    default:
      isUnsigned ? readAs<uint64_t>(data.data(), values) : readAs<int64_t>(data.data(), values);
    }
  }
  return success();
}

FailureOr<HostTensor> HostTensor::fromAttr(ElementsAttr attr) {
  HostTensor result(cast<RankedTensorType>(attr.getType()));
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(attr)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob || failed(readRaw(result.element, blob->getData(), result.values)))
      return failure();
    return result;
  }
  auto dense = dyn_cast<DenseElementsAttr>(attr);
  if (!dense)
    return failure();
  if (!dense.isSplat() && !result.element.isInteger(1)) {
    if (failed(readRaw(result.element, dense.getRawData(), result.values)))
      return failure();
    return result;
  }
  auto number = [&](Attribute v) -> double {
    if (auto f = dyn_cast<FloatAttr>(v))
      return f.getValueAsDouble();
    const APInt bits = cast<IntegerAttr>(v).getValue();
    auto type = cast<IntegerType>(result.element);
    return type.isUnsigned() || type.getWidth() == 1 ? double(bits.getZExtValue()) : double(bits.getSExtValue());
  };
  if (dense.isSplat()) {
    std::fill(result.values.begin(), result.values.end(), number(dense.getSplatValue<Attribute>()));
    return result;
  }
  for (auto [i, v] : llvm::enumerate(dense.getValues<bool>()))
    result.values[i] = v;
  return result;
}
