//===- EmulatedDispatches.h - dispatches as GPU kernels, on the emulator ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_TEST_CODEGEN_EMULATEDDISPATCHES_H
#define MPC_TEST_CODEGEN_EMULATEDDISPATCHES_H
#include "compiler/Evaluator/HostTensor.h"
#include "dialects/Kernel/IR/Kernel.h"

namespace mpc::rt::emulator {
class Module;
}

namespace mpc::test {

/// Runs the launches of one dispatch, whose kernels are in the module `kernels` and, compiled, in `object`, on these
/// inputs with all checks on. A finding fails the test, and so does a write beyond a buffer. Results are computed in
/// the buffers of inputs where `in_place` says so; the other inputs are read-only. `seed` decides the order of threads.
std::vector<HostTensor> launchEmulated(kernel::DispatchOp dispatch, llvm::ArrayRef<kernel::LaunchAttr> launches,
                                       mlir::ModuleOp kernels, int64_t scratchBytes, rt::emulator::Module &object,
                                       llvm::ArrayRef<HostTensor> inputs, uint64_t seed);

/// Holds the kernels of many dispatches in one object.
class EmulatedDispatches {
public:
  EmulatedDispatches(mlir::MLIRContext *context, const GpuArch &arch);
  ~EmulatedDispatches();

  /// Emits the kernels of a dispatch; a failure fails the test.
  void add(kernel::DispatchOp dispatch);
  /// Compiles all added kernels and opens the object.
  void compile();
  std::vector<HostTensor> run(kernel::DispatchOp dispatch, llvm::ArrayRef<HostTensor> inputs, uint64_t seed = 1);

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace mpc::test
#endif
