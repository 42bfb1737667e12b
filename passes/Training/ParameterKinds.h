// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PASSES_TRAINING_PARAMETERKINDS_H
#define MPC_PASSES_TRAINING_PARAMETERKINDS_H
#include "dialects/Train/IR/VariableTable.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mpc::training {

/// Gives each parameter that `forward` reads the attribute train.kinds with the kinds that it is of. The norms must
/// have been recognised. A parameter may be of several kinds, and weights of products and convolutions are of none.
void markParameterKinds(mlir::func::FuncOp forward, const train::VariableTable &variables);

} // namespace mpc::training
#endif
