//===- TrainingFlags.h - what a user can say about training ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This is the only description of these options. tools/mpc makes the command line of `mpc compile` and its sisters from
// it, and Registration.cpp the options of the pipeline mpc-training.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PIPELINE_TRAININGFLAGS_H
#define MPC_PIPELINE_TRAININGFLAGS_H
#include "compiler/Pipeline/Pipeline.h"
#include <variant>

namespace mpc {

/// The user's words about training, as far as there are any.
struct TrainingRequest {
  std::optional<std::string> precision, optLevel;
  std::optional<bool> keepBatchnormFp32, masterWeights;
  bool noCastCache = false;
  std::vector<std::string> allow, deny, infer;

  std::optional<std::string> loss;
  std::vector<std::string> steps, outputs, metrics, carries;

  std::optional<std::string> lossScale;
  std::optional<double> initScale, growthFactor, backoffFactor, minScale, maxScale, headroom;
  std::optional<int64_t> growthInterval, hysteresis;

  std::optional<std::string> optimizer;
  std::optional<double> lr, momentum, dampening, weightDecay, eps;
  bool nesterov = false;
  std::vector<double> betas;
  std::vector<std::string> groups;
  std::optional<double> clipNorm, clipValue;
  bool gradNorm = false;
  std::optional<double> ema;
  std::optional<int64_t> accumulate;
  bool trace = true;
};

/// One option.
struct TrainingFlag {
  const char *group, *name;
  /// The type says what is written: a word, words (the option is given once for each), yes or no, a flag, a
  /// number, or numbers.
  std::variant<std::optional<std::string> TrainingRequest::*, std::vector<std::string> TrainingRequest::*,
               std::optional<bool> TrainingRequest::*, bool TrainingRequest::*,
               std::optional<double> TrainingRequest::*, std::optional<int64_t> TrainingRequest::*,
               std::vector<double> TrainingRequest::*>
      member;
  std::string doc;
  /// What may be written.
  struct Values {
    const char *standard = ""; ///< the word that holds where the user writes none; empty: `doc` says what holds
    std::vector<std::string> choices = {}; ///< the words to choose from; empty: any word
    bool positive = false;                 ///< whether the number must be above 0
    bool commas = false;                   ///< whether words may also be separated by commas
    const char *negation = "";             ///< another name, which sets a flag to false
  } values = {};
};
llvm::ArrayRef<TrainingFlag> trainingFlags();

/// Receives what is wrong with an option, and what to write instead.
using FlagError = llvm::function_ref<void(llvm::StringRef where, const llvm::Twine &what, const llvm::Twine &hint)>;

/// Turns the user's words into what the passes take. Class weights in files are read by `hooks`. Returns failure
/// after a message.
mlir::FailureOr<TrainingOptions> resolveTraining(const TrainingRequest &request, const RuntimeHooks &hooks,
                                                 FlagError error);

} // namespace mpc
#endif
