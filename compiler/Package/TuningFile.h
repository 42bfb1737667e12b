//===- TuningFile.h - measurements of schedules as a file ------------------------------===//
#ifndef MPC_PACKAGE_TUNINGFILE_H
#define MPC_PACKAGE_TUNINGFILE_H
#include "passes/Lowering/HeroToGpu/Tuning.h"

namespace mpc {

/// Reads what a tuner wrote (runtime/abi/README.md, "Tuning files"). Fails with a diagnostic that names the place in the file.
mlir::FailureOr<hero::Tuning> readTuningFile(mlir::MLIRContext *context, llvm::StringRef path);

/// What a tuner has of one problem: the section tuner.json of runtime/abi/README.md.
struct TunedProblem {
  std::string problem;  ///< ProblemKey::text()
  std::string dispatch; ///< the first that has it
  double flops, rooflineSeconds;
  struct Candidate {
    std::string entry, schedule; ///< of the manifest; kernel::Contraction
    double estimatedSeconds;
  };
  std::vector<Candidate> candidates = {}; ///< the least estimate first
};
/// By target.
std::string tunerSection(const std::map<std::string, std::vector<TunedProblem>> &problems);

} // namespace mpc
#endif
