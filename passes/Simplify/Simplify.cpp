//===- Simplify.cpp - canonical form, common subexpressions, dead code ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Passes.td for the IR before and after.
//
//===----------------------------------------------------------------------===//
#include "dialects/Support/Rewrite.h"
#include "passes/Simplify/FoldSplats.h"
#include "passes/Simplify/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Rewrite/FrozenRewritePatternSet.h"
#include "mlir/Transforms/CSE.h"

namespace mpc {
#define GEN_PASS_DEF_SIMPLIFYPASS
#include "passes/Simplify/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

namespace {

class SimplifyPass : public mpc::impl::SimplifyPassBase<SimplifyPass> {
public:
  using Base::Base;

  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet owned(context);
    for (Dialect *dialect : context->getLoadedDialects())
      dialect->getCanonicalizationPatterns(owned);
    for (RegisteredOperationName op : context->getRegisteredOperations())
      op.getCanonicalizationPatterns(owned, context);
    simplify::populateFoldSplats(owned);
    patterns = std::move(owned);
    return success();
  }

  void runOnOperation() override {
    numBefore += countOps();
    for (Operation &entry : *getOperation().getBody()) {
      if (entry.getNumRegions() == 0)
        continue;
      // An entry is straight-line code of pure ops, so greedy rewriting also drops what is dead.
      if (failed(applyWithinBudget(&entry, patterns)))
        return signalPassFailure();
      IRRewriter rewriter(&getContext());
      DominanceInfo dominance(&entry);
      eliminateCommonSubExpressions(rewriter, dominance, &entry);
    }
    numAfter += countOps();
  }

private:
  unsigned countOps() {
    unsigned count = 0;
    getOperation().walk([&](Operation *) { ++count; });
    return count;
  }

  FrozenRewritePatternSet patterns;
};

} // namespace
