// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Executor.h"
#include "test/codegen/EmulatedDispatches.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::test;

namespace {
class EmulatorExecutor : public Executor {
public:
  EmulatorExecutor(MLIRContext *context, const GpuArch &arch, bool products)
      : kernels(context, arch), products(products) {}

  bool takes(kernel::DispatchOp dispatch) const override { return products || !dispatch.isContraction(); }
  void compile(ArrayRef<kernel::DispatchOp> dispatches) override {
    for (kernel::DispatchOp dispatch : dispatches)
      kernels.add(dispatch);
    kernels.compile();
  }
  void run(kernel::DispatchOp dispatch, ArrayRef<HostTensor> inputs, Done done) override {
    done(dispatch.isContraction() ? "product" : "loop", kernels.run(dispatch, inputs));
  }

private:
  EmulatedDispatches kernels;
  const bool products;
};
} // namespace

std::unique_ptr<Executor> mpc::test::makeEmulatorExecutor(MLIRContext *context, const GpuArch &arch, bool products) {
  return std::make_unique<EmulatorExecutor>(context, arch, products);
}
