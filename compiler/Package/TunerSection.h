//===- TunerSection.h - the candidates of a tuner --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PACKAGE_TUNERSECTION_H
#define MPC_PACKAGE_TUNERSECTION_H
#include <map>
#include <string>
#include <vector>

namespace mpc {

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
