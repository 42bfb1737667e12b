//===- SetTarget.cpp - mpc-set-target -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Support/Diagnostics.h"
#include "passes/Target/Passes.h"

using namespace mlir;
using namespace mpc;

namespace mpc {
#define GEN_PASS_DEF_SETTARGETPASS
#include "passes/Target/Passes.h.inc"
} // namespace mpc

namespace {
struct SetTarget : mpc::impl::SetTargetPassBase<SetTarget> {
  using SetTargetPassBase::SetTargetPassBase;
  void runOnOperation() override {
    if (name != "host" && !findGpuArch(name)) {
      (void)emitErrorWithHint(getOperation().getLoc(), "unknown target '" + Twine(name) + "'",
                              "known targets: host, " + gpuArchNames());
      return signalPassFailure();
    }
    getOperation()->setAttr(kernel::TargetAttr::name, kernel::TargetAttr::get(&getContext(), name));
  }
};
} // namespace
