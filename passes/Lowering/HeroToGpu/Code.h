//===- Code.h - the code of a contraction's kernel ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_LOWERING_HEROTOGPU_CODE_H
#define MPC_LOWERING_HEROTOGPU_CODE_H
#include "dialects/Kernel/IR/Kernel.h"
#include "passes/Lowering/Scalar/ScalarBuilder.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mpc::hero {

using Values = ScalarBuilder::Values;

/// Arithmetic on positions, which are i32 unless `wide` made them i64, with memory, registers and barriers. Copies make
/// ops at one insertion point.
struct Code : ScalarBuilder {
  explicit Code(mlir::ImplicitLocOpBuilder &b) : ScalarBuilder(b, Integers::Positions) {}

  Value wide(Value x) { return extend(b.getI64Type(), x); }

  //===-- Memory -----------------------------------------------------------------------===//

  /// `pointer` moved by a number of bytes; it may leave the buffer as long as nothing is read there.
  Value at(Value pointer, Value bytes) {
    return mlir::LLVM::GEPOp::create(b, pointer.getType(), b.getI8Type(), pointer, mlir::ValueRange{bytes});
  }
  Value at(Value pointer, int64_t bytes) { return bytes == 0 ? pointer : at(pointer, i64(bytes)); }
  Value load(Type type, Value pointer, unsigned alignment) {
    return mlir::LLVM::LoadOp::create(b, type, pointer, alignment);
  }
  void store(Value value, Value pointer, unsigned alignment) {
    mlir::LLVM::StoreOp::create(b, value, pointer, alignment);
  }
  void barrier() { kernel::BarrierOp::create(b, /*id=*/0, /*threads=*/mlir::IntegerAttr()); }
  /// A barrier of some warps of the block, which have `threads` threads in all; `id` is not 0.
  void barrier(int id, int threads) { kernel::BarrierOp::create(b, uint32_t(id), b.getI32IntegerAttr(threads)); }

  //===-- Registers --------------------------------------------------------------------===//

  Value vector(llvm::ArrayRef<Value> elements) {
    auto type = mlir::VectorType::get({int64_t(elements.size())}, elements[0].getType());
    Value result = mlir::LLVM::PoisonOp::create(b, type);
    for (auto [i, element] : llvm::enumerate(elements))
      result = mlir::LLVM::InsertElementOp::create(b, result, element, i32(i));
    return result;
  }
  Value extract(Value vector, int64_t i) { return mlir::LLVM::ExtractElementOp::create(b, vector, i32(i)); }
  Value zero(Type type) { return mlir::LLVM::ZeroOp::create(b, type); }

  //===-- Control flow -----------------------------------------------------------------===//

  /// A loop that is never unrolled, for bodies whose registers are counted.
  Values rolledLoop(Value low, Value high, mlir::ValueRange init, LoopBody body, Value step = {}) {
    mlir::scf::ForOp op = makeLoop(low, high, init, body, step);
    setUnroll(op,
              mlir::LLVM::LoopUnrollAttr::get(b.getContext(), /*disable=*/b.getBoolAttr(true), {}, {}, {}, {}, {}, {}));
    return Values(op.getResults());
  }
  using ScalarBuilder::when;
  /// condition ? body() : zeros
  Values when(Value condition, mlir::TypeRange types, llvm::function_ref<Values()> body) {
    auto op = mlir::scf::IfOp::create(b, types, condition, /*withElseRegion=*/true);
    mlir::OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(op.elseBlock());
    Values zeros;
    for (Type type : types)
      zeros.push_back(zero(type));
    mlir::scf::YieldOp::create(b, zeros);
    b.setInsertionPointToStart(op.thenBlock());
    mlir::scf::YieldOp::create(b, body());
    return Values(op.getResults());
  }
  /// Returns body() where the condition holds, and `otherwise` where it does not or is null.
  Values when(Value condition, mlir::ValueRange otherwise, llvm::function_ref<Values()> body) {
    if (!condition)
      return Values(otherwise);
    auto op = mlir::scf::IfOp::create(b, otherwise.getTypes(), condition, /*withElseRegion=*/true);
    mlir::OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(op.elseBlock());
    mlir::scf::YieldOp::create(b, otherwise);
    b.setInsertionPointToStart(op.thenBlock());
    mlir::scf::YieldOp::create(b, body());
    return Values(op.getResults());
  }
  void branch(Value condition, llvm::function_ref<void()> body, llvm::function_ref<void()> otherwise) {
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
