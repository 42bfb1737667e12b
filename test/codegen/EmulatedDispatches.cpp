// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "EmulatedDispatches.h"
#include "KernelHarness.h"
#include "compiler/Codegen/EmulatorCodegen.h"
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Graph/IR/Storage.h"
#include "runtime/emulator/Emulator.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
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

std::vector<HostTensor> mpc::test::launchEmulated(kernel::DispatchOp dispatch, ArrayRef<kernel::LaunchAttr> launches,
                                                  ModuleOp kernels, int64_t scratchBytes, rt::emulator::Module &object,
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
  for (kernel::LaunchAttr launch : launches) {
    std::vector<rt::emulator::Buffer> arguments;
    for (int64_t position : launch.getArgs())
      // The launches before the last one write the scratch, and that one reads it.
      arguments.push_back(position == kernel::LaunchAttr::scratch
                              ? rt::emulator::Buffer{scratch.data(), size_t(scratchBytes),
                                                     launches.size() == 1 || launch != launches.back()}
                              : buffers[position]);
    auto extent = [&](int axis) { return uint32_t(launch.getGrid()[axis]); };
    kernel::EntryAttr entry = kernel::EntryAttr::of(kernels.lookupSymbol(launch.getKernel().getLeafReference()));
    // A resident kernel is right for any number of blocks. It gets one or two clusters here, so that each of
    // them does several pieces of work.
    uint32_t blocks = extent(0);
    if (entry.getResident() > 0)
      blocks = std::min<uint32_t>(blocks, (1 + seed % 2) * entry.getCluster());
    auto error = rt::attempt([&] {
      const rt::emulator::Kernel &found = object.find(symbolOf(launch));
      EXPECT_EQ(found.threads, entry.getThreads());
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
  llvm::DenseMap<Operation *, SmallVector<kernel::LaunchAttr>> launches;
  std::optional<rt::emulator::Module> object;
};

EmulatedDispatches::EmulatedDispatches(MLIRContext *context, const GpuArch &arch)
    : impl(std::make_unique<Impl>(context, arch)) {}
EmulatedDispatches::~EmulatedDispatches() = default;

void EmulatedDispatches::add(kernel::DispatchOp dispatch) {
  auto launches = impl->kernels.addAll(dispatch);
  ASSERT_TRUE(succeeded(launches)) << dispatch.getName().str();
  llvm::append_range(impl->launches[dispatch], launches->getAsRange<kernel::LaunchAttr>());
}

void EmulatedDispatches::compile() {
  auto bytes = emitEmulatorObject(impl->kernels.modules()[0], HostCpu::native());
  ASSERT_TRUE(succeeded(bytes));
  impl->object.emplace(*bytes, "emulator");
}

std::vector<HostTensor> EmulatedDispatches::run(kernel::DispatchOp dispatch, ArrayRef<HostTensor> inputs,
                                                uint64_t seed) {
  return launchEmulated(dispatch, impl->launches.at(dispatch), impl->kernels.modules()[0],
                        int64_t(dispatch.getScratchBytes().value_or(0)), impl->object.value(), inputs, seed);
}
