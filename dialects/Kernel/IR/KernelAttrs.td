//===- KernelAttrs.td - the target, the schedule of a contraction, launches --*- tablegen -*-===//
#ifndef MPC_KERNEL_ATTRS
#define MPC_KERNEL_ATTRS
include "mlir/IR/AttrTypeBase.td"
include "dialects/Kernel/IR/KernelBase.td"

def Kernel_TargetAttr : AttrDef<Kernel_Dialect, "Target"> {
  let mnemonic = "target";
  let summary = "the target that a module is compiled for: the host, or a GPU of the table in dialects/Kernel/Target";
  let description = [{
    A module has it as `kernel.target = #kernel.target<"sm_90a">`. Passes ask it for facts (`getGpu`), never for its name. A module without a target is
    compiled for the host.
  }];
  let parameters = (ins StringRefParameter<"host, or an architecture as sm_90a">:$name);
  let assemblyFormat = "`<` $name `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    static constexpr ::llvm::StringLiteral attributeName = "kernel.target";
    /// The target of the nearest op that has one: `op` itself or an op around it; null where there is none.
    static TargetAttr of(::mlir::Operation *op);
    /// The GPU's row of the table; null for the host.
    const ::mpc::GpuArch *getGpu() const { return ::mpc::findGpuArch(getName()); }
  }];
}

def Kernel_ContractionAttr : AttrDef<Kernel_Dialect, "Contraction"> {
  let mnemonic = "contraction";
  let summary = "the schedule of a matrix product or convolution on a GPU";
  let description = [{
    `#kernel.contraction<wgmma 128x256x64 stages=4 splits=2 cluster_m=2>` has the mainloop, the tile of a block (m x n, adding k at a time), and then the
    numbers that differ from their defaults. The schedule is one of the candidates that the target has for the dispatch
    (passes/Lowering/HeroToGpu/Schedule.h); any other one is an error where the kernel is emitted.
  }];
  let parameters = (ins AttrParameter<"::mpc::kernel::Contraction", "the numbers">:$schedule);
  let hasCustomAssemblyFormat = 1;
}

def Kernel_LaunchAttr : AttrDef<Kernel_Dialect, "Launch"> {
  let mnemonic = "launch";
  let summary = "one launch of a kernel";
  let description = [{
    An example is `#kernel.launch<@kernels::@k0 grid = 4, 1, 1 args = 0, 2, -1>`. `args` has for each parameter of the kernel the position of its buffer among
    the dispatch's inputs and then results, or -1 for the scratch. `grain` (host only) is the number of neighbouring points of the grid that make a task worth
    its overhead.
  }];
  let parameters = (ins "::mlir::SymbolRefAttr":$kernel, ArrayRefParameter<"int64_t">:$grid, DefaultValuedParameter<"int64_t", "1">:$grain, OptionalArrayRefParameter<"int64_t">:$args);
  let assemblyFormat = "`<` $kernel `grid` `=` $grid (`grain` `=` $grain^)? (`args` `=` $args^)? `>`";
  let genVerifyDecl = 1;
}
#endif
