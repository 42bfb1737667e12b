// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/Scalar/ScalarBuilder.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mpc;

static bool isFloat(Value x) { return isa<FloatType>(x.getType()); }

//===-- Constants --------------------------------------------------------------------===//

Value ScalarBuilder::makeConstant(TypedAttr attribute) {
  if (!constantsAt)
    return create<arith::ConstantOp>(attribute);
  Value &v = constants[attribute];
  if (!v) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(constantsAt);
    v = create<arith::ConstantOp>(attribute);
  }
  return v;
}

Value ScalarBuilder::constantInt(Type type, int64_t v) {
  return makeConstant(IntegerAttr::get(type, APInt(64, uint64_t(v)).trunc(type.getIntOrFloatBitWidth())));
}

//===-- Arithmetic -------------------------------------------------------------------===//

arith::IntegerOverflowFlags ScalarBuilder::overflow() const {
  return integers == Integers::Positions ? arith::IntegerOverflowFlags::nsw : arith::IntegerOverflowFlags::none;
}

Value ScalarBuilder::add(Value x, Value y) {
  return isFloat(x) ? create<arith::AddFOp>(x, y) : create<arith::AddIOp>(x, y, overflow());
}
Value ScalarBuilder::sub(Value x, Value y) {
  return isFloat(x) ? create<arith::SubFOp>(x, y) : create<arith::SubIOp>(x, y, overflow());
}
Value ScalarBuilder::mul(Value x, Value y) {
  return isFloat(x) ? create<arith::MulFOp>(x, y) : create<arith::MulIOp>(x, y, overflow());
}

Value ScalarBuilder::div(Value x, Value y, bool isUnsigned) {
  if (isFloat(x))
    return create<arith::DivFOp>(x, y);
  return isUnsignedDivision(isUnsigned) ? create<arith::DivUIOp>(x, y) : create<arith::DivSIOp>(x, y);
}
Value ScalarBuilder::rem(Value x, Value y, bool isUnsigned) {
  if (isFloat(x))
    return create<arith::RemFOp>(x, y);
  return isUnsignedDivision(isUnsigned) ? create<arith::RemUIOp>(x, y) : create<arith::RemSIOp>(x, y);
}
Value ScalarBuilder::min(Value x, Value y, bool isUnsigned) {
  if (isFloat(x))
    return create<arith::MinimumFOp>(x, y, arith::FastMathFlags::nsz);
  return isUnsigned ? create<arith::MinUIOp>(x, y) : create<arith::MinSIOp>(x, y);
}
Value ScalarBuilder::max(Value x, Value y, bool isUnsigned) {
  if (isFloat(x))
    return create<arith::MaximumFOp>(x, y, arith::FastMathFlags::nsz);
  return isUnsigned ? create<arith::MaxUIOp>(x, y) : create<arith::MaxSIOp>(x, y);
}

Value ScalarBuilder::neg(Value x) { return isFloat(x) ? create<arith::NegFOp>(x) : sub(0, x); }
Value ScalarBuilder::abs(Value x) { return create<math::AbsFOp>(x); }
Value ScalarBuilder::sqrt(Value x) { return create<math::SqrtOp>(x); }
Value ScalarBuilder::fma(Value x, Value y, Value z) { return create<math::FmaOp>(x, y, z); }
Value ScalarBuilder::withSignOf(Value magnitude, Value x) { return create<math::CopySignOp>(magnitude, x); }

Value ScalarBuilder::equal(Value x, Value y) {
  return isFloat(x) ? compare(arith::CmpFPredicate::OEQ, x, y) : compare(arith::CmpIPredicate::eq, x, y);
}

//===-- Conversions ------------------------------------------------------------------===//

Value ScalarBuilder::extend(Type type, Value x, bool isUnsigned) {
  if (isFloat(x))
    return create<arith::ExtFOp>(type, x);
  return isUnsigned ? zeroExtend(type, x) : create<arith::ExtSIOp>(type, x);
}
Value ScalarBuilder::truncate(Type type, Value x) {
  return isFloat(x) ? create<arith::TruncFOp>(type, x) : create<arith::TruncIOp>(type, x);
}
Value ScalarBuilder::toFloat(Type type, Value integer, bool isUnsigned) {
  return isUnsigned ? create<arith::UIToFPOp>(type, integer) : create<arith::SIToFPOp>(type, integer);
}

//===-- Control flow -----------------------------------------------------------------===//

scf::ForOp ScalarBuilder::makeLoop(Value low, Value high, ValueRange init, LoopBody body, Value step) {
  auto op = scf::ForOp::create(b, low, high, step ? step : constantInt(low.getType(), 1), init);
  OpBuilder::InsertionGuard guard(b);
  if (init.empty())
    b.setInsertionPoint(op.getBody()->getTerminator());
  else
    b.setInsertionPointToStart(op.getBody());
  Values next = body(op.getInductionVar(), op.getRegionIterArgs());
  if (!init.empty())
    scf::YieldOp::create(b, next);
  return op;
}

void ScalarBuilder::setUnroll(scf::ForOp loop, LLVM::LoopUnrollAttr unroll) {
  loop->setAttr("llvm.loop_annotation", LLVM::LoopAnnotationAttr::get(loop.getContext(), {}, {}, {}, unroll, {}, {}, {},
                                                                      {}, {}, {}, {}, {}, {}, {}, {}));
}

ScalarBuilder::Values ScalarBuilder::unrolledLoop(int64_t count, Value low, Value high, ValueRange init, LoopBody body,
                                                  Value step) {
  scf::ForOp op = makeLoop(low, high, init, body, step);
  if (count > 1)
    setUnroll(op,
              LLVM::LoopUnrollAttr::get(b.getContext(), {}, b.getI32IntegerAttr(int32_t(count)), {}, {}, {}, {}, {}));
  return Values(op.getResults());
}

ScalarBuilder::Values ScalarBuilder::loop(int64_t extent, ValueRange init, LoopBody body) {
  Value high = i64(extent), low = i64(0);
  return loop(low, high, init, body);
}

void ScalarBuilder::when(Value condition, llvm::function_ref<void()> body) {
  if (!condition)
    return body();
  auto op = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(op.thenBlock()->getTerminator());
  body();
}
