// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The options that shape a training: checkpoints hold them as typed, and --resume takes those that are not typed again.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace mpc::rt {

/// Throws CLI::ValidationError for an option that the schedule of `train` does not use, which would else be ignored in
/// silence.
void checkScheduleOptions(const CLI::App &train);

/// Returns the options of `train` that shape the training beside its data: its length, hyperparameters, schedule,
/// augmentation, and what is kept or ends it: "--epochs=5 --lr=0.1", or "none".
std::string trainingOptions(const CLI::App &train);

/// Gives `train` those of a checkpoint's options (`stored`, in the form of trainingOptions) that were not typed and
/// that do not contradict typed ones. Returns them in that form, or "" where there is nothing to take. Throws
/// CLI::ValidationError where they need --val, which has to be given.
std::string takeStoredOptions(CLI::App &train, const std::string &stored);

} // namespace mpc::rt
