//===- Differentiable.h - interface of ops with a VJP -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This header is the contract between the autodiff pass, which knows no op names, and the ops, which do not know how
// the graph is traversed.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_INTERFACES_DIFFERENTIABLE_H
#define MPC_INTERFACES_DIFFERENTIABLE_H
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

namespace mpc {

/// The autodiff pass hands an op this context to build its vector-Jacobian product:
/// the op reads the cotangents of its results and sets the gradients of its operands.
class VjpContext {
public:
  /// Adapts a contribution to an operand: it sums over broadcast dimensions and casts to the operand's
  /// element type. The graph dialect sets this function, because it owns the ops that the adaptation needs.
  using AdaptFn = mlir::Value (*)(mlir::OpBuilder &, mlir::Location, mlir::Value contribution,
                                  mlir::RankedTensorType operandType);

  VjpContext(mlir::Operation *op, mlir::OpBuilder &builder, llvm::ArrayRef<mlir::Value> cotangents,
             llvm::ArrayRef<bool> needed, AdaptFn adapt)
      : builder(builder), loc(op->getLoc()), op(op), cotangents(cotangents), needed(needed), adapt(adapt),
        gradients(op->getNumOperands()) {}

  /// Returns the cotangent of result i, which has the result's type; null when nothing depends on that result.
  mlir::Value cotangent(unsigned i = 0) const { return cotangents[i]; }
  /// Returns whether the gradient of operand i leads to a parameter.
  bool needs(unsigned i) const { return needed[i]; }
  /// Sets the gradient of operand i. `value` may have any shape that broadcasts with the
  /// operand's shape and any float element type: it is summed and cast to the operand's type.
  void set(unsigned i, mlir::Value value);
  mlir::Value gradient(unsigned i) const { return gradients[i]; }

  mlir::OpBuilder &builder;
  mlir::Location loc;

private:
  mlir::Operation *op;
  llvm::ArrayRef<mlir::Value> cotangents;
  llvm::ArrayRef<bool> needed;
  AdaptFn adapt;
  llvm::SmallVector<mlir::Value> gradients;
};

/// An op with this trait has a derivative that is zero wherever it exists: autodiff stops there without an error.
template <typename ConcreteType>
class ZeroGradient : public mlir::OpTrait::TraitBase<ConcreteType, ZeroGradient> {};

} // namespace mpc

#include "dialects/Interfaces/Differentiable.h.inc"
#endif
