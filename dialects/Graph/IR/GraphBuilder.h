//===- GraphBuilder.h - arithmetic on graph values that reads like the formula ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradients, decompositions, losses, optimizers and the loss scaler write their formulas with it: b.mul(dy, b.sub(1.0,
// b.mul(y, y))). Operands broadcast as the ops' do. A number is a rank-0 constant of the other operand's element type;
// it is made right before the op. C++ does not say which argument of a call is evaluated first, so a formula whose
// arguments would both make ops names one of them: the order of ops must not depend on the compiler.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_GRAPH_IR_GRAPHBUILDER_H
#define MPC_GRAPH_IR_GRAPHBUILDER_H
#include "dialects/Graph/IR/Shapes.h"
#include "mlir/IR/Builders.h"

namespace mpc::graph {

/// Makes graph ops with one location where `builder` stands. The builder is shared: another one may
/// make ops in between.
class GraphBuilder {
public:
  using Value = mlir::Value;
  using Dims = llvm::ArrayRef<int64_t>;
  GraphBuilder(mlir::OpBuilder &builder, mlir::Location loc) : builder(builder), loc(loc) {}
  explicit GraphBuilder(VjpContext &ctx) : GraphBuilder(ctx.builder, ctx.loc) {}

  mlir::OpBuilder &builder;
  mlir::Location loc;

  /// Makes any op, with the arguments that its `create` has behind the location: b.create<ExpOp>(x).
  template <typename OpT, typename... Args>
  OpT create(Args &&...args) const {
    return OpT::create(builder, loc, std::forward<Args>(args)...);
  }

  //===-- Constants and types ------------------------------------------------------===//

  /// Makes a rank-0 constant of the element type, or of the element type of `like`; numbers are rounded to it.
  Value constant(mlir::Type element, double v) const { return scalar(builder, loc, element, v); }
  Value constant(Value like, double v) const { return constant(elementOf(like), v); }
  /// Makes a constant that is `v` everywhere.
  Value splat(mlir::RankedTensorType type, double v) const { return graph::splat(builder, loc, type, v); }
  /// Returns x with the element type: x itself if it has that already.
  Value cast(Value x, mlir::Type element) const { return castTo(builder, loc, x, element); }
  /// Casts x to the type that arithmetic is carried out in: f32 for floats of 8 and 16 bits. A formula that rounds
  /// several times is computed there, and cast back once.
  Value up(Value x) const { return cast(x, computeType(elementOf(x))); }

  //===-- Elementwise arithmetic ---------------------------------------------------===//

  Value add(Value x, Value y) const { return create<AddOp>(x, y); }
  Value add(Value x, double y) const { return add(x, constant(x, y)); }
  Value sub(Value x, Value y) const { return create<SubOp>(x, y); }
  Value sub(Value x, double y) const { return sub(x, constant(x, y)); }
  Value sub(double x, Value y) const { return sub(constant(y, x), y); }
  Value mul(Value x, Value y) const { return create<MulOp>(x, y); }
  /// Returns x itself for y = 1.
  Value mul(Value x, double y) const { return y == 1 ? x : mul(x, constant(x, y)); }
  Value div(Value x, Value y) const { return create<DivOp>(x, y); }
  Value div(Value x, double y) const { return div(x, constant(x, y)); }
  Value div(double x, Value y) const { return div(constant(y, x), y); }
  Value min(Value x, Value y) const { return create<MinOp>(x, y); }
  Value min(Value x, double y) const { return min(x, constant(x, y)); }
  Value max(Value x, Value y) const { return create<MaxOp>(x, y); }
  Value max(Value x, double y) const { return max(x, constant(x, y)); }
  Value neg(Value x) const { return create<NegOp>(x); }
  Value abs(Value x) const { return create<AbsOp>(x); }
  Value square(Value x) const { return mul(x, x); }
  Value sqrt(Value x) const { return create<SqrtOp>(x); }
  Value rsqrt(Value x) const { return create<RsqrtOp>(x); }
  Value exp(Value x) const { return create<ExpOp>(x); }
  Value log(Value x) const { return create<LogOp>(x); }
  /// Returns x within [low, high].
  Value clip(Value x, double low, double high) const;

  //===-- Conditions: tensors of i1 ------------------------------------------------===//

  Value compare(Predicate p, Value x, Value y) const { return create<CompareOp>(p, x, y); }
  Value compare(Predicate p, Value x, double y) const { return compare(p, x, constant(x, y)); }
  Value isNonFinite(Value x) const { return create<IsNonFiniteOp>(x); }
  Value both(Value x, Value y) const { return create<AndOp>(x, y); }
  Value either(Value x, Value y) const { return create<OrOp>(x, y); }
  Value opposite(Value x) const { return create<NotOp>(x); }
  Value select(Value condition, Value x, Value y) const { return create<SelectOp>(condition, x, y); }
  Value select(Value condition, Value x, double y) const { return select(condition, x, constant(x, y)); }
  Value select(Value condition, double x, Value y) const { return select(condition, constant(y, x), y); }

  //===-- Shapes, sums and products ------------------------------------------------===//

  /// Returns x with the shape: x itself if it has that already.
  Value reshape(Value x, Dims shape) const { return reshapeTo(builder, loc, x, shape); }
  Value broadcast(Value x, Dims shape) const { return broadcastTo(builder, loc, x, shape); }
  /// Sums over the dimensions in which `shape` broadcasts to x's shape.
  Value sumTo(Value x, Dims shape) const { return graph::sumTo(builder, loc, x, shape); }
  Value transpose(Value x, Dims permutation) const { return create<TransposeOp>(x, permutation); }
  Value slice(Value x, Dims starts, Dims sizes, Dims strides) const {
    return create<SliceOp>(x, starts, sizes, strides);
  }
  /// Puts zeros before, behind and between the elements along each dimension; a negative number before or behind crops.
  Value padZeros(Value x, Dims low, Dims high, Dims interior) const;
  /// Reduces over `axes`, which are dropped, or stay with size 1.
  Value sum(Value x, Dims axes, bool keepdims = false) const { return create<ReduceSumOp>(x, axes, keepdims); }
  Value largest(Value x, Dims axes, bool keepdims = false) const { return create<ReduceMaxOp>(x, axes, keepdims); }
  /// Computes op(a) op(b) for the last two dimensions, where op transposes if asked to.
  Value matmul(Value a, Value b, bool transposeA = false, bool transposeB = false) const {
    return create<MatMulOp>(a, b, transposeA, transposeB);
  }
};

/// Returns all dimensions of x, to reduce over.
Shape allAxes(mlir::Value x);

} // namespace mpc::graph
#endif
