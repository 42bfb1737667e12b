// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PASSES_SIMPLIFY_FOLDSPLATS_H
#define MPC_PASSES_SIMPLIFY_FOLDSPLATS_H
#include "mlir/IR/PatternMatch.h"

namespace mpc::simplify {

/// Adds patterns that evaluate elementwise float arithmetic whose operands are all splat constants.
void populateFoldSplats(mlir::RewritePatternSet &patterns);

} // namespace mpc::simplify
#endif
