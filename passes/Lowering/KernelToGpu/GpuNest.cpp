//===- GpuNest.cpp - thread mappings of pointwise, reduction and row kernels ------===//
//
//   Pointwise: a thread computes up to 16 bytes of neighbours; neighbouring threads neighbouring pieces.
//   Rows:      a warp (short rows) or a block (long ones) per row; threads take every 32nd or every n-th
//              element, then meet.
//   Columns:   a block takes 32 neighbouring columns, its 8 warps every 8th row; then the warps meet.
//   The rest:  one thread per slice (LoopPlan/Slices.cpp).
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/KernelToGpu/GpuNest.h"
#include "dialects/Graph/IR/Shapes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/Lowering/Elemental/Ops/Models.h"

using namespace mlir;
using namespace mpc;

namespace {

/// Threads of a block: four blocks fill a multiprocessor's 1024 … 2048, registers allowing.
constexpr int64_t blockThreads = 256;
/// Rows up to this length are a warp's work.
constexpr int64_t longestWarpRow = 2048;
constexpr int64_t rowsPerBlock = 4;
constexpr int64_t warpColumns = 32;
/// Bytes that one access moves at best.
constexpr int64_t vectorBytes = 16;

class GpuNestEmitter : NestSpace {
public:
  GpuNestEmitter(const Plan &plan, kernel::DispatchOp dispatch, ArrayRef<Buffer> results, ElementEmitter &e)
      : NestSpace(plan, dispatch, results, e), reducer(e) {}

  /// n: neighbours that a thread computes, the extent of the innermost factor when more than one
  /// (splitNeighbours).
  GpuLaunch pointwise(int64_t n);
  GpuLaunch rows();
  GpuLaunch columns();
  /// One thread per position of the grid that emitSlices divides the work into.
  GpuLaunch slices(kernel::DispatchOp dispatch);

private:
  Value i32(int64_t v) { return e.constantInt(e.b.getI32Type(), v); }
  Value wide(Value v) { return arith::ExtUIOp::create(e.b, e.b.getI64Type(), v); }
  Value thread() { return kernel::ThreadIdOp::create(e.b, e.b.getI32Type()); }
  Value block(kernel::Axis axis) { return kernel::BlockIdOp::create(e.b, e.b.getI32Type(), axis); }
  /// Binds the variables whose row-major number is `linear` (i32, below 2^31).
  void bindLinear(ArrayRef<LoopVar> vars, Value linear);
  /// for r = first; r < count; r += step: over the reduced dimensions.
  Values stride(Value first, int64_t count, int64_t step, ValueRange init,
                llvm::function_ref<Values(ValueRange)> body);
  Values accumulate(ArrayRef<Operation *> stage, Value first, int64_t step);
  static int64_t product(ArrayRef<LoopVar> vars) {
    int64_t n = 1;
    for (const LoopVar &var : vars)
      n *= var.extent;
    return n;
  }

  ThreadReducer reducer;
};

} // namespace

void GpuNestEmitter::bindLinear(ArrayRef<LoopVar> vars, Value linear) {
  for (size_t i = vars.size(); i-- > 0;) {
    Value at = i == 0 ? linear : Value(arith::RemUIOp::create(e.b, linear, i32(vars[i].extent)));
    e.bindSymbols(vars[i].factors, wide(at));
    if (i > 0)
      linear = arith::DivUIOp::create(e.b, linear, i32(vars[i].extent));
  }
}

//===-- Pointwise ---------------------------------------------------------------------===//

/// Neighbours that a thread computes: what shares work (dropout), else as many as fill a vector of the widest
/// result.
static int64_t neighbours(const Plan &plan, ValueRange yielded) {
  int64_t inner = plan.factors.back().extent;
  if (plan.unroll > 1)
    return inner == plan.unroll ? inner : 1;
  unsigned bytes = 1;
  for (Value v : yielded)
    bytes = std::max(bytes, ElementEmitter::storageType(graph::elementOf(v)).getIntOrFloatBitWidth() / 8);
  for (int64_t n = vectorBytes / bytes; n > 1; n /= 2)
    if (inner % n == 0)
      return n;
  return 1;
}

