//===- Passes.td - schedules of contractions -------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_SCHEDULE_PASSES
#define MPC_SCHEDULE_PASSES
include "mlir/Pass/PassBase.td"

def SchedulePass : Pass<"mpc-schedule", "::mlir::ModuleOp"> {
  let summary = "Decides by which schedule the module's GPU computes each matrix product and convolution";
  let description = [{
    Sets `schedule`, and `scratch_bytes` where sums are split, on every contraction of a module for a GPU. The schedule is the fastest that the tuning file has measured
    for the problem (a file of another architecture is an error), else the one of least estimated time (passes/Lowering/Schedule/Model.h). A dispatch that has a schedule keeps it; one that its problem does not
    have on this GPU is an error. Runs before memory is planned, which has to know the scratch.

    ```mlir
    %y = kernel.dispatch contraction "fc" (%x, %w) : ...
    // becomes
    %y = kernel.dispatch contraction "fc" (%x, %w) {schedule = #kernel.contraction<mma 64x64x32 stages=4 splits=2>, scratch_bytes = 131072 : i64} : ...
    ```
  }];
  let options = [
    Option<"tune", "tune", "std::string", "", "a file of measured schedules, as a tuner wrote it (mpc compile --emit=tuner); none: estimates alone decide">,
  ];
  let dependentDialects = ["::mpc::graph::GraphDialect", "::mpc::kernel::KernelDialect"];
}

def TunerCandidatesPass : Pass<"mpc-tuner-candidates", "::mlir::ModuleOp"> {
  let summary = "Replaces a model by candidates: each of its matrix products and convolutions by several schedules";
  let description = [{
    The module of a tuner (mpc compile --emit=tuner) has an entry for each distinct problem (passes/Lowering/Schedule/ProblemKey.h) of the model's contractions, without the
    ops that are fused behind it unless sums of columns need them, and for each of the schedules of least estimated time. Entry `@pI.cJ` is candidate J of problem I, and candidate 0 has the least estimate. The model's entries and variables
    are gone afterwards, and of the module's attributes only `kernel.target` stays.

    ```mlir
    %y = kernel.dispatch contraction "fc+relu" (%x, %w) : (tensor<64x256xf16>, tensor<256x64xf16>) -> tensor<64x64xf16> { matmul, then relu }
    // becomes
    func.func @p0.c0(%a: tensor<64x256xf16>, %b: tensor<256x64xf16>) -> tensor<64x64xf16> attributes {train.kind = "candidate"} {
      %c = kernel.dispatch contraction "fc+relu" (%a, %b) {schedule = #kernel.contraction<mma 64x64x32 stages=4>} : ... { matmul }
      return %c : tensor<64x64xf16>
    }
    func.func @p0.c1 ...
    ```
  }];
  let statistics = [
    Statistic<"numProblems", "problems", "distinct products and convolutions">,
    Statistic<"numCandidates", "candidates", "entries made">,
  ];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mpc::kernel::KernelDialect"];
}
#endif
