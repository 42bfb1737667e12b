//===- AllMath.cpp - math for targets without a libm ---------------------------------===//
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/Lowering/MathApprox/DoubleMath.h"
#include "passes/Lowering/MathApprox/MathApprox.h"
#include <limits>

using namespace mlir;

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
static Value expandRemainder(ImplicitLocOpBuilder &b, Value x, Value y) {
  Type type = x.getType();
  auto c = [&](double v) -> Value { return arith::ConstantOp::create(b, b.getFloatAttr(type, v)); };
  auto compare = [&](arith::CmpFPredicate p, Value u, Value v) -> Value { return arith::CmpFOp::create(b, p, u, v); };
  Value infinity = c(std::numeric_limits<double>::infinity()), half = c(0.5);
  Value a = math::AbsFOp::create(b, x), divisor = math::AbsFOp::create(b, y);
  Value defined = arith::AndIOp::create(b, compare(arith::CmpFPredicate::OLT, a, infinity), compare(arith::CmpFPredicate::OGT, divisor, c(0)));
  Value endless = compare(arith::CmpFPredicate::OEQ, divisor, infinity);
  Value regular = arith::AndIOp::create(b, defined, compare(arith::CmpFPredicate::OLT, divisor, infinity));
  Value r0 = arith::SelectOp::create(b, regular, a, c(0)), d = arith::SelectOp::create(b, regular, divisor, c(1));
  Value limit = arith::MulFOp::create(b, r0, half);
  auto grow = scf::WhileOp::create(
      b, b.getLoc(), TypeRange{type}, ValueRange{d},
      [&](OpBuilder &nested, Location loc, ValueRange v) {
        scf::ConditionOp::create(nested, loc, arith::CmpFOp::create(nested, loc, arith::CmpFPredicate::OLE, v[0], limit), v);
      },
      [&](OpBuilder &nested, Location loc, ValueRange v) {
        Value next = arith::AddFOp::create(nested, loc, v[0], v[0]);
        scf::YieldOp::create(nested, loc, next);
      });
  auto shrink = scf::WhileOp::create(
      b, b.getLoc(), TypeRange{type, type}, ValueRange{r0, grow.getResult(0)},
      [&](OpBuilder &nested, Location loc, ValueRange v) {
        scf::ConditionOp::create(nested, loc, arith::CmpFOp::create(nested, loc, arith::CmpFPredicate::OGE, v[1], d), v);
      },
      [&](OpBuilder &nested, Location loc, ValueRange v) {
        Value fits = arith::CmpFOp::create(nested, loc, arith::CmpFPredicate::OGE, v[0], v[1]);
        Value less = arith::SubFOp::create(nested, loc, v[0], v[1]);
        Value r = arith::SelectOp::create(nested, loc, fits, less, v[0]);
        Value next = arith::MulFOp::create(nested, loc, v[1], half);
        scf::YieldOp::create(nested, loc, ValueRange{r, next});
      });
  Value result = math::CopySignOp::create(b, shrink.getResult(0), x);
  result = arith::SelectOp::create(b, arith::AndIOp::create(b, defined, endless), x, result);
  return arith::SelectOp::create(b, defined, result, c(std::numeric_limits<double>::quiet_NaN()));
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
    Value y;
    if (isa<arith::RemFOp>(op)) {
      y = expandRemainder(b, op->getOperand(0), op->getOperand(1));
    } else {
      llvm::SmallVector<Value> operands(op->getOperands());
      if (type.isF32())
        for (Value &v : operands)
          v = arith::ExtFOp::create(b, b.getF64Type(), v);
      y = expandF64(b, op, operands);
      if (type.isF32())
        y = arith::TruncFOp::create(b, type, y);
    }
    op->getResult(0).replaceAllUsesWith(y);
    op->erase();
  }
}
