//===- Depthwise.cpp - depthwise convolutions become windows and sums, on GPUs ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As matrix products, depthwise convolutions have one column a group, which leaves 15 of 16 lanes of a tile idle. So
// y and dx become sums over windows, whose neighbouring channels a thread computes together, and dw becomes one sum
// for each position of the window. Here * multiplies channel by channel, o is a place of y, and k is one of the window:
//
//   y  = depthwise_conv(x, transposed w)
//   dx = depthwise_input_grad(dy, transposed w)
//   dw = transposed concat over k of: sum over samples and o of dy[o] * x[o*stride + k*dilation - pad_low]
//
//===----------------------------------------------------------------------===//
#include "passes/Decompose/Patterns.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

/// Code is unrolled for each position of a window, so a window has at most so many (mostUnrolledTaps in
/// Elemental/ElementEmitter.h has the same number).
static constexpr int64_t kMostPositions = 49;

namespace {
/// A convolution with as many groups as channels of x and of y, and its weights' places.
template <typename OpT>
struct Depthwise {
  OpT op;
  Shape x, w, kernel;
  int64_t channels, channelAxis;

  /// Returns nullopt if the op is another convolution, or if its window is larger than kMostPositions.
  static std::optional<Depthwise> of(OpT op) {
    Shape x(shapeOf(op.getInput())), y(shapeOf(op.getOutput())), w(shapeOf(op.getWeight()));
    int64_t axis = graph::channelAxis(op.getLayout(), int64_t(x.size())), channels = x[axis];
    Shape kernel(ArrayRef<int64_t>(w).slice(op.getWeightChannelsLast() ? 1 : 2, w.size() - 2));
    bool some = !llvm::is_contained(x, 0) && !llvm::is_contained(y, 0);
    if (int64_t(op.getGroups()) != channels || y[axis] != channels || channels == 1 || !some ||
        elementOf(op.getInput()).getIntOrFloatBitWidth() < 16 || llvm::product_of(kernel) > kMostPositions)
      return std::nullopt;
    return Depthwise{op, x, w, kernel, channels, axis};
  }

  /// The weights as [kernel..., C].
  Value weights(GraphBuilder &m) {
    Value flat = m.reshape(op.getWeight(), {channels, llvm::product_of(kernel)});
    Shape shape(kernel);
    shape.push_back(channels);
    return m.reshape(m.transpose(flat, {1, 0}), shape);
  }
};

/// y of x and w, or dx of dy and w.
template <typename OpT, typename WindowOpT>
struct DepthwiseToWindows : OpRewritePattern<OpT> {
  using OpRewritePattern<OpT>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpT op, PatternRewriter &rewriter) const override {
    auto conv = Depthwise<OpT>::of(op);
    if (!conv)
      return failure();
    GraphBuilder m(rewriter, op.getLoc());
    rewriter.replaceOp(op, m.create<WindowOpT>(op.getType(), op->getOperand(0), conv->weights(m), conv->kernel,
                                               op.getStrides(), op.getDilations(), op.getPadLow(), op.getPadHigh(),
                                               op.getLayout()));
    return success();
  }
};

struct DecomposeDepthwiseWeightGrad : OpRewritePattern<ConvWeightGradOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConvWeightGradOp op, PatternRewriter &rewriter) const override {
    auto conv = Depthwise<ConvWeightGradOp>::of(op);
    if (!conv)
      return failure();
    GraphBuilder m(rewriter, op.getLoc());
    Type element = elementOf(op.getDw());
    Value dy = m.up(op.getDy());
    Shape axes = allAxes(op.getX());
    axes.erase(axes.begin() + conv->channelAxis);
    int64_t positions = llvm::product_of(conv->kernel);
    SmallVector<Value> sums;
    for (int64_t k = 0; k < positions; ++k) {
      Value sum = m.sum(m.mul(dy, m.up(tap(m, *conv, k))), axes);
      sums.push_back(m.reshape(sum, {1, conv->channels}));
    }
    Value all =
        positions == 1
            ? sums[0]
            : m.create<ConcatOp>(RankedTensorType::get({positions, conv->channels}, elementOf(sums[0])), sums, 0);
    rewriter.replaceOp(op, m.cast(m.reshape(m.transpose(all, {1, 0}), conv->w), element));
    return success();
  }

private:
  /// Returns the elements of x that lie at position k of the windows: [N, windows..., C] in x's layout, with zeros for
  /// those beside x.
  static Value tap(GraphBuilder &m, const Depthwise<ConvWeightGradOp> &conv, int64_t k) {
    ConvWeightGradOp op = conv.op;
    ArrayRef<int64_t> y = shapeOf(op.getDy());
    Shape low(conv.x.size(), 0), high(low), interior(low), starts(low), strides(conv.x.size(), 1);
    for (size_t i = conv.kernel.size(); i-- > 0; k /= conv.kernel[i]) {
      int64_t d = int64_t(spatialAxis(op.getLayout()) + i),
              first = k % conv.kernel[i] * op.getDilations()[i] - op.getPadLow()[i];
      low[d] = -first;
      high[d] = first + (y[d] - 1) * op.getStrides()[i] + 1 - conv.x[d];
      strides[d] = op.getStrides()[i];
    }
    Value padded = m.padZeros(op.getX(), low, high, interior);
    if (llvm::all_of(strides, [](int64_t stride) { return stride == 1; }))
      return padded;
    return m.slice(padded, starts, y, strides);
  }
};
} // namespace

void mpc::populateDepthwisePatterns(RewritePatternSet &patterns) {
  patterns.add<DepthwiseToWindows<ConvOp, DepthwiseConvOp>, DepthwiseToWindows<ConvInputGradOp, DepthwiseInputGradOp>,
               DecomposeDepthwiseWeightGrad>(patterns.getContext());
}
