//===- Assumptions.h - what the attached loss assumes -------------------------------===//
#ifndef MPC_PASSES_TRAINING_ASSUMPTIONS_H
#define MPC_PASSES_TRAINING_ASSUMPTIONS_H
#include "llvm/ADT/StringRef.h"

namespace mpc::training {

/// On the module, made by mpc-attach-loss: array of strings, what was chosen where the user said nothing, as the option that
/// says it: "--loss=softmax_cross_entropy:y:t,axis=2: the classes are dimension 2 of ...".
inline constexpr llvm::StringLiteral kAssumedAttr = "train.assumed";

} // namespace mpc::training
#endif
