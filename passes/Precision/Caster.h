//===- Caster.h - one cast per value and type ---------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PASSES_PRECISION_CASTER_H
#define MPC_PASSES_PRECISION_CASTER_H
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace mpc::precision {

/// This string attribute of `graph.cast` says why the cast is there.
inline constexpr llvm::StringLiteral kReasonAttr = "mpc.reason";

/// Returns the value that x is made of by ops that only move elements (reshape, transpose, broadcast), or x itself.
mlir::Value stripMoves(mlir::Value x);

/// Casts values to other float types.
class Caster {
public:
  /// Without `cache` every use gets its own cast, right before the user.
  explicit Caster(bool cache) : cache(cache) {}

  /// Returns x with this element type, for `user`. In order of preference the result is x itself, the value that
  /// x was widened from, a converted constant, an earlier cast, a move of the converted operand (a cast is moved
  /// up through reshapes, to where it is shared and small), or a new cast right behind x with this reason.
  mlir::Value get(mlir::Value x, mlir::Type element, mlir::Operation *user, const llvm::Twine &reason);

  unsigned numCasts = 0;

private:
  mlir::Value create(mlir::Value x, mlir::Type element, mlir::Operation *user, const llvm::Twine &reason);

  bool cache;
  llvm::DenseMap<std::pair<mlir::Value, mlir::Type>, mlir::Value> known;
  llvm::DenseSet<mlir::Operation *> inserted;
};

} // namespace mpc::precision
#endif
