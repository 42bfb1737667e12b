// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "HeroHarness.h"
#include "compiler/Codegen/EmulatorCodegen.h"
#include "dialects/Graph/IR/Shapes.h"
#include "passes/Lowering/Schedule/Feed.h"
#include "runtime/emulator/Emulator.h"
#include "test/codegen/EmulatedDispatches.h"
#include "test/dispatch/Enclosure.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/FormatVariadic.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace mpc;
using namespace mpc::test;

//===-- Cases ---------------------------------------------------------------------------------------===//

static std::string joined(ArrayRef<int64_t> numbers, StringRef separator) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::interleave(numbers, stream, separator);
  return text;
}
static std::string tensor(const std::string &dims, const std::string &element) {
  return "tensor<" + dims + "x" + element + ">";
}

static HeroCase productOf(const std::string &elementA, const std::string &elementB, const std::string &element, int m,
                          int n, int k, bool transposeA, bool transposeB, const std::string &batchA,
                          const std::string &batchB) {
  auto matrix = [&](const std::string &batch, int rows, int columns, bool transpose, const std::string &own) {
    return tensor(batch + std::to_string(transpose ? columns : rows) + "x" + std::to_string(transpose ? rows : columns),
                  own);
  };
  std::string a = matrix(batchA, m, k, transposeA, elementA), b = matrix(batchB, k, n, transposeB, elementB);
  // The result's batch is the longer one, except for extents of 1 in it.
  auto dims = [](StringRef text) {
    llvm::SmallVector<int64_t> result;
    llvm::SmallVector<StringRef> parts;
    text.split(parts, 'x', -1, /*KeepEmpty=*/false);
    for (StringRef part : parts)
      result.push_back(std::stoll(part.str()));
    return result;
  };
  auto batch = *graph::broadcastShapes(dims(batchA), dims(batchB));
  batch.push_back(m);
  batch.push_back(n);
  std::string c = tensor(joined(batch, "x"), element);
  std::string flags = transposeA && transposeB ? " {transpose_a, transpose_b}"
                      : transposeA             ? " {transpose_a}"
                      : transposeB             ? " {transpose_b}"
                                               : "";
  return {.name = "matmul " + a + " " + b + flags,
          .inputs = {a, b},
          .body = "%h = graph.matmul %0, %1" + flags + " : (" + a + ", " + b + ") -> " + c,
          .yields = {"%h : " + c},
          .draws = {{-1, 1}}};
}

HeroCase mpc::test::matmulCase(const std::string &element, int m, int n, int k, bool transposeA, bool transposeB,
                               const std::string &batchA, const std::string &batchB) {
  return productOf(element, element, element, m, n, k, transposeA, transposeB, batchA, batchB);
}

HeroCase mpc::test::float8Case(const std::string &a, const std::string &b, const std::string &element, int m, int n,
                               int k, const std::string &batchA, const std::string &batchB) {
  return productOf(a, b, element, m, n, k, /*transposeA=*/false, /*transposeB=*/true, batchA, batchB);
}

std::vector<int64_t> Window::out() const {
  std::vector<int64_t> result;
  for (size_t i = 0; i < in.size(); ++i)
    result.push_back(graph::windowCount(in[i], kernel[i], strides[i], dilations[i], padLow[i], padHigh[i]));
  return result;
}

