#include "Executor.h"
#include "StatedErrors.h"
#include "dialects/Graph/IR/Shapes.h"
#include "test/codegen/EmulatedDispatches.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::test;

namespace {
class EmulatorExecutor : public Executor {
public:
  EmulatorExecutor(MLIRContext *context, const GpuArch &arch, int64_t mostProducts)
      : kernels(context, arch), mostProducts(mostProducts) {}

  bool takes(kernel::DispatchOp dispatch) const override {
    if (!dispatch.getLibrary())
      return true;
    Operation &hero = dispatch.getBody().front().front();
    return accumulationLength(&hero) * graph::typeOf(hero.getResult(0)).getNumElements() <= mostProducts;
  }
  void compile(ArrayRef<kernel::DispatchOp> dispatches) override {
    for (kernel::DispatchOp dispatch : dispatches)
      kernels.add(dispatch);
    kernels.compile();
  }
  void run(kernel::DispatchOp dispatch, ArrayRef<HostTensor> inputs, Done done) override {
    done(dispatch.getLibrary() ? "product" : "loop", kernels.run(dispatch, inputs));
  }

private:
  EmulatedDispatches kernels;
  const int64_t mostProducts;
};
} // namespace

std::unique_ptr<Executor> mpc::test::makeEmulatorExecutor(MLIRContext *context, const GpuArch &arch,
                                                          int64_t mostProducts) {
  return std::make_unique<EmulatorExecutor>(context, arch, mostProducts);
}
