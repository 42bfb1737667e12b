//===- InputFile.h - files that the user names to be read --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_SUPPORT_INPUTFILE_H
#define MPC_SUPPORT_INPUTFILE_H
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <string>

namespace mpc {

/// Opens a regular file and refuses any other kind, so that it never waits, as opening a pipe would for its
/// writer. Returns the descriptor, or -1; `why` then holds the reason: "is a pipe, not a regular file".
int openRegularFile(llvm::StringRef path, std::string &why);

/// Returns the bytes of a regular file, without a null byte behind them; null on failure, with the reason
/// in `why` as above.
std::unique_ptr<llvm::MemoryBuffer> readRegularFile(llvm::StringRef path, std::string &why);

} // namespace mpc
#endif
