//===- Code.h - integer arithmetic that folds constants --------------------------------===//
#ifndef MPC_LOWERING_HEROTOGPU_CODE_H
#define MPC_LOWERING_HEROTOGPU_CODE_H
#include "dialects/Kernel/IR/Kernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mpc::hero {

using Values = llvm::SmallVector<mlir::Value>;

/// Short names for the ops that kernels are made of. Numbers are i32 unless `wide` made them i64; none overflows.
struct Code {
  mlir::ImplicitLocOpBuilder &b;

  static mlir::LLVM::LoopAnnotationAttr rolledAnnotation(mlir::MLIRContext *context) {
    auto unroll = mlir::LLVM::LoopUnrollAttr::get(context, /*disable=*/mlir::BoolAttr::get(context, true), {}, {}, {},
                                                  {}, {}, {});
    return mlir::LLVM::LoopAnnotationAttr::get(context, {}, {}, {}, unroll, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {});
  }

  mlir::Value i32(int64_t v) { return mlir::arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(v))); }
  mlir::Value i64(int64_t v) { return mlir::arith::ConstantOp::create(b, b.getI64IntegerAttr(v)); }
  mlir::Value constant(mlir::Type type, int64_t v) {
    return mlir::arith::ConstantOp::create(b, b.getIntegerAttr(type, v));
  }
  mlir::Value add(mlir::Value x, mlir::Value y) {
    return b.createOrFold<mlir::arith::AddIOp>(x, y, mlir::arith::IntegerOverflowFlags::nsw);
  }
  mlir::Value add(mlir::Value x, int64_t y) { return y == 0 ? x : add(x, constant(x.getType(), y)); }
  mlir::Value sub(mlir::Value x, mlir::Value y) {
    return b.createOrFold<mlir::arith::SubIOp>(x, y, mlir::arith::IntegerOverflowFlags::nsw);
  }
  mlir::Value mul(mlir::Value x, int64_t y) {
    return y == 1 ? x
                  : b.createOrFold<mlir::arith::MulIOp>(x, constant(x.getType(), y),
                                                        mlir::arith::IntegerOverflowFlags::nsw);
  }
  /// x must not be negative.
  mlir::Value div(mlir::Value x, int64_t y) {
    return y == 1 ? x : b.createOrFold<mlir::arith::DivUIOp>(x, constant(x.getType(), y));
  }
  mlir::Value rem(mlir::Value x, int64_t y) {
    return y == 1 ? constant(x.getType(), 0) : b.createOrFold<mlir::arith::RemUIOp>(x, constant(x.getType(), y));
  }
  mlir::Value compare(mlir::arith::CmpIPredicate p, mlir::Value x, mlir::Value y) {
    return b.createOrFold<mlir::arith::CmpIOp>(p, x, y);
  }
  /// Whether 0 <= x < y; x is signed.
  mlir::Value below(mlir::Value x, int64_t y) {
    return compare(mlir::arith::CmpIPredicate::ult, x, constant(x.getType(), y));
  }
  mlir::Value equal(mlir::Value x, int64_t y) {
    return compare(mlir::arith::CmpIPredicate::eq, x, constant(x.getType(), y));
  }
  mlir::Value bitXor(mlir::Value x, int64_t y) {
    return y == 0 ? x : b.createOrFold<mlir::arith::XOrIOp>(x, constant(x.getType(), y));
  }
  mlir::Value bitXor(mlir::Value x, mlir::Value y) { return b.createOrFold<mlir::arith::XOrIOp>(x, y); }
  /// x and y; null stands for true.
  mlir::Value both(mlir::Value x, mlir::Value y) { return !x ? y : !y ? x : b.createOrFold<mlir::arith::AndIOp>(x, y); }
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y) {
    return condition ? b.createOrFold<mlir::arith::SelectOp>(condition, x, y) : x;
  }
  mlir::Value wide(mlir::Value x) { return b.createOrFold<mlir::arith::ExtSIOp>(b.getI64Type(), x); }

  /// `pointer` moved by a number of bytes; it may leave the buffer as long as nothing is read there.
  mlir::Value at(mlir::Value pointer, mlir::Value bytes) {
    return mlir::LLVM::GEPOp::create(b, pointer.getType(), b.getI8Type(), pointer, mlir::ValueRange{bytes});
  }
  mlir::Value at(mlir::Value pointer, int64_t bytes) { return bytes == 0 ? pointer : at(pointer, i64(bytes)); }
  mlir::Value load(mlir::Type type, mlir::Value pointer, unsigned alignment) {
    return mlir::LLVM::LoadOp::create(b, type, pointer, alignment);
  }
  void store(mlir::Value value, mlir::Value pointer, unsigned alignment) {
    mlir::LLVM::StoreOp::create(b, value, pointer, alignment);
  }
  void barrier() { mpc::kernel::BarrierOp::create(b, /*id=*/0, /*threads=*/mlir::IntegerAttr()); }
  /// A barrier of some warps of the block, which have `threads` threads in all; `id` is not 0.
  void barrier(int id, int threads) { mpc::kernel::BarrierOp::create(b, uint32_t(id), b.getI32IntegerAttr(threads)); }
  mlir::Value vector(llvm::ArrayRef<mlir::Value> elements) {
    auto type = mlir::VectorType::get({int64_t(elements.size())}, elements[0].getType());
    mlir::Value result = mlir::LLVM::PoisonOp::create(b, type);
    for (auto [i, element] : llvm::enumerate(elements))
      result = mlir::LLVM::InsertElementOp::create(b, result, element, i32(i));
    return result;
  }
  mlir::Value extract(mlir::Value vector, int64_t i) { return mlir::LLVM::ExtractElementOp::create(b, vector, i32(i)); }
  mlir::Value zero(mlir::Type type) { return mlir::LLVM::ZeroOp::create(b, type); }

  mlir::Value least(mlir::Value x, int64_t y) {
    return b.createOrFold<mlir::arith::MinSIOp>(x, constant(x.getType(), y));
  }

  /// for (i = low; i < high; i += step) carried = body(i, carried). With `rolled` the loop is never unrolled,
  /// for bodies whose registers are counted.
  Values loop(mlir::Value low, mlir::Value high, mlir::ValueRange init,
              llvm::function_ref<Values(mlir::Value, mlir::ValueRange)> body, mlir::Value step = {},
              bool rolled = false) {
    auto op = mlir::scf::ForOp::create(b, low, high, step ? step : i32(1), init);
    if (rolled)
      op->setAttr("llvm.loop_annotation", rolledAnnotation(b.getContext()));
    mlir::OpBuilder::InsertionGuard guard(b);
    if (init.empty())
      b.setInsertionPoint(op.getBody()->getTerminator());
    else
      b.setInsertionPointToStart(op.getBody());
    Values next = body(op.getInductionVar(), op.getRegionIterArgs());
    if (!init.empty())
      mlir::scf::YieldOp::create(b, next);
    return Values(op.getResults());
  }
  /// condition ? body() : zeros
  Values when(mlir::Value condition, mlir::TypeRange types, llvm::function_ref<Values()> body) {
    auto op = mlir::scf::IfOp::create(b, types, condition, /*withElseRegion=*/true);
    mlir::OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(op.elseBlock());
    Values zeros;
    for (mlir::Type type : types)
      zeros.push_back(zero(type));
    mlir::scf::YieldOp::create(b, zeros);
    b.setInsertionPointToStart(op.thenBlock());
    mlir::scf::YieldOp::create(b, body());
    return Values(op.getResults());
  }
  void when(mlir::Value condition, llvm::function_ref<void()> body) {
    if (!condition)
      return body();
    auto op = mlir::scf::IfOp::create(b, condition, /*withElseRegion=*/false);
    mlir::OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(op.thenBlock()->getTerminator());
    body();
  }
  void branch(mlir::Value condition, llvm::function_ref<void()> body, llvm::function_ref<void()> otherwise) {
    auto op = mlir::scf::IfOp::create(b, condition, /*withElseRegion=*/true);
    mlir::OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(op.thenBlock()->getTerminator());
    body();
    b.setInsertionPoint(op.elseBlock()->getTerminator());
    otherwise();
  }
};

} // namespace mpc::hero
#endif
