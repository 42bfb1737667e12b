//===- Evaluator.h - reference evaluation of graph, train and kernel IR ---------===//
//
// The oracle of the tests, see README.md.
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
  /// Sees each op after it ran: outermost ops of an entry, not those inside a dispatch.
  using Observer =
      std::function<void(mlir::Operation *, llvm::ArrayRef<HostTensor> operands, llvm::ArrayRef<HostTensor> results)>;

  /// The module outlives the evaluator. Variables get their initial values at once.
  Evaluator(mlir::ModuleOp module, EvalMode mode);

  /// A variable's value, to read or to overwrite between runs. It must exist.
  HostTensor &variable(llvm::StringRef name);
  bool hasVariable(llvm::StringRef name) const { return variables.contains(name); }

  /// Runs an entry (func.func or train.step). Reads see the state from before; assignments take effect at the end and only on success,
  /// and variables that start as copies follow their sources only at the start (later the program assigns them).
  /// Fails, with a diagnostic, on an unknown entry, inputs of other types, an op without a model, values without a meaning.
  llvm::LogicalResult run(llvm::StringRef entry, llvm::ArrayRef<HostTensor> inputs,
                          llvm::SmallVectorImpl<HostTensor> &results);

  /// The gradients that train.updates of the last run were given, before optimizer passes expand them: nothing else
  /// happens at a train.update.
  const llvm::StringMap<HostTensor> &gradients() const { return updates; }

  /// One pure op, or one kernel.dispatch with all that is in it.
  static llvm::LogicalResult evaluateOp(mlir::Operation *op, llvm::ArrayRef<HostTensor> operands,
                                        llvm::SmallVectorImpl<HostTensor> &results, EvalMode mode);
  /// A block of pure ops; `results` are the operands of its terminator.
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

/// The initial value of a variable, by its `init` (train.variable): elements, or for random ones a test generator:
/// splitmix64 of (FNV-1a of the name) + index, Box-Muller for normal; rounded to the variable's type, as data is. copy_of: the
/// source's initial value, rounded in `Rounded` mode only.
llvm::FailureOr<HostTensor> initialValue(mlir::Operation *variable, EvalMode mode);

} // namespace mpc
#endif
