#include "EmulatedDispatches.h"
#include "KernelHarness.h"
#include "compiler/Codegen/EmulatorCodegen.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Graph/IR/Storage.h"
#include "runtime/emulator/Emulator.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace mpc;
using namespace mpc::test;

static rt::emulator::Emulator &emulator() {
  static rt::Threads threads(2);
  static rt::emulator::Emulator emulator(threads);
  return emulator;
}

static size_t bytesOf(Type type) { return size_t(graph::bytesOf(type)); }

std::vector<HostTensor> mpc::test::launchEmulated(kernel::DispatchOp dispatch, ArrayRef<GpuKernel> kernels,
                                                  int64_t scratchBytes, rt::emulator::Module &object,
                                                  ArrayRef<HostTensor> inputs, uint64_t seed) {
  SmallVector<int64_t> inPlace = dispatch.inPlaceInputs();
  std::vector<Memory> memories(inputs.begin(), inputs.end());
  std::vector<rt::emulator::Buffer> buffers;
  for (auto [i, t] : llvm::enumerate(inputs))
    buffers.push_back({memories[i].data(), bytesOf(t.type()), llvm::is_contained(inPlace, int64_t(i))});
  for (auto [v, input] : llvm::zip_equal(dispatch.getResults(), inPlace)) {
    RankedTensorType type = graph::typeOf(v);
    memories.push_back(input >= 0 ? memories[input].as(type) : Memory(type));
    buffers.push_back({memories.back().data(), bytesOf(type)});
  }
  Memory scratch(RankedTensorType::get({scratchBytes}, IntegerType::get(dispatch.getContext(), 8)));
  emulator().setSeed(seed);
  for (const GpuKernel &kernel : kernels) {
    std::vector<rt::emulator::Buffer> arguments;
    for (int position : kernel.args)
      // The first launch writes the scratch and the last one reads it.
      arguments.push_back(
          position == scratchArgument
              ? rt::emulator::Buffer{scratch.data(), size_t(scratchBytes), &kernel == kernels.begin()}
              : buffers[position]);
    auto extent = [&](int axis) { return uint32_t(kernel.launch.grid[axis]); };
    // A resident kernel is right for any number of blocks. It gets one or two clusters here, so that each of
    // them does several pieces of work.
    uint32_t blocks = extent(0);
    if (kernel.launch.resident > 0)
      blocks = std::min<uint32_t>(blocks, (1 + seed % 2) * kernel.launch.cluster);
    auto error = rt::attempt([&] {
      const rt::emulator::Kernel &found = object.find(kernel.symbol);
      EXPECT_EQ(found.threads, kernel.launch.threads);
      emulator().launch(found, {blocks, extent(1), extent(2)}, arguments, dispatch.getName().str());
    });
    EXPECT_FALSE(error) << error->text();
  }
  EXPECT_TRUE(scratch.guardIntact());
  std::vector<HostTensor> results;
  for (auto [i, memory] : llvm::enumerate(memories)) {
    EXPECT_TRUE(memory.guardIntact());
    if (i >= inputs.size())
      results.push_back(memory.read());
  }
  return results;
}

struct EmulatedDispatches::Impl {
  Impl(MLIRContext *context, const GpuArch &arch) : kernels(context, &arch) {}
  Kernels kernels;
  llvm::DenseMap<Operation *, SmallVector<GpuKernel>> launches;
  std::optional<rt::emulator::Module> object;
};

EmulatedDispatches::EmulatedDispatches(MLIRContext *context, const GpuArch &arch)
    : impl(std::make_unique<Impl>(context, arch)) {}
EmulatedDispatches::~EmulatedDispatches() = default;

void EmulatedDispatches::add(kernel::DispatchOp dispatch) {
  auto launches = impl->kernels.addAll(dispatch);
  ASSERT_TRUE(succeeded(launches)) << dispatch.getName().str();
  for (auto launch : launches->getAsRange<kernel::LaunchAttr>()) {
    ModuleOp module = impl->kernels.modules()[0];
    auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(launch.getKernel().getLeafReference());
    auto number = [&](StringRef name, int64_t otherwise) {
      auto attribute = function->getAttrOfType<IntegerAttr>(name);
      return attribute ? attribute.getInt() : otherwise;
    };
    GpuKernel &kernel = impl->launches[dispatch].emplace_back();
    kernel.symbol = symbolOf(launch);
    llvm::copy(launch.getGrid(), kernel.launch.grid.begin());
    kernel.launch.threads = number("kernel.threads", 0);
    kernel.launch.resident = number("kernel.resident", 0);
    kernel.launch.cluster = number("kernel.cluster", 1);
    kernel.args.assign(launch.getArgs().begin(), launch.getArgs().end());
  }
}

void EmulatedDispatches::compile() {
  auto bytes = emitEmulatorObject(impl->kernels.modules()[0], HostCpu::native());
  ASSERT_TRUE(succeeded(bytes));
  impl->object.emplace(*bytes, "emulator");
}

std::vector<HostTensor> EmulatedDispatches::run(kernel::DispatchOp dispatch, ArrayRef<HostTensor> inputs,
                                                uint64_t seed) {
  return launchEmulated(dispatch, impl->launches.at(dispatch), int64_t(dispatch.getScratchBytes().value_or(0)),
                        impl->object.value(), inputs, seed);
}
