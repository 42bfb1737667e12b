// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Curves of a plot: smoothing, thinning, and their way through a picture.
#pragma once

#include "runtime/core/PlotLog.h"

#include <string>
#include <vector>

namespace mpc::rt {

constexpr size_t kFewest = 50; // points that are smoothed

/// Replaces each value by the mean over a window around it, of a fortieth of the points. The window begins as a single
/// point, and ends with the points. NaN are left out of the means; where they are half of the window, the mean is NaN.
/// Fewer than kFewest points stay as they are.
std::vector<Point> smoothed(const std::vector<Point> &points);

/// Keeps two points of each column of pixels that has more, the least and the greatest, so that a line through them
/// covers what the line through all points would. The x do not decrease.
std::vector<Point> thinned(const std::vector<Point> &points);

/// Returns the points as the data of an SVG path, which is interrupted at NaN. With `stairs` a value holds until the
/// next one.
std::string pathData(const std::vector<Point> &points, bool stairs);

/// Appends text as printf would write it.
[[gnu::format(printf, 2, 3)]] void print(std::string &out, const char *format, ...);

/// Returns a text for XML: its special characters are escaped, and what is no UTF-8, or a control character, becomes
/// '?'.
std::string escaped(const std::string &text);

/// Returns about how wide a text is in the picture's letters of 12 pixels.
double widthOf(const std::string &text);

} // namespace mpc::rt
