//===- Dropout.h - which elements a dropout keeps --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_LOWERING_ELEMENTAL_DROPOUT_H
#define MPC_LOWERING_ELEMENTAL_DROPOUT_H
#include "passes/Lowering/Elemental/ElementEmitter.h"

namespace mpc {

/// Returns whether a dropout with this ratio, above 0 and below 1, keeps element `linear` of its mask (i1): where the
/// element draws a word u with u / 2^32 >= ratio. `seed` and `step` are numbers of operands of op.
mlir::Value isKept(mlir::Operation *op, unsigned seed, unsigned step, int64_t salt, double ratio, Index linear,
                   ElementEmitter &e);

} // namespace mpc
#endif
