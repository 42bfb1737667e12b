//===- Targets.h - --target, and what belongs to its GPUs ----------------------===//
#ifndef MPC_TOOLS_MPC_TARGETS_H
#define MPC_TOOLS_MPC_TARGETS_H
#include "compiler/Pipeline/Pipeline.h"

namespace mpc::tool {

/// "host, sm_60, ..., emulator", for messages.
std::string targetNames();
/// "host", "sm_80", "emulator" in any order. `ptxas`: a path, "none", or empty to look for it. False after a message.
bool parseTargets(const std::vector<std::string> &names, const std::string &ptxas, TargetOptions &targets);
/// --emit=ptx and --emit=cubin: makes it the form of all GPUs' kernels, and leaves out the host. False after a message.
bool emitGpuKernels(bool cubin, TargetOptions &targets);
/// --tune: gives each file to the GPU of its architecture. False after a message.
bool addTunings(mlir::MLIRContext &context, const std::vector<std::string> &files, TargetOptions &targets);
/// Adds what executes emulated kernels, where there are any. False after a message.
bool addEmulator(const TargetOptions &targets, CompiledProgram &program);
/// A table of every GPU kernel: what it takes of a multiprocessor, as far as ptxas was there to say so, and how often its PTX has
/// the instructions that decide its speed; loads and stores of 16 bytes out of all of global memory. Then one of every problem of a product or convolution, with
/// its schedule and what the model expects of it.
void printKernelReport(const CompiledProgram &program);

} // namespace mpc::tool
#endif
