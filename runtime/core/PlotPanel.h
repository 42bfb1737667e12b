// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A panel of a plot: one quantity of all runs over the steps.
#pragma once

#include "runtime/core/PlotAxis.h"
#include "runtime/core/PlotLog.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mpc::rt {

struct Curve {
  enum Kind {
    Noisy, // a thin line through all points, and a thick one through their means
    Plain, // a line
    Stairs,
    Dots,       // a line with dots
    DashedDots, // beside curves of the same colour
    NotFinite,  // no line, but a cross at the upper edge for each step
    Skipped,    // no line, but a mark at the lower edge for each step
  };
  Kind kind;
  size_t pen; // number of the run and optimizer, which decides the colour
  std::string name;
  std::vector<Point> points;
};

struct Panel {
  std::string title;
  Axis::Kind kind = Axis::Linear;
  std::vector<Curve> curves;
};

/// The inner rectangle of a panel, in pixels.
struct Frame {
  double x, y, width, height;
};

/// The pen of what all runs have in common.
constexpr size_t kGrey = SIZE_MAX;

/// Returns a curve's sign for a legend, around (0, 0) and 26 pixels wide.
std::string signOf(Curve::Kind kind, size_t pen);

/// Chooses the vertical axis of a panel, so that smooth curves are whole; single points of noisy ones may leave it.
Axis axisOf(const Panel &panel, double height);

/// Returns the panel as SVG. `id` tells the panel's elements apart.
std::string drawn(const Panel &panel, const Axis &steps, const Axis &values, const Frame &frame, size_t id);

} // namespace mpc::rt
