//===- Train.h - the train dialect -------------------------------------------===//
#ifndef MPC_TRAIN_IR_TRAIN_H
#define MPC_TRAIN_IR_TRAIN_H
#include "dialects/Interfaces/Differentiable.h"
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

#include "dialects/Train/IR/TrainEnums.h.inc"
#include "dialects/Train/IR/TrainDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Train/IR/TrainAttrs.h.inc"
#define GET_OP_CLASSES
#include "dialects/Train/IR/TrainOps.h.inc"

namespace mpc::train {

/// Names of the attributes on entries' arguments and results; see the dialect's description.
inline constexpr llvm::StringLiteral kNameAttr = "train.name";
inline constexpr llvm::StringLiteral kBatchedAttr = "train.batched";
inline constexpr llvm::StringLiteral kLabelsBelowAttr = "train.labels_below";
inline constexpr llvm::StringLiteral kRoleAttr = "train.role";

/// The variable a symbol names, or null.
VariableOp lookupVariable(mlir::Operation *from, mlir::FlatSymbolRefAttr name);

} // namespace mpc::train
#endif
