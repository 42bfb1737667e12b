//===- AlignStacks.cpp - slices of scans start where tensors start -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An iteration reads its slice of a stacked tensor in place, and kernels rely on the alignment of tensors. Slices whose
// bytes are no multiple of it are padded: those of an operand before the scan, those of a result in the body.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/Storage.h"
#include "passes/Decompose/Patterns.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

/// Returns the number of elements that a slice needs, or 0 if it has that number.
static int64_t paddedElements(RankedTensorType slice) {
  int64_t bytes = bytesOf(slice), each = bytes == 0 ? 1 : bytes / slice.getNumElements();
  return bytes % kTensorAlignment == 0 ? 0 : int64_t(llvm::alignTo(bytes, kTensorAlignment)) / each;
}

namespace {

struct AlignStacks : OpRewritePattern<ScanOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ScanOp op, PatternRewriter &rewriter) const override {
    auto isAligned = [](Value stack) { return paddedElements(ScanOp::sliceType(stack.getType())) == 0; };
    if (llvm::all_of(op.getStacked(), isAligned) && llvm::all_of(op.getStacks(), isAligned))
      return failure();
    GraphBuilder b(rewriter, op.getLoc());
    int64_t trips = op.getTrips();
    SmallVector<Value> stacked;
    for (Value v : op.getStacked()) {
      int64_t elements = paddedElements(ScanOp::sliceType(v.getType())),
              own = typeOf(v).getNumElements() / std::max<int64_t>(trips, 1);
      stacked.push_back(elements == 0 ? v : pad(b, b.reshape(v, {trips, own}), elements - own));
    }
    SmallVector<Type> stacks;
    for (Value v : op.getStacks()) {
      RankedTensorType slice = ScanOp::sliceType(v.getType());
      int64_t elements = paddedElements(slice);
      stacks.push_back(elements == 0
                           ? v.getType()
                           : ScanOp::stackType(trips, RankedTensorType::get({elements}, slice.getElementType())));
    }
    auto made = b.create<ScanOp>(trips, op.getReverse(), op.getInits(), op.getInvariants(), stacked, stacks);
    made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    SmallVector<Value> results(made.getResults());
    for (auto [i, old] : llvm::enumerate(op.getResults()))
      if (old.getType() != results[i].getType())
        results[i] = crop(b, results[i], shapeOf(old));

    Block &body = made.getBlock();
    rewriter.setInsertionPointToEnd(&body);
    SmallVector<Value> arguments(body.getArguments());
    for (auto [i, old] : llvm::enumerate(op.getBlock().getArguments()))
      if (old.getType() != arguments[i].getType())
        arguments[i] = crop(b, arguments[i], shapeOf(old));
    rewriter.inlineBlockBefore(&op.getBlock(), &body, body.end(), arguments);
    Operation *yield = body.getTerminator();
    rewriter.setInsertionPoint(yield);
    SmallVector<Value> yielded(yield->getOperands());
    for (auto [i, v] : llvm::enumerate(yielded))
      if (Type wanted = made.isCarried(i) ? v.getType() : Type(ScanOp::sliceType(made.getResult(i).getType()));
          v.getType() != wanted) {
        int64_t own = typeOf(v).getNumElements();
        v = pad(b, b.reshape(v, {own}), cast<RankedTensorType>(wanted).getNumElements() - own);
      }
    rewriter.modifyOpInPlace(yield, [&] { yield->setOperands(yielded); });
    rewriter.replaceOp(op, results);
    return success();
  }

private:
  /// Adds zeros behind the last dimension.
  static Value pad(const GraphBuilder &b, Value x, int64_t count) {
    Shape none(typeOf(x).getRank(), 0), high = none;
    high.back() = count;
    return b.padZeros(x, none, high, none);
  }
  /// Takes the first elements of the last dimension of x, as many as there are in `shape`, and gives them that shape.
  static Value crop(const GraphBuilder &b, Value x, ArrayRef<int64_t> shape) {
    Shape starts(typeOf(x).getRank(), 0), sizes(shapeOf(x)), ones(starts.size(), 1);
    sizes.back() = llvm::product_of(shape) / llvm::product_of(ArrayRef(sizes).drop_back());
    return b.reshape(b.slice(x, starts, sizes, ones), shape);
  }
};

} // namespace

void mpc::populateScanPatterns(RewritePatternSet &patterns) { patterns.add<AlignStacks>(patterns.getContext()); }
