//===- NestSpace.h - emission over the iteration space of a plan -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the loop nests of all targets share. A target's emitter derives from it and decides which thread or
// loop walks each variable, and in which order.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_LOWERING_LOOPPLAN_NESTSPACE_H
#define MPC_LOWERING_LOOPPLAN_NESTSPACE_H
#include "passes/Lowering/LoopPlan/Plan.h"

namespace mpc {

class NestSpace {
public:
  /// `results` has a buffer for each result of the dispatch. The constructor adds the plan's factors to e,
  /// which must have no symbols yet.
  NestSpace(const Plan &plan, kernel::DispatchOp dispatch, llvm::ArrayRef<Buffer> results, ElementEmitter &e);

protected:
  using Values = llvm::SmallVector<mlir::Value>;

  void bind(const LoopVar &var, mlir::Value v) { e.bindSymbols(var.factors, v); }
  /// The index, in the tensor's shape, of the element with the row-major number `linear`.
  IndexVector indexOf(mlir::Value tensor, const Index &linear);
  /// The element of the reduction's operand at the current point.
  mlir::Value reducedElement(mlir::Operation *reduction);

  /// Loops over `vars`, outer to inner, binding them; the body is innermost.
  Values loops(llvm::ArrayRef<LoopVar> vars, llvm::ArrayRef<mlir::Value> init,
               llvm::function_ref<Values(llvm::ArrayRef<mlir::Value>)> body);
  void loops(llvm::ArrayRef<LoopVar> vars, llvm::function_ref<void()> body);

  /// The accumulators of a stage: their neutral elements, and one step of each, with the elements at the
  /// current point.
  Values stageInit(llvm::ArrayRef<mlir::Operation *> stage);
  Values stageStep(llvm::ArrayRef<mlir::Operation *> stage, llvm::ArrayRef<mlir::Value> accumulators);
  /// Makes `value` the reduction's result at the current kept point.
  void define(mlir::Operation *reduction, mlir::Value value);
  /// Returns whether the results of the full space need no reduction of the last stage, as the exponentials of a
  /// softmax that is divided elsewhere. They are then stored in the loop of that stage, which reads the same elements.
  /// All reads are at the current point, so that a result may share the buffer of an operand there too.
  bool storesBesideLastStage();
  /// Emits one kept point for one thread: stage after stage with accumulators in registers, then the results.
  void row();

  /// An element of a result that is to be stored, and the row-major number of its place.
  struct Element {
    unsigned result;
    Index place;
    mlir::Value value;
  };
  /// Computes what the results at these positions in the list of results store at the point `linear`: an element of
  /// each, or one of each part (kernel::StoredParts).
  llvm::SmallVector<Element> elementsAt(llvm::ArrayRef<unsigned> positions, const Index &linear);
  void store(const Element &element) { e.store(results[element.result], element.place, element.value); }
  /// Stores the elements of the results at these positions in the list of results; `linear` is the elements'
  /// row-major number.
  void storeResults(llvm::ArrayRef<unsigned> positions, const Index &linear);
  /// Stores the full-space results of n neighbours along the innermost factor, whose positions among them are
  /// constants. With n = 1 it stores those of the current point.
  void storeNeighbours(int64_t n);

  const Plan &plan;
  llvm::ArrayRef<Buffer> results;
  ElementEmitter &e;
  mlir::ValueRange yielded;
  Index space, keptSpace; ///< the row-major number of the current point in the full space, and among the kept points
};

/// Returns the register in which a scatter begins the element of a place, and `a` with an update `b` in it.
mlir::Value scatterInit(graph::ScatterOp op, ElementEmitter &e);
mlir::Value scatterCombine(graph::ScatterOp op, mlir::Value a, mlir::Value b, ElementEmitter &e);

/// Emits positions [begin, end) (i64) of a one-dimensional grid at e's insertion point, for a dispatch of the form
/// `scatter`, whose one result has the buffer. Returns the grid's length.
int64_t emitScatter(kernel::DispatchOp dispatch, const Buffer &result, ElementEmitter &e, mlir::Value begin,
                    mlir::Value end);

} // namespace mpc
#endif
