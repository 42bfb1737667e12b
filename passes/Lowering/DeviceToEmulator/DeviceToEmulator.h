//===- DeviceToEmulator.h - GPU kernels as code of one emulated thread ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_LOWERING_DEVICETOEMULATOR_H
#define MPC_LOWERING_DEVICETOEMULATOR_H
#include "mlir/IR/BuiltinOps.h"

namespace mpc {

/// Rewrites every kernel of the module (an llvm.func with `kernel.entry`) as Passes.td describes. Returns
/// the number of checked accesses. Fails with a located diagnostic at an op that has no emulated form; the
/// module is then partly rewritten.
mlir::FailureOr<int64_t> lowerToEmulator(mlir::ModuleOp module);

} // namespace mpc
#endif
