//===- NetworkTest.cpp - every dispatch of whole networks, on the evaluator's own inputs -----------===//
//
// Evaluation and a training step, with the state that another step left: on the host, loops by the code
// generator and library calls by each provider that is here; and as GPU kernels on the emulator.
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
    auto executor =
        gpu ? makeEmulatorExecutor(context.get(), *gpu, mostProducts) : makeHostExecutor(context.get());
    // @predict is what @eval does, without its loss.
    DispatchCheck check(*executor, *module, {"main", "eval"});
    check.evaluate("main", inputs("main"));
    check.compare("main", inputs("main"));
    check.compare("eval", inputs("eval"));
    check.expectAll();
  }
  /// Multiplications of a dispatch that the emulator does in about a second.
  static constexpr int64_t mostProducts = 4'000'000;
};

TEST_P(Network, EveryDispatchIsWithinItsStatedUlps) { check(GetParam(), nullptr); }

/// The emulator runs some million threads a second: batches are smaller, and odd, so that most grids have
/// tails.
TEST_P(Network, EveryGpuKernelIsWithinItsStatedUlps) {
  NetworkCase network = GetParam();
  network.batch = 3;
  check(network, findGpuArch("sm_80"));
}

INSTANTIATE_TEST_SUITE_P(All, Network, testing::ValuesIn(networkCases()),
                         [](const auto &info) { return info.param.label(); });

} // namespace
