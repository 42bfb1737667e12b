//===- SecondKernels.cpp - kernels that add what the main kernel has left in scratch -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Graph/IR/GraphBuilder.h"
#include "dialects/Kernel/Analysis/Form.h"
#include "dialects/Kernel/Analysis/LoopsFit.h"
#include "dialects/Kernel/Target/Blocks.h"
#include "passes/Lowering/HeroToGpu/HeroEmitter.h"
#include "passes/Lowering/HeroToGpu/Sink.h"
#include "passes/Lowering/KernelToGpu/KernelToGpu.h"
#include "passes/Lowering/LoopPlan/Plan.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::hero;

kernel::LaunchAttr HeroEmitter::emitReduce() {
  Type type = problem.accumulator();
  int bytes = type.getIntOrFloatBitWidth() / 8, vector = problem.storeVector(16 / bytes);
  int64_t perRow = problem.n() / vector, count = problem.z() * problem.m() * perRow;
  llvm::SmallVector<int64_t> positions = {kernel::LaunchAttr::scratch};
  addEpilogueArguments(positions);
  auto [emitted, args, hasFailed] =
      function(symbol + "_reduce", positions, [&](ElementEmitter &e, llvm::DenseMap<int64_t, Value> &parameters) {
        Code c(e.b);
        Value block = kernel::BlockIdOp::create(c.b, c.b.getI32Type(), kernel::Axis::X);
        Value thread = kernel::ThreadIdOp::create(c.b, c.b.getI32Type());
        Value number = c.add(c.mul(block, blockThreads), thread);
        c.when(count % blockThreads == 0 ? Value() : c.below(number, count), [&] {
          Value pointer = c.at(parameters[kernel::LaunchAttr::scratch], c.mul(c.wide(number), vector * bytes));
          Values zeros(vector, c.constant(type, 0));
          Type vectorType = vector == 1 ? type : Type(VectorType::get({vector}, type));
          Value splits = c.i32(schedule.splits);
          Values sums = c.loop(c.i32(0), splits, zeros, [&](Value split, ValueRange carried) {
            Value at = c.at(pointer, c.mul(c.wide(split), problem.z() * problem.m() * problem.n() * bytes));
            Value partial = c.load(vectorType, at, vector * bytes);
            Values next;
            for (auto [i, sum] : llvm::enumerate(carried))
              next.push_back(c.add(sum, vector == 1 ? partial : c.extract(partial, i)));
            return next;
          });
          Value row = c.div(number, perRow), matrix = c.div(row, problem.m());
          Epilogue epilogue(problem, e, bindBuffers(e, parameters), matrix, 1, 1, vector);
          Value column = c.mul(c.rem(number, perRow), vector);
          (void)epilogue.put(c.rem(row, problem.m()), column, sums, {});
        });
      });
  emitted->setAttr(kernel::EntryAttr::name, kernel::EntryAttr::get(module.getContext(), blockThreads));
  return kernel::LaunchAttr::of(emitted, llvm::divideCeilSigned(count, blockThreads), /*grain=*/1, args);
}

FailureOr<kernel::LaunchAttr> HeroEmitter::emitLoops(StringRef suffix, ArrayRef<Type> inScratch,
                                                     ArrayRef<int64_t> results,
                                                     llvm::function_ref<Values(OpBuilder &, ValueRange)> body) {
  Location loc = problem.hero->getLoc();
  Block holder; // what a dispatch reads comes from outside of it
  holder.addArguments(inScratch, llvm::SmallVector<Location>(inScratch.size(), loc));
  OpBuilder b(module.getContext());
  b.setInsertionPointToStart(&holder);
  FailureOr<kernel::DispatchOp> sums = kernel::createLoops(b, loc, suffix, holder.getArguments(), body);
  if (llvm::failed(sums))
    return failure();
  FailureOr<kernel::LoopsAttr> loops = chooseLoops(*sums, &arch); // a consequence of the schedule
  if (llvm::failed(loops))
    return failure();
  sums->setLoopsAttr(*loops);
  if (llvm::failed(kernel::verifyLoops(*sums, &arch)))
    return failure();
  FailureOr<kernel::LaunchAttr> launch = emitGpuKernel(*sums, module, (symbol + "_" + suffix).str());
  if (llvm::failed(launch))
    return failure();
  llvm::SmallVector<int64_t> args(inScratch.size(), kernel::LaunchAttr::scratch);
  llvm::append_range(args, results);
  return kernel::LaunchAttr::get(b.getContext(), launch->getKernel(), launch->getGrid(), launch->getGrain(), args);
}

