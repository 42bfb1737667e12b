//===- TrainingFlags.h - the options of training on mpc's command line ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_TOOLS_MPC_TRAININGFLAGS_H
#define MPC_TOOLS_MPC_TRAININGFLAGS_H
#include "compiler/Pipeline/TrainingFlags.h"

namespace CLI {
class App;
}

namespace mpc::tool {

/// Holds what the user wrote about training; `resolve` turns it into what passes take.
struct TrainingFlags {
  TrainingRequest request;
  TrainingOptions options;

  /// Adds an option for each row of trainingFlags(), or for those that `wanted` accepts.
  void addTo(CLI::App &app, llvm::function_ref<bool(const TrainingFlag &)> wanted = {});
  /// Sets `options`. Prints an error and returns false on a bad value.
  bool resolve();
  /// After resolve: returns, as options, the values that were chosen because the user gave none: "--precision=fp16:
  /// why". The loss and the batch are found later.
  std::vector<std::string> assumed() const;

private:
  void assumeOptimizer(std::vector<std::string> &lines) const;
};

} // namespace mpc::tool
#endif
