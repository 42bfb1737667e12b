//===- PadColumns.cpp - products whose columns are no multiple of what is read at once -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Graph/IR/GraphBuilder.h"
#include "passes/Layout/Passes.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/MapVector.h"
#include <limits>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

namespace mpc::layout {
#define GEN_PASS_DEF_PADCOLUMNSPASS
#include "passes/Layout/Passes.h.inc"
} // namespace mpc::layout

/// Rows of as many columns begin at multiples of 16 bytes, which cp.async and tensor maps ask for, with elements of 8
/// bits, too.
static constexpr int64_t together = 16;

namespace {

/// A product y and the values whose last dimension is its columns: elementwise arithmetic on it, softmaxes over the
/// columns. `run` computes them with columns of arbitrary numbers behind the columns of y, up to a multiple of
/// `together`. No number of these reaches another value: softmaxes and losses read -inf there and products zeros, and
/// all other ops read the columns of y alone.
class Columns : OpBuilder::Listener {
public:
  explicit Columns(MatMulOp product)
      : product(product), columns(shapeOf(product.getResult()).back()), wide(llvm::alignTo(columns, together)),
        b(product, this), g(b, product.getLoc()) {}
  /// Returns whether other products read values of as many columns, and gain by it; else nothing is changed.
  bool run();

private:
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override { made.push_back(op); }
  Value widened(Value v);
  Value widenElementwise(Operation *op);
  Value padded(Value v, int64_t dim);
  Value masked(Value v, double beyond);
  Value zeroed(Value v);
  Value widen(Operation *op);
  bool replaceReader(Operation *op);
  Value productOf(MatMulOp op);
  Value multiply(MatMulOp like, Value x, Value y, ArrayRef<int64_t> shape);
  Value narrow(Value v, Value like);

  MatMulOp product;
  const int64_t columns, wide;
  OpBuilder b;
  GraphBuilder g;
  SmallVector<Operation *> made;
  llvm::MapVector<Value, Value> extended;                ///< in program order
  llvm::DenseMap<Value, Value> repeated;                 ///< operands that do not depend on the product
  llvm::DenseMap<std::pair<Value, int64_t>, Value> pads; ///< by the value and the dimension
  llvm::DenseMap<Value, Value> withZeros;                ///< behind the columns
  SmallVector<std::pair<Operation *, Value>> replaced;   ///< ops whose results have other shapes, and products
  bool gains = false;
};

} // namespace

/// Extends a dimension of `columns` by zeros.
Value Columns::padded(Value v, int64_t dim) {
  Value &known = pads[{v, dim}];
  if (!known) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfterValue(v);
    Shape zeros(typeOf(v).getRank(), 0), high = zeros;
    high[dim] = wide - columns;
    known = g.padZeros(v, zeros, high, zeros);
  }
  return known;
}

/// Returns `v`, which has the wide columns, with another number behind the columns.
Value Columns::masked(Value v, double beyond) {
  RankedTensorType type = typeOf(v); // an index of this shape is no tensor in memory, but computed where it is compared
  Value column = g.create<IotaOp>(type.clone(b.getI64Type()), b.getI64IntegerAttr(type.getRank() - 1));
  return g.select(g.compare(Predicate::lt, column, double(columns)), v, beyond);
}

/// Returns `v`, which has the wide columns, with zeros behind the columns. Casts and reshapes keep zeros, so these are
/// put in front of them, where the arithmetic is that other products share.
Value Columns::zeroed(Value v) {
  if (Value known = withZeros.lookup(v))
    return known;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfterValue(v);
  Value zeros;
  if (auto cast = v.getDefiningOp<CastOp>(); cast && shapeOf(cast.getX()).back() == wide)
    zeros = g.cast(zeroed(cast.getX()), elementOf(v));
  else if (auto reshape = v.getDefiningOp<ReshapeOp>(); reshape && shapeOf(reshape.getX()).back() == wide)
    zeros = g.reshape(zeroed(reshape.getX()), shapeOf(v));
  else
    zeros = masked(v, 0);
  return withZeros[v] = zeros;
}

