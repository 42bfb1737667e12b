//===- ScalarBuilder.h - arithmetic on scalars that reads like the formula ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The models of elements, the approximations of math functions, and the positions and addresses of GPU kernels are
// written with it. An operation takes floats or integers and is the op for their type.
// Integers are signless, so an operation that depends on the sign is told whether they are unsigned. A number is a
// constant of the other operand's type; an operation on an integer that a number does not change makes no op. C++ does
// not say which argument of a call is evaluated first, so a formula whose arguments would both make ops names one of
// them: the order of ops must not depend on the compiler.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_LOWERING_SCALAR_SCALARBUILDER_H
#define MPC_LOWERING_SCALAR_SCALARBUILDER_H
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"
#include <cassert>
#include <type_traits>

namespace mlir::LLVM {
class LoopUnrollAttr;
}

namespace mpc {

/// What a builder's integers stand for.
enum class Integers {
  /// Numbers of the program, and what emitters of elements compute of positions: sums and products wrap around, a
  /// division has signs unless it is told otherwise, and constants do not fold.
  Elements,
  /// Indices and offsets: no operation overflows (the ops carry nsw), every division is unsigned because
  /// what is divided is not negative, and constants fold.
  Positions,
};

/// A number in a formula. One of an integer type is exact, and fits the type of the constant that it becomes.
template <typename T>
concept Number = std::is_arithmetic_v<T>;

class ScalarBuilder {
public:
  using Value = mlir::Value;
  using Type = mlir::Type;
  using Values = llvm::SmallVector<Value>;
  /// The ops are made at the insertion point of `b`, which others may share. Constants stand where they are made or,
  /// given a block, each once at its start.
  explicit ScalarBuilder(mlir::ImplicitLocOpBuilder &b, Integers integers = Integers::Elements,
                         mlir::Block *constantsAt = nullptr)
      : b(b), integers(integers), constantsAt(constantsAt) {}

  mlir::ImplicitLocOpBuilder &b;

  /// Makes any op that has one result, with the arguments that its `create` has behind the location.
  template <typename OpT, typename... Args>
  Value create(Args &&...args) {
    if (integers == Integers::Positions)
      return b.createOrFold<OpT>(std::forward<Args>(args)...);
    return OpT::create(b, std::forward<Args>(args)...);
  }

  //===-- Constants ------------------------------------------------------------------===//

  /// Makes a number of a float type, or of an integer type, which it fits once it is cut toward zero.
  Value constant(Type type, Number auto v) {
    if (auto floatType = mlir::dyn_cast<mlir::FloatType>(type))
      return makeConstant(b.getFloatAttr(floatType, double(v)));
    assert(fits(type, v) && "the number is one of the type");
    return constantInt(type, int64_t(v));
  }
  /// Makes an integer modulo 2^width.
  Value constantInt(Type type, int64_t v);
  Value i32(int64_t v) { return constantInt(b.getI32Type(), v); }
  Value i64(int64_t v) { return constantInt(b.getI64Type(), v); }

  //===-- Arithmetic -----------------------------------------------------------------===//

