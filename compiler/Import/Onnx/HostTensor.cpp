// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Import/Onnx/HostTensor.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/APFloat.h"
#include <cmath>
#include <cstring>

using namespace mlir;
using namespace mpc::onnx_import;

std::optional<int64_t> mpc::onnx_import::elementCount(ArrayRef<int64_t> shape) {
  // A zero makes the product zero, but the other dimensions must be valid all the same.
  int64_t count = 1;
  bool empty = false;
  for (int64_t extent : shape) {
    if (extent < 0 || extent > kMaxElements)
      return std::nullopt;
    empty |= extent == 0;
    if (extent > 0 && count > kMaxElements / extent)
      return std::nullopt;
    count *= extent > 0 ? extent : 1;
  }
  return empty ? 0 : count;
}

int64_t mpc::onnx_import::elementBytes(Type element) { return (element.getIntOrFloatBitWidth() + 7) / 8; }

Type mpc::onnx_import::elementType(MLIRContext *context, int64_t code) {
  auto integer = [&](unsigned width, bool isUnsigned = false) -> Type {
    return IntegerType::get(context, width, isUnsigned ? IntegerType::Unsigned : IntegerType::Signless);
  };
  switch (code) { // onnx.proto, TensorProto.DataType
  case 1:
    return Float32Type::get(context);
  case 2:
    return integer(8, true);
  case 3:
    return integer(8);
  case 4:
    return integer(16, true);
  case 5:
    return integer(16);
  case 6:
    return integer(32);
  case 7:
    return integer(64);
  case 9:
    return integer(1);
  case 10:
    return Float16Type::get(context);
  case 11:
    return Float64Type::get(context);
  case 12:
    return integer(32, true);
  case 13:
    return integer(64, true);
  case 16:
    return BFloat16Type::get(context);
  default:
    return {};
  }
}

std::string mpc::onnx_import::onnxTypeName(int64_t code) {
  // The list goes beyond the schema that the protobuf classes know: it has the codes of newer IR versions.
  static const char *const names[] = {
      "UNDEFINED", "FLOAT",      "UINT8",      "INT8",         "UINT16",         "INT16",      "INT32",
      "INT64",     "STRING",     "BOOL",       "FLOAT16",      "DOUBLE",         "UINT32",     "UINT64",
      "COMPLEX64", "COMPLEX128", "BFLOAT16",   "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ",
      "UINT4",     "INT4",       "FLOAT4E2M1", "FLOAT8E8M0",   "UINT2",          "INT2"};
  if (code >= 0 && code < int64_t(std::size(names)))
    return names[code];
  return "type code " + std::to_string(code);
}

//===-- Reading and writing elements --------------------------------------------===//

static double readFloat(Type element, const char *p) {
  if (element.isF32()) {
    float f;
    std::memcpy(&f, p, 4);
    return f;
  }
  if (element.isF64()) {
    double d;
    std::memcpy(&d, p, 8);
    return d;
  }
  uint16_t bits;
  std::memcpy(&bits, p, 2);
  llvm::APFloat value(cast<FloatType>(element).getFloatSemantics(), llvm::APInt(16, bits));
  bool losesInfo;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return value.convertToDouble();
}

static int64_t readInt(Type element, const char *p) {
  unsigned width = element.getIntOrFloatBitWidth();
  uint64_t bits = 0;
  std::memcpy(&bits, p, elementBytes(element));
  if (width == 1)
    return bits != 0;
  if (width == 64 || element.isUnsignedInteger())
    return int64_t(bits);
  return int64_t(bits << (64 - width)) >> (64 - width);
}