HeroCase mpc::test::convCase(ConvKind kind, const std::string &element, const Window &w) {
  auto activation = [&](ArrayRef<int64_t> spatial, int64_t channels) {
    return tensor(std::to_string(w.batch) + "x" + joined(spatial, "x") + "x" + std::to_string(channels), element);
  };
  std::string x = activation(w.in, w.channels), y = activation(w.out(), w.outChannels);
  std::string own = std::to_string(w.channels / w.groups), taps = joined(w.kernel, "x");
  std::string weights = tensor(
      std::to_string(w.outChannels) + "x" + (w.weightChannelsLast ? taps + "x" + own : own + "x" + taps), element);
  auto list = [](const char *name, ArrayRef<int64_t> numbers) {
    return std::string(name) + " = array<i64: " + joined(numbers, ", ") + ">";
  };
  std::string attributes = " {" + list("strides", w.strides) + ", " + list("dilations", w.dilations) + ", " +
                           list("pad_low", w.padLow) + ", " + list("pad_high", w.padHigh) +
                           ", groups = " + std::to_string(w.groups) + " : i64, layout = #graph<layout channels_last>" +
                           (w.weightChannelsLast ? ", weight_channels_last}" : "}");
  const char *op = kind == ConvKind::Forward     ? "conv"
                   : kind == ConvKind::InputGrad ? "conv_input_grad"
                                                 : "conv_weight_grad";
  std::string a = kind == ConvKind::InputGrad ? y : x, b = kind == ConvKind::WeightGrad ? y : weights;
  std::string c = kind == ConvKind::Forward ? y : kind == ConvKind::InputGrad ? x : weights;
  return {.name = op + (" " + a + " " + b) + attributes,
          .inputs = {a, b},
          .body = "%h = graph." + std::string(op) + " %0, %1" + attributes + " : (" + a + ", " + b + ") -> " + c,
          .yields = {"%h : " + c},
          .draws = {{-1, 1}}};
}

HeroCase mpc::test::withEpilogue(HeroCase c, EpilogueOps ops) {
  std::string type = StringRef(c.yields[0]).split(": ").second.str(), last = "%h";
  size_t dimsEnd = type.rfind('x'), lastDim = type.rfind('x', dimsEnd - 1);
  std::string element = type.substr(dimsEnd + 1, type.size() - dimsEnd - 2);
  auto next = [&](const std::string &name, const std::string &text) {
    c.body += "\n%" + name + " = graph." + text;
    last = "%" + name;
    c.name += " +" + name;
  };
  if (ops.bias) {
    std::string bias = tensor(type.substr(lastDim + 1, dimsEnd - lastDim - 1), element);
    next("bias",
         "add " + last + ", %" + std::to_string(c.inputs.size()) + " : (" + type + ", " + bias + ") -> " + type);
    c.inputs.push_back(bias);
  }
  if (ops.residual) {
    next("residual",
         "add %" + std::to_string(c.inputs.size()) + ", " + last + " : (" + type + ", " + type + ") -> " + type);
    c.inputs.push_back(type);
  }
  std::string given = last;
  if (ops.relu)
    next("relu", "relu " + last + " : " + type);
  c.yields = {last + " : " + type};
  if (ops.keep && ops.relu) {
    c.yields.push_back(given + " : " + type);
    c.name += " +keep";
  }
  if (ops.gelu) {
    auto of = [&](const std::string &a, const std::string &b) {
      return a + ", " + b + " : (" + type + ", " + type + ") -> " + type;
    };
    std::string x = last;
    next("square", "mul " + of(x, x));
    next("cube", "mul " + of(last, x));
    next("sum", "add " + of(last, x));
    next("tanh", "tanh " + last + " : " + type);
    next("gelu", "mul " + of(last, x));
    c.yields = {last + " : " + type, x + " : " + type};
  }
  if (ops.cast) { // adds a second result
    std::string wide = type.substr(0, dimsEnd + 1) + "f32>";
    if (element != "f32") {
      next("cast", "cast " + last + " : " + type + " to " + wide);
      c.yields.push_back("%cast : " + wide);
    }
  }
  return c;
}

