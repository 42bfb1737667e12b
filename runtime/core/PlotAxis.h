// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Axes of a plot: ranges, ticks and their labels.
#pragma once

#include "runtime/support/FunctionRef.h"

#include <string>

namespace mpc::rt {

/// Maps the values of an axis to [0, 1].
class Axis {
public:
  enum Kind {
    Linear,
    Log10,
    Log2, // for loss scales, which grow and shrink by factors of 2
  };

  /// Chooses an axis for values from `low` to `high`, which are finite, and above 0 on a logarithmic axis; `high` may
  /// be `low`. A linear axis ends at its outermost ticks where `rounded`, else at the values. It has about `ticks`
  /// ticks, whose distance is 1, 2 or 5 times a power of 10.
  Axis(Kind kind, double low, double high, int ticks, bool rounded);

  /// Returns the position of a value, which is outside [0, 1] for one beyond the axis.
  double at(double value) const;
  /// Calls `visitor(value, label)` for each tick, in ascending order.
  void eachTick(FunctionRef<void(double, const std::string &)> visitor) const;
  double low() const { return low_; }
  double high() const { return high_; }

private:
  Kind kind_;
  double low_, high_;
  double step_ = 1;          // Linear: the distance of ticks
  int first_ = 0, last_ = 0; // ticks as multiples of step_, or the powers of 2 or 10 that the axis holds
  int every_ = 1;            // every how manieth power has a tick
};

/// Returns a number for people, of ticks at a distance of `step`: "0.05", "2e-5", "1500", "20k", "1.5M".
std::string tickText(double value, double step);

} // namespace mpc::rt