static void writeFloat(Type element, double d, char *p) {
  if (element.isF32()) {
    float f = float(d);
    std::memcpy(p, &f, 4);
  } else if (element.isF64()) {
    std::memcpy(p, &d, 8);
  } else {
    llvm::APFloat value(d);
    bool losesInfo;
    value.convert(cast<FloatType>(element).getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    uint16_t bits = uint16_t(value.bitcastToAPInt().getZExtValue());
    std::memcpy(p, &bits, 2);
  }
}

static void writeInt(Type element, int64_t v, char *p) {
  if (element.isInteger(1))
    v = v != 0;
  std::memcpy(p, &v, elementBytes(element));
}

static int64_t toInt(double d) {
  if (std::isnan(d))
    return 0;
  if (d >= 9.2233720368547758e18)
    return INT64_MAX;
  if (d <= -9.2233720368547758e18)
    return INT64_MIN;
  return int64_t(d);
}

template <typename T, typename Read>
static std::vector<T> readAll(const HostTensor &t, Read read) {
  int64_t n = t.size(), step = t.splat ? 0 : elementBytes(t.element());
  std::vector<T> result(n);
  for (int64_t i = 0; i < n; ++i)
    result[i] = read(t.bytes->data() + i * step);
  return result;
}

std::vector<int64_t> HostTensor::ints() const {
  Type e = element();
  if (isa<FloatType>(e))
    return readAll<int64_t>(*this, [&](const char *p) { return toInt(readFloat(e, p)); });
  return readAll<int64_t>(*this, [&](const char *p) { return readInt(e, p); });
}

std::vector<double> HostTensor::doubles() const {
  Type e = element();
  if (isa<FloatType>(e))
    return readAll<double>(*this, [&](const char *p) { return readFloat(e, p); });
  bool isUnsigned = e.isUnsignedInteger(64);
  return readAll<double>(*this, [&](const char *p) {
    int64_t v = readInt(e, p);
    return isUnsigned ? double(uint64_t(v)) : double(v);
  });
}

template <typename T, typename Write>
static HostTensor writeAll(RankedTensorType type, ArrayRef<T> values, Write write) {
  assert((values.size() == 1 || int64_t(values.size()) == type.getNumElements()) && "one value or all");
  int64_t step = elementBytes(type.getElementType());
  auto bytes = std::make_shared<std::string>(values.size() * step, '\0');
  for (size_t i = 0; i < values.size(); ++i)
    write(values[i], bytes->data() + i * step);
  return {type, std::move(bytes), values.size() == 1 && type.getNumElements() != 1};
}

HostTensor HostTensor::fromInts(RankedTensorType type, ArrayRef<int64_t> values) {
  Type e = type.getElementType();
  return writeAll(type, values,
                  [&](int64_t v, char *p) { isa<FloatType>(e) ? writeFloat(e, double(v), p) : writeInt(e, v, p); });
}

HostTensor HostTensor::fromDoubles(RankedTensorType type, ArrayRef<double> values) {
  Type e = type.getElementType();
  return writeAll(type, values, [&](double v, char *p) {
    if (isa<FloatType>(e))
      writeFloat(e, v, p);
    else
      writeInt(e, e.isInteger(1) ? v != 0 : toInt(v), p);
  });
}

HostTensor HostTensor::vector(MLIRContext *context, ArrayRef<int64_t> values) {
  auto type = RankedTensorType::get(int64_t(values.size()), IntegerType::get(context, 64));
  HostTensor result = fromInts(type, values);
  result.splat = false;
  return result;
}

HostTensor HostTensor::scalar(MLIRContext *context, int64_t value) {
  return fromInts(RankedTensorType::get({}, IntegerType::get(context, 64)), value);
}

HostTensor HostTensor::reshaped(ArrayRef<int64_t> shape) const { return {type.clone(shape), bytes, splat}; }

//===-- Attributes ------------------------------------------------------------------===//

ElementsAttr HostTensor::attribute(StringRef name) const {
  Type e = element();
  int64_t step = elementBytes(e), n = size();
  if (e.isInteger(1)) {
    llvm::SmallVector<bool> values(splat ? 1 : n);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = (*bytes)[i] != 0;
    return DenseElementsAttr::get(type, ArrayRef<bool>(values));
  }
  // If the bytes equal themselves moved by one element, all elements equal the first.
  bool isSplat = splat || (n > 0 && std::memcmp(bytes->data(), bytes->data() + step, (n - 1) * step) == 0);
  if (isSplat)
    return DenseElementsAttr::getFromRawBuffer(type, ArrayRef<char>(bytes->data(), step));
  if (int64_t(bytes->size()) < 64)
    return DenseElementsAttr::getFromRawBuffer(type, ArrayRef<char>(bytes->data(), n * step));
  auto keep = bytes;
  AsmResourceBlob blob(
      ArrayRef<char>(bytes->data(), bytes->size()), /*dataAlignment=*/step,
      [keep](void *, size_t, size_t) mutable { keep.reset(); }, /*dataIsMutable=*/false);
  return DenseResourceElementsAttr::get(type, name, std::move(blob));
}
