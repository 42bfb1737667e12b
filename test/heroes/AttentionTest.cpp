// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention and its gradient as GPU kernels on the emulator, under two orders of threads, against sums in double.
//
#include "HeroHarness.h"
#include "compiler/Codegen/EmulatorCodegen.h"
#include "compiler/Codegen/NvptxCodegen.h"
#include "compiler/Codegen/Ptxas.h"
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Kernel/Analysis/AttentionKernel.h"
#include "passes/Lowering/AttentionToGpu/AttentionToGpu.h"
#include "passes/Lowering/Schedule/AttentionSchedule.h"
#include "runtime/emulator/Emulator.h"
#include "test/codegen/EmulatedDispatches.h"
#include "test/dispatch/AttentionErrors.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "gtest/gtest.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::test;

namespace {

struct Attention {
  std::string element = "f16";
  int64_t samples = 1, heads = 1, keyHeads = 1, queries = 16, keys = 16, depth = 16, width = 16;
  std::vector<int64_t> mask = {}, bias = {}; ///< empty: none
  std::optional<double> fill = {};
  std::optional<int64_t> before = {}, after = {};
  bool zeroRows = false, drops = false;
  double scale = 0.25, size = 2; ///< q, k, v and dy are drawn from [-size, size]
  size_t schedule = 0;
  bool whole = false;       ///< they are rounded to integers, whose products in f32 are exact
  bool forwardOnly = false; ///< the gradient would leave the range of its type
  bool joined = false;      ///< the gradient is one tensor [samples, rows, heads, depth], of all heads

  std::string name() const {
    return llvm::formatv("{0} {1}x{2}/{3} {4}x{5} {6}/{7}{8}{9}{10}{11}{12}{13} size {14}, schedule {15}", element,
                         samples, heads, keyHeads, queries, keys, depth, width, mask.empty() ? "" : " mask",
                         bias.empty() ? "" : " bias", fill ? " fill" : "", before ? " before" : "",
                         after ? " after" : "",
                         zeroRows ? " zero rows"
                         : drops  ? " drops"
                                  : "",
                         size, schedule)
        .str();
  }
  std::string attributes() const {
    std::string text = llvm::formatv("{{scale = {0:e8} : f64", scale).str();
    if (fill)
      text += llvm::formatv(", fill = {0:e8} : f64", *fill).str();
    if (before)
      text += ", before = " + std::to_string(*before) + " : i64";
    if (after)
      text += ", after = " + std::to_string(*after) + " : i64";
    if (drops)
      text += ", ratio = 3.0e-1 : f64, salt = 5 : i64";
    return text + (zeroRows ? ", zero_rows}" : "}");
  }
};

std::string tensorOf(ArrayRef<int64_t> shape, StringRef element) {
  std::string text = "tensor<";
  for (int64_t extent : shape)
    text += std::to_string(extent) + "x";
  return text + element.str() + ">";
}

class AttentionBatch {
public:
  explicit AttentionBatch(StringRef arch) : arch(*findGpuArch(arch)), context(makeContext()) {
    DialectRegistry registry;
    registerNvptxDialects(registry);
    context->appendDialectRegistry(registry);
    context->loadAllAvailableDialects(); // before compilation starts threads
    kernels = ModuleOp::create(UnknownLoc::get(context.get()));
    (*kernels)->setAttr(kernel::TargetAttr::name, kernel::TargetAttr::get(context.get(), arch));
  }

  void add(const Attention &a) {
    add(a, /*gradient=*/false);
    if (!a.forwardOnly)
      add(a, /*gradient=*/true);
  }
  void run() {
    auto object = emitEmulatorObject(*kernels);
    ASSERT_TRUE(succeeded(object));
    rt::emulator::Module module(*object, "emulator.so");
    for (size_t i = 0; i < items.size(); ++i)
      check(module, i);
  }
  ModuleOp module() { return *kernels; }
  /// Returns what a kernel computes, for messages.
  std::string nameOf(StringRef symbol) const {
    unsigned number = 0;
    symbol.consume_front("attention");
    symbol.consumeInteger(10, number);
    return arch.name.str() + " " + items[number].attention.name() + symbol.str();
  }

private:
  struct Item {
    Attention attention;
    bool gradient;
    OwningOpRef<ModuleOp> module;
    SmallVector<kernel::LaunchAttr> launches;
    std::vector<HostTensor> results = {}; ///< once it has run
  };
  void add(const Attention &a, bool gradient);
  void check(rt::emulator::Module &object, size_t number);

