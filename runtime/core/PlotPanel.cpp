// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/PlotPanel.h"

#include "runtime/core/PlotCurve.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace mpc::rt {

/// The colours of Okabe and Ito (https://jfly.uni-koeln.de/color/) without yellow, which a white background swallows.
/// People with any colour vision tell them apart. Where there are more curves, the colours come again with dashes.
static constexpr const char *kColours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#222222"};
static constexpr const char *kDashes[] = {"none", "7 4", "2 4", "9 4 2 4"}; // of the first curves, the second ones, ...

static const char *colourOf(size_t pen) { return pen == kGrey ? "#808080" : kColours[pen % std::size(kColours)]; }

/// Appends a path. `dashes`: at least so many-th of kDashes.
static void addPath(std::string &out, const std::string &data, size_t pen, size_t dashes, double width,
                    double opacity) {
  dashes = std::max(dashes, pen == kGrey ? 0 : pen / std::size(kColours)) % std::size(kDashes);
  print(out, "<path d=\"%s\" stroke=\"%s\" stroke-dasharray=\"%s\" stroke-width=\"%g\" stroke-opacity=\"%g\"/>\n",
        data.c_str(), colourOf(pen), kDashes[dashes], width, opacity);
}

static void addDot(std::string &out, size_t pen, double x, double y) {
  print(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.2\" fill=\"%s\" stroke=\"#ffffff\"/>\n", x, y, colourOf(pen));
}

static void addMark(std::string &out, Curve::Kind kind, size_t pen, double x, double y) {
  std::string data;
  print(data, kind == Curve::NotFinite ? "M%.1f %.1fl6 6m0 -6l-6 6" : "M%.1f %.1fv8",
        kind == Curve::NotFinite ? x - 3 : x, y);
  addPath(out, data, pen, 0, 1.5, 1);
}

static bool isMark(Curve::Kind kind) { return kind >= Curve::NotFinite; }
static bool hasDots(Curve::Kind kind) { return kind == Curve::Dots || kind == Curve::DashedDots; }

std::string signOf(Curve::Kind kind, size_t pen) {
  std::string out;
  if (isMark(kind)) {
    addMark(out, kind, pen, 13, kind == Curve::NotFinite ? -3 : -4);
    return out;
  }
  addPath(out, "M0 0H26", pen, kind == Curve::DashedDots, hasDots(kind) ? 1.5 : 2.5, 1);
  if (hasDots(kind))
    addDot(out, pen, 13, 0);
  return out;
}

namespace {
/// The least and the greatest of some values; low is above high as long as there are none.
struct Extremes {
  double low = HUGE_VAL, high = -HUGE_VAL;
  void add(const std::vector<Point> &points) {
    for (const Point &point : points)
      if (!std::isnan(point.y)) {
        low = std::min(low, point.y);
        high = std::max(high, point.y);
      }
  }
};
} // namespace

Axis axisOf(const Panel &panel, double height) {
  Extremes smooth, all;
  for (const Curve &curve : panel.curves) {
    if (isMark(curve.kind))
      continue;
    smooth.add(curve.kind == Curve::Noisy ? smoothed(curve.points) : curve.points);
    all.add(curve.points);
  }
  const bool linear = panel.kind == Axis::Linear;
  if (smooth.low > smooth.high) // there are no values
    smooth = all = {linear ? 0. : 1., 1};
  auto map = [&](double value) { return linear ? value : std::log(value); };
  const double room = (map(smooth.high) - map(smooth.low)) / 3, low = map(smooth.low) - room,
               high = map(smooth.high) + room; // with room for noise
  smooth.low = std::max(all.low, linear ? low : std::exp(low));
  smooth.high = std::min(all.high, linear ? high : std::exp(high));
  if (linear && smooth.low >= 0 && smooth.low < smooth.high / 4)
    smooth.low = 0;
  return Axis(panel.kind, smooth.low, smooth.high, std::max(2, int(height / 40)), /*rounded=*/true);
}

/// Appends what a curve says where a pointer rests on it: "digits validation: 0.0106 at step 561, least 0.0106,
/// greatest 0.0540".
static void addSummary(std::string &out, const Curve &curve) {
  Extremes range;
  range.add(curve.points);
  Point last = {0, NAN};
  for (const Point &point : curve.points)
    if (!std::isnan(point.y))
      last = point;
  print(out, "<title>%s: %g at step %.0f, least %g, greatest %g</title>\n", escaped(curve.name).c_str(), last.y, last.x,
        range.low, range.high);
}

