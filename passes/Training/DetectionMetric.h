//===- DetectionMetric.h - mean average precision of detected boxes -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PASSES_TRAINING_DETECTIONMETRIC_H
#define MPC_PASSES_TRAINING_DETECTIONMETRIC_H
#include "passes/Training/Entries.h"

namespace mpc::training {

/// This follows "map" in what a user writes.
inline constexpr llvm::StringLiteral kDetectionForm =
    "[:DETECTIONS:SCORES:BOXES:LABELS][,iou=0.5][,nms=0.5][,max_detections=100][,score_threshold=0.05]";

/// These are the two metrics of one `map`, which the runtime computes of the same detections.
struct DetectionMetrics {
  std::string names; ///< ":DETECTIONS:SCORES:BOXES:LABELS"
  /// Short names ("map", "map50") and descriptions without `name`: {kind, logits = SCORES, labels = LABELS, axis,
  /// detections = DETECTIONS, boxes = BOXES, nms, max_detections, score_threshold}; the second has `iou`, too.
  llvm::SmallVector<std::pair<std::string, mlir::NamedAttrList>, 2> metrics;
};

/// Reads "map" with what may follow it, and adds the outputs that it needs to the eval entry, and keeps the inputs:
/// DETECTIONS is an output [N,A,4] or [N,A,K,4] of floats, SCORES an output [N,A,K] of floats, BOXES an input [N,M,4]
/// of floats and LABELS an input [N,M] of integers, where N is the batch. Without names the shapes decide, and among
/// several that fit the names `detections`, `scores`, `boxes` and `labels`. Fails with a diagnostic.
mlir::FailureOr<DetectionMetrics> findDetections(EntryBuilder &entry, llvm::StringRef text);

} // namespace mpc::training
#endif