  const GpuArch &arch;
  std::unique_ptr<MLIRContext> context;
  OwningOpRef<ModuleOp> kernels;
  std::vector<Item> items;
};

void AttentionBatch::add(const Attention &a, bool gradient) {
  std::string q = tensorOf({a.samples, a.heads, a.queries, a.depth}, a.element),
              k = tensorOf({a.samples, a.keyHeads, a.keys, a.depth}, a.element),
              v = tensorOf({a.samples, a.keyHeads, a.keys, a.width}, a.element),
              y = tensorOf({a.samples, a.heads, a.queries, a.width}, a.element),
              row = tensorOf({a.samples, a.heads, a.queries, 1}, "f32");
  Case c{.name = a.name(), .inputs = {q, k, v}, .body = {}, .yields = {}};
  std::string operands = " %0, %1, %2", types = q + ", " + k + ", " + v;
  auto also = [&](const std::string &keyword, const std::string &type) {
    operands += (keyword == "," ? ", %" : " " + keyword + " %") + std::to_string(c.inputs.size());
    types += ", " + type;
    c.inputs.push_back(type);
  };
  if (!a.mask.empty())
    also("mask", tensorOf(a.mask, "i1"));
  if (!a.bias.empty())
    also("bias", tensorOf(a.bias, "f32"));
  if (a.drops) {
    also("dropout", "tensor<i64>");
    also(",", "tensor<i64>");
  }
  if (gradient) {
    also("from", row);
    also(",", row);
    also(",", row);
    also(",", y);
    c.body = "%a:3 = graph.attention_grad" + operands + " " + a.attributes() + " : (" + types + ") -> (" + q + ", " +
             k + ", " + v + ")";
    c.yields = {"%a#0 : " + q, "%a#1 : " + k, "%a#2 : " + v};
    if (a.joined) {
      std::string types, whole = tensorOf({a.samples, a.queries, a.heads + 2 * a.keyHeads, a.depth}, a.element);
      for (int i = 0; i < 3; ++i) {
        std::string rows = tensorOf({a.samples, a.queries, i == 0 ? a.heads : a.keyHeads, a.depth}, a.element);
        c.body += "\n%t" + std::to_string(i) + " = graph.transpose %a#" + std::to_string(i) +
                  " {permutation = array<i64: 0, 2, 1, 3>} : (" + (i == 0 ? q : k) + ") -> " + rows;
        types += (i == 0 ? "" : ", ") + rows;
      }
      c.body += "\n%w = graph.concat %t0, %t1, %t2 {axis = 2 : i64} : (" + types + ") -> " + whole;
      c.yields = {"%w : " + whole};
    }
  } else {
    c.body = "%a:3 = graph.attention" + operands + " " + a.attributes() + " : (" + types + ") -> (" + y + ", " + row +
             ", " + row + ")";
    c.yields = {"%a#0 : " + y, "%a#1 : " + row, "%a#2 : " + row};
  }
  OwningOpRef<ModuleOp> module = parseCase(context.get(), c);
  ASSERT_TRUE(module) << c.name;
  setTarget(*module, arch.name);
  kernel::DispatchOp dispatch = dispatchOf(*module);
  Operation *op = kernel::attentionOf(dispatch);
  ASSERT_EQ(kernel::whyNoAttentionKernel(op, arch), "") << c.name;
  auto schedules = attention::schedulesFor(op, arch);
  kernel::Contraction schedule = schedules[a.schedule % schedules.size()];
  dispatch.setScheduleAttr(kernel::ContractionAttr::get(context.get(), schedule));
  std::string symbol = "attention" + std::to_string(items.size());
  auto launches = emitGpuAttention(dispatch, *kernels, symbol);
  ASSERT_TRUE(succeeded(launches)) << c.name;
  EXPECT_EQ(launches->size(), gradient ? 2u : 1u) << c.name;
  // The choice of a schedule counts what emission allocates.
  kernels->lookupSymbol(gradient ? symbol + "_dkv" : symbol)->walk([&](kernel::SharedOp piece) {
    EXPECT_EQ(int64_t(piece.getBytes()), attention::sharedBytes(op, schedule.m, schedule.n)) << c.name;
  });
  items.push_back({a, gradient, std::move(module), *launches});
}

/// Takes a joined gradient apart: dq, dk and dv as [samples, heads, rows, depth].
std::vector<HostTensor> apart(const Attention &a, const HostTensor &joined) {
  std::vector<HostTensor> results(3);
  const int64_t all = a.heads + 2 * a.keyHeads;
  for (int64_t i = 0, first = 0; i < 3; ++i) {
    const int64_t heads = i == 0 ? a.heads : a.keyHeads;
    for (int64_t b = 0; b < a.samples; ++b)
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t m = 0; m < a.queries; ++m)
          for (int64_t d = 0; d < a.depth; ++d)
            results[i].values.push_back(joined.values[((b * a.queries + m) * all + first + h) * a.depth + d]);
    first += heads;
  }
  return results;
}