  Value add(Value x, Value y);
  Value add(Value x, Number auto y) { return isInteger(x) && y == 0 ? x : add(x, constant(x.getType(), y)); }
  Value add(Number auto x, Value y) { return add(constant(y.getType(), x), y); }
  Value sub(Value x, Value y);
  Value sub(Value x, Number auto y) { return isInteger(x) && y == 0 ? x : sub(x, constant(x.getType(), y)); }
  Value sub(Number auto x, Value y) { return sub(constant(y.getType(), x), y); }
  Value mul(Value x, Value y);
  Value mul(Value x, Number auto y) { return isInteger(x) && y == 1 ? x : mul(x, constant(x.getType(), y)); }
  Value mul(Number auto x, Value y) { return mul(constant(y.getType(), x), y); }
  /// Divides toward zero where the operands are integers; dividing by 0, or the least integer by -1, is undefined then.
  Value div(Value x, Value y, bool isUnsigned = false);
  Value div(Value x, Number auto y, bool isUnsigned = false) {
    return isInteger(x) && y == 1 ? x : div(x, constant(x.getType(), y), isUnsigned);
  }
  Value div(Number auto x, Value y) { return div(constant(y.getType(), x), y); }
  Value rem(Value x, Value y, bool isUnsigned = false);
  Value rem(Value x, Number auto y, bool isUnsigned = false) {
    return isInteger(x) && y == 1 ? constant(x.getType(), 0) : rem(x, constant(x.getType(), y), isUnsigned);
  }
  /// For floats, a NaN gives a NaN, and which of two zeros is the result is open.
  Value min(Value x, Value y, bool isUnsigned = false);
  Value min(Value x, Number auto y, bool isUnsigned = false) { return min(x, constant(x.getType(), y), isUnsigned); }
  Value max(Value x, Value y, bool isUnsigned = false);
  Value max(Value x, Number auto y) { return max(x, constant(x.getType(), y)); }
  Value neg(Value x);
  // These take floats.
  Value abs(Value x);
  Value sqrt(Value x);
  /// Returns x*y + z, rounded once.
  Value fma(Value x, Value y, Value z);
  Value fma(Value x, Value y, Number auto z) { return fma(x, y, constant(x.getType(), z)); }
  Value fma(Value x, Number auto y, Value z) { return fma(x, constant(x.getType(), y), z); }
  Value fma(Value x, Number auto y, Number auto z) { return fma(x, y, constant(x.getType(), z)); }
  Value withSignOf(Value magnitude, Value x);

  //===-- Conditions: i1 -------------------------------------------------------------===//

  Value compare(mlir::arith::CmpFPredicate p, Value x, Value y) { return create<mlir::arith::CmpFOp>(p, x, y); }
  Value compare(mlir::arith::CmpIPredicate p, Value x, Value y) { return create<mlir::arith::CmpIOp>(p, x, y); }
  /// A NaN equals nothing.
  Value equal(Value x, Value y);
  Value equal(Value x, Number auto y) { return equal(x, constant(x.getType(), y)); }
  /// Compares floats; false for a NaN.
  Value less(Value x, Value y) { return compare(mlir::arith::CmpFPredicate::OLT, x, y); }
  Value less(Value x, Number auto y) { return less(x, constant(x.getType(), y)); }
  Value less(Number auto x, Value y) { return less(constant(y.getType(), x), y); }
  /// Returns whether 0 <= x < y for a signed integer x.
  Value below(Value x, Number auto y) { return compare(mlir::arith::CmpIPredicate::ult, x, constant(x.getType(), y)); }
  Value isNaN(Value x) { return compare(mlir::arith::CmpFPredicate::UNO, x, x); }
  Value isNotZero(Value integer) {
    return compare(mlir::arith::CmpIPredicate::ne, integer, constantInt(integer.getType(), 0));
  }
  /// Null stands for true.
  Value both(Value p, Value q) { return !p ? q : !q ? p : bitAnd(p, q); }
  Value either(Value p, Value q) { return bitOr(p, q); }
  Value opposite(Value p) { return bitXor(p, 1); }
  /// Returns x where the condition is null.
  Value select(Value condition, Value x, Value y) {
    return condition ? create<mlir::arith::SelectOp>(condition, x, y) : x;
  }
  Value select(Value condition, Value x, Number auto y) { return select(condition, x, constant(x.getType(), y)); }
  Value select(Value condition, Number auto x, Value y) { return select(condition, constant(y.getType(), x), y); }

  //===-- Bits of integers -----------------------------------------------------------===//

