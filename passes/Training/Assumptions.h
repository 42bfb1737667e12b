//===- Assumptions.h - what the attached loss assumes -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PASSES_TRAINING_ASSUMPTIONS_H
#define MPC_PASSES_TRAINING_ASSUMPTIONS_H
#include "llvm/ADT/StringRef.h"

namespace mpc::training {

/// This attribute of the module, made by mpc-attach-loss, is an array of strings. Each says what was chosen where the
/// user said nothing, and begins with the option that would say it: "--loss=softmax_cross_entropy:y:t,axis=2: the
/// classes are dimension 2 of ...".
inline constexpr llvm::StringLiteral kAssumedAttr = "train.assumed";

} // namespace mpc::training
#endif
