// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Precision/LowStorage.h"
#include "dialects/Graph/IR/Shapes.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace mpc;

/// Rounds the elements to nearest even; other initialisations are drawn in the variable's type and stay as they are.
static Attribute roundInit(Attribute init, RankedTensorType type) {
  auto low = cast<FloatType>(type.getElementType());
  auto round = [&](APFloat value) {
    bool losesInfo;
    value.convert(low.getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
    return value;
  };
  if (auto dense = dyn_cast<DenseElementsAttr>(init))
    return dense.mapValues(low, [&](const APFloat &value) { return round(value).bitcastToAPInt(); });
  if (auto resource = dyn_cast<DenseF32ResourceElementsAttr>(init))
    if (std::optional<ArrayRef<float>> values = resource.tryGetAsArrayRef()) {
      SmallVector<APFloat> rounded;
      for (float value : *values)
        rounded.push_back(round(APFloat(value)));
      return DenseElementsAttr::get(type, rounded);
    }
  return init;
}

void precision::storeLow(ModuleOp module, FloatType low, function_ref<bool(train::VariableOp)> keeps) {
  llvm::DenseSet<Attribute> stored;
  for (train::VariableOp variable : module.getOps<train::VariableOp>()) {
    RankedTensorType type = variable.getTensorType();
    if (variable.getRole() != train::Role::parameter || !type.getElementType().isF32() || keeps(variable))
      continue;
    auto lowType = type.clone(low);
    variable.setInitAttr(roundInit(variable.getInit(), lowType));
    variable.setTypeAttr(TypeAttr::get(lowType));
    stored.insert(FlatSymbolRefAttr::get(variable.getSymNameAttr()));
  }
  module.walk([&](train::ReadOp read) {
    if (stored.contains(read.getVariableAttr()))
      read.getValue().setType(graph::typeOf(read).clone(low));
  });
}
