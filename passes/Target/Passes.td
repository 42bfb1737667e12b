//===- Passes.td - the target that a module is compiled for ------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_TARGET_PASSES
#define MPC_TARGET_PASSES
include "mlir/Pass/PassBase.td"

def SetTargetPass : Pass<"mpc-set-target", "::mlir::ModuleOp"> {
  let summary = "Sets the target that the module is compiled for";
  let description = [{
    Sets `kernel.target = #kernel.target<"NAME">` on the module. Later passes (layout, decomposition, fusion, schedules, kernels) ask the attribute for the
    facts of the target; a module without one is compiled for the host.
  }];
  let options = [Option<"name", "name", "std::string", "\"host\"", "host, or an architecture as sm_90a">];
  let dependentDialects = ["::mpc::kernel::KernelDialect"];
}
#endif
