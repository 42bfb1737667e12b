// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/DrawnBoxes.h"

#include "runtime/core/MetricDetections.h"
#include "runtime/support/Error.h"
#include "runtime/support/Outputs.h"

#include <cerrno>
#include <cmath>
#include <unistd.h>

namespace mpc::rt {

static constexpr char kOption[] = "--boxes";

static const Metric &metricOf(const Manifest &manifest) {
  for (const Metric &metric : manifest.metrics)
    if (metric.kind == "map")
      return metric;
  fail(kOption, "the program has no metric map, which says what outputs are boxes and their scores",
       "compile the detector with --metric map");
}

static size_t placeOf(const std::string &name, const std::vector<const Port *> &outputs) {
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i]->name == name)
      return i;
  fail(kOption, concat("a prediction has no output '", name, "', which the metric map looks at"),
       "compile with --outputs that name it too");
}

DrawnBoxes::DrawnBoxes(const Manifest &manifest, const std::vector<const Port *> &outputs, const Dataset &data,
                       const BoxOptions &options)
    : options_(options), pictures_(data.pictures()), metric_(metricOf(manifest)),
      scores_(placeOf(metric_.logits, outputs)), boxes_(placeOf(metric_.detections, outputs)) {
  const Shape &scores = outputs[scores_]->shape, &boxes = outputs[boxes_]->shape;
  if (!areDetections(scores, boxes) || scores[0] != data.batch() || boxes[0] != scores[0])
    fail(kOption, concat("scores ", toString(scores), " and boxes ", toString(boxes), " do not match"),
         "compile the model again");
  if (!pictures_)
    fail(kOption, "the data have no pictures to draw on",
         "give files of pictures by --data, or an array of bytes (uint8) [samples,channels,height,width]");
  // A score is a float: what was typed is compared as one, and the lowest score belongs to what is drawn.
  metric_.scoreThreshold = std::nextafter(float(options.leastScore), -INFINITY);
  if (!makeFolders(options.folder))
    fail(options.folder, "cannot be made a folder", "name one that exists, or that can be made: --boxes FOLDER");
  if (access(options.folder.c_str(), W_OK | X_OK) != 0)
    failErrno(options.folder, "cannot write", errno);
}

/// Returns the part of a sample in double.
static std::vector<double> partOf(const Tensor &tensor, int64_t sample) {
  std::vector<double> part(size_t(tensor.elements() / tensor.shape[0]));
  for (size_t i = 0; i < part.size(); ++i)
    part[i] = tensor.at(size_t(sample) * part.size() + i);
  return part;
}

std::string DrawnBoxes::draw(const std::vector<Tensor> &results, const std::function<void(int64_t)> &progress) const {
  const Tensor &scores = results[scores_], &boxes = results[boxes_];
  const AveragePrecision detections(metric_, scores.shape[2], boxes.elements() == scores.elements() * 4);
  std::vector<int64_t> counts;
  std::vector<mpc_found_box> all;
  for (int64_t sample = 0; sample < scores.shape[0]; ++sample) {
    const std::vector<double> corners = partOf(boxes, sample);
    const size_t before = all.size();
    for (const AveragePrecision::Found &found : detections.detected(partOf(scores, sample), corners)) {
      mpc_found_box box = {{}, found.score, found.label};
      const Corners from = detections.boxOf(corners, found);
      std::copy(from.begin(), from.end(), box.corners);
      all.push_back(box);
    }
    counts.push_back(int64_t(all.size() - before));
  }
  std::string names;
  for (const std::string &name : options_.classes)
    (names += name) += '\n';
  const auto tell = [](void *state, int64_t done) {
    (*static_cast<const std::function<void(int64_t)> *>(state))(done);
  };
  pictures_->draw({options_.folder.c_str(), int64_t(counts.size()), counts.data(), all.data(), names.c_str(), tell,
                   const_cast<std::function<void(int64_t)> *>(&progress)});
  return concat(options_.folder, ": ", counts.size(), " pictures, ", all.size(), " boxes with a score of at least ",
                options_.leastScore, " (--min-score)");
}

} // namespace mpc::rt
