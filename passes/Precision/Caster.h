//===- Caster.h - one cast per value and type ---------------------------------------------===//
#ifndef MPC_PASSES_PRECISION_CASTER_H
#define MPC_PASSES_PRECISION_CASTER_H
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace mpc::precision {

/// Why a cast stands where it stands: a string on `graph.cast`.
inline constexpr llvm::StringLiteral kReasonAttr = "mpc.reason";

/// x behind ops that only move elements (reshape, transpose, broadcast).
mlir::Value stripMoves(mlir::Value x);

/// Gives values in other float types.
class Caster {
public:
  /// Without `cache` every use gets its own cast, in front of it.
  explicit Caster(bool cache) : cache(cache) {}

  /// x with this element type, for `user`. In order of preference: x itself, what x was widened from, a
  /// converted constant, an earlier cast, a move of the converted operand (a cast is moved up through
  /// reshapes, to where it is shared and small), a new cast right behind x with this reason.
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
