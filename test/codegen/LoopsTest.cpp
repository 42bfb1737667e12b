//===- LoopsTest.cpp - whatever loops the verifier accepts, emission makes ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// #kernel.loops are drawn at random for a few dispatches. Most do not fit. Each that the verifier of kernel.dispatch
// accepts becomes a kernel, for the host and for the emulator of GPUs, whose results are compared with the evaluator's.
// So the test finds rules that are missing in dialects/Kernel/Analysis/LoopRules.h. The shared memory of each GPU
// kernel is as large as the verifier has assumed. That the rules are not too strict is seen from the other side
// (ChosenLoopsTest.cpp).
//
//===------------------------------------------------------------------------------------===//
#include "EmulatedDispatches.h"
#include "KernelHarness.h"
#include "compiler/Codegen/EmulatorCodegen.h"
#include "compiler/Evaluator/Evaluator.h"
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Kernel/Analysis/BlockMemory.h"
#include "dialects/Kernel/Analysis/Dims.h"
#include "dialects/Kernel/IR/SharedMemory.h"
#include "runtime/emulator/Emulator.h"
#include "mlir/IR/Verifier.h"
#include <gtest/gtest.h>
#include <set>

using namespace mlir;
using namespace mpc;
using namespace mpc::test;
using namespace mpc::kernel;

namespace {

/// Sums are of at most 64 numbers up to 8, which loops add in different orders. Each of at most 63 additions rounds a
/// partial sum of at most 64 * 8 (Higham 2002, equation 4.4): 63 * 2^-24 * 512.
constexpr double sumError = 63 * 0x1p-24 * 512;

/// The products of a window, too, are rounded where they are added: at most 9 * 8 * 8, and twice as often.
constexpr double windowError = 18 * 0x1p-24 * 576;

std::string sumOver(const std::string &axes, const std::string &x, const std::string &types) {
  return "graph.reduce_sum " + x + " {axes = array<i64: " + axes + ">, keepdims = false} : " + types;
}

/// Extents are no multiples of tiles and blocks. Only sums are not exact.
std::vector<Case> cases() {
  std::string sums = "tensor<30x40xf32>) -> ";
  return {
      {.name = "broadcast",
       .inputs = {"tensor<6x10x12xf32>", "tensor<12xf32>"},
       .body = "%y = graph.add %0, %1 : (tensor<6x10x12xf32>, tensor<12xf32>) -> tensor<6x10x12xf32>",
       .yields = {"%y : tensor<6x10x12xf32>"}},
      {.name = "transpose",
       .inputs = {"tensor<3x10x12xf32>"},
       .body = "%y = graph.transpose %0 {permutation = array<i64: 0, 2, 1>} : (tensor<3x10x12xf32>) -> "
               "tensor<3x12x10xf32>\n%z = graph.neg %y : tensor<3x12x10xf32>",
       .yields = {"%y : tensor<3x12x10xf32>", "%z : tensor<3x12x10xf32>"}},
      {.name = "concat rows",
       .inputs = {"tensor<2x8x4xf32>", "tensor<3x8x4xf32>"},
       .body = "%y = graph.concat %0, %1 {axis = 0 : i64} : (tensor<2x8x4xf32>, tensor<3x8x4xf32>) -> "
               "tensor<5x8x4xf32>",
       .yields = {"%y : tensor<5x8x4xf32>"}},
      {.name = "concat columns",
       .inputs = {"tensor<9x5xf32>", "tensor<9x7xf32>"},
       .body = "%y = graph.concat %0, %1 {axis = 1 : i64} : (tensor<9x5xf32>, tensor<9x7xf32>) -> tensor<9x12xf32>",
       .yields = {"%y : tensor<9x12xf32>"}},
      {.name = "sums of columns",
       .inputs = {"tensor<30x40xf32>"},
       .body = "%y = " + sumOver("0", "%0", "(" + sums + "tensor<40xf32>"),
       .yields = {"%y : tensor<40xf32>"},
       .absolute = sumError},
      {.name = "sums of rows",
       .inputs = {"tensor<30x40xf32>"},
       .body = "%y = " + sumOver("1", "%0", "(" + sums + "tensor<30xf32>"),
       .yields = {"%y : tensor<30xf32>"},
       .absolute = sumError},
      {.name = "sums around a dimension",
       .inputs = {"tensor<4x6x16xf32>"},
       .body = "%y = " + sumOver("0, 2", "%0", "(tensor<4x6x16xf32>) -> tensor<6xf32>"),
       .yields = {"%y : tensor<6xf32>"},
       .absolute = sumError},
      {.name = "largest of columns and the distances to it",
       .inputs = {"tensor<3x10x16xf32>"},
       .body = "%m = graph.reduce_max %0 {axes = array<i64: 1>, keepdims = true} : (tensor<3x10x16xf32>) -> "
               "tensor<3x1x16xf32>\n%d = graph.sub %0, %m : (tensor<3x10x16xf32>, tensor<3x1x16xf32>) -> "
               "tensor<3x10x16xf32>",
       .yields = {"%m : tensor<3x1x16xf32>", "%d : tensor<3x10x16xf32>"}},
      {.name = "sums of the distances to the largest of rows",
       .inputs = {"tensor<9x40xf32>"},
       .body = "%m = graph.reduce_max %0 {axes = array<i64: 1>, keepdims = true} : (tensor<9x40xf32>) -> "
               "tensor<9x1xf32>\n%d = graph.sub %0, %m : (tensor<9x40xf32>, tensor<9x1xf32>) -> tensor<9x40xf32>\n%s "
               "= " +
               sumOver("1", "%d", "(tensor<9x40xf32>) -> tensor<9xf32>"),
       .yields = {"%d : tensor<9x40xf32>", "%s : tensor<9xf32>"},
       .absolute = sumError},
      {.name = "windows of a depthwise convolution",
       .inputs = {"tensor<2x6x8x8xf32>", "tensor<3x3x8xf32>"},
       .body = "%y = graph.depthwise_conv %0, %1 {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = "
               "array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, layout = #graph<layout "
               "channels_last>} : (tensor<2x6x8x8xf32>, tensor<3x3x8xf32>) -> tensor<2x6x8x8xf32>",
       .yields = {"%y : tensor<2x6x8x8xf32>"},
       .absolute = windowError},
      {.name = "values and their transposes",
       .inputs = {"tensor<2x70x40xf32>"},
       .body = "%y = graph.neg %0 : tensor<2x70x40xf32>\n%t = graph.transpose %y {permutation = array<i64: 0, 2, 1>} : "
               "(tensor<2x70x40xf32>) -> tensor<2x40x70xf32>",
       .yields = {"%y : tensor<2x70x40xf32>", "%t : tensor<2x40x70xf32>"}},
  };
}

/// Draws loops for the dimensions of a dispatch, and often such that they fit.
class Draws {
public:
  Draws(DispatchOp dispatch, const GpuArch *gpu, std::mt19937_64 &random)
      : dispatch(dispatch), gpu(gpu), dims(*dimsOf(dispatch)), random(random) {}

