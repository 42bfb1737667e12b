//===- Recognize.cpp - composed forms that have an op of their own ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Passes.td. Recognizers.h lists the sets of patterns.
// Applying them ends because each rewrite takes away one op that no rewrite makes: a logarithm of a sigmoid, softmax or
// sum; a product with a softmax; a product with 1 + erf or 1 + tanh, or with a sigmoid; a product of a value with
// itself; a quotient or product that ends a norm or applies its scale or bias; a reshape of a norm.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Support/Rewrite.h"
#include "passes/Simplify/Passes.h"
#include "passes/Simplify/Recognizers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Rewrite/FrozenRewritePatternSet.h"

namespace mpc {
#define GEN_PASS_DEF_RECOGNIZEPASS
#include "passes/Simplify/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

namespace {
struct RecognizePass : mpc::impl::RecognizePassBase<RecognizePass> {
  using Base::Base;
  void runOnOperation() override {
    RewritePatternSet owned(&getContext());
    simplify::populateComposedAttention(owned);
    simplify::populateComposedGelu(owned);
    simplify::populateComposedSwish(owned);
    simplify::populateComposedNorms(owned);
    simplify::populateStableLogs(owned);
    FrozenRewritePatternSet patterns(std::move(owned));
    auto count = [&](auto isOne) {
      unsigned n = 0;
      getOperation().walk([&](Operation *op) { n += isOne(op); });
      return n;
    };
    auto isNorm = [](Operation *op) { return isa<graph::NormOpInterface>(op); };
    auto isAttention = [](Operation *op) { return isa<graph::AttentionOp>(op); };
    unsigned norms = count(isNorm), attentions = count(isAttention);
    for (auto entry : getOperation().getOps<FunctionOpInterface>())
      if (!entry.isExternal() && failed(applyWithinBudget(entry, patterns)))
        return signalPassFailure();
    numNorms += count(isNorm) - std::min(norms, count(isNorm));
    numAttentions += count(isAttention) - attentions;
  }
};
} // namespace
