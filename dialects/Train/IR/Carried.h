//===- Carried.h - variables that hold the state of a recurrent network ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A carried state is a buffer that the forward pass of every entry reads and assigns, evaluation included:
//   train.variable @h0 buffer : tensor<1x4x8xf32> = #train.fill<0.0> {train.carried = "hn"}
// Its attribute names the output of the network that it becomes. Manifests give such a variable the role "state", and
// the runtime sets it to its initial value at the start of each epoch, evaluation and prediction.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_TRAIN_IR_CARRIED_H
#define MPC_TRAIN_IR_CARRIED_H
#include "dialects/Train/IR/Averages.h"
#include "dialects/Train/IR/Train.h"

namespace mpc::train {

inline constexpr llvm::StringLiteral kCarriedAttr = "train.carried";

/// The role of a carried state in manifests and reports.
inline constexpr llvm::StringLiteral kStateRole = "state";

/// Returns the name of the output that the variable becomes after each step; null where it is no carried state.
inline mlir::StringAttr carriedOutput(VariableOp variable) {
  return variable->getAttrOfType<mlir::StringAttr>(kCarriedAttr);
}

/// Returns what manifests and reports call the variable's role.
inline llvm::StringRef roleName(VariableOp variable) {
  return carriedOutput(variable)  ? llvm::StringRef(kStateRole)
         : averageDecay(variable) ? llvm::StringRef(kAverageRole)
                                  : stringifyRole(variable.getRole());
}

} // namespace mpc::train
#endif
