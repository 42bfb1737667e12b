//===- Recognizers.h - patterns of the recognize pass, by family --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PASSES_SIMPLIFY_RECOGNIZERS_H
#define MPC_PASSES_SIMPLIFY_RECOGNIZERS_H
#include "mlir/IR/PatternMatch.h"

namespace mpc::simplify {

/// Adds patterns for GELU that is written with erf or tanh.
void populateComposedGelu(mlir::RewritePatternSet &patterns);
/// Adds patterns for swish (SiLU) that is written with sigmoid.
void populateComposedSwish(mlir::RewritePatternSet &patterns);
/// Adds patterns for layer, RMS, L2 and group norms that are written as means, powers and roots.
void populateComposedNorms(mlir::RewritePatternSet &patterns);
/// Adds patterns for attention that is written as products and a softmax.
void populateComposedAttention(mlir::RewritePatternSet &patterns);
/// Adds patterns for logarithms of values that are near 0 or 1 by construction.
void populateStableLogs(mlir::RewritePatternSet &patterns);

} // namespace mpc::simplify
#endif
