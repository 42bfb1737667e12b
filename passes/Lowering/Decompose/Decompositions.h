//===- Decompositions.h - the rewrites of mpc-decompose ------------------------===//
#ifndef MPC_LOWERING_DECOMPOSE_DECOMPOSITIONS_H
#define MPC_LOWERING_DECOMPOSE_DECOMPOSITIONS_H
#include "dialects/Graph/IR/Shapes.h"

namespace mpc {

/// Builds graph ops that read like the formula. All arithmetic is in the type of the operands, f32 or f64.
struct GraphFormula {
  mlir::OpBuilder &b;
  mlir::Location loc;

  mlir::Value up(mlir::Value x) { return graph::castTo(b, loc, x, graph::computeType(graph::elementOf(x))); }
  mlir::Value down(mlir::Value x, mlir::Type element) { return graph::castTo(b, loc, x, element); }
  mlir::Value add(mlir::Value x, mlir::Value y) { return graph::AddOp::create(b, loc, x, y); }
  mlir::Value sub(mlir::Value x, mlir::Value y) { return graph::SubOp::create(b, loc, x, y); }
  mlir::Value mul(mlir::Value x, mlir::Value y) { return graph::MulOp::create(b, loc, x, y); }
  mlir::Value div(mlir::Value x, mlir::Value y) { return graph::DivOp::create(b, loc, x, y); }
  mlir::Value neg(mlir::Value x) { return graph::NegOp::create(b, loc, x); }
  mlir::Value exp(mlir::Value x) { return graph::ExpOp::create(b, loc, x); }
  mlir::Value log(mlir::Value x) { return graph::LogOp::create(b, loc, x); }
  mlir::Value rsqrt(mlir::Value x) { return graph::RsqrtOp::create(b, loc, x); }
  mlir::Value scalar(mlir::Value like, double v) { return graph::scalar(b, loc, graph::elementOf(like), v); }
  mlir::Value sum(mlir::Value x, llvm::ArrayRef<int64_t> axes, bool keepdims) {
    return graph::ReduceSumOp::create(b, loc, x, axes, keepdims);
  }
  mlir::Value max(mlir::Value x, llvm::ArrayRef<int64_t> axes, bool keepdims) {
    return graph::ReduceMaxOp::create(b, loc, x, axes, keepdims);
  }
};

// Each returns the values that replace the op's results.
llvm::SmallVector<mlir::Value> decompose(graph::SoftmaxOp op, GraphFormula f);
llvm::SmallVector<mlir::Value> decompose(graph::LogSoftmaxOp op, GraphFormula f);
llvm::SmallVector<mlir::Value> decompose(graph::NllLossOp op, GraphFormula f);
llvm::SmallVector<mlir::Value> decompose(graph::SoftmaxCrossEntropyOp op, GraphFormula f);
llvm::SmallVector<mlir::Value> decompose(graph::BatchNormOp op, GraphFormula f);
llvm::SmallVector<mlir::Value> decompose(graph::BatchNormGradOp op, GraphFormula f);
llvm::SmallVector<mlir::Value> decompose(graph::BatchNormInferenceOp op, GraphFormula f);

/// Splits a reduction with too few results to keep threads busy; false if it is none.
bool splitReduction(mlir::Operation *op, mlir::OpBuilder &b);

} // namespace mpc
#endif
