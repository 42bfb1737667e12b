//===- Patterns.h - a pattern for each composite op, by family -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_DECOMPOSE_PATTERNS_H
#define MPC_DECOMPOSE_PATTERNS_H
#include "dialects/Graph/IR/GraphBuilder.h"
#include "mlir/IR/PatternMatch.h"

namespace mpc {

void populateSoftmaxPatterns(mlir::RewritePatternSet &patterns);
void populateNormalizationPatterns(mlir::RewritePatternSet &patterns, bool forGpu);
void populateEmptyTensorPatterns(mlir::RewritePatternSet &patterns);
/// Joins the pads of a split's gradient, and divides concatenations of many tensors.
void populateConcatPatterns(mlir::RewritePatternSet &patterns);
/// Concatenates the heads of what attentions give before they become rows, for GPUs.
void populateHeadPatterns(mlir::RewritePatternSet &patterns);
/// Takes depthwise convolutions and their gradients apart, for GPUs.
void populateDepthwisePatterns(mlir::RewritePatternSet &patterns);
/// Moves casts through views to where they store the smaller type.
void populateViewPatterns(mlir::RewritePatternSet &patterns);
/// Pads the slices of scans to the alignment of tensors.
void populateScanPatterns(mlir::RewritePatternSet &patterns);

} // namespace mpc
#endif
