//===- ScanRewrites.h - parts of the canonical form of a scan ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_GRAPH_IR_SCANREWRITES_H
#define MPC_GRAPH_IR_SCANREWRITES_H
#include "mlir/IR/PatternMatch.h"

namespace mpc::graph {

/// This unit attribute of a scan says that the sums that it carries are gradients (Gradients/Scan.cpp).
inline constexpr llvm::StringLiteral kSumsGradientsAttr = "graph.sums_gradients";

/// Adds the pattern that computes carried sums of products and of sums behind the scan.
void addScanSumPatterns(mlir::RewritePatternSet &patterns);
/// Adds the pattern that carries and stacks in a narrower type what every reader rounds to it.
void addScanCastPatterns(mlir::RewritePatternSet &patterns);

} // namespace mpc::graph
#endif
