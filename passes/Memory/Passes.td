//===- Passes.td - memory passes ----------------------------------*- tablegen -*-===//
#ifndef MPC_MEMORY_PASSES
#define MPC_MEMORY_PASSES
include "mlir/Pass/PassBase.td"

def PlanArenaPass : Pass<"mpc-plan-arena", "::mlir::ModuleOp"> {
  let summary = "Gives every tensor of a program a fixed offset in one arena";
  let description = [{
    Variables and constants lie at the arena's start for good; behind them each entry has the same room for its inputs, temporaries and
    library scratch, laid out by liveness. Assignments happen in place where every reader of the old value comes before, through a copy at the entry's end
    otherwise. A temporary takes over the buffer of an operand that dies with it where the kernel allows.

    Results: `kernel.offset` on variables, constants, arguments and results of entries; on a dispatch `args` (offsets of inputs, then results),
    `in_place` (per result, the input whose buffer it shares, or -1) and `scratch_offset`; on the module `kernel.plan` with `arena_bytes`, `state_bytes`,
    `saved_bytes` (temporaries that live across the loss of the first train.step: saved for the backward pass) and `temporary_bytes`.
  }];
  let dependentDialects = ["::mpc::kernel::KernelDialect"];
  let statistics = [Statistic<"numInPlace", "in-place", "Results in an operand's or variable's buffer">,
                    Statistic<"numCopies", "copies", "Copies for assignments and results">];
}
#endif
