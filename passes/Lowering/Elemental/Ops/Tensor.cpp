//===- Tensor.cpp - elements of constants and data movement -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Data movement is arithmetic on indices, so most of these ops emit no code of their own.
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/Elemental/Ops/Models.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mpc;

static Value emit(graph::ConstantOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  auto dense = cast<DenseElementsAttr>(op.getValue());
  Type element = dense.getElementType(), type = ElementEmitter::registerType(element);
  ArrayRef<int64_t> shape = graph::shapeOf(op.getResult());
  Index linear = e.linearize(index, shape);
  if (!dense.isSplat() && !linear.isConstant())
    return e.load(e.constantBuffer(dense), linear);
  int64_t at = dense.isSplat() ? 0 : linear.constant();
  if (isa<FloatType>(element)) {
    APFloat value = *(dense.getValues<APFloat>().begin() + at);
    bool inexact; // never true, since the register type is at least as wide
    value.convert(cast<FloatType>(type).getFloatSemantics(), APFloat::rmNearestTiesToEven, &inexact);
    return e.create<arith::ConstantOp>(FloatAttr::get(type, value));
  }
  return e.create<arith::ConstantOp>(IntegerAttr::get(type, *(dense.getValues<APInt>().begin() + at)));
}

static Value emit(graph::IotaOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  Type element = graph::elementOf(op.getResult()), type = ElementEmitter::registerType(element);
  Value i = e.materialize(index[op.getAxis()]);
  if (isa<FloatType>(element)) // through i32, which vector units can convert
    return e.round(e.toFloat(type, e.truncate(e.b.getI32Type(), i)), element);
  return type == i.getType() ? i : e.truncate(type, i);
}

static Value emit(graph::BarrierOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  return e.operand(op, 0, index);
}
static Value emit(graph::StopGradientOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  return e.operand(op, 0, index);
}
static Value emit(graph::ReshapeOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  ArrayRef<int64_t> from = graph::shapeOf(op.getX()), to = graph::shapeOf(op.getY());
  // Dimensions that both shapes share at the front or at the back keep their index.
  size_t front = 0, back = 0;
  while (front < from.size() && front < to.size() && from[front] == to[front])
    ++front;
  while (front + back < from.size() && front + back < to.size() &&
         from[from.size() - 1 - back] == to[to.size() - 1 - back])
    ++back;
  IndexVector x(index.take_front(front));
  llvm::append_range(
      x, e.delinearize(e.linearize(index.drop_front(front).drop_back(back), to.drop_front(front).drop_back(back)),
                       from.drop_front(front).drop_back(back)));
  llvm::append_range(x, index.take_back(back));
  return e.operand(op, 0, x);
}

static Value emit(graph::TransposeOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  IndexVector x(index.size());
  for (auto [i, p] : llvm::enumerate(op.getPermutation()))
    x[p] = index[i];
  return e.operand(op, 0, x);
}

static Value emit(graph::BroadcastOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  return e.broadcastOperand(op, 0, index);
}

/// Only one operand is read where the range of the index lies within it; loops are cut where the operands
/// end, to make that so. Otherwise all operands that the index may lie in are read, at clamped indices, and
/// the value is selected: so there is no branch in a loop that vectorises.
static Value emit(graph::ConcatOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  size_t axis = op.getAxis();
  auto [low, high] = e.range(index[axis]);
  int64_t begin = 0;
  Value result;
  for (auto [i, input] : llvm::enumerate(op.getInputs())) {
    int64_t extent = graph::shapeOf(input)[axis], end = begin + extent;
    if (extent > 0 && high >= begin && low < end) {
      IndexVector x(index);
      x[axis] = e.clamp(index[axis] - Index(begin), 0, extent - 1);
      Value v = e.operand(op, i, x);
      if (!result) {
        result = v;
      } else {
        Value here = e.compare(arith::CmpIPredicate::sge, e.materialize(index[axis]), e.i64(begin));
        result = e.select(here, v, result);
      }
    }
    begin = end;
  }
  return result;
}

static Value emit(graph::SliceOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  IndexVector x;
  for (auto [i, start, stride] : llvm::zip_equal(index, op.getStarts(), op.getStrides()))
    x.push_back(i * stride + Index(start));
  return e.operand(op, 0, x);
}

/// The operand is read at a clamped index, and its value is replaced outside.
static Value emit(graph::PadOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  Type element = graph::elementOf(op.getY());
  ArrayRef<int64_t> shape = graph::shapeOf(op.getX());
  Value padding = e.constant(ElementEmitter::registerType(element), op.getValue().convertToDouble());
  if (isa<FloatType>(element))
    padding = e.round(padding, element);
  IndexVector x;
  Value inside;
  for (auto [d, n] : llvm::enumerate(shape)) {
    if (n == 0)
      return padding;
    int64_t step = op.getInterior()[d] + 1, span = (n - 1) * step + 1;
    Index i = index[d] - Index(op.getLow()[d]);
    bool never;
    inside = e.both(inside, e.inBounds(i, 0, span, never));
    if (never)
      return padding;
    i = e.clamp(i, 0, span - 1);
    if (step > 1) {
      Index between = e.mod(i, step);
      inside = e.both(inside, e.inBounds(between, 0, 1, never));
      if (never)
        return padding;
      i = e.floorDiv(i, step);
    }
    x.push_back(i);
  }
  Value v = e.operand(op, 0, x);
  return inside ? e.select(inside, v, padding) : v;
}

/// The index is read from memory; a negative one counts from the end. Labels and indices are checked where
/// data enters the program; the clamp keeps a wrong one from reading elsewhere.
static Value emit(graph::GatherOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  size_t axis = op.getAxis(), rank = graph::typeOf(op.getIndices()).getRank();
  int64_t n = graph::shapeOf(op.getX())[axis];
  Value v = e.operand(op, 1, index.slice(axis, rank));
  Type i64 = e.b.getI64Type();
  if (v.getType() != i64)
    v = e.extend(i64, v);
  Value negative = e.compare(arith::CmpIPredicate::slt, v, e.i64(0));
  v = e.select(negative, e.add(v, e.i64(n)), v);
  v = e.min(e.max(v, e.i64(0)), e.i64(n - 1));
  IndexVector x(index.take_front(axis));
  x.push_back(e.opaque(v, 0, n - 1));
  llvm::append_range(x, index.drop_front(axis + rank));
  return e.operand(op, 0, x);
}

#define ATTACH(OP) MPC_ATTACH_ELEMENTAL(context, graph::OP)
#define ATTACH_SHORT(OP) MPC_ATTACH_ELEMENTAL_OF(context, graph::OP, ElementCost::Short)
#define ATTACH_FREE(OP) MPC_ATTACH_ELEMENTAL_OF(context, graph::OP, ElementCost::Free)
void mpc::attachTensorModels(MLIRContext *context) {
  ATTACH_FREE(ConstantOp), ATTACH(IotaOp), ATTACH_SHORT(ReshapeOp), ATTACH(BarrierOp), ATTACH_SHORT(StopGradientOp),
      ATTACH(TransposeOp), ATTACH_FREE(BroadcastOp);
  ATTACH(ConcatOp), ATTACH(SliceOp), ATTACH(PadOp), ATTACH(GatherOp);
}