/// Returns the operand of an elementwise op with wide columns: elementwise arithmetic is computed again so, because it
/// becomes part of its reader's launch, and what is stored is padded.
Value Columns::widened(Value v) {
  ArrayRef<int64_t> shape = shapeOf(v);
  if (shape.empty() || shape.back() == 1)
    return v;
  if (auto known = extended.find(v); known != extended.end())
    return known->second;
  Operation *op = v.getDefiningOp();
  if (auto iota = op ? dyn_cast<IotaOp>(op) : IotaOp()) {
    Shape own(shape);
    own.back() = wide;
    return g.create<IotaOp>(typeOf(v).clone(own), iota.getAxisAttr());
  }
  if (op && isOfKind(op, LoopKind::Elementwise) && !drawsNumbers(op)) {
    if (auto known = repeated.find(v); known != repeated.end())
      return known->second;
    Value own = widenElementwise(op);
    return repeated[v] = own;
  }
  return padded(v, int64_t(shape.size()) - 1);
}

/// Computes an elementwise op with wide columns.
Value Columns::widenElementwise(Operation *op) {
  SmallVector<Value> operands = llvm::map_to_vector(op->getOperands(), [&](Value v) { return widened(v); });
  Value old = op->getResult(0);
  Shape shape(shapeOf(old));
  shape.back() = wide;
  OperationState state(op->getLoc(), op->getName(), operands, typeOf(old).clone(shape), op->getAttrs());
  state.propertiesAttr = op->getPropertiesAsAttribute();
  return b.create(state)->getResult(0);
}

/// Computes an op of which an operand has wide columns with a result that has them, too; null where it has another
/// kind.
Value Columns::widen(Operation *op) {
  if (op->getNumResults() != 1 || !isa<RankedTensorType>(op->getResult(0).getType()))
    return {};
  ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
  if (shape.empty() || shape.back() != columns)
    return {};
  Shape own(shape);
  own.back() = wide;
  if (isa<ReshapeOp>(op))
    return g.reshape(extended.lookup(op->getOperand(0)), own);
  if (auto softmax = dyn_cast<SoftmaxOp>(op)) {
    if (softmax.getAxis() != shape.size() - 1)
      return {};
    Value x = masked(extended.lookup(softmax.getX()), -std::numeric_limits<double>::infinity());
    return g.create<SoftmaxOp>(x, softmax.getAxisAttr());
  }
  return isOfKind(op, LoopKind::Elementwise) && !drawsNumbers(op) ? widenElementwise(op) : Value();
}

/// Computes a product of other operands, whose result has another shape.
Value Columns::multiply(MatMulOp like, Value x, Value y, ArrayRef<int64_t> shape) {
  return MatMulOp::create(b, like.getLoc(), TypeRange(typeOf(like.getResult()).clone(shape)), ValueRange{x, y},
                          like->getAttrs());
}

/// Returns the first rows and columns of `v`, as many as `like` has.
Value Columns::narrow(Value v, Value like) {
  if (v.getType() == like.getType())
    return v;
  ArrayRef<int64_t> shape = shapeOf(like);
  return g.slice(v, Shape(shape.size(), 0), shape, Shape(shape.size(), 1));
}

/// Makes a product of which one operand has wide columns: over them, where they are k, with zeros behind the columns in
/// both operands; else with wide rows or columns, which are dropped from the result. Null where it is another product.
Value Columns::productOf(MatMulOp op) {
  bool isA = extended.contains(op.getA()), isB = extended.contains(op.getB());
  if (isA == isB || op == product)
    return {};
  Value own = isA ? op.getA() : op.getB(), other = isA ? op.getB() : op.getA();
  Value zeros = zeroed(extended.lookup(own));
  bool alongK = isA ? !op.getTransposeA() : op.getTransposeB();
  if (alongK) { // k is the last dimension of an operand, or, transposed, the one in front of it
    bool otherLast = isA ? op.getTransposeB() : !op.getTransposeA();
    other = padded(other, typeOf(other).getRank() - (otherLast ? 1 : 2));
  }
  Shape shape(shapeOf(op.getResult()));
  if (!alongK)
    shape[shape.size() - (isA ? 2 : 1)] = wide;
  return narrow(multiply(op, isA ? zeros : other, isA ? other : zeros, shape), op.getResult());
}

