//===- Rewrite.h - greedy rewriting that ends --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_SUPPORT_REWRITE_H
#define MPC_SUPPORT_REWRITE_H
#include "mlir/IR/Operation.h"

namespace mlir {
class FrozenRewritePatternSet;
}

namespace mpc {

/// Applies the patterns to the ops inside `scope` until none matches. The number of rewrites is bounded by a multiple
/// of the number of ops in each pass over them, and the number of passes is bounded too: two patterns that undo each
/// other become an error at the op that they rewrote last, never a run without end.
mlir::LogicalResult applyWithinBudget(mlir::Operation *scope, const mlir::FrozenRewritePatternSet &patterns);

} // namespace mpc
#endif
