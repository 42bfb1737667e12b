//===- Differentiable.h - interface of ops with a VJP -----------------------===//
//
// The contract between the autodiff pass, which knows no op names, and the ops, which know no traversal.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_INTERFACES_DIFFERENTIABLE_H
#define MPC_INTERFACES_DIFFERENTIABLE_H
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

namespace mpc {

/// What an op gets and gives when its vector-Jacobian product is built.
class VjpContext {
public:
  /// Adapts a contribution to an operand: sums over broadcast dimensions and casts to the operand's element
  /// type. Set by the graph dialect, which owns the ops this takes.
  using AdaptFn = mlir::Value (*)(mlir::OpBuilder &, mlir::Location, mlir::Value contribution,
                                  mlir::RankedTensorType operandType);

  VjpContext(mlir::Operation *op, mlir::OpBuilder &builder, llvm::ArrayRef<mlir::Value> cotangents,
             llvm::ArrayRef<bool> needed, AdaptFn adapt)
      : builder(builder), loc(op->getLoc()), op(op), cotangents(cotangents), needed(needed), adapt(adapt),
        gradients(op->getNumOperands()) {}

  /// The cotangent of result i, of the result's type; null when nothing depends on that result.
  mlir::Value cotangent(unsigned i = 0) const { return cotangents[i]; }
  /// Whether the gradient of operand i leads to a parameter.
  bool needs(unsigned i) const { return needed[i]; }
  /// Sets the gradient of operand i. `value` may have any shape that the operand broadcasts to and any float
  /// element type: it is summed and cast to the operand's.
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

/// The derivative is zero wherever it exists: autodiff stops here without an error.
template <typename ConcreteType>
class ZeroGradient : public mlir::OpTrait::TraitBase<ConcreteType, ZeroGradient> {};

} // namespace mpc

#include "dialects/Interfaces/Differentiable.h.inc"
#endif
