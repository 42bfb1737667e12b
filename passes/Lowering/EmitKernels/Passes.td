//===- Passes.td - kernels of dispatches -----------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_EMITKERNELS_PASSES
#define MPC_EMITKERNELS_PASSES
include "mlir/Pass/PassBase.td"

def EmitKernelsPass : Pass<"mpc-emit-kernels", "::mlir::ModuleOp"> {
  let summary = "Emits the kernels of the module's dispatches";
  let description = [{
    The kernels are for the module's `kernel.target`. Each distinct dispatch becomes an `llvm.func` (`@k0`, `@k1`, ...; for a product whose sums are split
    also `@k0_reduce`) in nested modules, `@kernels0` and so on, at most `units` of them, which are compiled in parallel and have the target themselves (a GPU's
    kernels are packaged from one). Dispatches with equal forms, bodies, types
    and attributes share a kernel, and on the host also those that update tensors of other shapes in the same way; names, locations and places in the arena do
    not count. Every dispatch gets its `launches`; a dispatch that computes no
    element has none, and on the host a contraction has none where the library computes all of it. The kernels and launches of an earlier run are replaced.

    ```mlir
    %r = kernel.dispatch pointwise "add" (%x) ...
    // becomes
    %r = kernel.dispatch pointwise "add" (%x) {launches = [#kernel.launch<@kernels0::@k0 grid = 120000, 1, 1 grain = 8065>], ...} ...
    module @kernels0 attributes {kernel.target = #kernel.target<"host">} { llvm.func @k0(%buffers: !llvm.ptr, %begin: i64, %end: i64) { ... } }
    ```
    Kernels of the host are functions as runtime/abi/mpc/kernel.h defines them; those of GPUs have the form of dialects/Kernel/IR/DeviceOps.td.
  }];
  let options = [Option<"units", "units", "unsigned", "1", "modules that kernels are dealt out to at most">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
                           "::mlir::LLVM::LLVMDialect", "::mpc::kernel::KernelDialect"];
  let statistics = [Statistic<"numKernels", "kernels", "Kernels emitted">, Statistic<"numLaunches", "launches", "Launches of them">];
}
#endif
