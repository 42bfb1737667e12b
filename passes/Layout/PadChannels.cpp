//===- PadChannels.cpp - channels that can be read together -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Graph/IR/Shapes.h"
#include "passes/Layout/Passes.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

namespace mpc::layout {
#define GEN_PASS_DEF_PADCHANNELSPASS
#include "passes/Layout/Passes.h.inc"
} // namespace mpc::layout

/// The number of channels that are read at once.
static constexpr int64_t together = 4;

/// The multiply-adds from which on a convolution gains more time than the additional launches of pads and
/// slices take: about what tensor cores do in a few microseconds.
static constexpr int64_t leastWork = int64_t(1) << 28;

/// The number of channels to add to those of `x`, its last dimension; 0 where padding does not pay or is
/// impossible. `w` and `y` are values with the shapes of the weights and of the result.
template <typename ConvT>
static int64_t missingChannels(ConvT conv, Value x, Value w, Value y) {
  Type element = elementOf(x);
  int64_t channels = shapeOf(x).back();
  if ((!element.isF16() && !element.isBF16()) || conv.getGroups() != 1 || conv.getLayout() != Layout::ChannelsLast ||
      !conv.getWeightChannelsLast())
    return 0;
  if (typeOf(y).getNumElements() == 0 ||
      typeOf(y).getNumElements() * (typeOf(w).getNumElements() / shapeOf(w).front()) < leastWork)
    return 0;
  int64_t missing = llvm::alignTo(channels, together) - channels;
  return 3 * missing <= channels ? missing : 0;
}

/// Extends the last dimension of x by `count`. Where x is a transpose that only convolutions read, the
/// transpose's operand is padded instead: the transpose is computed anyway.
static Value padLast(OpBuilder &b, Location loc, Value x, int64_t count) {
  auto transpose = x.getDefiningOp<TransposeOp>();
  auto convolves = [&](Operation *user) {
    auto convolution = dyn_cast<ConvolutionOpInterface>(user);
    return convolution && convolution.getInput() == x;
  };
  if (transpose && !llvm::all_of(x.getUsers(), convolves))
    transpose = {};
  Value source = transpose ? transpose.getX() : x;
  Shape zeros(typeOf(x).getRank(), 0), high = zeros;
  high[transpose ? transpose.getPermutation().back() : high.size() - 1] = count;
  auto list = [&](ArrayRef<int64_t> numbers) { return b.getDenseI64ArrayAttr(numbers); };
  Value padded = PadOp::create(b, loc, source, b.getF64FloatAttr(0), list(zeros), list(high), list(zeros));
  return transpose ? TransposeOp::create(b, loc, padded, transpose.getPermutation()) : padded;
}

static bool pad(ConvOp op, RewriterBase &b) {
  int64_t missing = missingChannels(op, op.getX(), op.getW(), op.getY());
  if (missing == 0)
    return false;
  Value x = padLast(b, op.getLoc(), op.getX(), missing), w = padLast(b, op.getLoc(), op.getW(), missing);
  b.modifyOpInPlace(op, [&] { op.getXMutable().assign(x), op.getWMutable().assign(w); });
  return true;
}

static bool pad(ConvWeightGradOp op, RewriterBase &b) {
  int64_t missing = missingChannels(op, op.getX(), op.getDw(), op.getDy());
  if (missing == 0)
    return false;
  RankedTensorType type = typeOf(op.getDw());
  Shape padded(type.getShape()), zeros(type.getRank(), 0), ones(type.getRank(), 1);
  padded.back() += missing;
  Value x = padLast(b, op.getLoc(), op.getX(), missing);
  Value dw = ConvWeightGradOp::create(b, op.getLoc(), TypeRange(type.clone(padded)), ValueRange{x, op.getDy()},
                                      op->getAttrs());
  b.replaceOpWithNewOp<SliceOp>(op, dw, zeros, Shape(type.getShape()), ones);
  return true;
}

namespace {

struct PadChannelsPass : layout::impl::PadChannelsPassBase<PadChannelsPass> {
  using PadChannelsPassBase::PadChannelsPassBase;

  void runOnOperation() override {
    const GpuArch *gpu = kernel::gpuOf(getOperation());
    if (!gpu || !gpu->hasMmaF16K8)
      return;
    IRRewriter b(&getContext());
    getOperation().walk([&](Operation *op) {
      b.setInsertionPoint(op);
      if (auto conv = dyn_cast<ConvOp>(op))
        numPadded += pad(conv, b);
      else if (auto grad = dyn_cast<ConvWeightGradOp>(op))
        numPadded += pad(grad, b);
    });
  }
};

} // namespace