HeroCase mpc::test::withColumnSums(HeroCase c, bool keep) {
  std::string first = c.yields[0]; // the list grows below
  auto [last, type] = StringRef(first).split(" : ");
  StringRef inner = type.drop_front(7).drop_back(1);
  auto [dims, element] = inner.rsplit('x');
  llvm::SmallVector<StringRef> extents;
  dims.split(extents, 'x');
  std::string axes, ones;
  for (size_t i = 0; i + 1 < extents.size(); ++i) {
    axes += (i ? ", " : "") + std::to_string(i);
    ones += "1x";
  }
  std::string columns = extents.back().str(), wide = tensor(dims.str(), "f32"), value = last.str();
  std::string own = tensor(columns, element.str()), sum = tensor(columns, "f32"), kept = tensor(ones + columns, "f32");
  auto reduced = [&](const std::string &name, const std::string &of, const std::string &from, bool keepdims,
                     const std::string &to) {
    c.body += "\n%" + name + " = graph.reduce_sum " + of + " {axes = array<i64: " + axes +
              ">, keepdims = " + (keepdims ? "true" : "false") + "} : (" + from + ") -> " + to;
    c.yields.push_back("%" + name + " : " + to);
  };
  if (!keep)
    c.yields.clear();
  reduced("sum_own", value, type.str(), false, own);
  if (element != "f32") {
    c.body += "\n%wide = graph.cast " + value + " : " + type.str() + " to " + wide;
    value = "%wide";
  }
  c.body += "\n%squared = graph.mul " + value + ", " + value + " : (" + wide + ", " + wide + ") -> " + wide;
  reduced("sum_wide", value, wide, false, sum);
  reduced("sum_squares", "%squared", wide, true, kept);
  c.name += keep ? " +columns" : " columns alone";
  return c;
}

EpilogueOps mpc::test::randomEpilogue(Random &random) {
  if (random(0, 2) == 0)
    return {};
  return {.bias = random(0, 1) == 1,
          .relu = random(0, 1) == 1,
          .residual = random(0, 3) == 0,
          .cast = random(0, 3) == 0,
          .keep = random(0, 3) == 0};
}

//===-- Batches ----------------------------------------------------------------------------------------===//

struct HeroBatch::Impl {
  const GpuArch *arch;
  std::unique_ptr<MLIRContext> context = makeContext();
  OwningOpRef<ModuleOp> kernels;
  struct Item {
    std::string name;
    OwningOpRef<ModuleOp> module;
    llvm::SmallVector<kernel::LaunchAttr> launches;
    int64_t scratchBytes;
    Draw draw;
  };
  std::vector<Item> items;

  void check(rt::emulator::Module &object, Item &item);
};

/// The shared memory that a kernel allocates, without the gaps between its pieces.
static int64_t allocatedBytes(Operation *kernel) {
  int64_t bytes = 0;
  kernel->walk([&](kernel::SharedOp piece) { bytes += piece.getBytes(); });
  return bytes;
}

HeroBatch::HeroBatch(StringRef arch) : impl(std::make_unique<Impl>()) {
  impl->arch = findGpuArch(arch);
  impl->context->loadDialect<arith::ArithDialect, scf::SCFDialect, math::MathDialect, LLVM::LLVMDialect>();
  impl->kernels = ModuleOp::create(UnknownLoc::get(impl->context.get()));
  (*impl->kernels)->setAttr(kernel::TargetAttr::name, kernel::TargetAttr::get(impl->context.get(), arch));
}
HeroBatch::~HeroBatch() = default;
size_t HeroBatch::size() const { return impl->items.size(); }

void HeroBatch::add(const HeroCase &c) { add(c, std::nullopt); }
void HeroBatch::add(const HeroCase &c, size_t tile, int64_t splits) { add(c, Forced{std::nullopt, tile, splits}); }
void HeroBatch::add(const HeroCase &c, hero::Mainloop mainloop, size_t tile, int64_t splits, bool clustered) {
  add(c, Forced{mainloop, tile, splits, clustered});
}

