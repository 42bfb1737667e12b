// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Metrics that count decisions: the class of the largest score, or yes where a score is above 0.
#pragma once

#include "runtime/core/Metrics.h"

namespace mpc::rt {

/// Returns the class of the largest score, the first of equal ones; -1 where a score is NaN, which is no decision.
int64_t decidedClass(std::span<const double> scores);

/// Makes `accuracy`, `topK`, `confusion`, `precision`, `recall`, `f1` (their averages: "" or macro, micro, binary),
/// `multilabel` and `exact`; null for other names, and where the layout does not suit.
std::unique_ptr<Measure> makeCountMeasure(const std::string &name, const std::string &average,
                                          const ScoreLayout &layout);

} // namespace mpc::rt
