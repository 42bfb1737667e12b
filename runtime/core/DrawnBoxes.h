// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The boxes that a detector finds, drawn on its pictures.
#pragma once

#include "runtime/core/Manifest.h"
#include "runtime/core/data/Dataset.h"

#include <functional>
#include <string>
#include <vector>

namespace mpc::rt {

struct BoxOptions {
  std::string folder = {};               // where to write a .png for each picture; "": nowhere
  double leastScore = 0.5;               // boxes with a lower score are not drawn
  std::vector<std::string> classes = {}; // the names of the classes; those without a name have numbers
};

class DrawnBoxes {
public:
  /// Finds the scores and boxes among the outputs as the metric `map` names them, and makes the folder. Throws Error
  /// where there is no such metric or output, where the data have no pictures, and for a folder that cannot be written.
  DrawnBoxes(const Manifest &manifest, const std::vector<const Port *> &outputs, const Dataset &data,
             const BoxOptions &options);

  /// Draws on the picture of each sample what was found, as `map` finds it: without the boxes that a better one of
  /// their class covers. `results` are the outputs for all samples. `progress` gets the number of pictures written so
  /// far. Returns what was written. Throws Error.
  std::string draw(const std::vector<Tensor> &results, const std::function<void(int64_t)> &progress) const;

private:
  const BoxOptions &options_;
  const PictureInput *pictures_;
  Metric metric_;
  size_t scores_, boxes_; // among the outputs
};

} // namespace mpc::rt
