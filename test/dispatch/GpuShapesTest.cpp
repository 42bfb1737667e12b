//===- GpuShapesTest.cpp - reductions, norms, movement of random shapes as GPU kernels ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each case is a function of its own. All of them are decomposed and fused as networks are, compiled into one
// object, and compared dispatch by dispatch. Sums are of small integers, which f32 adds exactly, so that one
// element too many or too few cannot hide behind a bound.
//
//===----------------------------------------------------------------------===//
#include "DispatchCheck.h"
#include "Network.h"
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Kernel/Analysis/Space.h"
#include "passes/Decompose/Passes.h"
#include "passes/Fusion/Passes.h"
#include "passes/Lowering/LoopPlan/Plan.h"
#include "passes/Target/Passes.h"
#include "test/codegen/KernelHarness.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace mpc;
using namespace mpc::test;

namespace {

using Shape = std::vector<int64_t>;

std::string tensor(const Shape &shape, const std::string &element) {
  std::string text = "tensor<";
  for (int64_t n : shape)
    text += std::to_string(n) + "x";
  return text + element + ">";
}

/// Functions @f0, @f1, ... and the ranges that their inputs are drawn from.
class Cases {
public:
  std::mt19937_64 random{11};

  int64_t pick(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random); }
  std::string element() { return std::vector<std::string>{"f32", "f16", "bf16"}[pick(0, 2)]; }
  /// Returns a shape whose extents are ones, odd numbers, and numbers around powers of two; it has at most
  /// `most` elements.
  Shape shape(int64_t rank, int64_t most) {
    static const int64_t extents[] = {1,  2,  3,  5,  7,   8,   9,   16,  31,   32,   33,
                                      40, 63, 64, 65, 100, 127, 256, 257, 1000, 1024, 4099};
    Shape result;
    for (int64_t d = 0, left = most; d < rank; ++d) {
      int64_t n;
      do
        n = extents[pick(0, std::size(extents) - 1)];
      while (n > left);
      left /= n;
      result.push_back(n);
    }
    std::shuffle(result.begin(), result.end(), random);
    return result;
  }
  /// The body computes the result as %r, and a second one as %s.
  void add(const std::vector<std::string> &arguments, const std::string &body, const std::string &result,
           std::vector<Draw> draws, const std::string &second = "") {
    std::string text, types = result + (second.empty() ? "" : ", " + second);
    for (size_t i = 0; i < arguments.size(); ++i)
      text += (i ? ", %" : "%") + std::to_string(i) + ": " + arguments[i];
    module += "func.func @f" + std::to_string(all.size()) + "(" + text + ") -> (" + types + ") {\n" + body +
              "\nreturn %r" + (second.empty() ? "" : ", %s") + " : " + types + "\n}\n";
    all.push_back(std::move(draws));
  }
  /// `seen`, if given, is called with each dispatch before anything runs.
  void run(bool exact, const std::string &target = "sm_80", llvm::function_ref<void(kernel::DispatchOp)> seen = {});

private:
  std::string module;
  std::vector<std::vector<Draw>> all;
};

void Cases::run(bool exact, const std::string &target, llvm::function_ref<void(kernel::DispatchOp)> seen) {
  auto context = makeNetworkContext();
  context->loadDialect<func::FuncDialect>();
  auto parsed = parseSourceString<ModuleOp>(module, context.get());
  ASSERT_TRUE(parsed);
  PassManager passes(context.get());
  passes.addPass(createSetTargetPass({.name = target}));
  passes.addPass(createDecomposePass());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addPass(fusion::createFormDispatchesPass());
  ASSERT_TRUE(succeeded(passes.run(*parsed)));
  if (seen)
    parsed->walk(seen);
  std::vector<std::string> names;
  for (size_t i = 0; i < all.size(); ++i)
    names.push_back("f" + std::to_string(i));
  const GpuArch *gpu = findGpuArch(target);
  auto executor = gpu ? makeEmulatorExecutor(context.get(), *gpu, /*products=*/false) : makeHostExecutor(context.get());
  DispatchCheck check(*executor, *parsed, SmallVector<StringRef>(names.begin(), names.end()));
  check.verbose = false;
  check.exact = exact;
  for (auto [name, draws] : llvm::zip_equal(names, all)) {
    auto function = parsed->lookupSymbol<func::FuncOp>(name);
    std::string text;
    llvm::raw_string_ostream(text) << function.getFunctionType();
    SCOPED_TRACE(name + " " + text);
    SmallVector<HostTensor> inputs;
    for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
      inputs.push_back(draw(cast<RankedTensorType>(type), draws[std::min(i, draws.size() - 1)], random));
    if (exact)
      for (HostTensor &t : inputs)
        for (double &v : t.values)
          v = std::round(v);
    check.compare(name, inputs);
  }
  check.expectAll();
}

