//===- ScanSums.h - sums over the iterations of a scan leave its body --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_GRAPH_IR_SCANSUMS_H
#define MPC_GRAPH_IR_SCANSUMS_H
#include "mlir/IR/PatternMatch.h"

namespace mpc::graph {

/// Adds the pattern that computes carried sums of products and of sums behind the scan.
void addScanSumPatterns(mlir::RewritePatternSet &patterns);

} // namespace mpc::graph
#endif
