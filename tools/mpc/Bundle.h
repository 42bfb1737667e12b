//===- Bundle.h - copies the libraries that a program opens beside it ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_TOOLS_MPC_BUNDLE_H
#define MPC_TOOLS_MPC_BUNDLE_H
#include <string>

namespace mpc::tool {

/// Copies the oneDNN plugin and the plugin for pictures (if this mpc has it), and every library that they or the runner
/// open and that a plain Linux system may lack, into the folder of `program`. Prints an error and returns false on
/// failure; each copy appears whole or not at all.
bool writeBundle(const std::string &program);

} // namespace mpc::tool
#endif
