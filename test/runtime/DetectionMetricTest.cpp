// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Average precision of detections against numbers that were computed by hand. test/e2e/metrics_test.py compares it with
// pycocotools.

#include "LogisticProgram.h"
#include "runtime/core/Evaluate.h"
#include "runtime/core/MetricDetections.h"
#include "runtime/core/PerClass.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace mpc::rt;
using namespace mpc::rt::test;

namespace {
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kNear = 1010 * 1e-16; // of 10 * 101 precisions, each sum is rounded
using Row = std::vector<double>;

/// A picture: `scores` [A,K], `boxes` [A,4] or [A,K,4], `labels` [M], `truth` [M,4].
struct Picture {
  Row scores, boxes, labels, truth;
};

Metric standard() {
  Metric metric;
  metric.nms = 0.5;
  metric.scoreThreshold = 0.05;
  metric.maxDetections = 100;
  return metric;
}

MetricResult measured(const std::vector<Picture> &pictures, int64_t classes, double iou = 0,
                      const Metric &options = standard(), bool boxOfEachClass = false) {
  AveragePrecision precision(options, classes, boxOfEachClass);
  if (iou != 0)
    precision.matchAt(iou);
  for (const Picture &picture : pictures)
    precision.add(picture.scores, picture.boxes, picture.labels, picture.truth);
  MetricResult result;
  result.name = "map";
  precision.finish(result, iou);
  return result;
}
double value(const std::vector<Picture> &pictures, int64_t classes, double iou = 0,
             const Metric &options = standard()) {
  return measured(pictures, classes, iou, options).value;
}

/// Makes boxes of 10 by 10 pixels that begin at these x.
Row squares(std::initializer_list<double> xs) {
  Row boxes;
  for (double x : xs)
    boxes.insert(boxes.end(), {x, 0, x + 10, 10});
  return boxes;
}
} // namespace

TEST(AveragePrecision, IntersectionOverUnion) {
  auto iou = [](Row a, Row b) { return intersectionOverUnion(std::span(a).first<4>(), std::span(b).first<4>()); };
  EXPECT_EQ(iou({0, 0, 10, 10}, {0, 0, 10, 10}), 1);
  EXPECT_EQ(iou({0, 0, 10, 10}, {5, 0, 15, 10}), 50 / 150.);
  EXPECT_EQ(iou({0, 0, 10, 10}, {2, 2, 4, 4}), 4 / 100.);
  EXPECT_EQ(iou({0, 0, 10, 10}, {10, 0, 20, 10}), 0); // they touch
  EXPECT_EQ(iou({0, 0, 10, 10}, {20, 20, 30, 30}), 0);
  // A box without area covers nothing, not even itself, and a box that ends before it begins has none.
  EXPECT_EQ(iou({3, 3, 3, 3}, {3, 3, 3, 3}), 0);
  EXPECT_EQ(iou({3, 3, 3, 3}, {0, 0, 10, 10}), 0);
  EXPECT_EQ(iou({10, 10, 0, 0}, {0, 0, 10, 10}), 0);
  EXPECT_TRUE(std::isnan(iou({kNan, 0, 10, 10}, {0, 0, 10, 10})));
  EXPECT_TRUE(std::isnan(iou({0, 0, 10, 10}, {0, 0, 10, kNan})));
}

TEST(AveragePrecision, RecallAndPrecisionMakeAnArea) {
  // Two true boxes. In order of score: right, wrong, right. The precision is 1 up to recall 0.5 (51 of the 101 points),
  // and 2/3 from there on.
  const Picture mixed = {{0.9, 0.8, 0.7}, squares({0, 100, 50}), {0, 0}, squares({0, 50})};
  EXPECT_NEAR(value({mixed}, 1), (51 + 50 * 2 / 3.) / 101, kNear);
  // The best one is wrong, so that the precision is 2/3 everywhere: a larger recall with more precision decides.
  const Picture late = {{0.9, 0.8, 0.7}, squares({100, 0, 50}), {0, 0}, squares({0, 50})};
  EXPECT_NEAR(value({late}, 1), 2 / 3., kNear);
  // A true box that nothing finds limits the recall: 0.5, which is point 50.
  const Picture half = {{0.9}, squares({0}), {0, 0}, squares({0, 50})};
  EXPECT_NEAR(value({half}, 1), 51 / 101., kNear);
}

