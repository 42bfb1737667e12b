//===- NativeCpu.h - what --cpu=native stands for -----------------------------------===//
#ifndef MPC_CODEGEN_NATIVECPU_H
#define MPC_CODEGEN_NATIVECPU_H
#include <string>
#include <vector>

namespace mpc {

/// Those features of runtime/abi/mpc/cpu.h that this machine has: all that code for "native" uses beyond x86-64, so
/// that a program can say what it needs.
std::vector<std::string> nativeFeatures();

} // namespace mpc
#endif