void HeroBatch::add(const HeroCase &c, std::optional<Forced> forced) {
  OwningOpRef<ModuleOp> module = parseCase(impl->context.get(), c);
  if (!module)
    return;
  kernel::DispatchOp dispatch = dispatchOf(*module);
  std::string symbol = "hero" + std::to_string(impl->items.size()), name = c.name;
  auto problem = hero::describeHero(dispatch);
  ASSERT_TRUE(succeeded(problem)) << name;
  hero::Schedule schedule = hero::fastestSchedule(*problem, *impl->arch);
  if (forced) {
    auto tiles = hero::tilesFor(*problem, *impl->arch);
    if (forced->mainloop)
      llvm::erase_if(tiles, [&](const hero::Tile &tile) { return tile.mainloop != *forced->mainloop; });
    ASSERT_FALSE(tiles.empty()) << name;
    schedule.tile = tiles[forced->tile % tiles.size()];
    schedule.splits = hero::usefulSplits(llvm::divideCeilSigned(problem->k(), schedule.tile.k), forced->splits);
    if (forced->clustered)
      if (auto axes = hero::clusterAxesOf(*problem, schedule.tile); !axes.empty()) {
        schedule.cluster = 2;
        schedule.clusterAxis = axes[impl->items.size() % axes.size()];
      }
  }
  name += llvm::formatv(" on {0}: {1} {2}x{3}x{4}{5}, {6} splits, clusters of {7}", impl->arch->name,
                        hero::nameOf(schedule.tile.mainloop), schedule.tile.m, schedule.tile.n, schedule.tile.k,
                        schedule.tile.pingPong ? " ping-pong" : "", schedule.splits, schedule.cluster)
              .str();
  dispatch.setScheduleAttr(kernel::ContractionAttr::get(dispatch.getContext(), schedule.contraction()));
  auto launches = forced ? hero::emitScheduled(*problem, *impl->kernels, symbol, schedule)
                         : emitGpuHero(dispatch, *impl->kernels, symbol);
  ASSERT_TRUE(succeeded(launches)) << name;
  // The choice of tiles counts what emission allocates.
  if (problem->m() * problem->n() * problem->z() * problem->k() > 0) {
    EXPECT_EQ(allocatedBytes(impl->kernels->lookupSymbol(symbol)),
              hero::factsOf(schedule.tile.mainloop).sharedBytes(*problem, schedule.tile))
        << name;
  }
  int64_t scratch = hero::scratchBytes(*problem, schedule);
  EXPECT_EQ(launches->size(),
            1u + (schedule.splits > 1) + !problem->columnSums.empty() + (hero::runSums(*problem, schedule) > 0))
      << name;
  impl->items.push_back({name, std::move(module), *launches, scratch, c.draws.empty() ? Draw{-1, 1} : c.draws.front()});
}

void HeroBatch::Impl::check(rt::emulator::Module &object, Item &item) {
  kernel::DispatchOp dispatch = dispatchOf(*item.module);
  std::mt19937_64 random(7);
  llvm::SmallVector<HostTensor> inputs;
  for (Value v : dispatch.getInputs())
    inputs.push_back(draw(graph::typeOf(v), item.draw, random));
  auto expected = enclose(dispatch, inputs);
  ASSERT_TRUE(succeeded(expected)) << item.name;
  SCOPED_TRACE(item.name);
  auto launch = [&](uint64_t seed) {
    return launchEmulated(dispatch, item.launches, *kernels, item.scratchBytes, object, inputs, seed);
  };
  std::vector<HostTensor> results = launch(0);
  ASSERT_EQ(results.size(), expected->size()) << item.name;
  for (auto [r, enclosure] : llvm::enumerate(*expected)) {
    Comparison comparison = compare(enclosure, results[r]);
    EXPECT_EQ(comparison.outside, 0) << item.name << ": result " << r << ", of " << comparison.elements
                                     << " elements, first at " << comparison.firstOutside << ": "
                                     << (comparison.firstOutside < 0 ? 0 : results[r].values[comparison.firstOutside])
                                     << " instead of "
                                     << (comparison.firstOutside < 0 ? 0
                                                                     : enclosure.value.values[comparison.firstOutside]);
    EXPECT_EQ(comparison.unbounded, 0) << item.name;
  }
  std::vector<HostTensor> again = launch(1);
  for (size_t r = 0; r < again.size(); ++r)
    EXPECT_EQ(again[r].values, results[r].values) << item.name << ": other results in another order of threads";
}

void HeroBatch::run() {
  auto object = emitEmulatorObject(*impl->kernels);
  ASSERT_TRUE(succeeded(object));
  rt::emulator::Module module(*object, "emulator.so");
  for (Impl::Item &item : impl->items)
    impl->check(module, item);
}
