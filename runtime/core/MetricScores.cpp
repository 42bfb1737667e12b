// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/MetricScores.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mpc::rt {

static constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double areaUnderCurve(std::vector<std::pair<double, bool>> &scores) {
  std::sort(scores.begin(), scores.end());
  // Ranks count from 1, and equal scores share the mean of theirs; the sum is of twice the ranks, which are integers.
  uint64_t ranks = 0, positives = 0;
  for (size_t begin = 0, end; begin < scores.size(); begin = end) {
    uint64_t here = 0;
    for (end = begin; end < scores.size() && scores[end].first == scores[begin].first; ++end)
      here += scores[end].second;
    positives += here;
    ranks += here * (begin + 1 + end);
  }
  uint64_t negatives = scores.size() - positives;
  if (positives == 0 || negatives == 0)
    return kNan;
  return double(ranks - positives * (positives + 1)) / (2 * double(positives) * double(negatives));
}

/// Returns the largest score m and log(sum(exp(scores - m))), apart because their sum would round large scores.
static std::pair<double, double> logSum(std::span<const double> scores) {
  double most = *std::max_element(scores.begin(), scores.end()), sum = 0;
  for (double score : scores)
    sum += std::exp(score - most);
  return {most, std::log(sum)};
}

namespace {
/// exp of the mean cross entropy of the labels that count.
class Perplexity : public Measure {
public:
  void add(std::span<const double> scores, std::span<const double> targets) override {
    auto [most, rest] = logSum(scores);
    sum_ += most - scores[size_t(targets[0])] + rest;
    ++counted_;
  }
  void finish(MetricResult &result) const override {
    result.counted = counted_;
    result.value = std::exp(sum_ / double(counted_)); // NaN where nothing counts
  }

private:
  double sum_ = 0;
  int64_t counted_ = 0;
};

/// The area under the ROC curve: of the second of two classes; of each class against all others by its
/// probability; or of each label of a multi-label task. Several areas are averaged, those that are defined.
class Area : public Measure {
public:
  explicit Area(const ScoreLayout &layout)
      : elementwise_(layout.elementwise), columns_(!elementwise_ && layout.columns == 2 ? 1 : size_t(layout.columns)) {}
  void add(std::span<const double> scores, std::span<const double> targets) override {
    ++counted_;
    if (elementwise_) {
      for (size_t c = 0; c < columns_.size(); ++c)
        columns_[c].push_back({scores[c], targets[c] >= 0.5});
    } else if (columns_.size() == 1) {
      columns_[0].push_back({scores[1] - scores[0], targets[0] == 1});
    } else {
      auto [most, rest] = logSum(scores);
      for (size_t c = 0; c < columns_.size(); ++c)
        columns_[c].push_back({scores[c] - most - rest, targets[0] == double(c)});
    }
  }
  void finish(MetricResult &result) const override {
    result.counted = counted_;
    result.value = kNan;
    for (const auto &column : columns_)
      for (const auto &[score, positive] : column)
        if (std::isnan(score))
          return; // what is no number has no rank; the difference of two infinities is none, too
    double sum = 0;
    int64_t defined = 0;
    for (std::vector<std::pair<double, bool>> column : columns_)
      if (double area = areaUnderCurve(column); !std::isnan(area)) {
        sum += area;
        ++defined;
      }
    if (defined > 0)
      result.value = sum / double(defined);
    if (columns_.size() > 1)
      result.columns = {defined, int64_t(columns_.size())};
  }

private:
  bool elementwise_;
  std::vector<std::vector<std::pair<double, bool>>> columns_;
  int64_t counted_ = 0;
};

/// The mean of |score - target|, or the root of the mean of its square.
class Distance : public Measure {
public:
  explicit Distance(bool squared) : squared_(squared) {}
  void add(std::span<const double> scores, std::span<const double> targets) override {
    for (size_t c = 0; c < scores.size(); ++c) {
      double difference = scores[c] - targets[c];
      sum_ += squared_ ? difference * difference : std::abs(difference);
    }
    counted_ += int64_t(scores.size());
  }
  void finish(MetricResult &result) const override {
    result.counted = counted_;
    double mean = sum_ / double(counted_);
    result.value = squared_ ? std::sqrt(mean) : mean;
  }

private:
  bool squared_;
  double sum_ = 0;
  int64_t counted_ = 0;
};
} // namespace

std::unique_ptr<Measure> makeScoreMeasure(const std::string &name, const ScoreLayout &layout) {
  if (name == "perplexity" && !layout.elementwise)
    return std::make_unique<Perplexity>();
  if (name == "auc")
    return std::make_unique<Area>(layout);
  if ((name == "mae" || name == "rmse") && layout.elementwise)
    return std::make_unique<Distance>(name == "rmse");
  return nullptr;
}

} // namespace mpc::rt