  Value bitAnd(Value x, Value y) { return create<mlir::arith::AndIOp>(x, y); }
  Value bitAnd(Value x, int64_t y) { return bitAnd(x, constantInt(x.getType(), y)); }
  Value bitOr(Value x, Value y) { return create<mlir::arith::OrIOp>(x, y); }
  Value bitOr(Value x, int64_t y) { return bitOr(x, constantInt(x.getType(), y)); }
  Value bitXor(Value x, Value y) { return create<mlir::arith::XOrIOp>(x, y); }
  Value bitXor(Value x, int64_t y) { return y == 0 ? x : bitXor(x, constantInt(x.getType(), y)); }
  Value shiftLeft(Value x, Value by) { return create<mlir::arith::ShLIOp>(x, by); }
  Value shiftLeft(Value x, int64_t by) { return shiftLeft(x, constantInt(x.getType(), by)); }
  /// Moves zeros in.
  Value shiftRight(Value x, Value by) { return create<mlir::arith::ShRUIOp>(x, by); }
  Value shiftRight(Value x, int64_t by) { return shiftRight(x, constantInt(x.getType(), by)); }
  /// Moves copies of the sign in.
  Value shiftRightSigned(Value x, int64_t by) { return create<mlir::arith::ShRSIOp>(x, constantInt(x.getType(), by)); }

  //===-- Conversions ----------------------------------------------------------------===//

  /// Converts to a wider type of the same kind.
  Value extend(Type type, Value x, bool isUnsigned = false);
  Value zeroExtend(Type type, Value x) { return create<mlir::arith::ExtUIOp>(type, x); }
  /// Converts to a narrower type of the same kind: an integer modulo 2^width, a float to the nearest, ties to even.
  Value truncate(Type type, Value x);
  Value toFloat(Type type, Value integer, bool isUnsigned = false);
  Value bitcast(Type type, Value x) { return create<mlir::arith::BitcastOp>(type, x); }
  /// Returns the bits of a float as an integer.
  Value bits(Value x) { return bitcast(b.getIntegerType(x.getType().getIntOrFloatBitWidth()), x); }

  //===-- Control flow ---------------------------------------------------------------===//

  using LoopBody = llvm::function_ref<Values(Value iv, mlir::ValueRange carried)>;
  /// for (iv = low; iv < high; iv += step) carried = body(iv, carried); returns the last values. Without `step` it
  /// is 1.
  Values loop(Value low, Value high, mlir::ValueRange init, LoopBody body, Value step = {}) {
    return Values(makeLoop(low, high, init, body, step).getResults());
  }
  /// The same, of which LLVM puts `count` iterations side by side, so that their loads are under way together.
  Values unrolledLoop(int64_t count, Value low, Value high, mlir::ValueRange init, LoopBody body, Value step);
  /// Counts from 0 in i64.
  Values loop(int64_t extent, mlir::ValueRange init, LoopBody body);
  /// if (condition) body(); where the condition is null, just body().
  void when(Value condition, llvm::function_ref<void()> body);

protected:
  /// Tells LLVM how to unroll the loop.
  static void setUnroll(mlir::scf::ForOp loop, mlir::LLVM::LoopUnrollAttr unroll);
  mlir::scf::ForOp makeLoop(Value low, Value high, mlir::ValueRange init, LoopBody body, Value step);

private:
  static bool isInteger(Value x) { return mlir::isa<mlir::IntegerType>(x.getType()); }
  /// Returns whether an integer type has the number, cut toward zero, with or without a sign. The behaviour of C++ is
  /// undefined where a float beyond int64_t is converted to it, so the float is compared first.
  static bool fits(Type type, Number auto v) {
    if constexpr (std::is_floating_point_v<decltype(v)>)
      if (!(double(v) >= -0x1p63 && double(v) < 0x1p63))
        return false;
    unsigned width = type.getIntOrFloatBitWidth();
    return llvm::isIntN(width, int64_t(v)) || llvm::isUIntN(width, uint64_t(int64_t(v)));
  }
  bool isUnsignedDivision(bool isUnsigned) const { return isUnsigned || integers == Integers::Positions; }
  mlir::arith::IntegerOverflowFlags overflow() const;
  Value makeConstant(mlir::TypedAttr attribute);

  Integers integers;
  mlir::Block *constantsAt;
  llvm::DenseMap<mlir::Attribute, Value> constants;
};

} // namespace mpc
#endif
