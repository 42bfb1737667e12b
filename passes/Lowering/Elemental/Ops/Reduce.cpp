//===- Reduce.cpp - reductions and argmax ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/Elemental/Ops/Models.h"

using namespace mlir;
using namespace mpc;

static Type elementType(Operation *op) { return graph::elementOf(op->getOperand(0)); }
static Combiner combinerOf(Operation *op) { return cast<ReductionOpInterface>(op).getCombiner(); }
static bool isMean(Operation *op) { return cast<ReductionOpInterface>(op).isMean(); }

Value mpc::reductionInit(Operation *op, ElementEmitter &e) {
  Type type = accumulatorType(op);
  TypedAttr identity = identityOf(combinerOf(op), elementType(op));
  if (auto number = dyn_cast<FloatAttr>(identity))
    return e.constant(type, number.getValueAsDouble());
  return e.constantInt(type, cast<IntegerAttr>(identity).getValue().getSExtValue());
}

Value mpc::reductionCombine(Operation *op, Value a, Value b, ElementEmitter &e, bool mayReorder) {
  bool isFloat = isa<FloatType>(a.getType()), isUnsigned = elementType(op).isUnsignedInteger();
  auto flags = mayReorder ? arith::FastMathFlags::reassoc : arith::FastMathFlags::none;
  switch (combinerOf(op)) {
  case Combiner::Add:
    return isFloat ? e.create<arith::AddFOp>(a, b, flags) : e.add(a, b);
  case Combiner::Multiply:
    return isFloat ? e.create<arith::MulFOp>(a, b, flags) : e.mul(a, b);
  case Combiner::Max:
    return e.max(a, b, isUnsigned);
  case Combiner::Min:
    return e.min(a, b, isUnsigned);
  case Combiner::Or:
    return e.bitOr(a, b);
  case Combiner::Hypot:
    break;
  }
  llvm_unreachable("the op is a composite, which has no loops of its own");
}

Value mpc::reductionStep(Operation *op, Value acc, Value x, ElementEmitter &e, bool mayReorder) {
  Type type = acc.getType();
  if (isa<IntegerType>(type) && x.getType() != type) {
    bool isSigned = !x.getType().isInteger(1) && !elementType(op).isUnsignedInteger();
    x = e.extend(type, x, !isSigned);
  }
  return reductionCombine(op, acc, x, e, mayReorder);
}

Value mpc::reductionFinish(Operation *op, Value acc, ElementEmitter &e) {
  Type element = elementType(op), type = acc.getType();
  if (element.isInteger(1))
    return e.isNotZero(acc);
  if (isMean(op)) {
    int64_t count = graph::typeOf(op->getOperand(0)).getNumElements() /
                    std::max<int64_t>(graph::typeOf(op->getResult(0)).getNumElements(), 1);
    Value n = e.constant(type, std::max<int64_t>(count, 1));
    acc = e.div(acc, n, element.isUnsignedInteger());
    Type result = ElementEmitter::registerType(element);
    if (isa<IntegerType>(type) && result != type)
      acc = e.truncate(result, acc);
  }
  return isa<FloatType>(element) ? e.round(acc, element) : acc;
}

/// The index of the operand's element: `index` (of the result) along kept dimensions, `reduced` along the others.
static IndexVector operandIndex(ArrayRef<Index> index, ArrayRef<int64_t> axes, bool keepdims, ArrayRef<Index> reduced,
                                size_t rank) {
  IndexVector x;
  size_t next = 0, nextReduced = 0;
  for (size_t d = 0; d < rank; ++d) {
    if (llvm::is_contained(axes, int64_t(d))) {
      x.push_back(reduced[nextReduced++]);
      next += keepdims;
    } else {
      x.push_back(index[next++]);
    }
  }
  return x;
}

