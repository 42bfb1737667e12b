//===- Executor.h - ways to run the dispatches of a planned network ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_TEST_DISPATCH_EXECUTOR_H
#define MPC_TEST_DISPATCH_EXECUTOR_H
#include "compiler/Evaluator/HostTensor.h"
#include "dialects/Kernel/IR/Kernel.h"
#include "dialects/Kernel/Target/GpuArch.h"
#include <functional>

namespace mpc::test {

/// The name of a library's implementation, and so of a way to run a dispatch, whose errors belong to tiles of results
/// (runtime/host/winograd).
inline constexpr char kTiled[] = "winograd";

class Executor {
public:
  virtual ~Executor() = default;
  /// Returns whether it runs dispatches like this one.
  virtual bool takes(kernel::DispatchOp dispatch) const = 0;
  /// Compiles the kernels of all these dispatches; a failure fails the test.
  virtual void compile(llvm::ArrayRef<kernel::DispatchOp> dispatches) = 0;
  /// Runs a dispatch in every way that is available here and hands the name and the results of each way to `done`.
  using Done = llvm::function_ref<void(llvm::StringRef how, llvm::ArrayRef<HostTensor> results)>;
  virtual void run(kernel::DispatchOp dispatch, llvm::ArrayRef<HostTensor> inputs, Done done) = 0;
};

/// Makes an executor that runs loops by the host's code generator and contractions by each available provider.
std::unique_ptr<Executor> makeHostExecutor(mlir::MLIRContext *context);
/// Makes an executor that runs GPU kernels of this architecture on the emulator, with or without those of
/// products and convolutions.
std::unique_ptr<Executor> makeEmulatorExecutor(mlir::MLIRContext *context, const GpuArch &arch, bool products = true);

} // namespace mpc::test
#endif
