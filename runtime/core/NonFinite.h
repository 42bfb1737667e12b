// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds where numbers stop being finite: it scans tensors, and finds the dispatch of an entry that infinities
// and NaN come from.
#pragma once

#include "runtime/core/Session.h"

#include <limits>
#include <set>

namespace mpc::rt {

/// The result of scanning floats.
struct Numbers {
  mpc_dtype dtype = MPC_F32;
  int64_t count = 0;
  int64_t above = 0, below = 0, nan = 0; // counts of +inf, -inf, NaN
  double low = std::numeric_limits<double>::infinity(),
         high = -low; // range of the finite ones; low > high: there are none

  bool finite() const { return above + below + nan == 0; }
  /// Adds `n` elements, not necessarily aligned.
  void add(const void *data, size_t n);
};

/// Runs an entry, whose inputs are loaded, launch by launch, and says which of the results that are not
/// finite came first:
///   the first result that is not finite is that of 'conv3:conv+add' (nodes 'conv3', 'add3'): 12 of 4096 f16 numbers
///   are infinite and 0 are NaN; it read f16 from -3.1 to 60120, f32 'conv3.bias' from -1 to 1
/// To find the first, it goes back from the loss (or, if that is finite, from the last result that is not) along
/// operands that are not finite, to the dispatch whose operands all are finite. Infinities that lead to nothing,
/// such as a mask's, are not named. Returns "" if all results are finite, and for programs that do not say what
/// their launches read.
std::string firstNonFinite(Session &session, const Entry &entry);

/// Returns the names of the parameters that are not finite.
std::set<std::string> nonFiniteParameters(const Session &session);

} // namespace mpc::rt
