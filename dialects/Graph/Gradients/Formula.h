//===- Formula.h - arithmetic of derivative formulas ------------------------===//
//
// Gradients read like the formulas above them: f.mul(dy, f.sub(1.0, f.mul(y, y))). Operands broadcast; a number is a rank-0
// constant of the other operand's element type.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_GRAPH_GRADIENTS_FORMULA_H
#define MPC_GRAPH_GRADIENTS_FORMULA_H
#include "dialects/Graph/IR/Shapes.h"

namespace mpc::graph {

class Formula {
public:
  using Value = mlir::Value;
  explicit Formula(VjpContext &ctx) : b(ctx.builder), loc(ctx.loc) {}

  /// Casts x to the type that arithmetic is carried out in: f32 for f16 and bf16. A
  /// formula that rounds several times is computed there, and VjpContext::set rounds once.
  Value up(Value x) { return castTo(b, loc, x, computeType(elementOf(x))); }
  Value number(double v, Value like) { return scalar(b, loc, elementOf(like), v); }

  Value add(Value x, Value y) { return AddOp::create(b, loc, x, y); }
  Value add(Value x, double y) { return add(x, number(y, x)); }
  Value sub(Value x, Value y) { return SubOp::create(b, loc, x, y); }
  Value sub(double x, Value y) { return sub(number(x, y), y); }
  Value sub(Value x, double y) { return sub(x, number(y, x)); }
  Value mul(Value x, Value y) { return MulOp::create(b, loc, x, y); }
  Value mul(Value x, double y) { return mul(x, number(y, x)); }
  Value div(Value x, Value y) { return DivOp::create(b, loc, x, y); }
  Value div(Value x, double y) { return div(x, number(y, x)); }
  Value neg(Value x) { return NegOp::create(b, loc, x); }
  Value square(Value x) { return mul(x, x); }

  /// Builds a unary op that takes no attributes: f.op<ExpOp>(x).
  template <typename OpT>
  Value op(Value x) {
    return OpT::create(b, loc, x);
  }

  Value compare(Predicate p, Value x, Value y) { return CompareOp::create(b, loc, p, x, y); }
  Value compare(Predicate p, Value x, double y) { return compare(p, x, number(y, x)); }
  Value both(Value x, Value y) { return AndOp::create(b, loc, x, y); }
  Value select(Value condition, Value x, Value y) { return SelectOp::create(b, loc, condition, x, y); }
  Value select(Value condition, Value x, double y) { return select(condition, x, number(y, x)); }
  Value select(Value condition, double x, Value y) { return select(condition, number(x, y), y); }

  /// Sums over `axes`, which stay with size 1.
  Value sum(Value x, llvm::ArrayRef<int64_t> axes) { return ReduceSumOp::create(b, loc, x, axes, /*keepdims=*/true); }

private:
  mlir::OpBuilder &b;
  mlir::Location loc;
};

} // namespace mpc::graph
#endif
