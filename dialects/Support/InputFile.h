//===- InputFile.h - files that the user names to be read --------------------------===//
#ifndef MPC_SUPPORT_INPUTFILE_H
#define MPC_SUPPORT_INPUTFILE_H
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <string>

namespace mpc {

/// Opens a regular file. Never waits, as opening a pipe would for its writer: what is no regular file is refused. Returns the descriptor, or -1;
/// `why` then says why: "is a pipe, not a regular file".
int openRegularFile(llvm::StringRef path, std::string &why);

/// Its bytes, or null; without a null byte behind them.
std::unique_ptr<llvm::MemoryBuffer> readRegularFile(llvm::StringRef path, std::string &why);

} // namespace mpc
#endif
