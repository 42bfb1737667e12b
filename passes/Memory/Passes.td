//===- Passes.td - memory passes ----------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_MEMORY_PASSES
#define MPC_MEMORY_PASSES
include "mlir/Pass/PassBase.td"

def RecomputePass : Pass<"mpc-recompute", "::mlir::ModuleOp"> {
  let summary = "Computes values of the forward pass again for the backward pass, instead of saving them";
  let description = [{
    The backward pass of a step reads values of its forward pass. This pass saves the fewest bytes from which all of them can be computed by cheap ops: elementwise arithmetic, movements,
    windows. The ops between are copied to the first reader behind the loss. The copies read what is saved through barriers, which keep them apart from the ops of the forward pass: launches do not become one across a barrier, and they stay in the order of the ops.

    ```mlir
    %y = graph.relu %x ...
    %z = graph.conv %y, %w ...
    ...
    %dw = graph.conv_weight_grad %dz, %y ...
    // becomes
    %y = graph.relu %x ...
    %z = graph.conv %y, %w ...
    ...
    %saved = graph.barrier %x {number = 0 : i64} ...
    %again = graph.relu %saved ...
    %dw = graph.conv_weight_grad %dz, %again ...
    ```
    The forward pass is divided into segments, and no copy reaches beyond the values that enter its segment; these are saved if they are needed. In `products` segments, those that save the most bytes for an operation, products
    and random numbers are computed again too, so that only what enters such a segment is saved (gradient checkpointing). Sums and scans are never computed again.

    The copies compute the same numbers: the same ops, on the same operands. A product and the bias that its launch adds are saved or computed again as one, for they are rounded once. Where concatenations continue each other, as in a dense block, each copy reads the parts themselves, and not the copy of the one before. On the host the order of a sum over columns follows from shapes alone, so gradients of convolutional networks have the same bits. Elsewhere they may differ
    in the last bit where the reader of a copy becomes part of another launch, which sums in another order. The pass runs between mpc-decompose and mpc-form-dispatches, because ops in their primitive form can be copied in part: of a norm the
    arithmetic, but not the statistics. It notes what it did as `train.recomputed` on the module.
  }];
  let options = [Option<"products", "products", "int64_t", "0", "In how many segments of each step products are computed again">];
  let dependentDialects = ["::mpc::graph::GraphDialect"];
  let statistics = [Statistic<"numOps", "repeated", "Ops computed again">];
}

def SinkDispatchesPass : Pass<"mpc-sink-dispatches", "::mlir::ModuleOp"> {
  let summary = "Computes a value late if it is larger than what computing it late keeps alive";
  let description = [{
    Moves a dispatch down to its first reader when its results are larger than the operands that have to live longer for it. With a loss scale
    every gradient lives until all of them are known to be finite. So the gradient of a large weight is computed at the end of the
    backward pass, when the activations are gone, from an activation and its gradient that are smaller than itself.
  }];
  let dependentDialects = ["::mpc::kernel::KernelDialect"];
  let statistics = [Statistic<"numSunk", "sunk", "Dispatches moved">];
}

def FindReusePass : Pass<"mpc-find-reuse", "::mlir::ModuleOp"> {
  let summary = "Finds for every loop dispatch which results may lie in the buffers of which inputs";
  let description = [{
    A result may take over the buffer of an input if no point of the dispatch's space reads an element of it that another point writes. The pass follows the elements that a point needs from the
    results up to the inputs (dialects/Kernel/Analysis). It sets `may_reuse`, which mpc-plan-arena follows; a dispatch gets none if no result of it may take over a buffer.

    ```mlir
    %r = kernel.dispatch pointwise "update" (%w, %g) : ...
    // becomes
    %r = kernel.dispatch pointwise "update" (%w, %g) {may_reuse = [array<i64: 0, 1>]} : ...
    ```
  }];
  let dependentDialects = ["::mpc::kernel::KernelDialect"];
  let statistics = [Statistic<"numReusable", "reusable", "Pairs of a result and an input whose buffer it may take over">];
}

def PlanArenaPass : Pass<"mpc-plan-arena", "::mlir::ModuleOp"> {
  let summary = "Gives every tensor of a program a fixed offset in one arena";
  let description = [{
    Variables and constants lie at the arena's start permanently. Behind them all entries use the same room for their inputs, temporaries and
    library scratch, laid out by liveness. An assignment happens in place where every reader of the old value comes before it, otherwise through a copy at the
    entry's end. A temporary takes over the buffer of an operand that dies with it where the dispatch's `may_reuse` allows it (mpc-find-reuse).

    A value that a graph.scan carries has one buffer from the operand to the result; the body computes into it where it may, otherwise a copy at the end of the iteration does.
    Where the scan also returns a stack of what it carries, before or after each iteration, the value has a trail instead: its slices of all iterations lie side by side, the stacks are parts
    of the trail, and no iteration copies the value.
    The slices that an iteration reads and writes lie in the stacked tensors themselves, so their places move by `arg_steps` bytes from one iteration to the next. Temporaries of
    the body are live within an iteration.

    The pass sets `kernel.offset` on variables, constants, arguments and results of entries; on a dispatch `args` (the offsets of inputs, then results),
    `in_place` (for each result the input whose buffer it shares, or -1) and `scratch_offset`; on the module `kernel.plan` with the
    sizes (`#kernel.plan`). Its `temporary_bytes` and `peak_bytes` do not count what only a trace entry uses. After this pass dispatches have effects, and passes that move or make them
    refuse the module.
  }];
  let dependentDialects = ["::mpc::kernel::KernelDialect"];
  let statistics = [Statistic<"numInPlace", "in-place", "Results in an operand's or variable's buffer">,
                    Statistic<"numCopies", "copies", "Copies for assignments and results">];
}
def VerifyArenaPass : Pass<"mpc-verify-arena", "::mlir::ModuleOp"> {
  let summary = "Checks that every launch reads what it should, by executing the plan symbolically";
  let description = [{
    The pass runs after mpc-plan-arena and reads the offsets that code and manifest use: `kernel.offset`, and `args`, `arg_steps`, `in_place` and `scratch_offset` of dispatches.

    It checks first that no two variables or constants overlap. Two constants with the same value may share a place. A tensor without elements counts as one byte here, so that it has a
    place of its own. Then it walks over the launches of each entry and notes which tensor each byte of the arena holds. An error names a launch

    - that reads bytes that hold another tensor, or a slice of a graph.scan that is not the iteration's;
    - whose scratch, or whose result, lies over another of its inputs or results, unless `in_place` allows it.

    At the end the entry's results, the assigned variables and the state of all other variables have to be in their places. Of a graph.scan three iterations are executed.
  }];
}
#endif
