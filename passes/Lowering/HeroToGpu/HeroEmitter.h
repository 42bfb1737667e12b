//===- HeroEmitter.h - the kernels of one hero ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_LOWERING_HEROTOGPU_HEROEMITTER_H
#define MPC_LOWERING_HEROTOGPU_HEROEMITTER_H
#include "dialects/Graph/IR/GraphBuilder.h"
#include "passes/Lowering/HeroToGpu/KernelFunction.h"
#include "passes/Lowering/Schedule/Schedule.h"

namespace mpc::hero {

/// Emits the kernels of one hero into a module (HeroToGpu.cpp names them).
class HeroEmitter {
public:
  HeroEmitter(const Problem &problem, mlir::ModuleOp module, llvm::StringRef symbol, const Schedule &schedule)
      : problem(problem), module(module), symbol(symbol), arch(*kernel::gpuOf(module)), schedule(schedule),
        tile(schedule.tile), dispatch(problem.dispatch), body(dispatch.getBody().front()) {}

  /// Returns the launches in order. Fails with a diagnostic.
  mlir::FailureOr<llvm::SmallVector<kernel::LaunchAttr>> run();

private:
  using Emitted = KernelFunction;
  kernel::LaunchAttr emitMain();
  kernel::LaunchAttr emitReduce();
  mlir::FailureOr<kernel::LaunchAttr> emitRuns();
  mlir::FailureOr<kernel::LaunchAttr> emitColumnSums();
  mlir::FailureOr<kernel::LaunchAttr> emitEmptySums();
  /// Emits the kernel `suffix` of a loop dispatch that writes to `results`, which are positions of arguments. `body`
  /// makes them from tensors of these types, which are the scratch.
  mlir::FailureOr<kernel::LaunchAttr>
  emitLoops(llvm::StringRef suffix, llvm::ArrayRef<mlir::Type> inScratch, llvm::ArrayRef<int64_t> results,
            llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::OpBuilder &, mlir::ValueRange)> body);
  /// The type of the scratch as a vector: the sums of runs and the parts behind them.
  mlir::Type columnScratch() const;
  /// Returns the tensor [columnSums, rows, n] that begins at the scratch's element `from`.
  mlir::Value rowsOf(const graph::GraphBuilder &m, mlir::Value scratch, int64_t from, int64_t rows) const;
  /// Returns the positions of the results that are column sums.
  llvm::SmallVector<int64_t> columnSumPositions();
  /// Appends the positions of the arguments that are read besides the hero's operands, then those of the results.
  void addEpilogueArguments(llvm::SmallVector<int64_t> &positions);
  /// As emitFunction; notes whether it failed.
  Emitted function(const llvm::Twine &name, llvm::ArrayRef<int64_t> positions,
                   llvm::function_ref<void(ElementEmitter &, llvm::DenseMap<int64_t, mlir::Value> &)> emit);
  llvm::SmallVector<Buffer> bindBuffers(ElementEmitter &e, llvm::DenseMap<int64_t, mlir::Value> &parameters);
  int64_t resultPosition(unsigned result) { return int64_t(dispatch.getInputs().size()) + result; }
  int64_t positionOf(mlir::Value argument) const { return mlir::cast<mlir::BlockArgument>(argument).getArgNumber(); }

  const Problem &problem;
  mlir::ModuleOp module;
  llvm::StringRef symbol;
  const GpuArch &arch;
  const Schedule &schedule;
  const Tile &tile;
  kernel::DispatchOp dispatch;
  mlir::Block &body;
  bool failed = false;
};

} // namespace mpc::hero
#endif
