// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Package/Elements.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;

std::string mpc::bytesOfElements(ElementsAttr elements) {
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(elements)) {
    ArrayRef<char> data = resource.getData();
    return {data.begin(), data.end()};
  }
  auto dense = cast<DenseElementsAttr>(elements);
  if (dense.getElementType().isInteger(1)) {
    std::string bytes;
    for (bool value : dense.getValues<bool>())
      bytes += char(value);
    return bytes;
  }
  ArrayRef<char> raw = dense.getRawData();
  std::string bytes(raw.begin(), raw.end());
  if (dense.isSplat()) {
    std::string one = bytes;
    bytes.clear();
    for (int64_t i = 0, e = dense.getNumElements(); i < e; ++i)
      bytes += one;
  }
  return bytes;
}

mpc_dtype mpc::dtypeOf(Type element) {
  if (element.isF16())
    return MPC_F16;
  if (element.isBF16())
    return MPC_BF16;
  if (element.isF32())
    return MPC_F32;
  if (element.isF64())
    return MPC_F64;
  if (isa<Float8E4M3FNType, Float8E5M2Type>(element))
    return MPC_U8;
  auto integer = cast<IntegerType>(element);
  switch (integer.getWidth()) {
  case 1:
    return MPC_BOOL;
  case 8:
    return integer.isUnsigned() ? MPC_U8 : MPC_I8;
  case 16:
    return integer.isUnsigned() ? MPC_U16 : MPC_I16;
  case 32:
    return integer.isUnsigned() ? MPC_U32 : MPC_I32;
  default:
    return integer.isUnsigned() ? MPC_U64 : MPC_I64;
  }
}

llvm::StringRef mpc::dtypeName(Type element) {
  static constexpr llvm::StringLiteral names[] = {"",    "f16", "bf16", "f32", "f64", "i8",  "i16",
                                                  "i32", "i64", "u8",   "u16", "u32", "u64", "bool"};
  return names[dtypeOf(element)];
}
