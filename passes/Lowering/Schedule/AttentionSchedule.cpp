// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/Schedule/AttentionSchedule.h"
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Kernel/Analysis/AttentionKernel.h"
#include "dialects/Support/Diagnostics.h"

using namespace mlir;
using namespace mpc;

namespace {
/// The extents that a schedule depends on.
struct Extents {
  explicit Extents(Operation *op)
      : depth(graph::shapeOf(op->getOperand(0))[3]), width(graph::shapeOf(op->getOperand(2))[3]),
        queries(graph::shapeOf(op->getOperand(0))[2]), keys(graph::shapeOf(op->getOperand(1))[2]),
        heads(graph::shapeOf(op->getOperand(0))[0] * graph::shapeOf(op->getOperand(0))[1]),
        keyHeads(graph::shapeOf(op->getOperand(1))[0] * graph::shapeOf(op->getOperand(1))[1]),
        isGradient(isa<graph::AttentionGradOp>(op)), drops(isGradient ? bool(cast<graph::AttentionGradOp>(op).getSeed())
                                                                      : bool(cast<graph::AttentionOp>(op).getSeed())) {}
  int64_t depth, width, queries, keys, heads, keyHeads; ///< heads of all samples
  bool isGradient, drops;
};
} // namespace

int64_t attention::sharedBytes(Operation *op, int64_t rows, int64_t columns) {
  Extents extents(op);
  int64_t stage = tileBytes(columns, extents.depth) + tileBytes(columns, extents.width);
  if (!extents.isGradient)
    return tileBytes(rows, extents.depth) + 2 * stage;
  return tileBytes(rows, extents.depth) + tileBytes(rows, extents.width) + 2 * (stage + statisticBytes(columns));
}

SmallVector<kernel::Contraction> attention::schedulesFor(Operation *op, const GpuArch &arch) {
  Extents extents(op);
  // Registers are scarce: the sums of wide heads take many, the products of a gradient as many again, and random words
  // are made in many steps. One of these leaves room for 64 columns, and each further one for half as many.
  int demands = (std::max(extents.depth, extents.width) > 64) + extents.isGradient + extents.drops;
  int64_t columns = demands > 2 ? 16 : demands > 1 ? 32 : 64;
  SmallVector<kernel::Contraction> schedules;
  auto add = [&](kernel::Mainloop mainloop, int64_t rows, int64_t columns) {
    if (sharedBytes(op, rows, columns) <= arch.sharedBytesPerBlock)
      schedules.push_back(
          {.mainloop = mainloop, .m = rows, .n = columns, .k = int64_t(llvm::alignTo(extents.depth, 16)), .stages = 2});
  };
  // A warpgroup has 64 rows, and its instructions take whole lines of 64 elements. They need no registers for what they
  // read from shared memory, but the sums of a gradient of wide heads leave none for 64 columns; with fewer, reading
  // would take longer than multiplying.
  bool hasLines = extents.depth % 64 == 0 && extents.width % 64 == 0;
  bool isWideGradient = std::max(extents.depth, extents.width) > 64 && extents.isGradient;
  if (arch.hasWgmma && hasLines && !isWideGradient)
    add(kernel::Mainloop::Wgmma, 64, 64);
  // Two or three small blocks stand on a multiprocessor where one large one would, and one of them computes while
  // another waits: on an H200, 64 rows took 0.80 of the time of 128 forward and 0.82 backward (heads of 64 elements).
  for (int64_t rows : {64, 128})
    add(kernel::Mainloop::Mma, rows, columns);
  return schedules;
}

int64_t attention::residentBlocks(Operation *op, int64_t rows) {
  Extents extents(op);
  bool fewRegisters = std::max(extents.depth, extents.width) <= 64 && !extents.drops;
  return rows == 64 && fewRegisters ? 3 : 1;
}

FailureOr<kernel::Contraction> attention::scheduleOf(kernel::DispatchOp dispatch, const GpuArch &arch) {
  kernel::ContractionAttr attribute = dispatch.getScheduleAttr();
  if (!attribute)
    return emitErrorWithHint(dispatch.getLoc(), "this dispatch has no schedule",
                             "run mpc-schedule before kernels are emitted");
  SmallVector<kernel::Contraction> schedules = schedulesFor(kernel::attentionOf(dispatch), arch);
  if (llvm::is_contained(schedules, attribute.getSchedule()))
    return attribute.getSchedule();
  return emitErrorWithHint(
      dispatch.getLoc(),
      "'" + Twine(attribute.getSchedule().text()) + "' is no schedule of this attention on " + arch.name,
      "take one of its own, as '" + schedules.front().text() + "', or leave the choice to mpc-schedule");
}

LogicalResult attention::assignSchedule(kernel::DispatchOp dispatch, const GpuArch &arch) {
  if (dispatch.getSchedule())
    return success(succeeded(scheduleOf(dispatch, arch)));
  kernel::Contraction best = schedulesFor(kernel::attentionOf(dispatch), arch).front();
  dispatch.setScheduleAttr(kernel::ContractionAttr::get(dispatch.getContext(), best));
  return success();
}

SmallVector<double> attention::expectedSeconds(kernel::DispatchOp dispatch, const GpuArch &arch) {
  // The share of the tensor cores' rate that products reach whose operands stand in registers and shared memory was
  // measured on an H200 with mma.sync, for a causal attention of 96 heads, 1024 x 1024 x 64, and its gradient; with
  // wgmma, whose rate is higher, the same share is assumed. The exponentials of a
  // multiprocessor in a clock are from the CUDA C++ Programming Guide, "Arithmetic Instructions".
  constexpr double efficiency = 0.4, exponentialsPerClock = 16;
  Operation *op = kernel::attentionOf(dispatch);
  Extents extents(op);
  kernel::AttentionCost cost = kernel::costOfAttention(op);
  kernel::Contraction schedule = dispatch.getScheduleAttr().getSchedule();
  int64_t rows = schedule.m;
  double share = efficiency * (schedule.mainloop == kernel::Mainloop::Wgmma ? 1 : arch.mmaShare);
  auto seconds = [&](double flops, int64_t products, int64_t extent, int64_t heads) {
    double blocks = double(heads) * double(llvm::divideCeil(extent, rows)), waves = blocks / arch.multiprocessors;
    double clocks = flops / 2 / (arch.mmaPerClock * share) + flops / double(2 * products) / exponentialsPerClock;
    return clocks * std::ceil(waves) / waves / (arch.multiprocessors * arch.clockMHz * 1e6);
  };
  int64_t depth = extents.depth, width = extents.width;
  if (!extents.isGradient)
    return {seconds(cost.flops, depth + width, extents.queries, extents.heads)};
  SmallVector<double> result;
  auto asksFor = [&](unsigned i) { return kernel::accessOfResult(dispatch, op->getResult(i)).has_value(); };
  if (asksFor(0))
    result.push_back(seconds(cost.dqFlops, 2 * depth + width, extents.queries, extents.heads));
  if (asksFor(1) || asksFor(2))
    result.push_back(seconds(cost.flops - cost.dqFlops, 2 * (depth + width), extents.keys, extents.keyHeads));
  return result;
}
