//===- Nearest.h - the name that a misspelt one may mean ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_SUPPORT_NEAREST_H
#define MPC_SUPPORT_NEAREST_H
#include "mlir/Support/LLVM.h"
#include <string>

namespace mpc {

/// Returns "did you mean 'NAME'? ", to stand in front of a hint, where `word` differs from one of the names in at most
/// a third of its letters, or has two swapped; else "". (runtime/support/Nearest.h does the same for command lines:
/// neither of these folders may include the other.)
std::string didYouMean(llvm::StringRef word, llvm::ArrayRef<llvm::StringRef> names);

} // namespace mpc
#endif
