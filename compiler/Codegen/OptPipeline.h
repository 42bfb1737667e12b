//===- OptPipeline.h - runs LLVM's optimiser and code generator -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_CODEGEN_OPTPIPELINE_H
#define MPC_CODEGEN_OPTPIPELINE_H
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CodeGen.h"
#include <string>

namespace mpc {

/// Gives the module the machine's triple and data layout, then runs the passes that `build` returns, with all
/// analyses registered.
void runPipeline(llvm::Module &module, llvm::TargetMachine &machine, const llvm::PipelineTuningOptions &tuning,
                 llvm::function_ref<llvm::ModulePassManager(llvm::PassBuilder &)> build);

/// Returns the machine's code for the module: an object's bytes, or the text of assembly. The target must
/// support that type of file.
std::string emitFile(llvm::Module &module, llvm::TargetMachine &machine, llvm::CodeGenFileType type);

} // namespace mpc
#endif
