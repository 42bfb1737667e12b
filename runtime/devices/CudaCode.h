// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The code of a plan's kernels on a GPU: machine code (cubins) that the program holds, or PTX that the driver compiles.
#pragma once

#include "runtime/core/Program.h"
#include "runtime/cuda/Context.h"

namespace mpc::rt {

/// Loads the modules of a plan, and knows why it was not machine code.
class CudaCode {
public:
  /// The GPU's context must be the current one whenever a module is loaded; all arguments must outlive the object.
  CudaCode(const Program &program, const Plan &plan, const cuda::Gpu &gpu, cuda::Context &context);

  /// Loads the module's machine code. Returns null if the program has none for this GPU, or if the driver refuses it.
  cuda::ModuleHandle loadMachineCode(const GpuModule &module);
  /// Loads machine code if it can, else PTX. Throws Error when the driver cannot compile the PTX.
  cuda::ModuleHandle load(const GpuModule &module);
  /// Returns the driver's first reason for refusing machine code that was made for this GPU; empty if it took all.
  const std::string &refusal() const { return refusal_; }

private:
  cuda::ModuleHandle loadPtx(const GpuModule &module);

  const Program &program_;
  const Plan &plan_;
  const cuda::Gpu &gpu_;
  cuda::Context &context_;
  std::string refusal_;
};

/// Returns "machine code", or "PTX that the driver compiles" with the reason. It asks the driver, but compiles nothing.
/// Throws Error when the GPU cannot be used.
std::string describeCode(const Program &program, const Plan &plan, const cuda::Gpu &gpu);

} // namespace mpc::rt
