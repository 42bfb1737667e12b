//===- NvptxTarget.h - LLVM's optimiser and code generator for PTX --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_CODEGEN_NVPTXTARGET_H
#define MPC_CODEGEN_NVPTXTARGET_H
#include "dialects/Kernel/Target/GpuArch.h"
#include <memory>
#include <string>

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace mpc {

std::unique_ptr<llvm::TargetMachine> createNvptxMachine(const GpuArch &arch);
/// Sets triple and layout, then runs the O3 pipeline.
void optimizeForNvptx(llvm::Module &module, llvm::TargetMachine &machine);
/// Returns PTX text; or "", and sets `error` to a call that no GPU has code for, or to LLVM's message.
std::string emitPtx(llvm::Module &module, llvm::TargetMachine &machine, std::string &error);

} // namespace mpc
#endif
