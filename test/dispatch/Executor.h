//===- Executor.h - ways to run the dispatches of a planned network ---------------------===//
#ifndef MPC_TEST_DISPATCH_EXECUTOR_H
#define MPC_TEST_DISPATCH_EXECUTOR_H
#include "compiler/Evaluator/HostTensor.h"
#include "dialects/Kernel/IR/Kernel.h"
#include "dialects/Kernel/Target/GpuArch.h"
#include <functional>

namespace mpc::test {

class Executor {
public:
  virtual ~Executor() = default;
  /// Whether it runs such dispatches.
  virtual bool takes(kernel::DispatchOp dispatch) const = 0;
  /// Compiles for all of these; a failure fails the test.
  virtual void compile(llvm::ArrayRef<kernel::DispatchOp> dispatches) = 0;
  /// Runs one of them, in every way that is here, and hands each way's name and results to `done`.
  using Done = llvm::function_ref<void(llvm::StringRef how, llvm::ArrayRef<HostTensor> results)>;
  virtual void run(kernel::DispatchOp dispatch, llvm::ArrayRef<HostTensor> inputs, Done done) = 0;
};

/// Loops by the host's code generator, library dispatches by each provider that is here.
std::unique_ptr<Executor> makeHostExecutor(mlir::MLIRContext *context);
/// GPU kernels of this architecture, on the emulator; with or without those of products and convolutions.
std::unique_ptr<Executor> makeEmulatorExecutor(mlir::MLIRContext *context, const GpuArch &arch,
                                               bool products = true);

} // namespace mpc::test
#endif
