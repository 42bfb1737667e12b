//===- VariableTable.h - the variables of a module by name ---------------------===//
#ifndef MPC_TRAIN_IR_VARIABLETABLE_H
#define MPC_TRAIN_IR_VARIABLETABLE_H
#include "dialects/Train/IR/Train.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"

namespace mpc::train {

/// Finds and makes variables in constant time, where train::lookupVariable searches the module: for passes that look at every parameter.
/// While a table lives, no variable may be erased. Variables that are made without it meanwhile are unknown to it.
class VariableTable {
public:
  /// The variables of the module around `from`.
  explicit VariableTable(mlir::Operation *from);

  /// The variable a symbol names, or null.
  VariableOp lookup(mlir::FlatSymbolRefAttr name) const { return variables.lookup(name.getAttr()); }
  /// As train::getOrCreateVariable.
  VariableOp getOrCreate(const llvm::Twine &name, Role role, mlir::RankedTensorType type, mlir::Attribute init,
                         mlir::FlatSymbolRefAttr of = {}, mlir::FlatSymbolRefAttr step = {});
  /// State that `step` keeps for a parameter: `@"<parameter>/<suffix>"`, or `@"<parameter>/<step>/<suffix>"` when another
  /// step already has the first.
  VariableOp getOrCreateState(StepOp step, VariableOp parameter, llvm::StringRef suffix, Role role, mlir::RankedTensorType type,
                              mlir::Attribute init);
  /// State of the step itself: the scalar `@"<step>/<suffix>"`.
  VariableOp getOrCreateScalar(StepOp step, llvm::StringRef suffix, Role role, mlir::Type element, double init);

private:
  mlir::ModuleOp module;
  llvm::DenseMap<mlir::Attribute, VariableOp> variables;
  mlir::Operation *last = nullptr;
};

} // namespace mpc::train
#endif
