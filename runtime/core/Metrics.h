// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Metrics of an evaluation: each sample counts exactly once, and nothing is averaged over batches.
#pragma once

#include "runtime/core/Session.h"

#include <memory>

namespace mpc::rt {

/// Scores and targets of a metric as [outer, columns, inner]; a position is an element of [outer, inner].
struct ScoreLayout {
  int64_t outer = 1, columns = 1, inner = 1;
  /// True if each score has a target of its own (yes or no, or a number); false if a position's target is a label, the
  /// number of one of the columns, which are classes then.
  bool elementwise = false;
  /// True if a position is a sample, whose scores are the decoded labels of its frames, and whose targets are a row of
  /// labels (MetricSequences.h).
  bool sequences = false;
};

/// The labels of a class, and how many of them were found.
struct ClassCount {
  int64_t correct = 0, counted = 0;
  double precision = 0; // of map, which counts no share: the average precision
};

class AveragePrecision;

struct MetricResult {
  std::string name;
  double value = 0;                   // NaN where the metric is not defined
  std::optional<int64_t> correct;     // of a metric that is a share of `counted`
  int64_t counted = 0;                // positions; for multilabel and the errors elements; for sequences labels
  int64_t nan = 0;                    // positions with a score that is NaN
  std::optional<int64_t> errors = {}; // of a metric that is a rate of errors in `counted`
  /// For a mean over columns: over how many it goes, and how many there are.
  std::optional<std::pair<int64_t, int64_t>> columns = {};
  /// Row: the label; column: the class with the largest score. Only `confusion` has it.
  std::vector<std::vector<int64_t>> table = {};
  std::vector<ClassCount> classes = {}; // of accuracy, top-k and map

  /// Returns "accuracy 0.5 (1/2; 1 with NaN scores)". The separator stands before the number.
  std::string text(const std::string &separator) const;
  /// Returns the table for people; "" without one.
  std::string tableText() const;
};

/// Counts what one kind of metric needs.
class Measure {
public:
  virtual ~Measure() = default;
  /// Takes a position: a score for each column, and its label, or a target for each column.
  virtual void add(std::span<const double> scores, std::span<const double> targets) = 0;
  /// Sets everything but the name and `nan`, which may have an influence on the value.
  virtual void finish(MetricResult &result) const = 0;
};

/// Returns the measure of a kind ("top5", "f1:micro"; runtime/abi/README.md lists them), or null where there is none.
/// Throws Error where the layout does not suit it.
std::unique_ptr<Measure> makeMeasure(const std::string &kind, const ScoreLayout &layout);

/// A metric while its evaluation runs.
class RunningMetric {
public:
  /// The metric, which must outlive this, has its scores in an output and its targets in an input of the same eval
  /// entry. A metric of the same detections as `last`, the one before it, shares what that collects, so `last` must
  /// take each batch, too. Throws Error when the shapes do not match, and for an unknown kind.
  RunningMetric(const Metric &metric, const Entry &entry, const RunningMetric *last = nullptr);
  /// Adds the first `count` of `batch` samples of the entry that just ran; everything in logical order. Labels
  /// outside [0, C), and the metric's ignored one, are not counted. `boxes` and `more` are those of boxes() and more().
  void add(const Tensor &scores, const Tensor &boxes, const void *targets, const void *more, int64_t count,
           int64_t batch);
  MetricResult result() const;
  const Port &scores() const { return *scores_; }
  const Port &targets() const { return *targets_; }
  /// Returns the output with the boxes of detections; scores() for other metrics.
  const Port &boxes() const { return *boxes_; }
  /// Returns the input that says how long the row of each sample's labels is, or that holds the true boxes; targets()
  /// for metrics of neither sequences nor detections.
  const Port &more() const { return *more_; }

private:
  void findLayout(const Metric &metric, const std::string &where);
  void findSequences(const Entry &entry, const std::string &where);
  void findDetections(const Entry &entry, const std::string &where, const RunningMetric *last);
  [[noreturn]] void mismatch(const std::string &where) const;
  void addSequences(const Tensor &decoded, const void *targets, const void *lengths, int64_t rows);
  void addDetections(const Tensor &scores, const Tensor &boxes, const void *labels, const void *truth, int64_t rows);

  const Metric &metric_;
  const Port *scores_, *targets_, *boxes_, *more_;
  ScoreLayout layout_;
  bool probabilities_ = false; // a label is the class of the largest target
  std::unique_ptr<Measure> measure_;
  std::shared_ptr<AveragePrecision> detections_; // of map, which has no measure_
  bool shares_ = false;                          // the metric before it fills detections_
  int64_t nan_ = 0;
  std::vector<double> row_, rowTargets_; // the scores and the targets of a position
};

} // namespace mpc::rt
