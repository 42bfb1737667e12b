//===- AllMath.cpp - math for targets without a libm ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/MathApprox/DoubleMath.h"
#include "passes/Lowering/MathApprox/MathApprox.h"
#include "passes/Lowering/Scalar/ScalarBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <limits>

using namespace mlir;
using namespace mpc;

/// Whether the op is a function that no target has instructions for.
static bool isFunction(Operation *op) { return isa<arith::RemFOp>(op) || mpc::expandsF64(op); }

/// Replaces an op on a vector by one op for each element.
static void scalarize(Operation *op) {
  auto type = dyn_cast<VectorType>(op->getResult(0).getType());
  if (!type || type.getRank() != 1)
    return;
  ImplicitLocOpBuilder b(op->getLoc(), op);
  Value result = LLVM::PoisonOp::create(b, type);
  for (int64_t i = 0; i < type.getDimSize(0); ++i) {
    Value at = LLVM::ConstantOp::create(b, b.getI32Type(), b.getI32IntegerAttr(int32_t(i)));
    llvm::SmallVector<Value> operands;
    for (Value v : op->getOperands())
      operands.push_back(LLVM::ExtractElementOp::create(b, v, at));
    OperationState state(op->getLoc(), op->getName(), operands, {type.getElementType()}, op->getAttrs());
    result = LLVM::InsertElementOp::create(b, result, b.create(state)->getResult(0), at);
  }
  op->getResult(0).replaceAllUsesWith(result);
  op->erase();
}

/// C's fmod, exactly: the loop starts with |y| times the largest power of two for which the product stays
/// below |x|; it subtracts this product where it can, then halves it. Each subtraction is exact (Sterbenz).
static Value expandRemainder(ScalarBuilder &s, Value x, Value y) {
  Type type = x.getType();
  using P = arith::CmpFPredicate;
  Value infinity = s.constant(type, std::numeric_limits<double>::infinity()), half = s.constant(type, 0.5);
  Value zero = s.constant(type, 0), a = s.abs(x), divisor = s.abs(y);
  Value isDivisor = s.compare(P::OGT, divisor, zero), defined = s.both(s.less(a, infinity), isDivisor);
  Value endless = s.equal(divisor, infinity);
  Value regular = s.both(defined, s.less(divisor, infinity));
  Value r0 = s.select(regular, a, zero), d = s.select(regular, divisor, s.constant(type, 1));
  Value limit = s.mul(r0, half);
  auto grow = scf::WhileOp::create(
      s.b, s.b.getLoc(), TypeRange{type}, ValueRange{d},
      [&](OpBuilder &nested, Location loc, ValueRange v) {
        ImplicitLocOpBuilder b(loc, nested);
        ScalarBuilder n(b);
        scf::ConditionOp::create(b, n.compare(P::OLE, v[0], limit), v);
      },
      [&](OpBuilder &nested, Location loc, ValueRange v) {
        ImplicitLocOpBuilder b(loc, nested);
        ScalarBuilder n(b);
        scf::YieldOp::create(b, n.add(v[0], v[0]));
      });
  auto shrink = scf::WhileOp::create(
      s.b, s.b.getLoc(), TypeRange{type, type}, ValueRange{r0, grow.getResult(0)},
      [&](OpBuilder &nested, Location loc, ValueRange v) {
        ImplicitLocOpBuilder b(loc, nested);
        ScalarBuilder n(b);
        scf::ConditionOp::create(b, n.compare(P::OGE, v[1], d), v);
      },
      [&](OpBuilder &nested, Location loc, ValueRange v) {
        ImplicitLocOpBuilder b(loc, nested);
        ScalarBuilder n(b);
        Value fits = n.compare(P::OGE, v[0], v[1]), r = n.select(fits, n.sub(v[0], v[1]), v[0]);
        scf::YieldOp::create(b, ValueRange{r, n.mul(v[1], half)});
      });
  Value result = s.withSignOf(shrink.getResult(0), x);
  result = s.select(s.both(defined, endless), x, result);
  return s.select(defined, result, s.constant(type, std::numeric_limits<double>::quiet_NaN()));
}

void mpc::expandAllMath(Operation *root) {
  auto collect = [&] {
    llvm::SmallVector<Operation *> ops;
    root->walk([&](Operation *op) {
      if (isFunction(op))
        ops.push_back(op);
    });
    return ops;
  };
  for (Operation *op : collect())
    scalarize(op);
  expandF32Math(root);
  for (Operation *op : collect()) {
    Type type = op->getResult(0).getType();
    if (!type.isF32() && !type.isF64())
      continue;
    ImplicitLocOpBuilder b(op->getLoc(), op);
    ScalarBuilder s(b);
    Value y;
    if (isa<arith::RemFOp>(op)) {
      y = expandRemainder(s, op->getOperand(0), op->getOperand(1));
    } else {
      llvm::SmallVector<Value> operands(op->getOperands());
      if (type.isF32())
        for (Value &v : operands)
          v = s.extend(s.b.getF64Type(), v);
      y = expandF64(op, operands);
      if (type.isF32())
        y = s.truncate(type, y);
    }
    op->getResult(0).replaceAllUsesWith(y);
    op->erase();
  }
}
