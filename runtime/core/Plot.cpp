// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/Plot.h"

#include "runtime/core/PlotCurve.h"
#include "runtime/core/PlotPanel.h"
#include "runtime/support/AtomicFile.h"
#include "runtime/support/Error.h"
#include "runtime/support/Outputs.h"

#include <algorithm>
#include <cmath>

namespace mpc::rt {

std::vector<std::string> shortNames(const std::vector<std::string> &paths) {
  const std::string &first = paths[0];
  size_t front = first.size(), back = first.size(); // of letters that all have in common
  for (const std::string &path : paths) {
    size_t same = 0, behind = 0;
    while (same < std::min(front, path.size()) && path[same] == first[same])
      ++same;
    while (behind < std::min(back, path.size()) && path[path.size() - 1 - behind] == first[first.size() - 1 - behind])
      ++behind;
    front = same;
    back = behind;
  }
  front = front == 0 ? 0 : first.rfind('/', front - 1) + 1; // npos + 1 is 0
  back = first.size() - std::min(first.find('/', std::max(first.size() - back, front)), first.size());
  for (const std::string &path : paths)
    if (path.size() <= front + back)
      back = 0;
  std::vector<std::string> names;
  bool bare = back == 0;
  for (const std::string &path : paths) {
    std::string name = path.substr(front, path.size() - front - back);
    if (size_t dot = name.rfind('.'); back == 0 && dot != name.npos && dot > 0)
      name.resize(dot);
    for (const std::string &other : names)
      bare &= name != other;
    names.push_back(std::move(name));
  }
  for (size_t i = 0; i < paths.size() && back == 0 && !bare; ++i) // "run.jsonl" and "run.csv" need their extensions
    names[i] = paths[i].substr(front);
  return names;
}

namespace {
/// Holds what one optimizer of one run did.
struct Optimizer {
  const TrainingLog *log;
  std::string prefix; // of its columns: "" or "steps.head."
  std::string name;   // in the legend
};

class Plot {
public:
  Plot(const std::vector<TrainingLog> &logs, const PlotOptions &options);
  std::string text();

private:
  void findOptimizers();
  void addLoss();
  void makeLogarithmic(Panel &panel) const;
  void addEvaluations(Panel &panel, const std::string &column) const;
  void addMetrics();
  void addOfSteps(const char *title, const char *column, Curve::Kind kind);
  std::string legend(double &y) const;