  /// Returns null where the attribute itself is wrong.
  LoopsAttr next() {
    Walk walk = walkOf();
    SmallVector<Loop> order = orderOf(walk);
    bool isTiled = walk == Walk::Tiles || walk == Walk::Copies;
    int64_t side = walk == Walk::Copies ? 64 : pick({1, 3, 8, 16, 32, 64});
    for (auto [i, loop] : llvm::enumerate(order))
      if (isTiled ? i + 2 >= order.size() : once(6))
        loop.tile = once(4) ? pick({1, 2, 5, 16}) : side;
    int64_t parallel = random() % (order.size() + 1);
    int64_t vector = pick({1, 1, 1, 2, 4, 5, dims.back().extent});
    SmallVector<int64_t> threads, cuts, extents;
    if (gpu) {
      threads.push_back(pick({1, 1, 2, 4, 8, 16, 32}));
      threads.push_back(isTiled && once(2) ? side : pick({2, 8, 16, 32, 32, 64, 256}));
    }
    bool unroll = once(5);
    if (once(5))
      cuts.push_back(1 + int64_t(random() % 8));
    for (const Dim &dim : dims)
      extents.push_back(dim.extent);
    return LoopsAttr::getChecked([&] { return mlir::emitError(dispatch.getLoc()); }, dispatch.getContext(), walk,
                                 ArrayRef(extents), ArrayRef(order), parallel, vector, ArrayRef(threads), unroll,
                                 ArrayRef(cuts));
  }

private:
  bool once(unsigned in) { return random() % in == 0; }
  int64_t pick(std::initializer_list<int64_t> numbers) { return numbers.begin()[random() % numbers.size()]; }

  Walk walkOf() {
    if (dispatch.getForm() == Form::Pointwise)
      return once(2) ? Walk::Points : Walk::Tiles;
    if (dispatch.getForm() == Form::TransposedCopy)
      return Walk::Copies;
    return once(2) ? Walk::Rows : Walk::Columns;
  }

