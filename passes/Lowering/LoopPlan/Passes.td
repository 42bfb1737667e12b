//===- Passes.td - loops of dispatches -------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_LOOPPLAN_PASSES
#define MPC_LOOPPLAN_PASSES
include "mlir/Pass/PassBase.td"

def PlanLoopsPass : Pass<"mpc-plan-loops", "::mlir::ModuleOp"> {
  let summary = "Decides in which order loops compute each dispatch, and how the target's threads share them";
  let description = [{
    Sets `loops` on every loop dispatch of the module, on the members of batches, and on contractions of the host that have loops behind the library's call. Which dimensions one loop walks,
    whether rows or columns are innermost and where tiles are transposed follow from the strides with which the body reads and writes its tensors, for every target alike;
    tiles, blocks and threads follow from the module's `kernel.target` and dialects/Kernel/Target. Emission makes these loops and decides nothing itself.

    What an earlier run has decided is erased first. Scatters, which have loops of their own, and dispatches whose results are all empty get none. The pass runs behind
    mpc-batch-dispatches, because the members of a batch share the size of its blocks, and behind mpc-plan-arena, which makes the last dispatches (copies).

    ```mlir
    %r = kernel.dispatch reduction "sum" (%x) : (tensor<32x3136x64xf32>) -> tensor<64xf32> { graph.reduce_sum over dimensions 0 and 1 }
    // becomes, for the host
    %r = kernel.dispatch reduction "sum" (%x) {loops = #kernel.loops<columns 32x3136x64 order = [0 to 1 by 512, 2 by 32]>} : ...
    // and for a GPU
    %r = kernel.dispatch reduction "sum" (%x) {loops = #kernel.loops<columns 32x3136x64 order = [0 to 1, 2] vector = 4 threads = 128x2>} : ...
    ```
  }];
  let statistics = [Statistic<"numPlanned", "planned", "Dispatches whose loops were decided">];
  let dependentDialects = ["::mpc::kernel::KernelDialect"];
}
#endif
