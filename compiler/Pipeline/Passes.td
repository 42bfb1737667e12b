//===- Passes.td - what the host's libraries need --------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PIPELINE_PASSES
#define MPC_PIPELINE_PASSES
include "mlir/Pass/PassBase.td"

def LibraryScratchPass : Pass<"mpc-library-scratch", "::mlir::ModuleOp"> {
  let summary = "Asks the host's libraries how much memory each of their calls needs";
  let description = [{
    Sets `scratch_bytes` on every contraction of a module for the host: the largest amount that a provider of such calls (runtime/abi/mpc/library.h) needs with
    one thread or with `threads` of them. The providers are the built-in loops and, where there is one, the plugin `library`. A dispatch that no provider computes is an error.
    Nothing happens to a module for a GPU, where mpc-schedule knows the scratch. Runs before memory is planned.

    ```mlir
    %y = kernel.dispatch contraction "fc" (%x, %w) : ...
    // becomes
    %y = kernel.dispatch contraction "fc" (%x, %w) {scratch_bytes = 16384 : i64} : ...
    ```

    What a provider needs depends on the CPU on which the pass runs. Therefore nobody is asked without `threads`: the module then gets the same plan on every machine, and a program allocates
    what its providers need beside the plan when it starts, as it does wherever the plan has too little. `mpc compile` gives the threads of its own machine, and the plugin beside it.
  }];
  let options = [
    Option<"threads", "threads", "unsigned", "0", "how many threads run the calls; 0: nobody is asked, and no call gets scratch">,
    Option<"library", "library", "std::string", "", "the path of a plugin (libmpc_onednn.so) that is asked besides the built-in loops">,
  ];
  let dependentDialects = ["::mpc::kernel::KernelDialect"];
}
#endif