std::string list(const Shape &values) {
  std::string text;
  for (int64_t v : values)
    text += (text.empty() ? "" : ", ") + std::to_string(v);
  return "array<i64" + (text.empty() ? ">" : ": " + text + ">");
}

} // namespace

/// Reduces products with a row by sum or extreme over any axes; some operands are read from the middle of a
/// larger tensor.
TEST(GpuShapes, Reductions) {
  Cases cases;
  for (int i = 0; i < 120; ++i) {
    int64_t rank = cases.pick(1, 4);
    Shape shape = cases.shape(rank, 20000), axes, kept, whole = shape, starts(rank, 0);
    bool keepdims = cases.pick(0, 1);
    for (int64_t d = 0; d < rank; ++d) {
      bool reduced = cases.pick(0, 1) || (d + 1 == rank && axes.empty());
      if (reduced)
        axes.push_back(d);
      if (!reduced || keepdims)
        kept.push_back(reduced ? 1 : shape[d]);
    }
    std::string element = cases.element(), x = tensor(shape, element), y = tensor(kept, element),
                body = "%x = graph.reshape %0 : " + x + " to " + x;
    if (cases.pick(0, 2) == 0) { // at offsets that may be unaligned
      for (int64_t d = 0; d < rank; ++d) {
        starts[d] = cases.pick(0, 3);
        whole[d] += starts[d] + cases.pick(0, 2);
      }
      std::string w = tensor(whole, element);
      body = "%x = graph.slice %0 {starts = " + list(starts) + ", sizes = " + list(shape) +
             ", strides = " + list(Shape(rank, 1)) + "} : (" + w + ") -> " + x;
    }
    std::string row = tensor({shape.back()}, element),
                op = std::vector<std::string>{"sum", "sum", "max", "min"}[cases.pick(0, 3)];
    body += "\n%m = graph.mul %x, %1 : (" + x + ", " + row + ") -> " + x;
    body += "\n%r = graph.reduce_" + op + " %m {axes = " + list(axes) +
            ", keepdims = " + (keepdims ? "true" : "false") + "} : (" + x + ") -> " + y;
    cases.add({tensor(whole, element), row}, body, y, {{-4, 4}, {-2, 2}});
  }
  cases.run(/*exact=*/true);
}