void AttentionBatch::check(rt::emulator::Module &object, size_t number) {
  Item &item = items[number];
  const Attention &a = item.attention;
  kernel::DispatchOp dispatch = dispatchOf(*item.module);
  std::mt19937_64 random(11);
  SmallVector<HostTensor> inputs;
  for (auto [i, v] : llvm::enumerate(dispatch.getInputs()))
    inputs.push_back(draw(graph::typeOf(v), {-a.size, a.size}, random));
  if (a.whole)
    for (HostTensor &input : inputs)
      for (double &number : input.values)
        number = std::round(number);
  if (a.zeroRows && !a.mask.empty()) // a query that sees no key
    for (int64_t n = 0; n < a.mask[3]; ++n)
      inputs[3].values[n] = 0;
  if (!a.zeroRows && !a.fill && !a.mask.empty()) // no query without keys
    for (size_t i = 0; i < inputs[3].values.size(); i += a.mask[3])
      inputs[3].values[i] = 1;
  Operation *op = kernel::attentionOf(dispatch);
  if (item.gradient) { // the statistics are those of the forward pass
    size_t first = inputs.size() - 4;
    ASSERT_GE(number, 1u);
    const std::vector<HostTensor> &forward = items[number - 1].results;
    int64_t rows = a.samples * a.heads * a.queries;
    for (int64_t row = 0; row < rows; ++row) {
      inputs[first].values[row] = forward[1].values[row];
      inputs[first + 1].values[row] = forward[2].values[row];
      double delta = 0;
      for (int64_t i = 0; i < a.width; ++i)
        delta += inputs[first + 3].values[row * a.width + i] * forward[0].values[row * a.width + i];
      inputs[first + 2].values[row] = double(float(delta));
    }
  }
  AttentionNumbers wanted = computeAttention(op, inputs);
  std::string name = a.name() + (item.gradient ? " gradient" : "") + " on " + arch.name.str();
  SCOPED_TRACE(name);
  auto launch = [&](uint64_t seed) {
    std::vector<HostTensor> results =
        launchEmulated(dispatch, item.launches, *kernels, /*scratchBytes=*/0, object, inputs, seed);
    return a.joined && item.gradient ? apart(a, results.front()) : results;
  };
  std::vector<HostTensor> results = launch(0);
  ASSERT_EQ(results.size(), wanted.results.size());
  for (size_t r = 0; r < results.size(); ++r) {
    int64_t outside = 0;
    for (size_t i = 0; i < wanted.results[r].size(); ++i) {
      double got = results[r].values[i], want = wanted.results[r][i], error = wanted.errors[r][i];
      bool equal = got == want || (std::isnan(got) && std::isnan(want)) || std::abs(got - want) <= error;
      if (!equal && ++outside == 1)
        ADD_FAILURE() << name << ": result " << r << ", element " << i << ": " << got << " instead of " << want
                      << ", which may be off by " << error;
    }
    EXPECT_EQ(outside, 0) << name << ": result " << r << " of " << wanted.results[r].size();
  }
  std::vector<HostTensor> again = launch(1);
  for (size_t r = 0; r < again.size(); ++r)
    for (size_t i = 0; i < again[r].values.size(); ++i)
      EXPECT_TRUE(again[r].values[i] == results[r].values[i] || std::isnan(results[r].values[i]))
          << name << ": other results in another order of threads";
  item.results = std::move(results);
}

