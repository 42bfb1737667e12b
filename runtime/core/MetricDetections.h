// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The metric of detected boxes: mean average precision as COCO defines it.
#pragma once

#include "runtime/core/Metrics.h"

namespace mpc::rt {

/// The least and the greatest coordinates of a box, x1, y1, x2, y2, in pixels. A side whose end is not behind its
/// beginning has the length 0.
using Corners = std::span<const double, 4>;

/// Returns the intersection of two boxes divided by their union; 0 where they do not intersect. It is no number where
/// a coordinate is none.
double intersectionOverUnion(Corners a, Corners b);

/// Returns whether these are the shapes of scores [samples,A,K] and of as many boxes, one of an anchor or one of each
/// class.
bool areDetections(const Shape &scores, const Shape &boxes);

/// Collects the detections of a data set and computes average precisions of them, as COCOeval of pycocotools does it
/// with area range `all` and without crowds. It keeps 16 bytes of a detection, of which a picture has at most
/// `maxDetections`.
class AveragePrecision {
public:
  /// `metric`, which must outlive this, has the options. `boxOfEachClass`: an anchor has a box for each class.
  AveragePrecision(const Metric &metric, int64_t classes, bool boxOfEachClass);

  /// Makes add() match boxes also at this intersection over union, beside 0.50, 0.55, …, 0.95.
  void matchAt(double iou);

  /// Adds a picture with A anchors and M true boxes. `scores` [A,K]; `boxes` [A,4], or [A,K,4] if each
  /// class has its own; `labels` [M], of which those outside [0,K) are padding; `truth` [M,4].
  ///
  /// A detection is a score above `scoreThreshold`. Of each class, those whose intersection over union with a better
  /// one exceeds `nms` are left out, and then the best `maxDetections` of all classes stay. Of equal scores the lower
  /// class comes first, then the lower anchor. NaN is no detection.
  void add(std::span<const double> scores, std::span<const double> boxes, std::span<const double> labels,
           std::span<const double> truth);

  /// Sets everything but the name. The value is the mean over the classes that have true boxes, and NaN without any;
  /// `iou` is 0.50, …, 0.95 or one that matchAt() named, or 0 for the mean over 0.50, …, 0.95.
  void finish(MetricResult &result, double iou) const;

  struct Found {
    float score;
    uint32_t label, order; // order: the anchor, and later the place among all detections
    uint32_t matches = 0;  // bit t: it has a true box at ious_[t]
  };
  /// Returns the detections of a picture, the best first; the parameters are those of add().
  std::vector<Found> detected(std::span<const double> scores, std::span<const double> boxes) const;
  /// Returns the box of a detection whose `order` is still its anchor.
  Corners boxOf(std::span<const double> boxes, const Found &found) const;

private:
  static void sort(std::vector<Found> &found);
  /// Returns the sum, over the recalls, of the precisions at ious_[t] of the detections of a class, the best first,
  /// that has true boxes.
  double sumOfPrecisions(std::span<const Found> found, size_t t, int64_t truths) const;

  const Metric &options_;
  bool boxOfEachClass_;
  std::vector<double> ious_;
  std::vector<int64_t> truths_; // of each class
  std::vector<Found> found_;
  int64_t nan_ = 0; // anchors with a score that is NaN
};

} // namespace mpc::rt
