// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Metrics that take the scores themselves.
#pragma once

#include "runtime/core/Metrics.h"

namespace mpc::rt {

/// Returns the area under the ROC curve, the probability that a positive has a larger score than a negative, where
/// equal scores count one half. Returns NaN where there are only positives or only negatives. No score may be NaN.
/// Sorts `scores`.
double areaUnderCurve(std::vector<std::pair<double, bool>> &scores);

/// Makes `perplexity`, `auc`, `mae` and `rmse`; null for other names, and where the layout does not suit.
std::unique_ptr<Measure> makeScoreMeasure(const std::string &name, const ScoreLayout &layout);

} // namespace mpc::rt
