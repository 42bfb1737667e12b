// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Executor.h"
#include "GenericLibrary.h"
#include "compiler/Package/LibraryCalls.h"
#include "dialects/Graph/IR/Shapes.h"
#include "test/codegen/KernelHarness.h"
#include <dlfcn.h>
#include <gtest/gtest.h>

using namespace mlir;
using namespace mpc;
using namespace mpc::test;

static std::vector<const mpc_library *> providers() {
  std::vector<const mpc_library *> result{mpc_generic_library(1)};
  if (void *plugin = dlopen(MPC_BIN_DIR "/libmpc_onednn.so", RTLD_NOW | RTLD_LOCAL))
    result.push_back(reinterpret_cast<mpc_library_entry_fn>(dlsym(plugin, MPC_LIBRARY_ENTRY))(1));
  return result;
}

/// Runs the library's call of a dispatch on its inputs and results. Returns the name of what computes it, or an empty
/// one where the provider does not.
static StringRef runLibrary(const mpc_library *library, kernel::DispatchOp dispatch, ArrayRef<Memory> memories) {
  FailureOr<LibraryCall> call = describeLibraryCall(dispatch);
  if (failed(call))
    return {};
  char error[256];
  mpc_library_primitive *primitive = library->create(&call->desc, error, sizeof error);
  if (!primitive)
    return {};
  const bool tiled = StringRef(library->implementation(primitive)) == kTiled;
  Memory scratch(
      RankedTensorType::get(int64_t(library->scratch_bytes(primitive)), IntegerType::get(dispatch.getContext(), 8)));
  std::vector<void *> buffers;
  for (unsigned argument : call->args)
    buffers.push_back(memories[argument].data());
  library->execute(primitive, buffers.data(), scratch.data());
  library->destroy(primitive);
  EXPECT_TRUE(scratch.guardIntact()) << "wrote beyond its scratch";
  return tiled ? StringRef(kTiled) : StringRef(library->name).split(' ').first;
}

namespace {
class HostExecutor : public Executor {
public:
  explicit HostExecutor(MLIRContext *context) : kernels(context) {}

  bool takes(kernel::DispatchOp) const override { return true; }

  void compile(ArrayRef<kernel::DispatchOp> dispatches) override {
    for (kernel::DispatchOp dispatch : dispatches) {
      auto emitted = kernels.addAll(dispatch);
      ASSERT_TRUE(succeeded(emitted));
      if (!emitted->empty())
        launches[dispatch] = cast<kernel::LaunchAttr>((*emitted)[0]);
    }
    auto objects = kernels.compile({HostCpu::native()});
    ASSERT_TRUE(succeeded(objects));
    loops.emplace(objects->front().bytes);
  }

  void run(kernel::DispatchOp dispatch, ArrayRef<HostTensor> inputs, Done done) override {
    if (!dispatch.isContraction()) {
      kernel::LaunchAttr launch = launches[dispatch];
      return done("loop", runKernel(loops->find(symbolOf(launch)), launch, dispatch, inputs));
    }
    for (const mpc_library *provider : libraries) {
      std::vector<Memory> memories;
      for (const HostTensor &t : inputs)
        memories.emplace_back(t);
      for (Type type : dispatch.getResultTypes())
        memories.emplace_back(cast<RankedTensorType>(type));
      StringRef how = runLibrary(provider, dispatch, memories);
      if (how.empty())
        continue;
      if (kernel::LaunchAttr behind = launches.lookup(dispatch)) {
        std::vector<void *> buffers;
        for (int64_t argument : behind.getArgs())
          buffers.push_back(memories[argument].data());
        loops->find(symbolOf(behind))(buffers.data(), 0, behind.getGrid()[0]);
      }
      std::vector<HostTensor> results;
      for (const Memory &m : memories) {
        EXPECT_TRUE(m.guardIntact()) << "wrote beyond a buffer";
        results.push_back(m.read());
      }
      done(how, ArrayRef(results).drop_front(inputs.size()));
    }
  }

private:
  Kernels kernels;
  llvm::DenseMap<Operation *, kernel::LaunchAttr> launches;
  std::optional<Library> loops;
  std::vector<const mpc_library *> libraries = providers();
};
} // namespace

std::unique_ptr<Executor> mpc::test::makeHostExecutor(MLIRContext *context) {
  return std::make_unique<HostExecutor>(context);
}
