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

void check(const NetworkCase &network, const GpuArch *gpu) {
  if (!available(network))
    GTEST_SKIP() << "the reference networks are not here";
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

class Network : public testing::TestWithParam<NetworkCase> {};
class GpuNetwork : public testing::TestWithParam<GpuCase> {};

TEST_P(Network, EveryDispatchIsWithinItsStatedUlps) { check(GetParam(), nullptr); }

/// Batches are small to save time, and odd so that most grids have a tail.
TEST_P(GpuNetwork, EveryKernelIsWithinItsStatedUlps) {
  NetworkCase network = GetParam().network;
  network.batch = 3;
  check(network, findGpuArch(GetParam().arch));
}

auto label = [](const auto &info) { return info.param.label(); };
INSTANTIATE_TEST_SUITE_P(All, Network, testing::ValuesIn(networkCases()), label);
INSTANTIATE_TEST_SUITE_P(All, GpuNetwork, testing::ValuesIn(gpuCases(networkCases())), label);

} // namespace
