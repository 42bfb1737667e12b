//===- LibraryFile.h - writes shared libraries with their C header -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PACKAGE_LIBRARYFILE_H
#define MPC_PACKAGE_LIBRARYFILE_H
#include "mlir/IR/Location.h"
#include <map>
#include <string>

namespace mpc {

/// The C header of a library: it describes the model's inputs, outputs and variables (from the manifest) and
/// has the functions of runtime/abi/mpc/program.h, so that an embedder needs no other file. `library` is the
/// file that it describes.
std::string libraryHeader(llvm::StringRef manifestJson, llvm::StringRef library);

/// Whether a text is a header that libraryHeader wrote.
bool isLibraryHeader(llvm::StringRef text);

/// Writes `runtime` (the ELF of libmpc-program.so), with the sections behind it, to `path`; see
/// runtime/abi/README.md. Its SONAME becomes the name of the file. The file appears whole or not at all.
/// Fails with a diagnostic.
mlir::LogicalResult writeLibrary(mlir::Location loc, llvm::StringRef path, llvm::StringRef runtime,
                                 const std::map<std::string, std::string> &sections);

} // namespace mpc
#endif