class AttentionTest : public testing::TestWithParam<const char *> {};

} // namespace

TEST_P(AttentionTest, Forms) {
  AttentionBatch batch(GetParam());
  batch.add({});
  batch.add({.element = "bf16", .queries = 65, .keys = 70, .depth = 64, .width = 64, .scale = 0.125});
  batch.add({.heads = 4, .keyHeads = 2, .queries = 33, .keys = 129, .depth = 40, .width = 24, .after = 96});
  batch.add(
      {.samples = 2, .heads = 2, .keyHeads = 1, .queries = 130, .keys = 130, .depth = 32, .width = 32, .after = 0});
  batch.add({.element = "bf16",
             .queries = 140,
             .keys = 140,
             .depth = 128,
             .width = 128,
             .before = 20,
             .after = 3,
             .scale = 0.09});
  batch.add({.samples = 2, .heads = 2, .keyHeads = 2, .queries = 20, .keys = 30, .mask = {2, 1, 20, 30}});
  batch.add({.queries = 20, .keys = 30, .mask = {1, 1, 20, 30}, .zeroRows = true});
  batch.add({.queries = 20, .keys = 30, .mask = {1, 1, 20, 30}, .fill = -3.40282347e38});
  batch.add({.samples = 2,
             .heads = 2,
             .keyHeads = 2,
             .queries = 20,
             .keys = 30,
             .mask = {1, 1, 1, 30},
             .bias = {1, 2, 20, 1}});
  batch.add({.queries = 5, .keys = 100, .depth = 8, .width = 8, .size = 40});
  batch.add({.element = "bf16", .samples = 2, .heads = 2, .keyHeads = 2, .queries = 70, .keys = 77, .drops = true});
  batch.add({.queries = 400, .keys = 128, .before = 300});
  batch.add({.queries = 128, .keys = 400, .after = 300});
  batch.add({.queries = 130, .keys = 200, .after = 1}); // the last key of a block's queries is the first one of a tile
  batch.add({.queries = 70, .keys = 20, .after = -60, .zeroRows = true}); // most queries see nothing
  batch.add({.samples = 2, .heads = 3, .keyHeads = 3, .queries = 70, .keys = 70, .after = 0, .joined = true});
  batch.add({.element = "bf16",
             .samples = 2,
             .heads = 4,
             .keyHeads = 2,
             .queries = 20,
             .keys = 20,
             .depth = 40,
             .width = 40,
             .joined = true});
  batch.run();
}

/// Scores of thousands to billions, whose differences alone matter, and scales that are powers of two or not.
TEST_P(AttentionTest, LargeScores) {
  AttentionBatch batch(GetParam());
  for (double scale : {0.125, 0.11, 44.4}) {
    for (std::string element : {"f16", "bf16"})
      for (double size : {300., 3000., 60000.}) {
        Attention a{.element = element, .queries = 40, .keys = 150, .depth = 64, .width = 64, .scale = scale};
        a.size = size;
        a.forwardOnly = true;
        batch.add(a);
        a.queries = a.keys = 90;
        a.after = 0;
        batch.add(a);
      }
    Attention a{.element = "bf16", .queries = 40, .keys = 150, .depth = 64, .width = 64, .scale = scale, .size = 255};
    a.whole = true;
    batch.add(a);
    a.queries = a.keys = 90;
    a.after = 0;
    batch.add(a);
  }
  for (double scale : {1e-6, -0.25})
    batch.add({.queries = 40, .keys = 150, .scale = scale, .size = 30});
  batch.run();
}

