// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `plot`: the logs of trainings as a picture.
#pragma once

#include "runtime/core/PlotLog.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mpc::rt {

struct PlotOptions {
  std::vector<std::string> logs; // files of --log; one picture for all
  std::string out;               // the .svg to write
  std::string title;
  int64_t width = 960, height = 0; // pixels; 0: as high as the panels need
  bool logLoss = false;            // a logarithmic axis for losses, also where their range is small
};

/// Returns the picture as SVG: panels over the steps for the loss, each metric, the learning rate and, where it varies,
/// the loss scale. A loss has a logarithmic axis where its values differ by more than a factor of 100. A curve of
/// training losses is drawn as a thin line and as its mean over a window; steps that were skipped, or whose loss is not
/// finite, are no part of it but marked. Throws Error for a loss that a logarithmic axis cannot show.
std::string plotOf(const std::vector<TrainingLog> &logs, const PlotOptions &options);

/// Reads the logs and writes the picture. Throws Error.
void plot(const PlotOptions &options);

/// Returns what tells paths apart, without what all have in common at both ends: "o0", "o2" for "runs/o0/run.jsonl" and
/// "runs/o2/run.jsonl". A single path becomes its file's name without the extension.
std::vector<std::string> shortNames(const std::vector<std::string> &paths);

} // namespace mpc::rt
