//===- StepTable.h - mpc compile --kernel-report=step ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_TOOLS_MPC_STEPTABLE_H
#define MPC_TOOLS_MPC_STEPTABLE_H
#include "compiler/Pipeline/Pipeline.h"

namespace mpc::tool {

/// Prints for each target all launches of a training step in their order, the sums over launches of one kind, and how
/// far the step is from the least that it could move. For GPUs there are expected times, for each of the architecture's
/// parts. As JSON it is one object on one line.
void printStepReport(const CompiledProgram &program, bool json);

} // namespace mpc::tool
#endif
