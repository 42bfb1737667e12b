//===- TrainingFlags.h - the command line's view of TrainingOptions ------------------------------===//
#ifndef MPC_TOOLS_MPC_TRAININGFLAGS_H
#define MPC_TOOLS_MPC_TRAININGFLAGS_H
#include "compiler/Pipeline/Pipeline.h"
#include <optional>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace mpc::tool {

/// Holds what the user wrote about precision, loss, optimizer and scaler; `resolve` turns it into pass options.
struct TrainingFlags {
  TrainingOptions options;

  void addTo(CLI::App &app);
  /// Composes the optimizer's and the scaler's descriptions. Prints an error and returns false on a bad value.
  bool resolve();
  /// After resolve: returns, as options, the values that were chosen because the user gave none: "--precision=fp16: why". The loss and the batch are found
  /// later.
  std::vector<std::string> assumed() const;

private:
  void assumeOptimizer(std::vector<std::string> &lines) const;

  std::string optimizer = "sgd,momentum=0.9", lossScale;
  std::optional<double> lr, momentum, dampening, weightDecay, eps, alpha;
  std::optional<double> initScale, growthFactor, backoffFactor, minScale, maxScale, headroom;
  std::optional<int64_t> growthInterval, hysteresis;
  std::vector<double> betas;
  CLI::Option *precisionOption = nullptr, *levelOption = nullptr, *optimizerOption = nullptr;
  bool nesterov = false, noCastCache = false;
};

} // namespace mpc::tool
#endif
