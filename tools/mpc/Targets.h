//===- Targets.h - --target, and what belongs to its GPUs ----------------------===//
#ifndef MPC_TOOLS_MPC_TARGETS_H
#define MPC_TOOLS_MPC_TARGETS_H
#include "compiler/Pipeline/Pipeline.h"

namespace mpc::tool {

/// "host, sm_60, ..., emulator", for messages.
std::string targetNames();
/// "host", "sm_80", "emulator" in any order. False after a message.
bool parseTargets(const std::vector<std::string> &names, TargetOptions &targets);
/// Adds what executes emulated kernels, where there are any. False after a message.
bool addEmulator(const TargetOptions &targets, CompiledProgram &program);
/// A table of every GPU kernel: what it takes of a multiprocessor, as far as ptxas was there to say so.
void printKernelReport(const CompiledProgram &program);

} // namespace mpc::tool
#endif