TEST(GpuShapes, Norms) {
  Cases cases;
  for (int i = 0; i < 40; ++i) {
    int64_t rank = cases.pick(2, 3);
    Shape shape = cases.shape(rank, 12000);
    std::string x = tensor(shape, cases.element()), axis = std::to_string(cases.pick(0, rank - 1));
    cases.add({x},
              "%r = graph." + std::string(i % 2 ? "softmax" : "log_softmax") + " %0 {axis = " + axis + " : i64} : " + x,
              x, {{-6, 6}});
  }
  for (int i = 0; i < 20; ++i) { // layer norm: (x - mean) / sqrt(mean of squares + epsilon)
    Shape shape = cases.shape(2, 12000);
    std::string x = tensor(shape, "f32"), m = tensor({shape[0], 1}, "f32"), one = "tensor<f32>",
                axes = " {axes = array<i64: 1>, keepdims = true} : (" + x + ") -> " + m;
    cases.add({x},
              "%m = graph.reduce_mean %0" + axes + "\n%d = graph.sub %0, %m : (" + x + ", " + m + ") -> " + x +
                  "\n%q = graph.mul %d, %d : (" + x + ", " + x + ") -> " + x + "\n%v = graph.reduce_mean %q" + axes +
                  "\n%c = graph.constant dense<1.0e-3> : " + one + "\n%e = graph.add %v, %c : (" + m + ", " + one +
                  ") -> " + m + "\n%s = graph.rsqrt %e : " + m + "\n%r = graph.mul %d, %s : (" + x + ", " + m +
                  ") -> " + x,
              x, {{-1, 3}});
  }
  for (int i = 0; i < 40; ++i) { // batch norm and its gradient, over the second or the last axis
    Shape shape = cases.shape(cases.pick(2, 4), 12000);
    int64_t axis = i % 2 ? 1 : int64_t(shape.size()) - 1;
    std::string x = tensor(shape, cases.element()), c = tensor({shape[axis]}, "f32"),
                attributes = " {epsilon = 1.0e-3 : f64, axis = " + std::to_string(axis) + " : i64} : ";
    if (i % 4 < 2)
      cases.add({x, c, c},
                "%r, %m, %v = graph.batch_norm %0, %1, %2" + attributes + "(" + x + ", " + c + ", " + c + ") -> (" + x +
                    ", " + c + ", " + c + ")",
                x, {{-1, 3}, {0.5, 2}});
    else
      cases.add({x, c, c, c, x},
                "%r, %s, %b = graph.batch_norm_grad %0, %1, %2, %3, %4" + attributes + "(" + x + ", " + c + ", " + c +
                    ", " + c + ", " + x + ") -> (" + x + ", " + c + ", " + c + ")",
                x, {{-2, 2}, {0.5, 2}, {-0.5, 0.5}, {0.5, 2}, {-1, 1}});
  }
  cases.run(/*exact=*/false);
}

/// So many short rows that a warp computes several of them: sums, which are exact, and softmaxes.
TEST(GpuShapes, ShortRows) {
  for (bool exact : {true, false}) {
    Cases cases;
    for (int64_t columns : {24, 40, 100, 256})
      for (int64_t rows : {10240, 10252}) {
        std::string element = cases.element(), x = tensor({rows, columns}, element), y = tensor({rows}, element);
        if (exact)
          cases.add({x, x},
                    "%p = graph.mul %0, %1 : (" + x + ", " + x + ") -> " + x +
                        "\n%r = graph.reduce_sum %p {axes = array<i64: 1>, keepdims = false} : (" + x + ") -> " + y,
                    y, {{-3, 3}});
        else
          cases.add({x}, "%r = graph.softmax %0 {axis = 1 : i64} : " + x, x, {{-6, 6}});
      }
    int shared = 0;
    const char *target = "sm_75"; // it has the fewest multiprocessors
    cases.run(exact, target, [&](kernel::DispatchOp dispatch) {
      FailureOr<kernel::LoopsAttr> loops = chooseLoops(dispatch, findGpuArch(target));
      ASSERT_TRUE(succeeded(loops));
      shared += loops->getWalk() == kernel::Walk::Rows && loops->getThreads()[1] < warpThreads;
    });
    EXPECT_EQ(shared, 8) << exact;
  }
}

TEST(GpuShapes, Transposes) {
  Cases cases;
  for (int i = 0; i < 30; ++i) {
    int64_t rank = cases.pick(2, 4);
    Shape shape = cases.shape(rank, 20000), permutation(rank), result;
    std::iota(permutation.begin(), permutation.end(), 0);
    std::shuffle(permutation.begin(), permutation.end(), cases.random);
    for (int64_t p : permutation)
      result.push_back(shape[p]);
    std::string element = std::vector<std::string>{"f32", "f16", "i1", "f64", "i64"}[cases.pick(0, 4)],
                x = tensor(shape, element), y = tensor(result, element);
    cases.add({x}, "%r = graph.transpose %0 {permutation = " + list(permutation) + "} : (" + x + ") -> " + y, y,
              {{0, 1}});
  }
  cases.run(/*exact=*/true);
}