TEST(AveragePrecision, ThresholdsOfTheOverlap) {
  // 80 of 120 pixels are common: 0.666… is enough for 0.50, 0.55, 0.60 and 0.65, four of ten.
  const Picture shifted = {{0.9}, squares({2}), {0}, squares({0})};
  EXPECT_NEAR(value({shifted}, 1), 4 / 10., kNear);
  EXPECT_EQ(value({shifted}, 1, 0.5), 1);
  EXPECT_EQ(value({shifted}, 1, 0.7), 0);
  EXPECT_EQ(value({shifted}, 1, 0.62), 1);
  EXPECT_EQ(value({shifted}, 1, 1), 0);
  // 60 of 100 pixels are exactly 0.6.
  const Picture exact = {{0.9}, {0, 0, 10, 6}, {0}, squares({0})};
  EXPECT_EQ(value({exact}, 1, 0.6), 1);
  EXPECT_NEAR(value({exact}, 1), 3 / 10., kNear);
}

TEST(AveragePrecision, ATrueBoxIsFoundOnce) {
  // Both overlap by 9/11 with each other, so only nms = 0.9 keeps both, and the second is wrong then.
  Metric both = standard();
  both.nms = 0.9;
  const Picture twice = {{0.9, 0.8, 0.7}, squares({0, 1, 50}), {0, 0}, squares({0, 50})};
  EXPECT_EQ(value({twice}, 1), 1);
  EXPECT_NEAR(value({twice}, 1, 0, both), (51 + 50 * 2 / 3.) / 101, kNear);
  // Equal boxes with equal scores: the first of them stays.
  EXPECT_EQ(value({{{0.9, 0.9}, squares({0, 0}), {0}, squares({0})}}, 1), 1);
  // True boxes may be duplicates: each wants its own detection.
  EXPECT_NEAR(value({{{0.9}, squares({0}), {0, 0}, squares({0, 0})}}, 1), 51 / 101., kNear);
  // Boxes of different classes do not hide each other.
  EXPECT_EQ(value({{{0.9, 0, 0, 0.8}, squares({0, 0}), {0, 1}, squares({0, 0})}}, 2), 1);
}

TEST(AveragePrecision, EqualScoresKeepTheirOrder) {
  // The lower anchor comes first among equal scores, so the right one stands before or behind the wrong one.
  EXPECT_EQ(value({{{0.5, 0.5}, squares({0, 100}), {0}, squares({0})}}, 1), 1);
  EXPECT_EQ(value({{{0.5, 0.5}, squares({100, 0}), {0}, squares({0})}}, 1), 0.5);
  // The same holds for pictures.
  const Picture right = {{0.5}, squares({0}), {0}, squares({0})}, wrong = {{0.5}, squares({0}), {-1}, squares({0})};
  EXPECT_EQ(value({right, wrong}, 1), 1);
  EXPECT_EQ(value({wrong, right}, 1), 0.5);
  // A detection that covers two true boxes equally takes the last one, as COCO's does. The next then finds the first,
  // or does not.
  const Row between = {0, 0, 10, 10}, truth = {0, 0, 10, 6, 0, 4, 10, 10}, first = {0, 0, 10, 5}, last = {0, 5, 10, 10};
  auto with = [&](const Row &second) {
    Row boxes = between;
    boxes.insert(boxes.end(), second.begin(), second.end());
    return value({{{0.9, 0.8}, boxes, {0, 0}, truth}}, 1, 0.5);
  };
  EXPECT_EQ(with(first), 1);
  EXPECT_NEAR(with(last), 51 / 101., kNear);
}

