//===- CtcLoss.h - connectionist temporal classification -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PASSES_TRAINING_CTCLOSS_H
#define MPC_PASSES_TRAINING_CTCLOSS_H
#include "dialects/Graph/IR/GraphBuilder.h"

namespace mpc::training {

/// T frames of N samples have scores of C classes; a sample's target is a sequence of at most S classes.
struct CtcOperands {
  mlir::Value scores;        ///< [T, N, C] f32; a log-softmax over the classes makes them log-probabilities
  mlir::Value targets;       ///< [N, S] i64; what stands behind a target's length may be anything
  mlir::Value inputLengths;  ///< [N] i64: the frames of each sample; null if all have T
  mlir::Value targetLengths; ///< [N] i64
};

/// Returns the f32 [N] losses of the samples: -log of the probability that the frames of a sample spell its target,
/// where repeats merge and blanks drop out (Graves et al. 2006, "Connectionist Temporal Classification"). A target that
/// no path spells costs infinity, with gradients that are not finite, or 0 without a
/// gradient. Without `differentiated` there are no gradients.
mlir::Value ctcLosses(const graph::GraphBuilder &b, const CtcOperands &operands, int64_t blank, bool zeroInfinity,
                      bool differentiated);

/// What greedy decoding reads in the frames of each sample.
struct CtcSequences {
  mlir::Value labels;  ///< [N, T] i64, with -1 behind the end
  mlir::Value lengths; ///< [N] i64
};

/// Takes the class with the largest score in each frame, merges repeats and drops blanks. Only the scores and the
/// inputs' lengths are read.
CtcSequences ctcDecoded(const graph::GraphBuilder &b, const CtcOperands &operands, int64_t blank);

/// These stand for frames that add no label: because they repeat one, are blank or are not the sample's; and for frames
/// with a score that is NaN. The runtime knows them (runtime/core/MetricSequences.h).
inline constexpr int64_t kCtcNoLabel = -1, kCtcUndecided = -2;

/// Returns the same sequences [N, T] i64 with each label at its frame, and the numbers above elsewhere.
mlir::Value ctcFrames(const graph::GraphBuilder &b, const CtcOperands &operands, int64_t blank);

} // namespace mpc::training
#endif
