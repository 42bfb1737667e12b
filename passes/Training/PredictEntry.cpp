//===- PredictEntry.cpp - mpc-predict-entry -----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Support/Diagnostics.h"
#include "passes/Training/Passes.h"

using namespace mlir;
using namespace mpc;

namespace mpc {
#define GEN_PASS_DEF_PREDICTENTRYPASS
#include "passes/Training/Passes.h.inc"
} // namespace mpc

namespace {
struct PredictEntry : mpc::impl::PredictEntryPassBase<PredictEntry> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (auto forward = module.lookupSymbol<func::FuncOp>("forward"))
      return forward.setName("predict");
    (void)emitErrorWithHint(module.getLoc(), "no @forward to compile", "give the module of an imported network");
    signalPassFailure();
  }
};
} // namespace
