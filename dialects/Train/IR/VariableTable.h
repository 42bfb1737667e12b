//===- VariableTable.h - the variables of a module by name ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_TRAIN_IR_VARIABLETABLE_H
#define MPC_TRAIN_IR_VARIABLETABLE_H
#include "dialects/Train/IR/Train.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"

namespace mpc::train {

/// The table finds and makes variables in constant time, for passes that look at every parameter; train::lookupVariable
/// searches the module each time. While a table lives, no variable may be erased, and the table does not know variables
/// that are made without it.
class VariableTable {
public:
  /// Collects the variables of the module around `from`.
  explicit VariableTable(mlir::Operation *from);

  /// Returns the variable that a symbol names, or null.
  VariableOp lookup(mlir::FlatSymbolRefAttr name) const { return variables.lookup(name.getAttr()); }
  /// Does what train::getOrCreateVariable does.
  VariableOp getOrCreate(const llvm::Twine &name, Role role, mlir::RankedTensorType type, mlir::Attribute init,
                         mlir::FlatSymbolRefAttr of = {}, mlir::FlatSymbolRefAttr step = {});
  /// Returns the state that `step` keeps for a parameter, and makes it if there is none:
  /// `@"<parameter>/<suffix>"`, or `@"<parameter>/<step>/<suffix>"` when another step already has the first.
  VariableOp getOrCreateState(StepOp step, VariableOp parameter, llvm::StringRef suffix, Role role,
                              mlir::RankedTensorType type, mlir::Attribute init);
  /// Returns the scalar `@"<step>/<suffix>"`, which is state of the step itself, and makes it if there is none.
  VariableOp getOrCreateScalar(StepOp step, llvm::StringRef suffix, Role role, mlir::Type element, double init);

private:
  mlir::ModuleOp module;
  llvm::DenseMap<mlir::Attribute, VariableOp> variables;
  mlir::Operation *last = nullptr;
};

} // namespace mpc::train
#endif
