//===- GpuResourcesTest.cpp - the kernels of networks: their form, what ptxas makes of them ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Network.h"
#include "compiler/Codegen/Ptxas.h"
#include "dialects/Kernel/Analysis/Reuse.h"
#include "passes/Lowering/LoopPlan/Plan.h"
#include "test/codegen/Kernels.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <gtest/gtest.h>

using namespace mlir;
using namespace mpc;
using namespace mpc::test;

/// Returns the cases with one opt level for each precision, since the kernels of O1 and O2 are much the same.
static std::vector<NetworkCase> oneLevel() {
  std::vector<NetworkCase> cases = networkCases();
  std::erase_if(cases, [](const NetworkCase &c) { return c.level == "O1"; });
  return cases;
}

class GpuForms : public testing::TestWithParam<NetworkCase> {};

/// A reduction that is needed at other rows than its own has no place in the nest and is computed again and again. No
/// dispatch has such a kernel.
TEST_P(GpuForms, EveryDispatchIsRegular) {
  if (!available(GetParam()))
    GTEST_SKIP() << "the network is not here";
  auto context = makeNetworkContext();
  OwningOpRef<ModuleOp> module = planNetwork(context.get(), GetParam(), findGpuArch("sm_80"));
  ASSERT_TRUE(module);
  module->walk([&](kernel::DispatchOp dispatch) {
    bool walksSpace = !dispatch.isContraction() && !dispatch.isAttention() && !dispatch.isBatch() &&
                      dispatch.getForm() != kernel::Form::Scatter;
    EXPECT_TRUE(!walksSpace || kernel::isRegular(dispatch)) << dispatch.getName().str();
  });
}

static auto label = [](const auto &info) { return info.param.label(); };
INSTANTIATE_TEST_SUITE_P(Networks, GpuForms, testing::ValuesIn(oneLevel()), label);
INSTANTIATE_TEST_SUITE_P(Others, GpuForms, testing::ValuesIn(plannedCases()), label);

class GpuResources : public testing::TestWithParam<GpuCase> {};

TEST_P(GpuResources, NothingSpills) {
  const auto &[network, arch] = GetParam();
  if (!available(network))
    GTEST_SKIP() << "the network is not here";
  std::string ptxas = findPtxas();
  if (ptxas.empty())
    GTEST_SKIP() << "there is no ptxas";
  const GpuArch *gpu = findGpuArch(arch);
  auto context = makeNetworkContext();
  OwningOpRef<ModuleOp> module = planNetwork(context.get(), network, gpu);
  ASSERT_TRUE(module);
  Kernels kernels(context.get(), gpu);
  llvm::StringMap<std::string> names;
  module->walk<WalkOrder::PreOrder>([&](kernel::DispatchOp dispatch) {
    auto launches = kernels.addAll(dispatch);
    EXPECT_TRUE(succeeded(launches)) << dispatch.getName().str();
    if (succeeded(launches))
      for (auto launch : launches->getAsRange<kernel::LaunchAttr>())
        names[symbolOf(launch)] = dispatch.getName().str();
    return WalkResult::skip(); // the members of a batch are compiled with it
  });
  auto start = std::chrono::steady_clock::now();
  auto compiled = compileNvptx(kernels.modules()[0], {.ptxas = ptxas});
  ASSERT_TRUE(succeeded(compiled));
  int most = 0;
  size_t count = 0;
  for (const NvptxModule &part : *compiled)
    for (const NvptxKernel &kernel : part.kernels) {
      ASSERT_TRUE(kernel.report) << kernel.symbol;
      ++count;
      most = std::max(most, kernel.report->registers);
      EXPECT_EQ(kernel.report->spillStoreBytes + kernel.report->spillLoadBytes + kernel.report->stackBytes, 0)
          << names[kernel.symbol];
      // There are registers for all threads of a block.
      EXPECT_LE(kernel.report->registers * kernel.entry.getThreads(), gpu->registersPerSm) << names[kernel.symbol];
    }
  EXPECT_EQ(count, names.size());
  double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  llvm::outs() << llvm::formatv("{0} kernels, at most {1} registers, {2:f1} ms a kernel\n", count, most,
                                ms / double(count));
  llvm::outs().flush();
}

INSTANTIATE_TEST_SUITE_P(All, GpuResources, testing::ValuesIn(gpuCases(oneLevel())), label);
