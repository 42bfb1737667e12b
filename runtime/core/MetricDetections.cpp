// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/MetricDetections.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace mpc::rt {

/// The intersections over union of COCO's mean: 0.50, 0.55, …, 0.95.
static constexpr int kIous = 10;
/// The recalls at which it takes precisions: 0, 0.01, …, 1.
static constexpr int kRecalls = 101;

double intersectionOverUnion(Corners a, Corners b) {
  double intersection = 1, areaA = 1, areaB = 1;
  for (size_t i = 0; i < 2; ++i) {
    intersection *= std::max(0.0, std::min(a[i + 2], b[i + 2]) - std::max(a[i], b[i]));
    // Not std::max, which would hide a coordinate that is NaN.
    const double sideA = a[i + 2] - a[i], sideB = b[i + 2] - b[i];
    areaA *= sideA < 0 ? 0 : sideA;
    areaB *= sideB < 0 ? 0 : sideB;
  }
  const double whole = areaA + areaB - intersection;
  return whole == 0 ? 0 : intersection / whole; // two boxes without area do not intersect
}

bool areDetections(const Shape &scores, const Shape &boxes) {
  const int64_t count = elementsOf(scores), corners = elementsOf(boxes);
  return scores.size() == 3 && count > 0 && (corners * scores[2] == count * 4 || corners == count * 4);
}

AveragePrecision::AveragePrecision(const Metric &metric, int64_t classes, bool boxOfEachClass)
    : options_(metric), boxOfEachClass_(boxOfEachClass), truths_(size_t(classes)) {
  for (int i = 0; i < kIous; ++i)
    ious_.push_back((50 + 5 * i) / 100.0);
}

void AveragePrecision::matchAt(double iou) {
  if (std::find(ious_.begin(), ious_.end(), iou) == ious_.end())
    ious_.push_back(iou);
}

/// Puts larger scores first, then lower classes, then lower `order`. std::sort would add 1.5 KB to each program.
void AveragePrecision::sort(std::vector<Found> &found) {
  if (found.empty())
    return; // it has no data, perhaps
  std::qsort(found.data(), found.size(), sizeof(Found), [](const void *left, const void *right) {
    const Found &a = *static_cast<const Found *>(left), &b = *static_cast<const Found *>(right);
    if (a.score != b.score)
      return a.score > b.score ? -1 : 1;
    if (a.label != b.label)
      return a.label < b.label ? -1 : 1;
    return a.order < b.order ? -1 : 1;
  });
}

Corners AveragePrecision::boxOf(std::span<const double> boxes, const Found &found) const {
  const size_t at = boxOfEachClass_ ? found.order * truths_.size() + found.label : found.order;
  return boxes.subspan(at * 4).first<4>();
}

std::vector<AveragePrecision::Found> AveragePrecision::detected(std::span<const double> scores,
                                                                std::span<const double> boxes) const {
  const size_t classes = truths_.size();
  std::vector<Found> all, best;
  for (size_t i = 0; i < scores.size(); ++i)
    if (scores[i] > options_.scoreThreshold)
      all.push_back({float(scores[i]), uint32_t(i % classes), uint32_t(i / classes)});
  sort(all);
  for (const Found &next : all) {
    if (best.size() == size_t(options_.maxDetections))
      break;
    // A comparison with NaN is false, so a box that is no box hides no other.
    if (std::none_of(best.begin(), best.end(), [&](const Found &better) {
          return better.label == next.label &&
                 intersectionOverUnion(boxOf(boxes, better), boxOf(boxes, next)) > options_.nms;
        }))
      best.push_back(next);
  }
  return best;
}

void AveragePrecision::add(std::span<const double> scores, std::span<const double> boxes,
                           std::span<const double> labels, std::span<const double> truth) {
  const size_t classes = truths_.size(), anchors = scores.size() / classes;
  for (size_t a = 0; a < anchors; ++a) {
    const auto row = scores.subspan(a * classes, classes);
    nan_ += std::any_of(row.begin(), row.end(), [](double score) { return std::isnan(score); });
  }
  for (double label : labels)
    if (label >= 0 && label < double(classes))
      ++truths_[size_t(label)];
  std::vector<Found> best = detected(scores, boxes);
  for (size_t t = 0; t < ious_.size(); ++t) {
    // COCO's matching: the best detection first takes the box, of its class and not yet taken, that it covers best;
    // the last one of several that it covers equally.
    std::vector<double> left(labels.begin(), labels.end());
    for (Found &found : best) {
      double covered = std::min(ious_[t], 1 - 1e-10);
      size_t match = labels.size();
      for (size_t m = 0; m < labels.size(); ++m)
        if (left[m] == double(found.label))
          if (double iou = intersectionOverUnion(boxOf(boxes, found), truth.subspan(m * 4).first<4>());
              iou >= covered) {
            covered = iou;
            match = m;
          }
      if (match < labels.size()) {
        left[match] = -1;
        found.matches |= uint32_t(1) << t;
      }
    }
  }
  for (Found &found : best) {
    found.order = uint32_t(found_.size());
    found_.push_back(found);
  }
}

double AveragePrecision::sumOfPrecisions(std::span<const Found> found, size_t t, int64_t truths) const {
  // right[i] is the number of right ones among the first i + 1 detections, and precision[i] is their share.
  std::vector<double> precision(found.size()), right(found.size());
  for (size_t i = 0; i < found.size(); ++i) {
    right[i] = (i > 0 ? right[i - 1] : 0) + (found[i].matches >> t & 1);
    precision[i] = right[i] / double(i + 1);
  }
  // The precision of a recall is the largest one at that recall or above it.
  for (size_t i = found.size(); i-- > 1;)
    precision[i - 1] = std::max(precision[i - 1], precision[i]);
  double sum = 0;
  size_t i = 0;
  for (int r = 0; r < kRecalls; ++r) {
    while (i < found.size() && right[i] / double(truths) < r * 0.01)
      ++i;
    sum += i < found.size() ? precision[i] : 0;
  }
  return sum;
}

void AveragePrecision::finish(MetricResult &result, double iou) const {
  const size_t first = iou == 0 ? 0 : size_t(std::find(ious_.begin(), ious_.end(), iou) - ious_.begin());
  const size_t end = iou == 0 ? kIous : first + 1;
  std::vector<Found> sorted = found_, found;
  sort(sorted);
  double sum = 0;
  int64_t defined = 0;
  for (size_t c = 0; c < truths_.size(); ++c) {
    double precision = 0;
    if (truths_[c] > 0) {
      found.clear();
      for (const Found &one : sorted)
        if (one.label == c)
          found.push_back(one);
      for (size_t t = first; t < end; ++t)
        precision += sumOfPrecisions(found, t, truths_[c]);
      precision /= double(end - first) * kRecalls;
      sum += precision;
      ++defined;
    }
    result.counted += truths_[c];
    result.classes.push_back({0, truths_[c], precision});
  }
  result.nan = nan_;
  result.columns = {defined, int64_t(truths_.size())};
  result.value = defined > 0 ? sum / double(defined) : std::numeric_limits<double>::quiet_NaN();
}

} // namespace mpc::rt