/// A launch stores a concatenation in parts, beside another result or another concatenation. The host's kernels are
/// compared here as well, because they share the code that finds the places.
TEST(GpuShapes, ConcatenationsInParts) {
  Cases cases;
  constexpr int count = 40;
  for (int i = 0; i < count; ++i) {
    int64_t rank = cases.pick(1, 4), axis = cases.pick(0, rank - 1), parts = cases.pick(2, 6);
    Shape shape = cases.shape(rank, 6000), joined = shape;
    joined[axis] *= parts;
    std::string element = cases.element(), x = tensor(shape, element), y = tensor(joined, element), operands, others,
                types, pair = " : (" + x + ", " + x + ") -> " + x + "\n",
                body = "%p0 = graph.add %0, %1" + pair + "%p1 = graph.sub %0, %1" + pair + "%p2 = graph.mul %p0, %p1" +
                       pair;
    for (int64_t part = 0; part < parts; ++part) {
      operands += (part ? ", %p" : "%p") + std::to_string(cases.pick(0, 2));
      others += (part ? ", %p" : "%p") + std::to_string(cases.pick(0, 2));
      types += (part ? ", " : "") + x;
    }
    std::string join = " {axis = " + std::to_string(axis) + " : i64} : (" + types + ") -> " + y + "\n";
    bool twice = i % 4 == 3; // the other result is another concatenation
    cases.add({x, x},
              body + "%r = graph.concat " + operands + join +
                  (twice ? "%s = graph.concat " + others + join : "%s = graph.max %p2, %1" + pair),
              y, {{-8, 8}}, twice ? y : x);
  }
  for (const char *target : {"sm_80", "sm_90a", "host"}) {
    int inParts = 0;
    cases.run(/*exact=*/true, target,
              [&](kernel::DispatchOp dispatch) { inParts += kernel::StoredParts::in(dispatch); });
    EXPECT_GT(inParts, count / 2) << target;
  }
}

/// Some have more indices than a block looks at together, and more columns than it has threads.
TEST(GpuShapes, Scatters) {
  Cases cases;
  for (int i = 0; i < 40; ++i) {
    bool many = i % 4 == 0;
    int64_t rank = cases.pick(1, 3), axis = cases.pick(0, rank - 1);
    Shape dx = cases.shape(rank, many ? 60 : 6000), indices = cases.shape(cases.pick(1, 2), many ? 5000 : 300),
          dy(dx.begin(), dx.begin() + axis);
    dy.insert(dy.end(), indices.begin(), indices.end());
    dy.insert(dy.end(), dx.begin() + axis + 1, dx.end());
    std::string element = cases.element(), x = tensor(dx, element), y = tensor(dy, element),
                k = tensor(indices, cases.pick(0, 1) ? "i64" : "i32"),
                mode = i % 3 ? "" : ", mode = #graph<scatter_mode " + std::string(i % 2 ? "max" : "min") + ">";
    cases.add({y, k},
              "%r = graph.scatter %0, %1 {axis = " + std::to_string(axis) + " : i64" + mode + "} : (" + y + ", " + k +
                  ") -> " + x,
              x, {{-2, 2}, {double(-dx[axis]), double(dx[axis] - 1)}});
  }
  cases.run(/*exact=*/true);
}