/// Emits loops around `body`, one for each extent, that carry `values`.
static llvm::SmallVector<Value> nest(ArrayRef<int64_t> extents, IndexVector &ivs, ArrayRef<Value> values,
                                     ElementEmitter &e, llvm::function_ref<llvm::SmallVector<Value>(ValueRange)> body) {
  if (ivs.size() == extents.size())
    return body(values);
  return e.loop(extents[ivs.size()], values, [&](Value iv, ValueRange carried) {
    ivs.push_back(e.opaque(iv, 0, extents[ivs.size()] - 1));
    auto next = nest(extents, ivs, llvm::SmallVector<Value>(carried), e, body);
    ivs.pop_back();
    return next;
  });
}

namespace {
/// The model of all reductions that have loops. It emits the loops where the element is used; this happens only when no
/// nest has computed it.
struct ReductionModel : ElementalOpInterface::FallbackModel<ReductionModel> {
  Value emitElement(Operation *op, unsigned, ArrayRef<Index> index, ElementEmitter &e) const {
    auto reduction = cast<ReductionOpInterface>(op);
    ArrayRef<int64_t> shape = graph::shapeOf(op->getOperand(0)), axes = reduction.getAxes();
    auto extents = llvm::map_to_vector(axes, [&](int64_t axis) { return shape[axis]; });
    IndexVector ivs;
    auto acc = nest(extents, ivs, reductionInit(op, e), e, [&](ValueRange carried) -> llvm::SmallVector<Value> {
      Value x = e.operand(op, 0, operandIndex(index, axes, reduction.getKeepdims(), ivs, shape.size()));
      return {reductionStep(op, carried[0], x, e)};
    });
    return reductionFinish(op, acc[0], e);
  }
  ElementCost getElementCost(Operation *) const { return ElementCost::Long; }
};
} // namespace

/// Emits a loop that carries the best element and its position; NaN beats everything.
static Value emit(graph::ArgMaxOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  ArrayRef<int64_t> shape = graph::shapeOf(op.getX());
  int64_t axis = op.getAxis();
  auto at = [&](Index i) { return e.operand(op, 0, operandIndex(index, axis, op.getKeepdims(), i, shape.size())); };
  Type element = graph::elementOf(op.getX());
  bool least = op.getMin(), last = op.getLast();
  auto better = [&](Value x, Value best) -> Value {
    if (isa<FloatType>(x.getType())) {
      using F = arith::CmpFPredicate;
      // The predicates are unordered, so a NaN beats a number; nothing beats a NaN, except a later NaN with `last`.
      F p = least ? (last ? F::ULE : F::ULT) : (last ? F::UGE : F::UGT);
      Value beats = e.compare(p, x, best);
      Value stays = e.compare(F::UNO, best, best);
      if (last)
        stays = e.both(stays, e.compare(F::ORD, x, x));
      return e.both(beats, e.opposite(stays));
    }
    using I = arith::CmpIPredicate;
    I p = element.isUnsignedInteger() ? (least ? (last ? I::ule : I::ult) : (last ? I::uge : I::ugt))
                                      : (least ? (last ? I::sle : I::slt) : (last ? I::sge : I::sgt));
    return e.compare(p, x, best);
  };
  Value first = at(Index(0));
  auto result = e.loop(e.i64(1), e.i64(shape[axis]), {first, e.i64(0)},
                       [&](Value iv, ValueRange carried) -> llvm::SmallVector<Value> {
                         Value x = at(e.opaque(iv, std::min<int64_t>(1, shape[axis] - 1), shape[axis] - 1));
                         Value wins = better(x, carried[0]);
                         return {e.select(wins, x, carried[0]), e.select(wins, iv, carried[1])};
                       });
  return result[1];
}

void mpc::attachReduceModels(MLIRContext *context) {
  // MLIR 22's getRegisteredOperationsByDialect misses ops where dialects were loaded in certain orders.
  for (RegisteredOperationName name : context->getRegisteredOperations())
    if (auto *indexed = name.getInterface<IndexingOpInterface>();
        indexed && name.getDialectNamespace() == graph::GraphDialect::getDialectNamespace() &&
        indexed->getLoopKind() == LoopKind::Reduction)
      name.attachInterface<ReductionModel>();
  MPC_ATTACH_ELEMENTAL(context, graph::ArgMaxOp);
}
