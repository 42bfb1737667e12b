//===- Passes.td - schedules of contractions -------------------------*- tablegen -*-===//
#ifndef MPC_HEROTOGPU_PASSES
#define MPC_HEROTOGPU_PASSES
include "mlir/Pass/PassBase.td"

def SchedulePass : Pass<"mpc-schedule", "::mlir::ModuleOp"> {
  let summary = "Decides by which schedule the module's GPU computes each matrix product and convolution";
  let description = [{
    Sets `schedule`, and `scratch_bytes` where sums are split, on every `library` dispatch of a module for a GPU. The schedule is the fastest that a tuning file has measured
    for the problem, else the one of least estimated time (passes/Lowering/HeroToGpu/Model.h). A dispatch that has a schedule keeps it; one that its problem does not
    have on this GPU is an error. Runs before memory is planned, which has to know the scratch.

    ```mlir
    %y = kernel.dispatch "fc" (%x, %w) {library} : ...
    // becomes
    %y = kernel.dispatch "fc" (%x, %w) {library, schedule = #kernel.contraction<mma 64x64x32 stages=4 splits=2>, scratch_bytes = 131072 : i64} : ...
    ```
  }];
  let dependentDialects = ["::mpc::kernel::KernelDialect"];
}
#endif