/// The axes of these extrema are long enough for their positions to be reductions (passes/Decompose).
TEST(GpuShapes, ArgMax) {
  Cases cases;
  for (int i = 0; i < 24; ++i) {
    int64_t rank = cases.pick(1, 3), axis = cases.pick(0, rank - 1);
    Shape shape = cases.shape(rank, 400), reduced;
    shape[axis] = cases.pick(30, 2000);
    for (int64_t d = 0; d < rank; ++d)
      if (d != axis)
        reduced.push_back(shape[d]);
    std::string x = tensor(shape, cases.element()), y = tensor(reduced, "i64"), flags = cases.pick(0, 1) ? ", min" : "";
    flags += cases.pick(0, 1) ? ", last" : "";
    cases.add({x},
              "%r = graph.argmax %0 {axis = " + std::to_string(axis) + " : i64, keepdims = false" + flags + "} : (" +
                  x + ") -> " + y,
              y, {{-300, 300}});
  }
  cases.run(/*exact=*/true);
}

/// These exponentials go from zero over denormals to infinity, and are those of NaN, in 16 bits too.
TEST(GpuShapes, Exponentials) {
  Cases cases;
  for (std::string element : {"f32", "f16", "bf16"}) {
    std::string x = tensor({33, 1000}, element);
    for (std::pair<double, double> range : {std::pair(-110., 95.), {-104., -86.}, {86., 90.}, {-1., 1.}})
      cases.add({x}, "%r = graph.exp %0 : " + x, x, {{range.first, range.second}});
    cases.add({x},
              "%n = graph.log %0 : " + x + "\n%q = graph.div %n, %0 : (" + x + ", " + x + ") -> " + x +
                  "\n%r = graph.exp %q : " + x,
              x, {{-0.01, 0.01}}); // NaN, and up to 1e40
  }
  cases.run(/*exact=*/false);
}

namespace {
/// A depthwise convolution of activations [samples, in..., channels] or [samples, channels, in...].
struct Depthwise {
  int64_t samples = 1, channels = 1;
  Shape kernel = {}, strides = {}, dilations = {}, low = {}, high = {}, in = {};
  bool channelsLast = true, weightChannelsLast = true;

  Shape out() const {
    Shape result;
    for (size_t d = 0; d < in.size(); ++d)
      result.push_back((in[d] + low[d] + high[d] - dilations[d] * (kernel[d] - 1) - 1) / strides[d] + 1);
    return result;
  }
  /// Adds the convolution and the gradient of its input, and that of its weights if `ofWeights`.
  void addTo(Cases &cases, const std::string &element, bool ofWeights) const {
    auto activation = [&](Shape space) {
      space.insert(channelsLast ? space.end() : space.begin(), channels);
      space.insert(space.begin(), samples);
      return tensor(space, element);
    };
    Shape weights = kernel;
    weights.insert(weightChannelsLast ? weights.end() : weights.begin(), 1);
    weights.insert(weights.begin(), channels);
    std::string x = activation(in), y = activation(out()), w = tensor(weights, element),
                attributes = " {strides = " + list(strides) + ", dilations = " + list(dilations) +
                             ", pad_low = " + list(low) + ", pad_high = " + list(high) +
                             ", groups = " + std::to_string(channels) + " : i64" +
                             (channelsLast ? ", layout = #graph<layout channels_last>" : "") +
                             (weightChannelsLast ? ", weight_channels_last" : "") + "} : (";
    auto op = [&](const std::string &name, const std::string &a, const std::string &b, const std::string &result) {
      cases.add({a, b}, "%r = graph." + name + " %0, %1" + attributes + a + ", " + b + ") -> " + result, result,
                {{-3, 3}});
    };
    op("conv", x, w, y);
    op("conv_input_grad", y, w, x);
    if (ofWeights)
      op("conv_weight_grad", x, y, w);
  }
};
} // namespace

