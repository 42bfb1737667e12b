//===- Evaluator.h - reference evaluation of graph, train and kernel IR ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The evaluator is the oracle of the tests; see README.md.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_EVALUATOR_EVALUATOR_H
#define MPC_EVALUATOR_EVALUATOR_H
#include "compiler/Evaluator/Evaluable.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include <functional>

namespace mpc {

/// Attaches the models of all ops of the graph dialect and of kernel.dispatch. Call before the dialects are loaded.
void registerEvaluatorModels(mlir::DialectRegistry &registry);

class Evaluator {
public:
  /// Is called after each outermost op of an entry has run, but not for ops inside a dispatch.
  using Observer =
      std::function<void(mlir::Operation *, llvm::ArrayRef<HostTensor> operands, llvm::ArrayRef<HostTensor> results)>;

  /// The module must outlive the evaluator. Variables get their initial values in the constructor.
  Evaluator(mlir::ModuleOp module, EvalMode mode);

  /// A variable's value, which may be read or overwritten between runs. The variable must exist.
  HostTensor &variable(llvm::StringRef name);
  bool hasVariable(llvm::StringRef name) const { return variables.contains(name); }

  /// Runs an entry (func.func or train.step). Reads see the state from before the run; assignments take
  /// effect at its end, and only on success. Variables that start as copies follow their sources only at the
  /// start (later the program assigns them). Fails with a diagnostic on an unknown entry, inputs of other
  /// types, an op without a model, and values for which an op has no meaning.
  llvm::LogicalResult run(llvm::StringRef entry, llvm::ArrayRef<HostTensor> inputs,
                          llvm::SmallVectorImpl<HostTensor> &results);

  /// The gradients that the train.updates of the last run were given, before optimizer passes expand them. A
  /// train.update does nothing else here.
  const llvm::StringMap<HostTensor> &gradients() const { return updates; }

  /// Evaluates one pure op, or one kernel.dispatch with everything in it.
  static llvm::LogicalResult evaluateOp(mlir::Operation *op, llvm::ArrayRef<HostTensor> operands,
                                        llvm::SmallVectorImpl<HostTensor> &results, EvalMode mode);
  /// Evaluates a block of pure ops; `results` are the operands of its terminator.
  static llvm::LogicalResult evaluateBlock(mlir::Block &block, llvm::ArrayRef<HostTensor> arguments,
                                           llvm::SmallVectorImpl<HostTensor> &results, EvalMode mode);

  Observer observer;

private:
  llvm::LogicalResult runOp(mlir::Operation *op, llvm::ArrayRef<HostTensor> operands,
                            llvm::SmallVectorImpl<HostTensor> &results);

  mlir::ModuleOp module;
  EvalMode mode;
  llvm::StringMap<HostTensor> variables, assigned, updates;
};

/// The initial value of a variable, as its `init` (train.variable) says. Random values come from a test generator:
/// splitmix64 of (FNV-1a of the name) + index, Box-Muller for normal ones; they are rounded to the variable's type, as
/// data are. A copy_of has the source's initial value, which is rounded in `Rounded` mode only.
llvm::FailureOr<HostTensor> initialValue(mlir::Operation *variable, EvalMode mode);

} // namespace mpc
#endif
