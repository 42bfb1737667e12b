//===- ChooseLoops.cpp - the order of a dispatch's loops ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The strides of what a kernel reads and writes decide which dimensions one loop walks, whether rows or columns are
// innermost, and where there are transposes. The result is the same for every target; HostLoops.cpp and GpuLoops.cpp
// then divide the loops.
//
//===------------------------------------------------------------------------------===//
#include "passes/Lowering/LoopPlan/ChooseLoops.h"
#include "dialects/Kernel/Analysis/Accesses.h"
#include "dialects/Kernel/Analysis/BlockMemory.h"
#include "dialects/Kernel/Analysis/Countable.h"
#include "dialects/Kernel/Analysis/Space.h"
#include "dialects/Kernel/Target/Blocks.h"
#include "dialects/Support/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::kernel;

/// Merges loops over neighbouring dimensions along which every index advances as one row-major number.
static void mergeLoops(Plan &plan, ArrayRef<Index> forms) {
  for (auto *loops : {&plan.kept, &plan.reduced}) {
    llvm::SmallVector<LoopVar> merged;
    for (LoopVar &loop : *loops) {
      SymbolId inner = loop.factors.front();
      bool joins =
          !merged.empty() && merged.back().factors.back() + 1 == inner && llvm::all_of(forms, [&](const Index &form) {
            return form.coefficient(merged.back().factors.back()) ==
                   plan.factors[inner].extent * form.coefficient(inner);
          });
      if (!joins) {
        merged.push_back(loop);
        continue;
      }
      merged.back().factors.push_back(inner);
      merged.back().extent *= loop.extent;
    }
    *loops = merged;
  }
}

/// Rows are walked one by one unless more bytes are read contiguously along the last kept dimension than along the
/// last reduced one. What does not change along one of them, such as the mean of a row, is read once in either walk.
static Walk chooseWalk(const Plan &plan, ArrayRef<Access> accesses) {
  if (!plan.reduces())
    return Walk::Points;
  if (plan.kept.empty() || plan.reduced.empty())
    return Walk::Rows;
  SymbolId column = plan.kept.back().factors.back(), row = plan.reduced.back().factors.back();
  int64_t alongColumn = 0, alongRow = 0;
  for (const Access &access : accesses) {
    int64_t perColumn = access.place.coefficient(column), perRow = access.place.coefficient(row);
    if (perColumn == 1 && perRow != 0)
      alongColumn += access.bytes;
    if (perRow == 1 && perColumn != 0)
      alongRow += access.bytes;
  }
  return alongColumn > alongRow ? Walk::Columns : Walk::Rows;
}

/// Walks points in tiles where some operand is strided along the innermost loop and contiguous along another one, which
/// then comes next to the innermost.
static void chooseTiles(Plan &plan, ArrayRef<Access> accesses) {
  constexpr int64_t least = 8;
  if (plan.walk != Walk::Points || plan.kept.size() < 2 || plan.kept.back().extent < least)
    return;
  SymbolId inner = plan.kept.back().factors.back();
  for (const Access &access : accesses) {
    if (access.isStore || std::abs(access.place.coefficient(inner)) <= 1)
      continue;
    for (size_t i = plan.kept.size() - 1; i-- > 0;) {
      if (plan.kept[i].extent < least || std::abs(access.place.coefficient(plan.kept[i].factors.back())) != 1)
        continue;
      plan.walk = Walk::Tiles;
      std::rotate(plan.kept.begin() + i, plan.kept.begin() + i + 1, plan.kept.end() - 1);
      return;
    }
  }
}

/// Takes over the cuts of the innermost loop over points. A loop that walks several dimensions as one is not cut; nor
/// is one that would fall into more parts than a kernel should have.
static void chooseCuts(Plan &plan, ArrayRef<Cut> cuts) {
  constexpr size_t most = 128;
  if (plan.walk != Walk::Points || plan.kept.empty() || plan.kept.back().factors.size() != 1)
    return;
  for (const Cut &cut : cuts)
    if (cut.dim == plan.kept.back().factors[0])
      plan.cuts.push_back(cut.at);
  llvm::sort(plan.cuts);
  plan.cuts.erase(llvm::unique(plan.cuts), plan.cuts.end());
  if (plan.cuts.size() >= most)
    plan.cuts.clear();
}

static LoopsAttr attributeOf(const Plan &plan, MLIRContext *context) {
  llvm::SmallVector<Loop> order;
  auto add = [&](ArrayRef<LoopVar> loops) {
    for (const LoopVar &loop : loops)
      order.push_back({.first = loop.factors.front(), .count = int64_t(loop.factors.size()), .tile = loop.tile});
  };
  size_t inside = plan.walk == Walk::Columns; // the kept loops inside of the reduced ones
  add(ArrayRef(plan.kept).drop_back(inside));
  add(plan.reduced);
  add(ArrayRef(plan.kept).take_back(inside));
  llvm::SmallVector<int64_t> threads;
  if (plan.threads() > 0)
    threads = {plan.threadRows, plan.threadColumns};
  return LoopsAttr::get(context, plan.walk, llvm::map_to_vector(plan.factors, [](Dim dim) { return dim.extent; }),
                        order, plan.parallel, plan.vector, threads, plan.unroll, plan.cuts);
}

FailureOr<LoopsAttr> mpc::chooseLoops(DispatchOp dispatch, const GpuArch *gpu) {
  if (gpu && failed(verifyCountable(dispatch)))
    return failure();
  FailureOr<Plan> plan = planDispatch(dispatch);
  if (failed(plan))
    return failure();
  if (!plan->walksSpace() || dispatch.computesNothing())
    return LoopsAttr();
  if (plan->form == Form::TransposedCopy) { // the form is an order already
    if (!gpu)
      return emitErrorWithHint(dispatch.getLoc(), "this dispatch has the form transposed_copy, which only GPUs have",
                               "set the target of its module, or state the form pointwise");
    plan->walk = Walk::Copies;
    divideForGpu(*plan, dispatch, *gpu);
    return attributeOf(*plan, dispatch.getContext());
  }
  // The neighbours that share work are computed together.
  int64_t period = periodOf(dispatch);
  bool together =
      period > 1 && plan->form == Form::Pointwise && !plan->kept.empty() && plan->kept.back().extent == period;
  Accesses accesses = accessesOf(dispatch, plan->factors, together);
  mergeLoops(*plan, accesses.indices);
  plan->walk = chooseWalk(*plan, accesses.accesses);
  // Tiles in shared memory are those of whole results.
  if (!gpu || (!StoredParts::in(dispatch) && tileBytes(dispatch, gpuBlocks.tile) <= gpu->sharedBytesPerBlock))
    chooseTiles(*plan, accesses.accesses);
  if (gpu) {
    divideForGpu(*plan, dispatch, *gpu);
  } else {
    chooseCuts(*plan, accesses.cuts);
    divideForHost(*plan, period);
  }
  return attributeOf(*plan, dispatch.getContext());
}