/// The last factor becomes (pieces, n); the n are constants. Returns n.
static int64_t splitNeighbours(Plan &plan, ValueRange yielded) {
  int64_t n = plan.kept.empty() ? 1 : neighbours(plan, yielded);
  if (n > 1) {
    plan.factors.back().extent /= n;
    plan.factors.push_back({n, false});
    plan.kept.back().extent /= n;
  }
  return n;
}

GpuLaunch GpuNestEmitter::pointwise(int64_t n) {
  int64_t count = product(plan.kept);
  int64_t threads = std::min(blockThreads, (count + 31) / 32 * 32), blocks = (count + threads - 1) / threads;
  Value at =
      arith::AddIOp::create(e.b, arith::MulIOp::create(e.b, block(kernel::Axis::X), i32(threads)), thread());
  Value inside = count % threads == 0
                     ? Value()
                     : Value(arith::CmpIOp::create(e.b, arith::CmpIPredicate::ult, at, i32(count)));
  e.when(inside, [&] {
    bindLinear(plan.kept, at);
    storeNeighbours(n);
  });
  return {{blocks, 1, 1}, threads};
}

//===-- Reductions ------------------------------------------------------------------------===//

GpuNestEmitter::Values GpuNestEmitter::stride(Value first, int64_t count, int64_t step, ValueRange init,
                                              llvm::function_ref<Values(ValueRange)> body) {
  auto loop = scf::ForOp::create(e.b, first, i32(count), i32(step), init);
  OpBuilder::InsertionGuard guard(e.b);
  if (init.empty())
    e.b.setInsertionPoint(loop.getBody()->getTerminator());
  else
    e.b.setInsertionPointToStart(loop.getBody());
  bindLinear(plan.reduced, loop.getInductionVar());
  Values next = body(loop.getRegionIterArgs());
  if (!init.empty())
    scf::YieldOp::create(e.b, next);
  return Values(loop.getResults());
}

/// Each thread's own sums.
GpuNestEmitter::Values GpuNestEmitter::accumulate(ArrayRef<Operation *> stage, Value first, int64_t step) {
  return stride(first, plan.reducedCount(), step, stageInit(stage),
                [&](ValueRange carried) { return stageStep(stage, Values(carried)); });
}

GpuLaunch GpuNestEmitter::rows() {
  int64_t count = plan.keptCount(), length = plan.reducedCount();
  bool warp = length <= longestWarpRow;
  for (auto &stage : plan.stages)
    for (Operation *op : stage)
      warp &= ThreadReducer::shuffles(accumulatorType(op));
  int64_t threads = warp ? rowsPerBlock * 32 : blockThreads, step = warp ? 32 : threads;
  Value tid = thread(), row = block(kernel::Axis::X), lane = tid, inside;
  int64_t blocks = count;
  if (warp) {
    row = arith::AddIOp::create(e.b, arith::MulIOp::create(e.b, row, i32(rowsPerBlock)),
                                arith::ShRUIOp::create(e.b, tid, i32(5)));
    lane = arith::AndIOp::create(e.b, tid, i32(31));
    blocks = (count + rowsPerBlock - 1) / rowsPerBlock;
    if (count % rowsPerBlock != 0) // whole warps: their shuffles stay complete
      inside = arith::CmpIOp::create(e.b, arith::CmpIPredicate::ult, row, i32(count));
  }
  e.when(inside, [&] {
    bindLinear(plan.kept, row);
    for (ArrayRef<Operation *> stage : plan.stages) {
      Values sums = accumulate(stage, lane, step);
      for (auto [op, acc] : llvm::zip_equal(stage, sums)) {
        Value total = warp ? reducer.overWarp(op, acc) : reducer.overBlock(op, acc, wide(tid), threads);
        define(op, reductionFinish(op, total, e));
      }
    }
    if (!plan.fullResults.empty())
      stride(lane, length, step, {},
             [&](ValueRange) -> Values { return storeResults(plan.fullResults, space), Values(); });
    if (!plan.rowResults.empty())
      e.when(arith::CmpIOp::create(e.b, arith::CmpIPredicate::eq, lane, i32(0)),
             [&] { storeResults(plan.rowResults, keptSpace); });
  });
  return {{blocks, 1, 1}, threads};
}

