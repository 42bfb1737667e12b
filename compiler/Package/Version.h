//===- Version.h - the version of mpc -----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PACKAGE_VERSION_H
#define MPC_PACKAGE_VERSION_H

namespace mpc {

/// Returns the name and version of this mpc ("mpc 1.2.3"). `mpc --version`, manifests, checkpoints and the headers of
/// libraries contain this text. The number is that of project() in the top CMakeLists.txt.
const char *producer();

} // namespace mpc
#endif
