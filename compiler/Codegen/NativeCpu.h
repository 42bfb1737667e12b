//===- NativeCpu.h - the meaning of --cpu=native ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_CODEGEN_NATIVECPU_H
#define MPC_CODEGEN_NATIVECPU_H
#include <string>
#include <vector>

namespace mpc {

/// The features of runtime/abi/mpc/cpu.h that this machine has. Code for "native" uses only these beyond
/// x86-64, so a program can record what it needs.
std::vector<std::string> nativeFeatures();

} // namespace mpc
#endif