/// Draws a curve whose points are in pixels. `again`: it covers another one, which must stay visible.
static void draw(std::string &out, const Curve &curve, const std::vector<Point> &points, bool thick, bool again) {
  const bool stairs = curve.kind == Curve::Stairs, dots = hasDots(curve.kind);
  addPath(out, pathData(thinned(points), stairs), curve.pen, again || curve.kind == Curve::DashedDots,
          thick ? dots ? 1.5 : 2 : 1, thick ? 1 : 0.3);
  double before = -HUGE_VAL;
  for (const Point &point : points)
    if (dots && !std::isnan(point.y) && point.x - before >= 1) { // else two dots would be one
      addDot(out, curve.pen, point.x, point.y);
      before = point.x;
    }
}

static bool sameWay(const Curve &a, const Curve &b) {
  bool same = a.kind == b.kind && a.points.size() == b.points.size();
  for (size_t i = 0; same && i < a.points.size(); ++i)
    same = a.points[i].x == b.points[i].x && a.points[i].y == b.points[i].y;
  return same;
}

static void drawMarks(std::string &out, const Curve &curve, const std::vector<Point> &points, const Frame &frame) {
  double before = -HUGE_VAL;
  for (const Point &point : points) {
    if (point.x - before < 4) // the marks would be one
      continue;
    addMark(out, curve.kind, curve.pen, point.x,
            curve.kind == Curve::NotFinite ? frame.y + 4 : frame.y + frame.height - 8);
    before = point.x;
  }
}

std::string drawn(const Panel &panel, const Axis &steps, const Axis &values, const Frame &frame, size_t id) {
  const double right = frame.x + frame.width, bottom = frame.y + frame.height;
  std::string out;
  print(out, "<g>\n<text x=\"%.1f\" y=\"%.1f\" font-weight=\"bold\">%s</text>\n", frame.x, frame.y - 9,
        escaped(panel.title).c_str());
  values.eachTick([&](double value, const std::string &label) {
    const double y = bottom - values.at(value) * frame.height;
    print(
        out,
        "<path d=\"M%.1f %.1fH%.1f\" stroke=\"#e4e4e4\"/>\n<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
        frame.x, y, right, frame.x - 7, y + 4, label.c_str());
  });
  steps.eachTick([&](double value, const std::string &label) {
    const double x = frame.x + steps.at(value) * frame.width;
    print(
        out,
        "<path d=\"M%.1f %.1fv5\" stroke=\"#888888\"/>\n<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n",
        x, bottom, x, bottom + 18, label.c_str());
  });
  print(out,
        "<path d=\"M%.1f %.1fV%.1fH%.1f\" stroke=\"#888888\" fill=\"none\"/>\n"
        "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" fill=\"#555555\">step</text>\n"
        "<clipPath id=\"panel%zu\"><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/></clipPath>\n"
        "<g clip-path=\"url(#panel%zu)\" fill=\"none\" stroke-linejoin=\"round\" stroke-linecap=\"round\">\n",
        frame.x, frame.y, bottom, right, frame.x + frame.width / 2, bottom + 34, id, frame.x - 4, frame.y - 4,
        frame.width + 8, frame.height + 8, id);
  for (size_t i = 0; i < panel.curves.size(); ++i) {
    const Curve &curve = panel.curves[i];
    auto pixels = [&](std::vector<Point> points) {
      for (Point &point : points) // far outside, a coordinate has no meaning, but many digits; a NaN stays one
        point = {frame.x + steps.at(point.x) * frame.width,
                 bottom - std::clamp(values.at(point.y), -9., 9.) * frame.height};
      return points;
    };
    out += "<g>";
    addSummary(out, curve);
    bool again = false;
    for (size_t k = 0; k < i; ++k)
      again |= sameWay(panel.curves[k], curve);
    const bool noisy = curve.kind == Curve::Noisy && curve.points.size() >= kFewest;
    if (noisy)
      draw(out, curve, pixels(curve.points), false, again);
    if (isMark(curve.kind))
      drawMarks(out, curve, pixels(curve.points), frame);
    else
      draw(out, curve, pixels(noisy ? smoothed(curve.points) : curve.points), true, again);
    out += "</g>\n";
  }
  return out + "</g>\n</g>\n";
}

} // namespace mpc::rt
