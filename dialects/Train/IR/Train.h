//===- Train.h - the train dialect -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_TRAIN_IR_TRAIN_H
#define MPC_TRAIN_IR_TRAIN_H
#include "dialects/Interfaces/Differentiable.h"
#include "dialects/Interfaces/Indexing.h"
#include "dialects/Train/IR/Scaler.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Train/IR/TrainDialect.h.inc"
#include "dialects/Train/IR/TrainEnums.h.inc"

namespace mpc::optimizers {
struct Optimizer;
class Hyperparameters;
} // namespace mpc::optimizers

namespace mpc::train {
/// A number that was written by name, as `lr = 0.1`; nullopt stands for text that is no number.
using NamedNumber = std::pair<llvm::StringRef, std::optional<double>>;
using EmitError = llvm::function_ref<mlir::InFlightDiagnostic()>;
} // namespace mpc::train

#define GET_ATTRDEF_CLASSES
#include "dialects/Train/IR/TrainAttrs.h.inc"
#define GET_OP_CLASSES
#include "dialects/Train/IR/TrainOps.h.inc"

namespace mpc::train {

/// These are the names of the attributes on entries' arguments and results; the dialect's description explains them.
inline constexpr llvm::StringLiteral kNameAttr = "train.name";
inline constexpr llvm::StringLiteral kBatchedAttr = "train.batched";
inline constexpr llvm::StringLiteral kFixedAttr = "train.fixed";
inline constexpr llvm::StringLiteral kLabelsBelowAttr = "train.labels_below";
/// This attribute of an entry's argument or of a variable says that its type is the stored one, whose dimension i is
/// logical dimension permutation[i].
inline constexpr llvm::StringLiteral kPermutationAttr = "train.permutation";
inline constexpr llvm::StringLiteral kRoleAttr = "train.role";

inline constexpr llvm::StringLiteral kOfAttr = "train.of";
/// These attributes of a graph.batch_norm name the variables with the running statistics that the norm
/// has in evaluation.
inline constexpr llvm::StringLiteral kRunningMeanAttr = "train.running_mean",
                                     kRunningVarianceAttr = "train.running_variance";
/// This attribute of the module is an array of {name, kind, logits, labels}, one for each metric that `eval` measures.
inline constexpr llvm::StringLiteral kMetricsAttr = "train.metrics";
/// The trace form of step `main` is `main.trace`.
inline constexpr llvm::StringLiteral kTraceSuffix = ".trace";

/// Returns the variable that a symbol names, or null.
VariableOp lookupVariable(mlir::Operation *from, mlir::FlatSymbolRefAttr name);
VariableOp lookupVariable(mlir::Operation *from, llvm::StringRef name);
/// Returns the variable of this name, and makes it behind the module's last variable if there is none. `of` and
/// `step` may be null.
VariableOp getOrCreateVariable(mlir::Operation *from, const llvm::Twine &name, Role role, mlir::RankedTensorType type,
                               mlir::Attribute init, mlir::FlatSymbolRefAttr of = {},
                               mlir::FlatSymbolRefAttr step = {});
/// Returns the scalar `@"<step>/<suffix>"`, which is state of the step itself, and makes it if there is none.
VariableOp getOrCreateScalar(StepOp step, llvm::StringRef suffix, Role role, mlir::Type element, double init);
mlir::Value readVariable(mlir::OpBuilder &b, mlir::Location loc, VariableOp variable);
void assignVariable(mlir::OpBuilder &b, mlir::Location loc, VariableOp variable, mlir::Value value);
/// Returns the name that a step's state bears: the step's own, or for a trace form that of the step it traces.
llvm::StringRef stateOwner(StepOp step);

} // namespace mpc::train
#endif
