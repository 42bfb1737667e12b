// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Forward passes over a whole dataset: loss and metrics, or predictions.
#pragma once

#include "runtime/core/DrawnBoxes.h"
#include "runtime/core/Metrics.h"
#include "runtime/core/PictureGrid.h"
#include "runtime/core/data/Batches.h"

#include <csignal>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace mpc::rt {

struct Evaluation {
  int64_t samples = 0;
  bool interrupted = false; ///< the user ended it: the numbers are not those of the whole data
  /// Σ sample_loss / Σ sample_weight over all samples. If the program lacks those outputs, the mean over full batches,
  /// or NaN if there is no full batch. Empty if the program computes no loss.
  std::optional<double> loss;
  /// The number of samples that the loss covers.
  int64_t lossSamples = 0;
  /// Returns "loss 0.25", or "loss 0.25 (over 1984 of 2000 samples)"; "" without a loss. The separator stands before
  /// the number.
  std::string lossText(const std::string &name, const std::string &separator) const;
  std::vector<MetricResult> metrics;
  /// Return everything: lines for people, or one line of JSON.
  std::string asText() const;
  /// `more`: further members of the object, each with ", " before it.
  std::string asJson(const std::string &more = "") const;
};

/// Is called now and then with the number of samples done so far.
using ProgressSink = std::function<void(int64_t done)>;

/// Runs the eval entry over the data in order; the last batch is padded, and its padding is not counted. A loss
/// that is not split per sample leaves an incomplete batch out. States that are carried from batch to batch start with
/// their initial values. The session's state does not change. It ends before the next batch when `interrupted` (which
/// may be null) becomes non-zero.
Evaluation evaluate(Session &session, const Dataset &data, const ProgressSink &progress = {},
                    const volatile std::sig_atomic_t *interrupted = nullptr);

struct PredictOptions {
  std::string out = {};          // the .npz of all outputs; "": none is written
  GridOptions pictures = {};     // those of one output
  BoxOptions boxes = {};         // those that a detector found, on the pictures of its input
  std::string installation = {}; // see loadPlugin
};

/// Runs the predict entry, and writes every output of role "output" to an .npz, and pictures to .png files. Outputs
/// with a part for each sample are joined over the batches; fixed ones are written once. Throws Error for any other
/// output, unless the data is one batch. Carried states are as in an evaluation. `progress` gets each sample once, and
/// again as its picture with boxes is written. Returns what a user should know of the pictures.
std::vector<std::string> predict(Session &session, const Dataset &data, const PredictOptions &options,
                                 const ProgressSink &progress = {});

} // namespace mpc::rt
