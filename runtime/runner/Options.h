// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The command line of a compiled program.
#pragma once

#include "runtime/core/Bench.h"
#include "runtime/core/DrawnBoxes.h"
#include "runtime/core/PictureGrid.h"
#include "runtime/core/Plot.h"
#include "runtime/core/Train.h"

#include <memory>
#include <optional>

namespace CLI {
class App;
}

namespace mpc::rt {

struct Options {
  enum Command { Train, Eval, Predict, Trace, Bench, Plot, Info } command = Info;
  SessionOptions session;
  TrainOptions train; // also holds data, hyper and seed of the other commands
  std::string checkpoint, out;
  GridOptions pictures; // of --images
  BoxOptions boxes;     // of --boxes
  std::string weights;  // of --weights: "averaged", "raw", or "" where nothing was said
  int64_t traceSteps = 1;
  BenchOptions bench;
  PlotOptions plot;
  bool json = false;
  bool perClass = false;
  std::string classNames; // the file of --class-names; empty: the classes have numbers only
};

/// Adds the subcommands with their options, which write to `options`. `program`: as in parseOptions.
void addCommands(CLI::App &app, const Program *program, Options &options);

/// Parses the arguments; options for hyperparameters follow the program's manifest (null: the runner has no model).
/// Returns the exit status when there is nothing to run (help, version, or a mistake that has been printed).
std::optional<int> parseOptions(int argc, char **argv, const Program *program, Options &options);

} // namespace mpc::rt
