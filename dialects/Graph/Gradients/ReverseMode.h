//===- ReverseMode.h - reverse-mode differentiation of a block ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This is the traversal and the accumulation only: each op states its own derivative. The autodiff pass differentiates
// a step with it, and a scan its body.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_GRAPH_GRADIENTS_REVERSEMODE_H
#define MPC_GRAPH_GRADIENTS_REVERSEMODE_H
#include "dialects/Graph/IR/Graph.h"
#include "llvm/ADT/DenseSet.h"

namespace mpc::graph {

/// Differentiates a block. In this order: add the sources, ask what is active, find the path, seed, run,
/// ask for gradients.
class ReverseMode {
public:
  explicit ReverseMode(mlir::Block &block) : block(block) {}

  /// Asks for the gradient of a value, which is defined before the ops that use it.
  void addSource(mlir::Value v) { active.insert(v); }
  /// Finds the values that depend on a source through derivatives.
  void findActive();
  bool isActive(mlir::Value v) const { return active.contains(v); }
  /// Finds the ops between the sources and these values, which `path` then lists in program order.
  void findPath(mlir::ValueRange to);
  llvm::ArrayRef<mlir::Operation *> path() const { return onPath; }
  /// Adds to the cotangent of a value.
  void seed(mlir::Value v, mlir::Value cotangent, mlir::OpBuilder &b) { contribute(v, cotangent, b); }
  /// Builds the gradients of the sources. Reports every op without a gradient, or whose gradient cannot be built, with
  /// `explain` for further notes.
  using Explain = llvm::function_ref<void(mlir::InFlightDiagnostic &, mlir::Operation *)>;
  llvm::LogicalResult run(mlir::OpBuilder &b, Explain explain);
  /// Returns the gradient of a source, or null if nothing that was seeded depends on it.
  mlir::Value gradient(mlir::Value v) const { return gradients.lookup(v); }

  unsigned numVjps = 0, numSums = 0;

private:
  llvm::LogicalResult differentiate(mlir::Operation *op, mlir::OpBuilder &b, Explain explain);
  void contribute(mlir::Value to, mlir::Value gradient, mlir::OpBuilder &b);

  mlir::Block &block;
  llvm::DenseSet<mlir::Value> active;
  llvm::SmallVector<mlir::Operation *> onPath;
  /// The gradient of each value, summed so far.
  llvm::DenseMap<mlir::Value, mlir::Value> gradients;
};

} // namespace mpc::graph
#endif
