//===- Losses.h - losses that are compositions of graph ops ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_GRAPH_IR_LOSSES_H
#define MPC_GRAPH_IR_LOSSES_H
#include "dialects/Graph/IR/GraphBuilder.h"
#include <optional>

namespace mpc::graph {

/// Returns the f32 weight of each label, in the shape of the labels: weights[label], or 1 without weights, and 0 where
/// the label is the ignored one. weights: [C], or null.
mlir::Value labelWeights(const GraphBuilder &b, mlir::Value labels, mlir::Value weights,
                         std::optional<int64_t> ignored);

/// Builds the cross entropy of scores [N, C, d...] and labels [N, d...] with label smoothing. With p = log_softmax(x),
/// label l, e = smoothing and C classes, this is torch's cross_entropy: label i costs
///   (1 - e) w_l (-p_l) + e/C sum_c w_c (-p_c),
/// and nothing where l is the ignored one; the mean divides the sum by the sum of w_l over the labels that are not
/// ignored. weights: [C], or null. The result has the labels' shape without a reduction, else it is a scalar.
mlir::Value smoothedCrossEntropy(const GraphBuilder &b, mlir::Value scores, mlir::Value labels, mlir::Value weights,
                                 LossReduction reduction, int64_t ignored, double smoothing);

/// Builds the cross entropy of scores and probabilities of classes t, both [N, C, d...] with the classes at `axis`.
/// With p = log_softmax(x), e = smoothing and C classes, this is torch's cross_entropy: a label costs
///   -sum_c w_c ((1 - e) t_c + e/C) p_c,
/// and the mean is over all labels, also with weights. weights: [C], or null. The result is a scalar, or without a
/// reduction has a number for each label.
mlir::Value crossEntropyOfProbabilities(const GraphBuilder &b, mlir::Value scores, mlir::Value targets, int64_t axis,
                                        mlir::Value weights, LossReduction reduction, double smoothing);

} // namespace mpc::graph
#endif
