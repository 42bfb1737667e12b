// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/PlotCurve.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdarg>
#include <cstdint>
#include <cstdio>

namespace mpc::rt {

std::vector<Point> smoothed(const std::vector<Point> &points) {
  const size_t count = points.size(), reach = std::max<size_t>(count / 80, 1); // points on each side
  std::vector<Point> means = points;
  if (count < kFewest)
    return means;
  double sum = 0;
  size_t begin = 0, end = 0, finite = 0; // the window, and how many of its values are finite
  for (size_t i = 0; i < count; ++i) {
    const size_t side = std::min(reach, i), first = i - side; // at the start the loss falls fast
    double greatest = 0;                                      // of what leaves the window
    for (; begin < first; ++begin)
      if (const double value = points[begin].y; !std::isnan(value)) {
        sum -= value;
        --finite;
        greatest = std::max(greatest, std::fabs(value));
      }
    if (greatest > 1e6 * std::fabs(sum)) { // its rounding may be more than what is left of the sum
      sum = 0;
      finite = 0;
      end = begin;
    }
    for (; end < std::min(count, i + side + 1); ++end)
      if (const double value = points[end].y; !std::isnan(value)) {
        sum += value;
        ++finite;
      }
    means[i].y = 2 * finite > end - begin ? sum / double(finite) : NAN;
  }
  return means;
}

std::vector<Point> thinned(const std::vector<Point> &points) {
  std::vector<Point> kept;
  for (size_t begin = 0, end; begin < points.size(); begin = end) {
    size_t least = begin, greatest = begin;
    for (end = begin; end < points.size() && std::floor(points[end].x) == std::floor(points[begin].x) &&
                      std::isnan(points[end].y) == std::isnan(points[begin].y);
         ++end) {
      if (points[end].y < points[least].y)
        least = end;
      if (points[end].y > points[greatest].y)
        greatest = end;
    }
    if (end - begin <= 2) {
      for (size_t i = begin; i < end; ++i)
        kept.push_back(points[i]);
      continue;
    }
    kept.push_back(points[std::min(least, greatest)]);
    if (least != greatest)
      kept.push_back(points[std::max(least, greatest)]);
  }
  return kept;
}

std::string pathData(const std::vector<Point> &points, bool stairs) {
  std::string data;
  bool open = false;
  for (size_t i = 0; i < points.size(); ++i) {
    const Point &point = points[i];
    if (std::isnan(point.y)) {
      open = false;
      continue;
    }
    if (open && stairs)
      print(data, "H%.1fV%.1f", point.x, point.y);
    else
      print(data, "%c%.1f %.1f", open ? 'L' : 'M', point.x, point.y);
    // A point alone is a line of no length, whose round ends make a dot.
    if (!open && (i + 1 == points.size() || std::isnan(points[i + 1].y)))
      data += "h0";
    open = true;
  }
  return data;
}

void print(std::string &out, const char *format, ...) {
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  char text[256];
  const int size = std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (size >= int(sizeof text)) {
    const size_t before = out.size();
    out.resize(before + size_t(size) + 1);
    std::vsnprintf(out.data() + before, size_t(size) + 1, format, again);
    out.pop_back();
  } else {
    out.append(text, size_t(std::max(size, 0)));
  }
  va_end(again);
}

std::string escaped(const std::string &text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i]);
    const size_t ones = size_t(std::countl_one(first)), length = std::max<size_t>(ones, 1); // of a UTF-8 sequence
    bool valid = ones != 1 && ones <= 4 && i + length <= text.size() && first >= ' ' && first != 0x7f;
    uint32_t code = ones == 0 ? first : first & (0x7fu >> ones);
    for (size_t k = 1; k < length && valid; ++k) {
      code = code << 6 | (static_cast<unsigned char>(text[i + k]) & 0x3fu);
      valid = (static_cast<unsigned char>(text[i + k]) & 0xc0) == 0x80;
    }
    static constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
    valid = valid && code >= kLeast[ones] && code < 0x110000 && (code < 0xd800 || code > 0xdfff) && code != 0xfffe &&
            code != 0xffff;
    if (!valid)
      out += '?';
    else if (first == '&')
      out += "&amp;";
    else if (first == '<')
      out += "&lt;";
    else if (first == '>')
      out += "&gt;";
    else if (first == '"')
      out += "&quot;";
    else
      out.append(text, i, length);
    i += valid ? length : 1;
  }
  return out;
}

double widthOf(const std::string &text) {
  constexpr double kMean = 6.4; // of Helvetica's digits and small letters, with some room
  return kMean * double(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

} // namespace mpc::rt