/// Lets an op that sums over the columns read wide ones. Returns whether it is such an op.
bool Columns::replaceReader(Operation *op) {
  if (auto matmul = dyn_cast<MatMulOp>(op)) {
    Value result = productOf(matmul);
    if (result)
      replaced.push_back({op, result});
    gains |= bool(result);
    return bool(result);
  }
  auto loss = dyn_cast<SoftmaxCrossEntropyOp>(op);
  if (!loss || !extended.contains(loss.getLogits()) || typeOf(loss.getLogits()).getRank() != 2 || loss.getWeights())
    return false;
  Value logits = masked(extended.lookup(loss.getLogits()), -std::numeric_limits<double>::infinity());
  Operation *own = b.clone(*op);
  own->setOperand(0, logits);
  replaced.push_back({op, own->getResult(0)});
  return true;
}

bool Columns::run() {
  Shape shape(shapeOf(product.getResult()));
  shape.back() = wide;
  Value weights = padded(product.getB(), product.getTransposeB() ? 0 : 1);
  Value y = multiply(product, product.getA(), weights, shape);
  extended[product.getResult()] = y;
  for (Operation *op = product->getNextNode(); op; op = op->getNextNode()) {
    if (llvm::none_of(op->getOperands(), [&](Value v) { return extended.contains(v); }))
      continue;
    b.setInsertionPoint(op);
    if (!replaceReader(op))
      if (Value v = widen(op))
        extended[op->getResult(0)] = v;
  }
  if (!gains) {
    for (Operation *op : llvm::reverse(made))
      op->erase();
    return false;
  }
  for (auto [op, value] : replaced)
    op->getResult(0).replaceAllUsesWith(value);
  llvm::SmallPtrSet<Operation *, 16> old;
  for (auto [op, value] : replaced)
    old.insert(op);
  for (auto &[value, own] : extended)
    old.insert(value.getDefiningOp());
  for (auto &[value, own] : extended) {
    auto isOutside = [&](OpOperand &use) { return !old.contains(use.getOwner()); };
    if (llvm::none_of(value.getUses(), isOutside))
      continue;
    b.setInsertionPointAfterValue(own);
    Value part = narrow(own, value);
    value.replaceUsesWithIf(part, isOutside);
  }
  SmallVector<Operation *> dead(old.begin(), old.end());
  llvm::sort(dead, [](Operation *x, Operation *y) { return y->isBeforeInBlock(x); });
  for (Operation *op : dead)
    op->erase();
  return true;
}

namespace {

struct PadColumnsPass : layout::impl::PadColumnsPassBase<PadColumnsPass> {
  using PadColumnsPassBase::PadColumnsPassBase;

  /// Returns whether the rows of the product's result begin elsewhere than at multiples of 16 bytes, and the product
  /// has so much work that a copy of the weights pays off.
  bool isCandidate(MatMulOp op) const {
    Value y = op.getResult();
    Type element = elementOf(y);
    if ((!element.isF16() && !element.isBF16()) || typeOf(op.getB()).getRank() != 2)
      return false;
    int64_t columns = shapeOf(y).back(), missing = llvm::alignTo(columns, together) - columns;
    bool isAligned = columns * element.getIntOrFloatBitWidth() % 128 == 0;
    int64_t depth = typeOf(op.getA()).getDimSize(typeOf(op.getA()).getRank() - (op.getTransposeA() ? 2 : 1));
    return !isAligned && 3 * missing <= columns && typeOf(y).getNumElements() * depth >= leastWork;
  }

  void runOnOperation() override {
    const GpuArch *gpu = kernel::gpuOf(getOperation());
    if (!gpu || !gpu->hasMmaF16K8)
      return;
    getOperation().walk([&](Block *block) {
      for (Operation *op = block->empty() ? nullptr : &block->front(); op;) {
        auto product = dyn_cast<MatMulOp>(op);
        Operation *before = op->getPrevNode();
        bool wasPadded = product && isCandidate(product) && Columns(product).run();
        numPadded += wasPadded;
        if (!wasPadded)
          op = op->getNextNode();
        else // the product is gone; the one in its place is no candidate
          op = before ? before->getNextNode() : &block->front();
      }
    });
  }
};

} // namespace