  SmallVector<Loop> orderOf(Walk walk) {
    SmallVector<Loop> order;
    for (auto [i, dim] : llvm::enumerate(dims)) {
      if (i > 0 && once(3) && dims[i - 1].reduced == dim.reduced)
        ++order.back().count;
      else
        order.push_back({.first = int64_t(i)});
    }
    if (once(2) && dispatch.getForm() != Form::TransposedCopy)
      std::shuffle(order.begin(), order.end(), random);
    auto isKept = [&](const Loop &loop) { return !dims[loop.first].reduced; };
    std::stable_partition(order.begin(), order.end(), isKept);
    if (walk == Walk::Columns) // the last kept loop comes last
      if (auto kept = llvm::count_if(order, isKept))
        std::rotate(order.begin() + kept - 1, order.begin() + kept, order.end());
    return order;
  }

  DispatchOp dispatch;
  const GpuArch *gpu;
  SmallVector<Dim> dims;
  std::mt19937_64 &random;
};

/// A dispatch with loops that the verifier accepts, and its launch.
struct Accepted {
  const Case *c;
  OwningOpRef<ModuleOp> module;
  LaunchAttr launch;

  DispatchOp dispatch() { return dispatchOf(*module); }
  std::string text() {
    std::string text;
    llvm::raw_string_ostream(text) << dispatch().getLoopsAttr();
    return c->name + ": " + text;
  }
};

/// Draws loops for a case until the verifier has accepted `wanted` different ones; fewer if they are rare.
void drawAccepted(MLIRContext *context, const Case &c, StringRef target, size_t wanted, std::mt19937_64 &random,
                  std::vector<Accepted> &accepted) {
  SCOPED_TRACE(c.name);
  OwningOpRef<ModuleOp> module = parseCase(context, c);
  ASSERT_TRUE(module);
  setTarget(*module, target);
  DispatchOp dispatch = dispatchOf(*module);
  const GpuArch *gpu = findGpuArch(target);
  ScopedDiagnosticHandler silent(context, [](Diagnostic &) { return success(); });
  Draws draws(dispatch, gpu, random);
  DenseSet<Attribute> known;
  for (int tries = 0; tries < 2000 && known.size() < wanted; ++tries) {
    LoopsAttr loops = draws.next();
    if (!loops)
      continue;
    dispatch.setLoopsAttr(loops);
    if (succeeded(verify(dispatch)) && known.insert(loops).second)
      accepted.push_back({&c, OwningOpRef<ModuleOp>(module->clone()), LaunchAttr()});
  }
  EXPECT_GE(known.size(), dispatch.getForm() == Form::TransposedCopy ? 1u : 3u) << "too few draws fit";
}

/// Names what loops have besides an order.
std::set<std::string> featuresOf(LoopsAttr loops, DispatchOp dispatch) {
  std::string walk = stringifyWalk(loops.getWalk()).str();
  std::set<std::string> features = {walk};
  auto add = [&](bool has, const char *feature) {
    if (has)
      features.insert(walk + " " + feature);
  };
  SmallVector<Dim> dims = *dimsOf(dispatch);
  auto isTiled = [](const Loop &loop) { return loop.tile > 0; };
  add(loops.getVector() > 1, "vector");
  add(loops.getUnroll(), "unroll");
  add(!loops.getCuts().empty(), "cuts");
  add(llvm::any_of(loops.getOrder(), isTiled), "tiles");
  add(llvm::any_of(loops.getOrder(), [&](const Loop &loop) { return isTiled(loop) && dims[loop.first].reduced; }),
      "tiles of sums");
  add(llvm::any_of(loops.getOrder(), [](const Loop &loop) { return loop.count > 1; }), "merged");
  bool isOfGpu = !loops.getThreads().empty();
  add(isOfGpu && loops.getWalk() == Walk::Rows && loops.getThreads()[1] < warpThreads, "of parts of warps");
  return features;
}

/// Emits the kernels into `emitter`, whose module has the target.
void emitAll(KernelEmitter &emitter, std::vector<Accepted> &accepted) {
  for (Accepted &item : accepted) {
    SCOPED_TRACE(item.text());
    FailureOr<ArrayAttr> launches = emitter.add(item.dispatch());
    ASSERT_TRUE(succeeded(launches));
    ASSERT_EQ(launches->size(), 1u);
    item.launch = cast<LaunchAttr>((*launches)[0]);
  }
}

using Execute = std::function<std::vector<HostTensor>(Accepted &, ArrayRef<HostTensor>)>;

void compareAll(std::vector<Accepted> &accepted, const Execute &execute) {
  for (Accepted &item : accepted) {
    SCOPED_TRACE(item.text());
    std::mt19937_64 random(7);
    SmallVector<HostTensor> inputs, expected;
    for (Value v : item.dispatch().getInputs())
      inputs.push_back(draw(graph::typeOf(v), Draw(), random));
    ASSERT_TRUE(succeeded(Evaluator::evaluateOp(item.dispatch(), inputs, expected, EvalMode::Rounded)));
    std::vector<HostTensor> results = execute(item, inputs);
    ASSERT_EQ(results.size(), expected.size());
    for (auto [r, reference] : llvm::enumerate(expected)) {
      int64_t different = 0;
      for (auto [got, want] : llvm::zip_equal(results[r].values, reference.values))
        different += !(std::abs(got - want) <= item.c->absolute);
      EXPECT_EQ(different, 0) << "elements of result " << r;
    }
  }
}

class Loops : public testing::Test {
protected:
  /// Accepted loops of all cases for a target.
  std::vector<Accepted> drawAll(StringRef target, unsigned seed) {
    std::mt19937_64 random(seed);
    std::vector<Accepted> accepted;
    for (const Case &c : all)
      drawAccepted(context.get(), c, target, /*wanted=*/10, random, accepted);
    parent->getOperation()->setAttr(TargetAttr::name, TargetAttr::get(context.get(), target));
    for (Accepted &item : accepted)
      drawn.merge(featuresOf(item.dispatch().getLoopsAttr(), item.dispatch()));
    return accepted;
  }