TEST(AveragePrecision, TheBestDetectionsStay) {
  Metric two = standard();
  two.maxDetections = 2;
  // The third one, of another class, would be right.
  const Picture picture = {{0.9, 0, 0.8, 0, 0, 0.7}, squares({0, 20, 40}), {0, 0, 1}, squares({0, 20, 40})};
  EXPECT_EQ(value({picture}, 2), 1);
  EXPECT_EQ(value({picture}, 2, 0, two), 0.5);
  Metric high = standard();
  high.scoreThreshold = 0.75;
  EXPECT_EQ(value({picture}, 2, 0, high), 0.5);
  high.scoreThreshold = 0.5; // must be exceeded
  EXPECT_EQ(value({{{0.5}, squares({0}), {0}, squares({0})}}, 1, 0, high), 0);
}

TEST(AveragePrecision, ClassesMayHaveTheirOwnBoxes) {
  Row boxes = squares({0, 20}); // of one anchor
  EXPECT_EQ(measured({{{0.9, 0.8}, boxes, {1, 0}, squares({20, 0})}}, 2, 0, standard(), true).value, 1);
  EXPECT_EQ(measured({{{0.9, 0.8}, boxes, {0, 1}, squares({20, 0})}}, 2, 0, standard(), true).value, 0);
}

TEST(AveragePrecision, ClassesAndPicturesWithoutBoxes) {
  // Class 1 has detections and no truth, and class 2 neither: both are left out of the mean.
  const Picture some = {{0.9, 0.9, 0}, squares({0}), {0, -1}, squares({0, 0})};
  MetricResult result = measured({some}, 3);
  EXPECT_EQ(result.text(": "), "map: 1 (over 1 of 3 classes)");
  EXPECT_EQ(result.counted, 1);
  EXPECT_EQ(result.classes[0].counted, 1);
  EXPECT_EQ(result.classes[0].precision, 1);
  EXPECT_EQ(result.classes[1].counted, 0);
  // A picture without truth makes detections wrong, and one without detections truth unfound.
  const Picture one = {{0.9}, squares({0}), {0}, squares({0})}, noTruth = {{0.95}, squares({0}), {-1}, squares({0})},
                nothing = {{0.01}, squares({0}), {0}, squares({0})};
  EXPECT_EQ(value({one, noTruth}, 1), 0.5);
  EXPECT_NEAR(value({one, nothing}, 1), 51 / 101., kNear);
  EXPECT_EQ(value({nothing}, 1), 0);
  // Labels outside the classes are padding.
  EXPECT_EQ(value({{{0.9}, squares({0}), {0, 1, -100}, squares({0, 0, 0})}}, 1), 1);
  for (const std::vector<Picture> &pictures : {std::vector<Picture>{noTruth}, std::vector<Picture>()}) {
    MetricResult none = measured(pictures, 1);
    EXPECT_TRUE(std::isnan(none.value));
    EXPECT_EQ(none.text(": "), "map: nan (the data have no labels of its classes)");
  }
}

TEST(AveragePrecision, NumbersThatAreNone) {
  // A score that is NaN is no detection, and is counted by anchors.
  MetricResult result = measured({{{kNan, kNan, 0.9, 0}, squares({0, 0}), {0}, squares({0})}}, 2);
  EXPECT_EQ(result.value, 1);
  EXPECT_EQ(result.text(" "), "map 1 (over 1 of 2 classes; 1 with NaN scores)");
  // A box that is none finds nothing, and hides nothing.
  EXPECT_EQ(value({{{0.9, 0.8}, {kNan, 0, 10, 10, 0, 0, 10, 10}, {0}, squares({0})}}, 1), 0.5);
  EXPECT_EQ(value({{{0.9}, squares({0}), {0}, {kNan, 0, 10, 10}}}, 1), 0);
  EXPECT_EQ(value({{{INFINITY}, squares({0}), {0}, squares({0})}}, 1), 1);
}

TEST(AveragePrecision, BoxesWithoutArea) {
  // They are truth that nothing finds, and detections that find nothing.
  EXPECT_EQ(value({{{0.9}, {5, 5, 5, 5}, {0}, {5, 5, 5, 5}}}, 1), 0);
  EXPECT_EQ(value({{{0.9, 0.8}, {5, 5, 5, 9, 0, 0, 10, 10}, {0}, squares({0})}}, 1), 0.5);
}