GpuLaunch GpuNestEmitter::columns() {
  const LoopVar &column = plan.kept.back();
  ArrayRef<LoopVar> outer = ArrayRef<LoopVar>(plan.kept).drop_back();
  int64_t width = warpColumns;
  while (width > 1 && width / 2 >= column.extent)
    width /= 2;
  int64_t groups = blockThreads / width;
  while (groups > 1 && groups / 2 >= plan.reducedCount())
    groups /= 2;
  int64_t threads = std::max<int64_t>(32, width * groups);
  groups = threads / width;
  int64_t blocks = (column.extent + width - 1) / width;

  Value tid = thread(), group = arith::DivUIOp::create(e.b, tid, i32(width));
  Value at = arith::AddIOp::create(e.b, arith::MulIOp::create(e.b, block(kernel::Axis::X), i32(width)),
                                   arith::RemUIOp::create(e.b, tid, i32(width)));
  // Threads beyond the last column do its work again and store nothing: all of them reach the barriers.
  Value inside;
  if (column.extent % width != 0) {
    inside = arith::CmpIOp::create(e.b, arith::CmpIPredicate::ult, at, i32(column.extent));
    at = arith::MinUIOp::create(e.b, at, i32(column.extent - 1));
  }
  e.bindSymbols(column.factors, wide(at));
  if (!outer.empty())
    bindLinear(outer, block(kernel::Axis::Y));
  for (ArrayRef<Operation *> stage : plan.stages) {
    Values sums = accumulate(stage, group, groups);
    for (auto [op, acc] : llvm::zip_equal(stage, sums))
      define(op, reductionFinish(op, reducer.overGroups(op, acc, wide(tid), width, groups), e));
  }
  e.when(inside, [&] {
    if (!plan.fullResults.empty())
      stride(group, plan.reducedCount(), groups, {},
             [&](ValueRange) -> Values { return storeResults(plan.fullResults, space), Values(); });
    if (!plan.rowResults.empty())
      e.when(arith::CmpIOp::create(e.b, arith::CmpIPredicate::eq, group, i32(0)),
             [&] { storeResults(plan.rowResults, keptSpace); });
  });
  return {{blocks, product(outer), 1}, threads};
}

//===-- The rest -----------------------------------------------------------------------------===//

GpuLaunch GpuNestEmitter::slices(kernel::DispatchOp dispatch) {
  constexpr int64_t threads = 32;
  Value at =
      arith::AddIOp::create(e.b, arith::MulIOp::create(e.b, block(kernel::Axis::X), i32(threads)), thread());
  Value begin = wide(at), end = arith::AddIOp::create(e.b, begin, e.i64(1));
  // The number of slices is known after emission only.
  auto guard =
      scf::IfOp::create(e.b, arith::ConstantOp::create(e.b, e.b.getBoolAttr(true)), /*withElseRegion=*/false);
  int64_t count;
  {
    OpBuilder::InsertionGuard scope(e.b);
    e.b.setInsertionPoint(guard.thenBlock()->getTerminator());
    count = emitSlices(plan, dispatch, results, e, begin, end);
  }
  e.b.setInsertionPoint(guard);
  guard.getConditionMutable().assign(arith::CmpIOp::create(e.b, arith::CmpIPredicate::ult, at, i32(count)));
  e.b.setInsertionPointAfter(guard);
  return {{(count + threads - 1) / threads, 1, 1}, threads};
}

GpuLaunch mpc::emitGpuNest(Plan plan, kernel::DispatchOp dispatch, ArrayRef<Buffer> results,
                           ElementEmitter &e) {
  bool pointwise = plan.form == LoopForm::Pointwise && !plan.irregular;
  int64_t n =
      pointwise ? splitNeighbours(plan, dispatch.getBody().front().getTerminator()->getOperands()) : 1;
  GpuNestEmitter nest(plan, dispatch, results, e);
  if (plan.sliced())
    return nest.slices(dispatch);
  if (pointwise)
    return nest.pointwise(n);
  return plan.schedule == Schedule::Columns ? nest.columns() : nest.rows();
}
