//===- ChooseRecompute.cpp - how much a plan has to compute again to fit --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Pipeline/Targets.h"
#include "dialects/Graph/IR/Storage.h"
#include "dialects/Kernel/IR/Kernel.h"
#include "dialects/Support/Diagnostics.h"
#include "dialects/Train/IR/Train.h"

using namespace mlir;
using namespace mpc;

namespace {
/// Holds the numbers of a plan that was tried with some choice.
struct Tried {
  std::optional<int64_t> products;
  int64_t peakBytes = 0, movedBytes = 0;
  std::optional<train::Recomputed> what = {};
};
} // namespace

/// Returns the bytes that the launches of steps read and write, if each reads its inputs and writes its results once.
static int64_t bytesMoved(ModuleOp planned) {
  int64_t bytes = 0;
  for (auto step : planned.getOps<train::StepOp>())
    for (auto dispatch : step.getBody().front().getOps<kernel::DispatchOp>()) {
      for (Value input : dispatch->getOperands())
        bytes += graph::bytesOf(input.getType());
      for (Value result : dispatch->getResults())
        bytes += graph::bytesOf(result.getType());
    }
  return bytes;
}

FailureOr<RecomputeChoice> mpc::chooseRecompute(ModuleOp module, StringRef target, const RecomputeOptions &options,
                                                PlanFn plan) {
  using Mode = RecomputeOptions::Mode;
  if (options.mode == Mode::None)
    return RecomputeChoice{};
  auto attempt = [&](std::optional<int64_t> products) -> FailureOr<Tried> {
    FailureOr<OwningOpRef<ModuleOp>> planned = plan(products);
    if (failed(planned))
      return failure();
    FailureOr<kernel::PlanAttr> numbers = kernel::verifyPlanned(**planned);
    if (failed(numbers))
      return failure();
    return Tried{products, numbers->getPeakBytes(), bytesMoved(**planned), train::recomputedOf(**planned)};
  };
  FailureOr<Tried> without = attempt(std::nullopt), chosen = without;
  auto fits = [&](const Tried &tried) { return options.mode == Mode::Auto || tried.peakBytes <= options.bytes; };
  if (succeeded(without) && (options.mode == Mode::Auto || !fits(*without)))
    chosen = attempt(0);
  if (failed(chosen))
    return failure();
  if (!fits(*chosen)) {
    // The peak usually falls with each segment that is computed again, so a bisection finds the fewest that fit. Where
    // all of them are too many, for their copies are alive together, some may still fit.
    const int64_t most = chosen->what->segments;
    int64_t least = std::min(without->peakBytes, chosen->peakBytes), low = 0, high = 0;
    for (int64_t count : {most, most / 2, most / 4, 3 * most / 4}) {
      FailureOr<Tried> tried = count > 0 ? attempt(count) : chosen;
      if (failed(tried))
        return failure();
      least = std::min(least, tried->peakBytes);
      if (fits(*tried)) {
        chosen = tried;
        high = count;
        break;
      }
    }
    if (!fits(*chosen)) {
      auto mebibytes = [](int64_t bytes) { return std::to_string((bytes + (1 << 20) - 1) >> 20); };
      return emitErrorWithHint(module.getLoc(),
                               "the plan for " + target + " needs at least " + mebibytes(least) +
                                   " MiB, even where all that can be is computed again, and --recompute allows " +
                                   mebibytes(options.bytes) + " MiB",
                               "take a smaller --batch, or --recompute=" + mebibytes(least));
    }
    while (high - low > 1) {
      int64_t middle = (low + high) / 2;
      FailureOr<Tried> tried = attempt(middle);
      if (failed(tried))
        return failure();
      if (fits(*tried)) {
        high = middle;
        chosen = tried;
      } else {
        low = middle;
      }
    }
  }
  // The copies need memory themselves, in small networks more than they free.
  if (options.mode == Mode::Auto && chosen->peakBytes >= without->peakBytes)
    chosen = without;
  return RecomputeChoice{chosen->products,
                         TargetSummary::Recompute{chosen->what, without->peakBytes,
                                                  double(chosen->movedBytes) / double(without->movedBytes)}};
}