TEST_P(AttentionTest, Random) {
  Random random(3);
  AttentionBatch batch(GetParam());
  const char *many = std::getenv("MPC_ATTENTIONS"); // for campaigns
  for (int i = 0, count = many ? std::atoi(many) : 20; i < count; ++i) {
    Attention a{.element = random(0, 1) ? "f16" : "bf16"};
    a.samples = random(1, 2), a.keyHeads = random(1, 2), a.heads = a.keyHeads * random(1, 3);
    a.queries = random(1, 150), a.keys = random(1, 150), a.depth = 8 * random(1, 16), a.width = 8 * random(1, 16);
    if (random(0, 2) == 0) // heads for wgmma
      a.depth = 64 * random(1, 2), a.width = 64 * random(1, 2);
    auto extents = [&] {
      return std::vector<int64_t>{random(0, 1) ? 1 : a.samples, random(0, 1) ? 1 : a.heads,
                                  random(0, 3) ? a.queries : 1, random(0, 3) ? a.keys : 1};
    };
    if (random(0, 2) == 0)
      a.mask = extents();
    if (random(0, 2) == 0)
      a.bias = extents();
    if (random(0, 3) == 0)
      a.fill = random(0, 1) ? -1e4 : -3.40282347e38;
    if (random(0, 2) == 0)
      a.after = random(-10, 40);
    if (random(0, 3) == 0)
      a.before = random(-10, 40);
    int64_t after = a.after.value_or(INT32_MAX), before = a.before.value_or(INT32_MAX);
    a.zeroRows = random(0, 1) || after < 0 || before + after < 0 || a.queries - before > a.keys;
    a.scale = 1 / std::sqrt(double(a.depth));
    a.size = random.of<double>({0.01, 1, 3, 30});
    a.schedule = random(0, 2);
    a.drops = random(0, 3) == 0;
    batch.add(a);
  }
  batch.run();
}

TEST_P(AttentionTest, NothingSpills) {
  std::string ptxas = findPtxas();
  if (ptxas.empty())
    GTEST_SKIP() << "no ptxas";
  AttentionBatch batch(GetParam());
  for (int64_t depth : {16, 64, 80, 128})
    for (size_t schedule = 0; schedule < (depth % 64 ? 2 : 3); ++schedule) { // heads of whole lines have wgmma, too
      Attention a{.element = depth == 80 ? "f16" : "bf16", .heads = 4, .keyHeads = 2, .queries = 300, .keys = 300};
      a.depth = a.width = depth;
      a.schedule = schedule;
      a.after = 0;
      batch.add(a);
      a.drops = true;
      batch.add(a);
      a.drops = false;
      a.mask = {1, 1, 300, 300};
      a.bias = {1, 4, 300, 300};
      batch.add(a);
    }
  auto modules = compileNvptx(batch.module(), {.modules = 8, .threads = 2, .ptxas = ptxas});
  ASSERT_TRUE(succeeded(modules));
  for (const NvptxModule &module : *modules)
    for (const NvptxKernel &kernel : module.kernels) {
      ASSERT_TRUE(kernel.report);
      const PtxasReport &report = *kernel.report;
      std::string name = batch.nameOf(kernel.symbol);
      printf("%-60s %3d registers %6lld bytes shared\n", name.c_str(), report.registers,
             static_cast<long long>(report.sharedBytes + kernel.dynamicSharedBytes));
      EXPECT_EQ(report.spillStoreBytes + report.spillLoadBytes, 0) << name;
      EXPECT_EQ(report.stackBytes, 0) << name;
      for (const std::string &warning : report.warnings)
        ADD_FAILURE() << name << ": " << warning;
    }
}

INSTANTIATE_TEST_SUITE_P(Archs, AttentionTest, testing::Values("sm_80", "sm_90a"));
