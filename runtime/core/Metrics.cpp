// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/Metrics.h"

#include "runtime/core/MetricCounts.h"
#include "runtime/core/MetricDetections.h"
#include "runtime/core/MetricScores.h"
#include "runtime/core/MetricSequences.h"
#include "runtime/support/Error.h"

#include <algorithm>
#include <cmath>

namespace mpc::rt {

std::string MetricResult::text(const std::string &separator) const {
  std::string more;
  auto add = [&](const std::string &part) { more += concat(more.empty() ? " (" : "; ", part); };
  if (correct || errors)
    add(concat(correct ? *correct : *errors, "/", counted));
  if (columns && counted == 0)
    add("the data have no labels of its classes");
  else if (columns && columns->first < columns->second)
    add(concat("over ", columns->first, " of ", columns->second, " classes"));
  if (nan > 0)
    add(concat(nan, " with NaN scores"));
  return concat(name, separator, value, more, more.empty() ? "" : ")");
}

std::string MetricResult::tableText() const {
  constexpr size_t kMost = 40; // classes: more are no table that anybody reads
  if (table.empty())
    return "";
  if (table.size() > kMost)
    return concat(name, ": a table of ", table.size(), " classes, which --json prints\n");
  size_t width = concat(table.size() - 1).size();
  for (const auto &row : table)
    for (int64_t count : row)
      width = std::max(width, concat(count).size());
  auto padded = [&](const std::string &cell) { return std::string(width + 2 - cell.size(), ' ') + cell; };
  std::string text = concat(name, " (row: the label, column: the class of the largest score",
                            nan > 0 ? concat("; ", nan, " with NaN scores are in none") : "", ")\n", padded(""));
  for (size_t c = 0; c < table.size(); ++c)
    text += padded(concat(c));
  text += '\n';
  for (size_t r = 0; r < table.size(); ++r) {
    text += padded(concat(r));
    for (int64_t count : table[r])
      text += padded(concat(count));
    text += '\n';
  }
  return text;
}

std::unique_ptr<Measure> makeMeasure(const std::string &kind, const ScoreLayout &layout) {
  std::string name = kind.substr(0, kind.find(':')), average = kind.substr(std::min(kind.size(), name.size() + 1));
  if (layout.sequences)
    return kind == "token_error_rate" ? makeErrorRate() : nullptr;
  if (auto measure = makeCountMeasure(name, average, layout))
    return measure;
  return average.empty() ? makeScoreMeasure(name, layout) : nullptr;
}

RunningMetric::RunningMetric(const Metric &metric, const Entry &entry, const RunningMetric *last)
    : metric_(metric), scores_(entry.output(metric.logits)), targets_(entry.input(metric.labels)), boxes_(scores_),
      more_(targets_) {
  std::string where = concat("metric '", metric.name, "'");
  if (!scores_ || !targets_)
    fail(where, concat("the eval entry has no output '", metric.logits, "' or no input '", metric.labels, "'"),
         "compile the model again");
  if (metric.kind == "map")
    findDetections(entry, where, last);
  else if (metric.kind == "token_error_rate")
    findSequences(entry, where);
  else
    findLayout(metric, where);
}

void RunningMetric::findSequences(const Entry &entry, const std::string &where) {
  layout_.sequences = true;
  measure_ = makeMeasure("token_error_rate", layout_);
  more_ = targets_->sequences ? entry.input(targets_->sequences->lengths) : nullptr;
  if (more_ && scores_->shape.size() == 2 && targets_->shape.size() == 2 && scores_->shape[0] == targets_->shape[0] &&
      elementsOf(more_->shape) == targets_->shape[0])
    return;
  fail(where,
       concat("decoded labels ", toString(scores_->shape), " and targets ", toString(targets_->shape),
              " are no sequences with lengths"),
       "compile the model again");
}

void RunningMetric::mismatch(const std::string &where) const {
  fail(where, concat("logits ", toString(scores_->shape), " and labels ", toString(targets_->shape), " do not match"),
       "compile the model again");
}

void RunningMetric::findDetections(const Entry &entry, const std::string &where, const RunningMetric *last) {
  boxes_ = entry.output(metric_.detections);
  more_ = entry.input(metric_.boxes);
  if (!boxes_ || !more_ || !areDetections(scores_->shape, boxes_->shape))
    mismatch(where);
  // A part for each sample has as many elements as AveragePrecision expects of it.
  const int64_t batch = scores_->shape[0], classes = scores_->shape[2], scores = elementsOf(scores_->shape),
                boxes = elementsOf(boxes_->shape), labels = elementsOf(targets_->shape);
  if (labels % batch != 0 || elementsOf(more_->shape) != labels * 4)
    mismatch(where);
  if (last && last->scores_ == scores_ && last->boxes_ == boxes_ && last->more_ == more_ &&
      last->targets_ == targets_) {
    detections_ = last->detections_;
    shares_ = true;
  } else {
    detections_ = std::make_shared<AveragePrecision>(metric_, classes, boxes == scores * 4);
  }
  if (metric_.iou != 0)
    detections_->matchAt(metric_.iou);
}

void RunningMetric::findLayout(const Metric &metric, const std::string &where) {
  const Shape &shape = scores_->shape;
  const int64_t elements = elementsOf(shape), targets = elementsOf(targets_->shape);
  layout_.elementwise = elements == targets;
  if (metric.axis >= 1 && metric.axis < int64_t(shape.size())) {
    size_t axis = size_t(metric.axis);
    layout_.outer = elementsOf(std::span(shape).first(axis));
    layout_.columns = shape[axis];
    layout_.inner = elementsOf(std::span(shape).subspan(axis + 1));
  } else if (layout_.elementwise) {
    layout_.outer = elements;
  }
  if (layout_.outer * layout_.columns * layout_.inner != elements ||
      (!layout_.elementwise && targets * layout_.columns != elements))
    mismatch(where);
  if (elements == targets && targets_->takesProbabilities()) {
    layout_.elementwise = false;
    measure_ = makeMeasure(metric.kind, layout_);
    probabilities_ = measure_ != nullptr;
    layout_.elementwise = !probabilities_; // such as the mean error of the probabilities
  }
  if (!measure_)
    measure_ = makeMeasure(metric.kind, layout_);
  if (!measure_ && layout_.elementwise && layout_.columns == 1) {
    layout_.elementwise = false; // one class has as many labels as scores
    measure_ = makeMeasure(metric.kind, layout_);
  }
  if (!measure_)
    fail(where,
         concat("'", metric.kind, "' is no metric for scores ", toString(shape), " and targets ",
                toString(targets_->shape)),
         "compile the model again");
  row_.resize(size_t(layout_.columns));
  rowTargets_.resize(layout_.elementwise ? row_.size() : 1);
}

void RunningMetric::addSequences(const Tensor &decoded, const void *targets, const void *lengths, int64_t rows) {
  const size_t frames = size_t(scores_->shape[1]), longest = size_t(targets_->shape[1]);
  for (size_t n = 0; n < size_t(rows); ++n) {
    row_.clear();
    rowTargets_.clear();
    for (size_t t = 0; t < frames; ++t)
      if (double label = decoded.at(n * frames + t); label != kNoLabel) {
        nan_ += label == kUndecided;
        row_.push_back(label);
      }
    const double length = loadDouble(more_->dtype, lengths, n);
    for (size_t s = 0; s < longest && double(s) < length; ++s)
      rowTargets_.push_back(loadDouble(targets_->dtype, targets, n * longest + s));
    measure_->add(row_, rowTargets_);
  }
}

/// Returns the part of sample n in double.
static std::vector<double> partOf(const Port &port, const void *data, size_t n, int64_t samples) {
  std::vector<double> part(size_t(elementsOf(port.shape) / samples));
  for (size_t i = 0; i < part.size(); ++i)
    part[i] = loadDouble(port.dtype, data, n * part.size() + i);
  return part;
}

void RunningMetric::addDetections(const Tensor &scores, const Tensor &boxes, const void *labels, const void *truth,
                                  int64_t rows) {
  if (shares_)
    return;
  const int64_t samples = scores_->shape[0];
  for (size_t n = 0; n < size_t(rows); ++n)
    detections_->add(partOf(*scores_, scores.bytes.data(), n, samples), partOf(*boxes_, boxes.bytes.data(), n, samples),
                     partOf(*targets_, labels, n, samples), partOf(*more_, truth, n, samples));
}

void RunningMetric::add(const Tensor &scores, const Tensor &boxes, const void *targets, const void *more, int64_t count,
                        int64_t batch) {
  if (detections_)
    return addDetections(scores, boxes, targets, more, scores_->shape[0] * count / batch);
  if (layout_.sequences)
    return addSequences(scores, targets, more, scores_->shape[0] * count / batch);
  const auto [outer, columns, inner, elementwise, sequences] = layout_;
  int64_t positions = outer * inner * count / batch; // samples come first among the positions
  for (int64_t p = 0; p < positions; ++p) {
    size_t base = size_t(p / inner * columns * inner + p % inner);
    if (probabilities_) {
      for (size_t c = 0; c < row_.size(); ++c)
        row_[c] = loadDouble(targets_->dtype, targets, base + c * size_t(inner));
      rowTargets_[0] = double(decidedClass(row_));
      // A label that is all zeros has no class and costs nothing. One with a NaN has no class either.
      if (rowTargets_[0] < 0 || std::all_of(row_.begin(), row_.end(), [](double share) { return share == 0; }))
        continue;
    } else if (!elementwise) {
      double label = rowTargets_[0] = loadDouble(targets_->dtype, targets, size_t(p));
      if (!(label >= 0 && label < double(columns)) || (metric_.ignored && label == double(*metric_.ignored)))
        continue;
    }
    bool nan = false;
    for (size_t c = 0; c < row_.size(); ++c) {
      size_t at = base + c * size_t(inner);
      row_[c] = scores.at(at);
      nan |= std::isnan(row_[c]);
      if (elementwise)
        rowTargets_[c] = loadDouble(targets_->dtype, targets, at);
    }
    nan_ += nan;
    measure_->add(row_, rowTargets_);
  }
}

MetricResult RunningMetric::result() const {
  MetricResult result;
  result.name = metric_.name;
  result.nan = nan_;
  if (detections_)
    detections_->finish(result, metric_.iou);
  else
    measure_->finish(result);
  return result;
}

} // namespace mpc::rt
