//===- Targets.h - --target, and the options of its GPUs ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_TOOLS_MPC_TARGETS_H
#define MPC_TOOLS_MPC_TARGETS_H
#include "compiler/Pipeline/Pipeline.h"

namespace CLI {
class App;
}

namespace mpc::tool {

/// Returns "host, sm_60, ..., emulator", for messages.
std::string targetNames();
/// Adds --target and --ptxas.
void addTargetOption(CLI::App &app, std::vector<std::string> &targets);
void addPtxasOption(CLI::App &app, std::string &ptxas);
/// Parses "host", "sm_80", "emulator" in any order. `ptxas`: a path, "none", or empty to look for it. Returns false
/// after a message.
bool parseTargets(const std::vector<std::string> &names, const std::string &ptxas, TargetOptions &targets);
/// Handles --emit=ptx and --emit=cubin: makes it the form of all GPUs' kernels, and leaves out the host. Returns false
/// after a message.
bool emitGpuKernels(bool cubin, TargetOptions &targets);
/// Handles --tune: gives each file to the GPU of its architecture. Returns false after a message.
bool addTunings(mlir::MLIRContext &context, const std::vector<std::string> &files, TargetOptions &targets);
/// Adds the emulator if there are emulated kernels. Returns false after a message.
bool addEmulator(const TargetOptions &targets, CompiledProgram &program);
/// Prints a table of every GPU kernel: the resources of a multiprocessor that it takes, as far as ptxas could tell
/// them, how often its PTX contains the instructions that decide its speed, and how many of its loads and stores of
/// global memory move 16 bytes. Then prints a table of every problem of a product or convolution, with its schedule and
/// what the model expects of it.
void printKernelReport(const CompiledProgram &program);
/// Prints what ptxas advises or warns of, a line for each message.
void printPtxasMessages(const TargetSummary &plan);

} // namespace mpc::tool
#endif