llvm::SmallVector<int64_t> HeroEmitter::columnSumPositions() {
  return llvm::map_to_vector(problem.columnSums,
                             [&](const kernel::ColumnSum &sum) { return resultPosition(sum.result); });
}

Type HeroEmitter::columnScratch() const {
  Type type = problem.accumulator();
  return RankedTensorType::get({hero::scratchBytes(problem, schedule) * 8 / type.getIntOrFloatBitWidth()}, type);
}

Value HeroEmitter::rowsOf(const graph::GraphBuilder &m, Value scratch, int64_t from, int64_t rows) const {
  int64_t sums = problem.columnSums.size(), n = problem.n();
  return m.reshape(m.slice(scratch, {from}, {sums * rows * n}, {1}), {sums, rows, n});
}

/// The kernel adds each run of parts: [columnSums, runs, length, n] over the length. The last run ends with zeros.
FailureOr<kernel::LaunchAttr> HeroEmitter::emitRuns() {
  int64_t parts = rowParts(problem, schedule), sums = problem.columnSums.size();
  PartRuns runs = runsOf(parts);
  return emitLoops("runs", columnScratch(), kernel::LaunchAttr::scratch, [&](OpBuilder &b, ValueRange in) {
    graph::GraphBuilder m(b, problem.hero->getLoc());
    Value all = rowsOf(m, in[0], runSums(problem, schedule), parts);
    if (int64_t lacking = runs.count * runs.length - parts)
      all = m.padZeros(all, {0, 0, 0}, {0, lacking, 0}, {0, 0, 0});
    return Values{m.sum(m.reshape(all, {sums, runs.count, runs.length, problem.n()}), {2})};
  });
}

/// The kernel adds the parts, or the sums of their runs.
FailureOr<kernel::LaunchAttr> HeroEmitter::emitColumnSums() {
  int64_t parts = rowParts(problem, schedule), runs = runsOf(parts).count, rows = runs == 0 ? parts : runs;
  return emitLoops("columns", columnScratch(), columnSumPositions(), [&](OpBuilder &b, ValueRange in) {
    graph::GraphBuilder m(b, problem.hero->getLoc());
    Value all = rowsOf(m, in[0], 0, rows);
    Values sums;
    for (auto [s, column] : llvm::enumerate(problem.columnSums)) {
      Value own = m.slice(all, {int64_t(s), 0, 0}, {1, rows, problem.n()}, {1, 1, 1}), sum = m.sum(own, {0, 1});
      auto result = cast<RankedTensorType>(column.op->getResult(0).getType());
      sums.push_back(m.reshape(m.cast(sum, result.getElementType()), result.getShape()));
    }
    return sums;
  });
}

/// The kernel writes the sums of columns that have no rows, which are zeros.
FailureOr<kernel::LaunchAttr> HeroEmitter::emitEmptySums() {
  return emitLoops("columns", {}, columnSumPositions(), [&](OpBuilder &b, ValueRange) {
    return llvm::map_to_vector(problem.columnSums, [&](const kernel::ColumnSum &sum) {
      return graph::splat(b, problem.hero->getLoc(), cast<RankedTensorType>(sum.op->getResult(0).getType()), 0);
    });
  });
}
