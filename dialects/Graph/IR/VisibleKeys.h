//===- VisibleKeys.h - which keys each query of an attention sees ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_GRAPH_IR_VISIBLEKEYS_H
#define MPC_GRAPH_IR_VISIBLEKEYS_H
#include "dialects/Graph/IR/Shapes.h"

namespace mpc::graph {

/// A range of keys: first <= key < last.
struct KeyRange {
  int64_t first = 0, last = 0;
};

/// A score of at most this number has a probability of exactly 0, beside every score that is computed in 16 bits or is
/// of use.
inline constexpr double kHidingScore = -1e30;

/// The keys that the queries of an attention see.
struct VisibleKeys {
  std::vector<KeyRange> ranges; ///< for each query
  bool isWhole = true;          ///< whether each query sees all keys of its range, and no bias is added to them

  /// The keys that query m sees are m - before <= n <= m + after; without a number that side has no bound. Nullopt
  /// where no numbers say so.
  struct Band {
    std::optional<int64_t> before, after;
  };
  std::optional<Band> band(int64_t keys) const;
};

/// Returns, for each query of an attention with this mask, bias and fill (null without one), the smallest range with
/// all keys that it sees, where mask and bias follow from constants alone and are the same for all samples and heads. A
/// key is not seen where the mask is false and `fill` is at most kHidingScore (or minus infinity), or where the mask is
/// true and the bias is at most kHidingScore: p is exactly 0 there, unless a query sees no key at all. Nullopt where
/// that is not known, where some query sees no key, or where there are so many scores that it takes seconds to tell.
std::optional<VisibleKeys> visibleKeys(mlir::Value mask, mlir::Value bias, std::optional<double> fill, int64_t queries,
                                       int64_t keys);

} // namespace mpc::graph
#endif
