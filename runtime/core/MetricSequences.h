// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The metric of decoded sequences.
#pragma once

#include "runtime/core/Metrics.h"

namespace mpc::rt {

/// These stand for frames that add no label, and for frames with a score that is NaN (kCtcNoLabel and kCtcUndecided of
/// passes/Training/CtcLoss.h). The latter count as a label that no target has, so they are errors.
inline constexpr double kNoLabel = -1, kUndecided = -2;

/// Returns the smallest number of insertions, deletions and substitutions that make one sequence of the other
/// (Levenshtein 1966).
int64_t editDistance(std::span<const double> a, std::span<const double> b);

/// Makes `token_error_rate`: the sum of the distances between decoded labels and targets, divided by the number of
/// labels in the targets. It is no number where no target has a label.
std::unique_ptr<Measure> makeErrorRate();

} // namespace mpc::rt
