//===- NetworkTest.cpp - every dispatch of whole networks, on the evaluator's own inputs -----------===//
//
// The evaluator (Rounded) runs a planned network: evaluation, one training step, and a second one with optimizer state. Every kernel.dispatch
// on the way is also run as compiled: loops by the code generator, library calls by each provider that is here. Its results must lie in the
// dispatch's enclosure (Enclosure.h). Prints one line for each result.
//
//===----------------------------------------------------------------------===//
#include "Enclosure.h"
#include "GenericLibrary.h"
#include "Network.h"
#include "compiler/Codegen/HostCodegen.h"
#include "compiler/Evaluator/Evaluator.h"
#include "compiler/Package/LibraryCalls.h"
#include "dialects/Graph/IR/Shapes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "test/codegen/KernelHarness.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <dlfcn.h>
#include <gtest/gtest.h>

using namespace mlir;
using namespace mpc;
using namespace mpc::test;

namespace {

std::vector<const mpc_library *> providers() {
  std::vector<const mpc_library *> result{mpc_generic_library(1)};
  if (void *plugin = dlopen(MPC_BIN_DIR "/libmpc_onednn.so", RTLD_NOW | RTLD_LOCAL))
    result.push_back(reinterpret_cast<mpc_library_entry_fn>(dlsym(plugin, MPC_LIBRARY_ENTRY))(1));
  return result;
}

/// Runs a library dispatch; empty when the provider does not compute it.
std::optional<HostTensor> runLibrary(const mpc_library *library, kernel::DispatchOp dispatch, ArrayRef<HostTensor> inputs) {
  FailureOr<LibraryCall> call = describeLibraryCall(dispatch);
  if (failed(call))
    return std::nullopt;
  char error[256];
  mpc_library_primitive *primitive = library->create(&call->desc, error, sizeof error);
  if (!primitive)
    return std::nullopt;
  std::vector<Memory> memories;
  for (const HostTensor &t : inputs)
    memories.emplace_back(t);
  memories.emplace_back(graph::typeOf(dispatch.getResult(0)));
  Memory scratch(RankedTensorType::get(int64_t(library->scratch_bytes(primitive)), IntegerType::get(dispatch.getContext(), 8)));
  std::vector<void *> buffers;
  for (unsigned argument : call->args)
    buffers.push_back(memories[argument].data());
  library->execute(primitive, buffers.data(), scratch.data());
  library->destroy(primitive);
  EXPECT_TRUE(scratch.guardIntact()) << "wrote beyond its scratch";
  for (const Memory &m : memories)
    EXPECT_TRUE(m.guardIntact()) << "wrote beyond a buffer";
  return memories.back().read();
}

/// What 16-bit results may differ by in the mean (root mean squares, relative to the values): half an ulp of 1. The bounds of sums grow with their
/// length and hold for the worst order and signs of roundings; here that does not count. A library call that spares the inner rounding
/// of its epilogue differs by that rounding, in the mean ulp/sqrt(12); other results that are rounded as the evaluator's hardly differ at all.
double meanBound(Type element) { return element.isF16() ? 0x1p-11 : element.isBF16() ? 0x1p-8 : INFINITY; }

class Network : public testing::TestWithParam<NetworkCase> {
protected:
  void check(kernel::DispatchOp dispatch, StringRef how, ArrayRef<Enclosure> expected, ArrayRef<HostTensor> actual) {
    for (auto [r, enclosure] : llvm::enumerate(expected)) {
      Comparison c = compare(enclosure, actual[r]);
      std::string type;
      llvm::raw_string_ostream(type) << enclosure.value.type();
      llvm::outs() << llvm::formatv("{0,-8} {1,-56} {2,-26} {3,6:P1} {4,9:f1} {5,9:f1} {6:E1} {7:E1}{8}\n", how,
                                    (dispatch.getName() + (expected.size() > 1 ? "#" + Twine(r) : Twine())).str(), type,
                                    c.elements ? double(c.different) / double(c.elements) : 0.0, c.maxUlps, c.allowedUlps, c.rms, c.allowedRms,
                                    c.outside ? "  FAIL" : "");
      if (c.outside) {
        std::string body;
        llvm::raw_string_ostream(body) << dispatch;
        double want = enclosure.value.values[c.firstOutside];
        ADD_FAILURE() << how.str() << " " << dispatch.getName().str() << ", result " << r << ": " << c.outside << " of " << c.elements
                      << " elements outside; element " << c.firstOutside << " is " << actual[r].values[c.firstOutside] << ", expected " << want << " in ["
                      << enclosure.low.values[c.firstOutside] << ", " << enclosure.high.values[c.firstOutside] << "]\n" << body;
      }
      EXPECT_EQ(c.unbounded, 0) << dispatch.getName().str() << ": nothing is known of these elements";
      EXPECT_LE(c.rms, meanBound(enclosure.value.element)) << dispatch.getName().str();
    }
    ++checked;
  }
  int checked = 0;
};

TEST_P(Network, EveryDispatchIsWithinItsStatedUlps) {
  if (!available(GetParam()))
    GTEST_SKIP() << "the reference networks are not here";
  auto context = makeNetworkContext();
  OwningOpRef<ModuleOp> module = planNetwork(context.get(), GetParam());
  ASSERT_TRUE(module);

  HostCodegen codegen(context.get());
  DenseMap<Operation *, HostKernel> kernels;
  int dispatches = 0;
  module->walk([&](kernel::DispatchOp dispatch) {
    if (dispatch->getParentOfType<FunctionOpInterface>().getName() == "predict")
      return; // what @eval does, without its loss
    ++dispatches;
    if (dispatch.getLibrary())
      return;
    auto kernel = codegen.add(dispatch);
    ASSERT_TRUE(succeeded(kernel));
    kernels[dispatch] = *kernel;
  });
  auto objects = codegen.emit({HostCpu::native()});
  ASSERT_TRUE(succeeded(objects));
  Library library(objects->front().bytes);
  auto libraries = providers();

  Evaluator evaluator(*module, EvalMode::Rounded);
  auto observe = [&](Operation *op, ArrayRef<HostTensor> operands, ArrayRef<HostTensor> results) {
    auto dispatch = dyn_cast<kernel::DispatchOp>(op);
    if (!dispatch)
      return;
    auto expected = enclose(dispatch, operands);
    ASSERT_TRUE(succeeded(expected)) << dispatch.getName().str();
    for (auto [enclosure, result] : llvm::zip_equal(*expected, results))
      ASSERT_TRUE(llvm::equal(enclosure.value.values, result.values, [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }));
    if (!dispatch.getLibrary()) {
      check(dispatch, "loop", *expected, runKernel(library.find(kernels[dispatch].symbol), kernels[dispatch], dispatch, operands));
      return;
    }
    int computed = 0;
    for (const mpc_library *provider : libraries)
      if (auto result = runLibrary(provider, dispatch, operands)) {
        check(dispatch, StringRef(provider->name).split(' ').first, *expected, *result);
        ++computed;
      }
    EXPECT_GT(computed, 0) << dispatch.getName().str() << ": no provider";
    checked -= computed - 1;
  };
  SmallVector<HostTensor> results;
  auto run = [&](StringRef entry) {
    ASSERT_TRUE(succeeded(evaluator.run(entry, inputsOf(module->lookupSymbol(entry), GetParam()), results))) << entry.str();
  };
  llvm::outs() << "how      dispatch                                                 result                     differ  max ulps   allowed      rms allowed rms\n";
  run("main");
  evaluator.observer = observe;
  run("main");
  run("eval");
  llvm::outs().flush();
  EXPECT_EQ(checked, dispatches);
}

INSTANTIATE_TEST_SUITE_P(All, Network, testing::ValuesIn(networkCases()), [](const auto &info) { return info.param.label(); });

} // namespace
