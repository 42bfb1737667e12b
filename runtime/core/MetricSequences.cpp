// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/MetricSequences.h"

#include <algorithm>
#include <numeric>

namespace mpc::rt {

int64_t editDistance(std::span<const double> a, std::span<const double> b) {
  // row[j] is the distance between the part of `a` so far and the first j elements of `b` (Wagner and Fischer 1974).
  std::vector<int64_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (double x : a) {
    int64_t diagonal = row[0]++;
    for (size_t j = 1; j < row.size(); ++j) {
      const int64_t above = row[j];
      row[j] = std::min(std::min(above, row[j - 1]) + 1, diagonal + (x != b[j - 1]));
      diagonal = above;
    }
  }
  return row.back();
}

namespace {
class ErrorRate : public Measure {
public:
  void add(std::span<const double> decoded, std::span<const double> target) override {
    errors_ += editDistance(decoded, target);
    counted_ += int64_t(target.size());
  }
  void finish(MetricResult &result) const override {
    result.errors = errors_;
    result.counted = counted_;
    result.value = double(errors_) / double(counted_);
  }

private:
  int64_t errors_ = 0, counted_ = 0;
};
} // namespace

std::unique_ptr<Measure> makeErrorRate() { return std::make_unique<ErrorRate>(); }

} // namespace mpc::rt
