// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Support/Rewrite.h"
#include "dialects/Support/Diagnostics.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

/// One pass over the ops may make kLeastBudget rewrites, which is enough for a small program, plus
/// kRewritesPerOp for each op. Canonicalization needs fewer than two for each op of any network in the tests.
static constexpr int64_t kRewritesPerOp = 32, kLeastBudget = 4096;
/// The driver may start again from all ops this many times. Patterns that make progress settle in two or three.
static constexpr int64_t kMostIterations = 16;

namespace {
/// Remembers the op that a pattern rewrote last.
struct LastRewrite : RewriterBase::Listener {
  void notifyPatternBegin(const Pattern &, Operation *op) override { tried = op->getLoc(); }
  void notifyPatternEnd(const Pattern &, LogicalResult status) override {
    if (succeeded(status))
      last = tried;
  }
  std::optional<Location> tried, last;
};
} // namespace

LogicalResult mpc::applyWithinBudget(Operation *scope, const FrozenRewritePatternSet &patterns) {
  int64_t ops = 0;
  scope->walk([&](Operation *) { ++ops; });
  LastRewrite listener;
  GreedyRewriteConfig config;
  config.setMaxIterations(kMostIterations)
      .setMaxNumRewrites(kLeastBudget + kRewritesPerOp * ops)
      .setListener(&listener);
  if (succeeded(applyPatternsGreedily(scope, patterns, config)))
    return success();
  return emitErrorWithHint(
      listener.last.value_or(scope->getLoc()), "the rewrites of this op do not come to an end: this is a defect of mpc",
      "report it with the model; a node of another kind here, or another order of its operands, may avoid it");
}
