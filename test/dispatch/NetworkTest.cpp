//===- NetworkTest.cpp - every dispatch of whole networks, on the evaluator's own inputs -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The test runs an evaluation and a training step with the state that another step left. On the host, loops are run by
// the code generator and library calls by each available provider. GPU kernels run on the emulator.
//
//===----------------------------------------------------------------------===//
#include "Network.h"
#include "DispatchCheck.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace mpc;
using namespace mpc::test;

namespace {

class Network : public testing::TestWithParam<NetworkCase> {
protected:
  void SetUp() override {
    if (!available(GetParam()))
      GTEST_SKIP() << "the reference networks are not here";
  }
  void check(const NetworkCase &network, const GpuArch *gpu) {
    auto context = makeNetworkContext();
    OwningOpRef<ModuleOp> module = planNetwork(context.get(), network, gpu);
    ASSERT_TRUE(module);
    auto inputs = [&](StringRef entry) { return inputsOf(module->lookupSymbol(entry), network); };
    auto executor = gpu ? makeEmulatorExecutor(context.get(), *gpu) : makeHostExecutor(context.get());
    // @predict has the dispatches of @eval without the loss, so it is left out.
    DispatchCheck check(*executor, *module, {"main", "eval"});
    check.evaluate("main", inputs("main"));
    check.compare("main", inputs("main"));
    check.compare("eval", inputs("eval"));
    check.expectAll();
  }
  void checkGpu(StringRef arch) {
    NetworkCase network = GetParam();
    network.batch = 3;
    check(network, findGpuArch(arch));
  }
};

TEST_P(Network, EveryDispatchIsWithinItsStatedUlps) { check(GetParam(), nullptr); }

/// Batches are small to save time, and odd so that most grids have a tail.
TEST_P(Network, EveryKernelOf_sm_75_IsWithinItsStatedUlps) { checkGpu("sm_75"); }
TEST_P(Network, EveryKernelOf_sm_80_IsWithinItsStatedUlps) { checkGpu("sm_80"); }
TEST_P(Network, EveryKernelOf_sm_90a_IsWithinItsStatedUlps) { checkGpu("sm_90a"); }

INSTANTIATE_TEST_SUITE_P(All, Network, testing::ValuesIn(networkCases()),
                         [](const auto &info) { return info.param.label(); });

} // namespace
