//===- TuningFile.h - measurements of schedules as a file ------------------------------===//
#ifndef MPC_PACKAGE_TUNINGFILE_H
#define MPC_PACKAGE_TUNINGFILE_H
#include "passes/Lowering/HeroToGpu/Tuning.h"

namespace mpc {

/// Reads a file that a tuner wrote (runtime/abi/README.md, "Tuning files"). Fails with a diagnostic that
/// names the place in the file.
mlir::FailureOr<hero::Tuning> readTuningFile(mlir::MLIRContext *context, llvm::StringRef path);

/// The candidates of one problem, as a tuner has them in the section tuner.json of runtime/abi/README.md.
struct TunedProblem {
  std::string problem;  ///< ProblemKey::text()
  std::string dispatch; ///< the first dispatch that has the problem
  double flops, rooflineSeconds;
  struct Candidate {
    std::string entry, schedule; ///< the name of the manifest's entry, and the text of a kernel::Contraction
    double estimatedSeconds;
  };
  std::vector<Candidate> candidates = {}; ///< the one of least estimated time comes first
};
/// Returns the text of the section; `problems` is keyed by target.
std::string tunerSection(const std::map<std::string, std::vector<TunedProblem>> &problems);

} // namespace mpc
#endif
