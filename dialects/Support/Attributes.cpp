// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Support/Attributes.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

std::optional<double> mpc::asNumber(Attribute attr) {
  if (auto value = dyn_cast<FloatAttr>(attr))
    return value.getValueAsDouble();
  if (auto value = dyn_cast<IntegerAttr>(attr); value && !isa<BoolAttr>(attr))
    return double(value.getInt());
  return std::nullopt;
}