  const std::vector<TrainingLog> &logs_;
  const PlotOptions &options_;
  std::vector<std::string> names_; // of the runs
  std::vector<Optimizer> optimizers_;
  std::vector<Panel> panels_;
};
} // namespace

Plot::Plot(const std::vector<TrainingLog> &logs, const PlotOptions &options) : logs_(logs), options_(options) {
  std::vector<std::string> paths;
  for (const TrainingLog &log : logs)
    paths.push_back(log.path);
  names_ = shortNames(paths);
  findOptimizers();
  addLoss();
  addMetrics();
  addOfSteps("learning rate", "lr", Curve::Plain);
  addOfSteps("gradient norm", "grad_norm", Curve::Noisy);
  addOfSteps("loss scale", "scale", Curve::Stairs);
}

void Plot::findOptimizers() {
  constexpr size_t kBegin = sizeof "steps." - 1, kEnd = sizeof ".loss" - 1;
  for (size_t run = 0; run < logs_.size(); ++run) {
    const TrainingLog &log = logs_[run];
    const size_t before = optimizers_.size();
    for (const LogColumn &column : log.steps)
      if (const std::string &name = column.name; name.starts_with("steps.") && name.ends_with(".loss")) {
        std::string own = name.substr(kBegin, name.size() - kBegin - kEnd);
        optimizers_.push_back(
            {&log, concat("steps.", own, "."), logs_.size() > 1 ? concat(names_[run], " ", own) : own});
      }
    if (optimizers_.size() == before)
      optimizers_.push_back({&log, "", names_[run]});
  }
}

/// Adds the curves of evaluations. They have the colours of their runs, or another one beside a single training.
void Plot::addEvaluations(Panel &panel, const std::string &column) const {
  const bool several = optimizers_.size() > 1;
  for (size_t i = 0; i < optimizers_.size(); ++i) {
    const Optimizer &optimizer = optimizers_[i];
    if (i > 0 && optimizer.log == optimizers_[i - 1].log) // the run's first optimizer has its evaluations
      continue;
    const std::vector<Point> &points = pointsOf(optimizer.log->evaluations, column);
    if (!points.empty())
      panel.curves.push_back({several ? Curve::DashedDots : Curve::Dots, several ? i : 1,
                              names_[size_t(optimizer.log - logs_.data())] + " validation", points});
  }
}

void Plot::addLoss() {
  Panel panel;
  panel.title = "loss";
  for (size_t i = 0; i < optimizers_.size(); ++i) {
    const Optimizer &optimizer = optimizers_[i];
    Curve curve{Curve::Noisy, i, optimizer.name + " training",
                pointsOf(optimizer.log->steps, optimizer.prefix + "loss")};
    Curve infinite{Curve::NotFinite, i, optimizer.name + " loss is not finite", {}};
    Curve skipped{Curve::Skipped, i, optimizer.name + " skipped", {}};
    const std::vector<Point> &skips = pointsOf(optimizer.log->steps, optimizer.prefix + "skipped");
    auto skip = skips.begin();
    for (Point &point : curve.points) {
      while (skip != skips.end() && skip->x < point.x)
        ++skip;
      if (std::isnan(point.y)) {
        infinite.points.push_back(point);
      } else if (skip != skips.end() && skip->x == point.x && skip->y != 0) {
        skipped.points.push_back(point);
        point.y = NAN; // this loss belongs to no update
      }
    }
    for (Curve *each : {&curve, &infinite, &skipped})
      if (!each->points.empty())
        panel.curves.push_back(std::move(*each));
  }
  addEvaluations(panel, "val_loss");
  makeLogarithmic(panel);
  if (!panel.curves.empty())
    panels_.push_back(std::move(panel));
}

/// Gives the panel of losses a logarithmic axis where the user wants it, or where the range asks for it.
void Plot::makeLogarithmic(Panel &panel) const {
  double least = HUGE_VAL, greatest = 0;
  for (const Curve &curve : panel.curves) {
    if (curve.kind >= Curve::NotFinite)
      continue;
    for (const Point &point : curve.points)
      if (point.y <= 0) {
        if (options_.logLoss)
          fail("--log-loss",
               concat("'", curve.name, "' has the loss ", point.y, " at step ", point.x,
                      ", which a logarithmic axis cannot show"),
               "leave --log-loss out");
        return;
      }
    for (const Point &point : smoothed(curve.points))
      if (!std::isnan(point.y)) {
        least = std::min(least, point.y);
        greatest = std::max(greatest, point.y);
      }
  }
  if (!options_.logLoss && greatest <= 100 * least)
    return;
  panel.kind = Axis::Log10;
  panel.title = "loss (logarithmic)";
}

void Plot::addMetrics() {
  static constexpr const char *kOthers = " step epoch time val_loss val_loss_samples val_samples correct counted lr ";
  for (const TrainingLog &log : logs_)
    for (const LogColumn &column : log.evaluations) {
      bool drawn = std::string_view(kOthers).find(concat(" ", column.name, " ")) != std::string_view::npos ||
                   column.name.ends_with("_nan");
      for (const Panel &panel : panels_)
        drawn |= panel.title == column.name;
      if (drawn)
        continue;
      Panel &panel = panels_.emplace_back();
      panel.title = column.name;
      addEvaluations(panel, column.name);
    }
}

/// Adds a panel of a number that each step has. A loss scale is left out where no run changes it.
void Plot::addOfSteps(const char *title, const char *column, Curve::Kind kind) {
  Panel panel;
  panel.title = title;
  panel.kind = kind == Curve::Stairs ? Axis::Log2 : Axis::Linear;
  bool varies = kind != Curve::Stairs;
  for (size_t i = 0; i < optimizers_.size(); ++i) {
    const std::vector<Point> &points = pointsOf(optimizers_[i].log->steps, optimizers_[i].prefix + column);
    bool fits = !points.empty();
    for (const Point &point : points) {
      varies |= point.y != points[0].y;
      fits &= kind != Curve::Stairs || point.y > 0;
    }
    if (fits)
      panel.curves.push_back({kind, i, optimizers_[i].name, points});
  }
  if (varies && !panel.curves.empty())
    panels_.push_back(std::move(panel));
}

/// Returns the lines above the panels that say what is what, the first one at `y`, which becomes that behind the last.
std::string Plot::legend(double &y) const {
  constexpr double kLeft = 16, kSign = 32, kGap = 22, kLine = 20;
  std::string out;
  double x = kLeft;
  auto key = [&](Curve::Kind kind, size_t pen, const std::string &name) {
    const double width = kSign + widthOf(name);
    if (x > kLeft && x + width > double(options_.width) - kLeft) {
      x = kLeft;
      y += kLine;
    }
    print(out,
          "<g transform=\"translate(%.1f %.1f)\" fill=\"none\">%s<text x=\"%.0f\" y=\"4\" "
          "fill=\"#222222\">%s</text></g>\n",
          x, y, signOf(kind, pen).c_str(), kSign, escaped(name).c_str());
    x += width + kGap;
  };
  bool has[Curve::Skipped + 1] = {};
  for (const Panel &panel : panels_)
    for (const Curve &curve : panel.curves)
      has[curve.kind] = true;
  const bool several = optimizers_.size() > 1;
  for (size_t i = 0; i < optimizers_.size() && several; ++i)
    key(Curve::Plain, i, optimizers_[i].name);
  const size_t pen = several ? kGrey : 0;
  if (has[Curve::Noisy])
    key(Curve::Plain, pen, "training");
  if (has[Curve::Dots] || has[Curve::DashedDots])
    key(several ? Curve::DashedDots : Curve::Dots, several ? pen : 1, "validation");
  if (has[Curve::NotFinite])
    key(Curve::NotFinite, pen, "loss is not finite");
  if (has[Curve::Skipped])
    key(Curve::Skipped, pen, "skipped step");
  y += kLine;
  return out;
}

std::string Plot::text() {
  if (panels_.empty())
    fail(logs_[0].path, "has no numbers that a picture could show", "give the log of a training with --log");
  constexpr double kMargin = 16, kGap = 24, kTop = 28, kBottom = 44, kLeast = 60; // pixels
  const double outside = kTop + kBottom, width = double(options_.width);
  double low = HUGE_VAL, high = -HUGE_VAL, y = kMargin + 6;
  for (const Panel &panel : panels_)
    for (const Curve &curve : panel.curves) {
      low = std::min(low, curve.points.front().x);
      high = std::max(high, curve.points.back().x);
    }
  if (low > 0 && low < high / 20) // steps count from 1
    low = 0;
  std::string body;
  if (!options_.title.empty()) {
    print(body, "<text x=\"%.0f\" y=\"%.0f\" font-size=\"16\" font-weight=\"bold\">%s</text>\n", kMargin, y + 4,
          escaped(options_.title).c_str());
    y += 26;
  }
  body += legend(y);
  // Two panels stand beside each other; of an odd number the first, which is the loss, has a row of its own.
  const size_t odd = panels_.size() % 2, rows = panels_.size() / 2 + odd;
  double inside = 190, height = double(options_.height), labels = 0;
  if (height > 0)
    inside = std::max(kLeast, (height - y - kMargin / 2) / double(rows) - outside);
  else
    height = y + double(rows) * (inside + outside) + kMargin / 2;
  for (const Panel &panel : panels_)
    axisOf(panel, inside).eachTick([&](double, const std::string &label) {
      labels = std::max(labels, widthOf(label));
    });
  labels += 8;
  const double half = (width - 2 * kMargin - kGap) / 2;
  for (size_t i = 0; i < panels_.size(); ++i) {
    const bool wide = i == 0 && odd, right = !wide && (i + odd) % 2 == 1;
    const Frame frame = {kMargin + labels + (right ? half + kGap : 0),
                         y + kTop + double((i + odd) / 2) * (inside + outside),
                         (wide ? width - 2 * kMargin : half) - labels, inside};
    const Axis steps(Axis::Linear, low, high, std::max(2, int(frame.width / 75)), /*rounded=*/false);
    body += drawn(panels_[i], steps, axisOf(panels_[i], inside), frame, i);
  }
  std::string out;
  print(out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
        "font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\" fill=\"#222222\">\n"
        "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n%s</svg>\n",
        width, height, width, height, body.c_str());
  return out;
}

std::string plotOf(const std::vector<TrainingLog> &logs, const PlotOptions &options) {
  return Plot(logs, options).text();
}

void plot(const PlotOptions &options) {
  checkOutput(options.out, options.logs);
  if (!options.out.ends_with(".svg"))
    fail(options.out, "is not the name of an SVG file, the only form that plot draws", "give a name that ends in .svg");
  std::vector<TrainingLog> logs;
  for (const std::string &path : options.logs)
    logs.push_back(readLog(path));
  AtomicFile file(options.out);
  file.write(plotOf(logs, options));
  file.commit();
}

} // namespace mpc::rt
