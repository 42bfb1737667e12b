//===- KernelAttrs.td - what is compiled for, by which schedule, and launched how --*- tablegen -*-===//
#ifndef MPC_KERNEL_ATTRS
#define MPC_KERNEL_ATTRS
include "mlir/IR/AttrTypeBase.td"
include "dialects/Kernel/IR/KernelBase.td"

def Kernel_TargetAttr : AttrDef<Kernel_Dialect, "Target"> {
  let mnemonic = "target";
  let summary = "what a module is compiled for: the host, or a GPU of the table in dialects/Kernel/Target";
  let description = [{
    `kernel.target = #kernel.target<"sm_90a">` on a module. Passes ask it for facts (`getGpu`), never for its name. A module without one is compiled for the
    host.
  }];
  let parameters = (ins StringRefParameter<"host, or an architecture as sm_90a">:$name);
  let assemblyFormat = "`<` $name `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    static constexpr ::llvm::StringLiteral attributeName = "kernel.target";
    /// The target of the module that the op is or lies in; null where it has none.
    static TargetAttr of(::mlir::Operation *op);
    /// The GPU's row of the table; null for the host.
    const ::mpc::GpuArch *getGpu() const { return ::mpc::findGpuArch(getName()); }
  }];
}

def Kernel_ContractionAttr : AttrDef<Kernel_Dialect, "Contraction"> {
  let mnemonic = "contraction";
  let summary = "the schedule of a matrix product or convolution on a GPU";
  let description = [{
    `#kernel.contraction<wgmma 128x256x64 stages=4 splits=2 cluster_m=2>`: the mainloop, the tile of a block (m x n, k at a time), then what is not at its
    default. The attribute is one of the candidates that the target has for the dispatch (passes/Lowering/HeroToGpu/Schedule.h); another one is an error where the kernel is emitted.
  }];
  let parameters = (ins AttrParameter<"::mpc::kernel::Contraction", "the numbers">:$schedule);
  let hasCustomAssemblyFormat = 1;
}

def Kernel_LaunchAttr : AttrDef<Kernel_Dialect, "Launch"> {
  let mnemonic = "launch";
  let summary = "one launch of a kernel";
  let description = [{
    `#kernel.launch<@kernels::@k0 grid = 4, 1, 1 args = 0, 2, -1>`. `args`: by parameter of the kernel, the position among the dispatch's inputs and then
    results, -1 for its scratch. `grain` (host): so many neighbouring points of the grid are worth a task.
  }];
  let parameters = (ins "::mlir::SymbolRefAttr":$kernel, ArrayRefParameter<"int64_t">:$grid, DefaultValuedParameter<"int64_t", "1">:$grain, OptionalArrayRefParameter<"int64_t">:$args);
  let assemblyFormat = "`<` $kernel `grid` `=` $grid (`grain` `=` $grain^)? (`args` `=` $args^)? `>`";
  let genVerifyDecl = 1;
}
#endif
