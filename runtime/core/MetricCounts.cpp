// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/MetricCounts.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace mpc::rt {

int64_t decidedClass(std::span<const double> scores) {
  size_t best = 0;
  for (size_t c = 0; c < scores.size(); ++c) {
    if (std::isnan(scores[c]))
      return -1;
    if (scores[c] > scores[best])
      best = c;
  }
  return int64_t(best);
}

namespace {
/// A position or an element whose target is at least one half is one of yes.
bool isYes(double target) { return target >= 0.5; }

/// A share of right decisions.
class Share : public Measure {
public:
  void finish(MetricResult &result) const override {
    result.correct = correct_;
    result.counted = counted_;
    result.value = counted_ ? double(correct_) / double(counted_) : 0;
  }

protected:
  int64_t correct_ = 0, counted_ = 0;
};

/// Counts a label as right if fewer than k classes stand before it: those of a larger score, and the first ones of an
/// equal score. With k = 1 this is accuracy.
class TopK : public Share {
public:
  TopK(int64_t k, int64_t classes) : k_(k), classes_(size_t(classes)) {}
  void add(std::span<const double> scores, std::span<const double> targets) override {
    auto label = size_t(targets[0]);
    int64_t before = 0;
    bool nan = false;
    for (size_t c = 0; c < scores.size(); ++c) {
      nan |= std::isnan(scores[c]);
      before += scores[c] > scores[label] || (scores[c] == scores[label] && c < label);
    }
    bool right = !nan && before < k_;
    ++counted_;
    correct_ += right;
    ++classes_[label].counted;
    classes_[label].correct += right;
  }
  void finish(MetricResult &result) const override {
    Share::finish(result);
    result.classes = classes_;
  }

private:
  int64_t k_;
  std::vector<ClassCount> classes_;
};

/// Counts elements whose score is above 0 where the target says yes, and positions in which all of them are right.
class MultiLabel : public Share {
public:
  explicit MultiLabel(bool exact) : exact_(exact) {}
  void add(std::span<const double> scores, std::span<const double> targets) override {
    int64_t right = 0, all = int64_t(scores.size());
    for (size_t c = 0; c < scores.size(); ++c)
      right += !std::isnan(scores[c]) && (scores[c] > 0) == isYes(targets[c]);
    counted_ += exact_ ? 1 : all;
    correct_ += exact_ ? right == all : right;
  }

private:
  bool exact_;
};

class Confusion : public Share {
public:
  explicit Confusion(int64_t classes) : table_(size_t(classes), std::vector<int64_t>(size_t(classes))) {}
  void add(std::span<const double> scores, std::span<const double> targets) override {
    int64_t found = decidedClass(scores);
    ++counted_;
    if (found < 0)
      return; // it is counted as NaN
    ++table_[size_t(targets[0])][size_t(found)];
    correct_ += found == int64_t(targets[0]);
  }
  void finish(MetricResult &result) const override {
    Share::finish(result);
    result.table = table_;
  }

private:
  std::vector<std::vector<int64_t>> table_;
};

enum class Part { Precision, Recall, F1 };
enum class Average { Macro, Micro, Binary };

/// Precision, recall and F1 as scikit-learn defines them with zero_division = 0. `macro` is the mean over the
/// classes that a label or a decision names; over all labels of a multi-label task.
class Decisions : public Measure {
public:
  Decisions(Part part, Average average, const ScoreLayout &layout)
      : part_(part), average_(average), elementwise_(layout.elementwise), columns_(size_t(layout.columns)) {}
  void add(std::span<const double> scores, std::span<const double> targets) override {
    ++counted_;
    int64_t found = elementwise_ ? 0 : decidedClass(scores);
    for (size_t c = 0; elementwise_ && c < columns_.size(); ++c)
      columns_[c].add(scores[c] > 0, isYes(targets[c]));
    if (elementwise_)
      return;
    auto label = size_t(targets[0]);
    columns_[label].add(found == int64_t(label), true);
    if (found >= 0 && found != int64_t(label))
      columns_[size_t(found)].add(true, false);
  }
  void finish(MetricResult &result) const override {
    result.counted = counted_;
    if (average_ == Average::Binary) {
      result.value = columns_.back().value(part_);
      return;
    }
    Counts all;
    double sum = 0;
    int64_t occurring = 0;
    for (const Counts &counts : columns_) {
      all.right += counts.right, all.found += counts.found, all.wanted += counts.wanted;
      sum += counts.value(part_);
      occurring += elementwise_ || counts.found > 0 || counts.wanted > 0;
    }
    result.value = average_ == Average::Micro ? all.value(part_) : occurring ? sum / double(occurring) : 0;
    if (average_ == Average::Macro)
      result.columns = {occurring, int64_t(columns_.size())};
  }

private:
  struct Counts {
    int64_t right = 0, found = 0, wanted = 0;
    void add(bool isFound, bool isWanted) {
      right += isFound && isWanted;
      found += isFound;
      wanted += isWanted;
    }
    double value(Part part) const {
      double below = part == Part::Precision ? double(found)
                     : part == Part::Recall  ? double(wanted)
                                             : double(found + wanted) / 2;
      return below > 0 ? double(right) / below : 0;
    }
  };
  Part part_;
  Average average_;
  bool elementwise_;
  std::vector<Counts> columns_;
  int64_t counted_ = 0;
};
} // namespace

/// Returns the K of "topK", or 0.
static int64_t topOf(const std::string &name) {
  int64_t k = 0;
  if (name == "accuracy")
    return 1;
  if (name.starts_with("top"))
    (void)std::from_chars(name.data() + 3, name.data() + name.size(), k);
  return k;
}

std::unique_ptr<Measure> makeCountMeasure(const std::string &name, const std::string &average,
                                          const ScoreLayout &layout) {
  const bool classes = !layout.elementwise;
  if (name == "precision" || name == "recall" || name == "f1") {
    Part part = name == "precision" ? Part::Precision : name == "recall" ? Part::Recall : Part::F1;
    // A decision between two classes is about the second one; a single label is about itself.
    bool binary = average == "binary" && layout.columns == (classes ? 2 : 1);
    if (!binary && average != "micro" && average != "macro" && !average.empty())
      return nullptr;
    return std::make_unique<Decisions>(part,
                                       binary               ? Average::Binary
                                       : average == "micro" ? Average::Micro
                                                            : Average::Macro,
                                       layout);
  }
  if (!average.empty())
    return nullptr;
  if (int64_t k = topOf(name); k > 0 && classes)
    return std::make_unique<TopK>(k, layout.columns);
  if (name == "confusion" && classes)
    return std::make_unique<Confusion>(layout.columns);
  if ((name == "multilabel" || name == "exact") && !classes)
    return std::make_unique<MultiLabel>(name == "exact");
  return nullptr;
}

} // namespace mpc::rt