/// Depthwise convolutions and their gradients, which mpc-decompose makes windows and sums: one to three dimensions,
/// strides, dilations, uneven padding, both layouts of activations and of weights, windows that are unrolled or not
/// (7 x 7), and channels that do not fill a piece.
TEST(GpuShapes, DepthwiseConvolutions) {
  Cases cases;
  for (int i = 0; i < 40; ++i) {
    int64_t spatial = cases.pick(1, 3);
    Depthwise conv{.samples = cases.pick(1, 3), .channels = Shape{2, 3, 8, 24, 33}[cases.pick(0, 4)]};
    for (int64_t d = 0; d < spatial; ++d) {
      int64_t most = spatial == 3 ? 3 : 7;
      conv.kernel.push_back(cases.pick(1, most));
      conv.strides.push_back(cases.pick(1, 3));
      conv.dilations.push_back(cases.pick(1, 2));
      conv.low.push_back(cases.pick(0, 3));
      conv.high.push_back(cases.pick(0, 3));
      int64_t cover = conv.dilations[d] * (conv.kernel[d] - 1) + 1;
      conv.in.push_back(std::max<int64_t>(1, cover - conv.low[d] - conv.high[d]) + cases.pick(0, 9));
    }
    conv.channelsLast = cases.pick(0, 2) > 0;
    conv.weightChannelsLast = cases.pick(0, 1);
    conv.addTo(cases, cases.element(), /*ofWeights=*/true);
  }
  int strips = 0; // of sums for the weights
  const char *target = "sm_80";
  cases.run(/*exact=*/true, target, [&](kernel::DispatchOp dispatch) {
    FailureOr<kernel::LoopsAttr> loops = chooseLoops(dispatch, findGpuArch(target));
    ASSERT_TRUE(succeeded(loops));
    strips += *loops && loops->getWalk() == kernel::Walk::Columns && loops->getOrder().drop_back().back().tile > 0;
  });
  EXPECT_GT(strips, 5);
}

/// Depthwise convolutions of enough points that a thread computes several neighbouring windows: uneven padding and
/// dilations, strides, one dimension, both layouts, and windows of so many positions that it computes fewer channels.
TEST(GpuShapes, DepthwiseStrips) {
  Cases cases;
  auto add = [&](const std::string &element, Depthwise conv) { conv.addTo(cases, element, /*ofWeights=*/false); };
  add("f32", {.channels = 24,
              .kernel = {3, 3},
              .strides = {1, 1},
              .dilations = {1, 2},
              .low = {0, 1},
              .high = {1, 3},
              .in = {110, 252}}); // of 252 places a thread takes four
  add("bf16", {.channels = 24,
               .kernel = {5, 5},
               .strides = {1, 1},
               .dilations = {1, 1},
               .low = {2, 2},
               .high = {2, 2},
               .in = {212, 130}}); // of 130 it takes two
  add("f16", {.samples = 16,
              .channels = 48,
              .kernel = {5, 5},
              .strides = {1, 1},
              .dilations = {1, 1},
              .low = {2, 2},
              .high = {2, 2},
              .in = {56, 14}}); // of 14 it takes seven
  add("f32", {.channels = 16,
              .kernel = {3, 3},
              .strides = {2, 2},
              .dilations = {1, 1},
              .low = {1, 1},
              .high = {1, 1},
              .in = {105, 400}});
  add("f16", {.samples = 4,
              .channels = 8,
              .kernel = {4},
              .strides = {1},
              .dilations = {1},
              .low = {1},
              .high = {2},
              .in = {21014}});
  add("f32", {.channels = 16,
              .kernel = {3, 3},
              .strides = {1, 1},
              .dilations = {1, 1},
              .low = {1, 1},
              .high = {1, 1},
              .in = {106, 200},
              .channelsLast = false});
  int strips = 0;
  const char *target = "sm_75"; // it has the fewest multiprocessors
  cases.run(/*exact=*/true, target, [&](kernel::DispatchOp dispatch) {
    FailureOr<kernel::LoopsAttr> loops = chooseLoops(dispatch, findGpuArch(target));
    ASSERT_TRUE(succeeded(loops));
    bool isWindow =
        llvm::any_of(dispatch.getBody().front(), [](Operation &op) { return isOfKind(&op, LoopKind::Window); });
    strips += isWindow && loops->getOrder().drop_back().back().tile > 0;
  });
  EXPECT_EQ(strips, 11); // all but the result of the convolution with strides, which has fewer points
}
