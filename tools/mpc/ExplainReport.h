//===- ExplainReport.h - the report of mpc explain about precision -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_TOOLS_MPC_EXPLAINREPORT_H
#define MPC_TOOLS_MPC_EXPLAINREPORT_H
#include "mlir/IR/BuiltinOps.h"
#include <nlohmann/json.hpp>

namespace mpc::tool {

/// Returns the casts that autocast put into the forward pass of every train.step, taken right after it: step, phase
/// ("forward"), value, from, to, shape, bytes (of the result), reason, users.
nlohmann::json forwardCasts(mlir::ModuleOp module);

/// Returns the other casts between float types that the finished train.steps hold, in the same form, in the phases
/// "backward" (gradients) and "update" (scaler, optimizer, low-precision copies). Steps that return gradients for
/// `trace` are left out.
nlohmann::json laterCasts(mlir::ModuleOp module);

/// Returns every float op of the forward pass, right after autocast: step, node, op, class, type it computes in, shape.
/// Equal ops of one node count once.
nlohmann::json forwardOps(mlir::ModuleOp module);

/// Prints the whole report as text for people.
void printReport(const nlohmann::json &report);

} // namespace mpc::tool
#endif