  const std::vector<Case> all = cases();
  std::unique_ptr<MLIRContext> context = makeContext();
  OwningOpRef<ModuleOp> parent = ModuleOp::create(UnknownLoc::get(context.get()));
  std::set<std::string> drawn; ///< what the accepted loops have
};

TEST_F(Loops, WhatFitsTheHostIsComputed) {
  std::vector<Accepted> accepted = drawAll("host", 1);
  EXPECT_EQ(drawn, (std::set<std::string>{"points", "points cuts", "points merged", "points tiles", "points vector",
                                          "tiles", "tiles merged", "tiles tiles", "rows", "columns", "columns tiles",
                                          "columns tiles of sums"}));
  KernelEmitter emitter(*parent, hostUnits);
  emitAll(emitter, accepted);
  ASSERT_FALSE(HasFatalFailure());
  auto objects = compileHostKernels(emitter.modules(), {HostCpu::oldest()}, /*threads=*/2);
  ASSERT_TRUE(succeeded(objects));
  Library library(objects->front().bytes);
  compareAll(accepted, [&](Accepted &item, ArrayRef<HostTensor> inputs) {
    return runKernel(library.find(symbolOf(item.launch)), item.launch, item.dispatch(), inputs);
  });
}

TEST_F(Loops, WhatFitsAGpuIsComputed) {
  std::vector<Accepted> accepted = drawAll("sm_80", 2);
  EXPECT_EQ(drawn, (std::set<std::string>{"points", "points merged", "points tiles", "points vector", "tiles",
                                          "tiles merged", "tiles tiles", "copies", "copies tiles", "rows",
                                          "rows unroll", "rows vector", "rows of parts of warps", "columns",
                                          "columns vector", "columns tiles", "columns tiles of sums"}));
  KernelEmitter emitter(*parent, /*units=*/1);
  emitAll(emitter, accepted);
  ASSERT_FALSE(HasFatalFailure());
  for (Accepted &item : accepted) { // before the kernels become code of the emulator
    SCOPED_TRACE(item.text());
    ModuleOp kernels = emitter.modules()[0];
    EXPECT_EQ(SharedMemory(kernels.lookupSymbol(symbolOf(item.launch))).bytes,
              sharedBytes(item.dispatch(), item.dispatch().getLoopsAttr()));
  }
  auto bytes = emitEmulatorObject(emitter.modules()[0], HostCpu::native());
  ASSERT_TRUE(succeeded(bytes));
  rt::emulator::Module object(*bytes, "emulator");
  compareAll(accepted, [&](Accepted &item, ArrayRef<HostTensor> inputs) {
    return launchEmulated(item.dispatch(), item.launch, emitter.modules()[0], /*scratchBytes=*/0, object, inputs,
                          /*seed=*/1);
  });
}

} // namespace
