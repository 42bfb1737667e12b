//===- SecondKernels.cpp - kernels that add what the main kernel has left in scratch -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Graph/IR/Shapes.h"
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

FailureOr<kernel::LaunchAttr> HeroEmitter::emitLoops(ArrayRef<Type> inScratch,
                                                     llvm::function_ref<Values(OpBuilder &, ValueRange)> body) {
  Location loc = problem.hero->getLoc();
  Block holder; // what a dispatch reads comes from outside of it
  holder.addArguments(inScratch, llvm::SmallVector<Location>(inScratch.size(), loc));
  OpBuilder b(module.getContext());
  b.setInsertionPointToStart(&holder);
  FailureOr<kernel::DispatchOp> columns = kernel::createLoops(b, loc, "columns", holder.getArguments(), body);
  if (llvm::failed(columns))
    return failure();
  FailureOr<kernel::LoopsAttr> loops = chooseLoops(*columns, &arch); // a consequence of the schedule
  if (llvm::failed(loops))
    return failure();
  columns->setLoopsAttr(*loops);
  if (llvm::failed(kernel::verifyLoops(*columns, &arch)))
    return failure();
  FailureOr<kernel::LaunchAttr> launch = emitGpuKernel(*columns, module, (symbol + "_columns").str());
  if (llvm::failed(launch))
    return failure();
  llvm::SmallVector<int64_t> args(inScratch.size(), kernel::LaunchAttr::scratch);
  for (const kernel::ColumnSum &sum : problem.columnSums)
    args.push_back(resultPosition(sum.result));
  return kernel::LaunchAttr::get(b.getContext(), launch->getKernel(), launch->getGrid(), launch->getGrain(), args);
}

/// The kernel sums [columnSums, parts, n] over the parts.
FailureOr<kernel::LaunchAttr> HeroEmitter::emitColumnSums() {
  Type type = problem.accumulator();
  int64_t parts = rowParts(problem, schedule), count = problem.columnSums.size();
  return emitLoops({RankedTensorType::get({count, parts, problem.n()}, type)}, [&](OpBuilder &b, ValueRange partial) {
    Location loc = problem.hero->getLoc();
    Values sums;
    for (auto [s, column] : llvm::enumerate(problem.columnSums)) {
      auto slice =
          graph::SliceOp::create(b, loc, RankedTensorType::get({1, parts, problem.n()}, type), partial[0],
                                 b.getDenseI64ArrayAttr({int64_t(s), 0, 0}),
                                 b.getDenseI64ArrayAttr({1, parts, problem.n()}), b.getDenseI64ArrayAttr({1, 1, 1}));
      Value sum = graph::ReduceSumOp::create(b, loc, RankedTensorType::get({problem.n()}, type), slice,
                                             b.getDenseI64ArrayAttr({0, 1}), /*keepdims=*/false);
      auto result = cast<RankedTensorType>(column.op->getResult(0).getType());
      sums.push_back(graph::reshapeTo(b, loc, graph::castTo(b, loc, sum, result.getElementType()), result.getShape()));
    }
    return sums;
  });
}

/// The kernel writes the sums of columns that have no rows, which are zeros.
FailureOr<kernel::LaunchAttr> HeroEmitter::emitEmptySums() {
  return emitLoops({}, [&](OpBuilder &b, ValueRange) {
    return llvm::map_to_vector(problem.columnSums, [&](const kernel::ColumnSum &sum) {
      return graph::splat(b, problem.hero->getLoc(), cast<RankedTensorType>(sum.op->getResult(0).getType()), 0);
    });
  });
}
