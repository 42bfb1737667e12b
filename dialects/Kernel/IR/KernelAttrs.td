//===- KernelAttrs.td - the target, the memory plan, schedules, kernels, launches --*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_KERNEL_ATTRS
#define MPC_KERNEL_ATTRS
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "dialects/Kernel/IR/KernelBase.td"

def Kernel_TargetAttr : AttrDef<Kernel_Dialect, "Target"> {
  let mnemonic = "target";
  let summary = "the target that a module is compiled for: the host, or a GPU of the table in dialects/Kernel/Target";
  let description = [{
    A module has it as `kernel.target = #kernel.target<"sm_90a">`. Passes ask it for facts (`getGpu`), never for its name. A module without a target is
    compiled for the host. A nested module that has a target of its own, the same as that of the module around it, is a module of kernels.
  }];
  let parameters = (ins StringRefParameter<"host, or an architecture as sm_90a">:$name);
  let assemblyFormat = "`<` $name `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The target of the nearest op that has one: `op` itself or an op around it; null where there is none.
    static TargetAttr of(::mlir::Operation *op);
    /// The GPU's row of the table; null for the host.
    const ::mpc::GpuArch *getGpu() const { return ::mpc::findGpuArch(getName()); }
  }];
}

def Kernel_PlanAttr : AttrDef<Kernel_Dialect, "Plan"> {
  let mnemonic = "plan";
  let summary = "the sizes of the arena of a module whose memory is planned, in bytes";
  let description = [{
    A module has it as `kernel.plan` from mpc-plan-arena on. Variables, constants, and arguments and results of entries then have their offsets in the arena as
    `kernel.offset`, and dispatches have `args`.

    - `arena_bytes`: the whole arena;
    - `state_bytes`: the variables, which lie at its start;
    - `constant_bytes`: the constants behind them;
    - `temporary_bytes`: the room behind these, which the inputs, temporaries and scratch of all entries share;
    - `peak_bytes`: what training touches, which is the sum of these three; the arena is larger where only a trace entry needs more;
    - `saved_bytes`: the temporaries that the forward pass leaves to other launches.
  }];
  let parameters = (ins "int64_t":$arena_bytes, "int64_t":$state_bytes, "int64_t":$constant_bytes, "int64_t":$temporary_bytes, "int64_t":$peak_bytes, "int64_t":$saved_bytes);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The plan of a module; null where its memory is not planned.
    static PlanAttr of(::mlir::Operation *module) { return module->getAttrOfType<PlanAttr>(name); }
  }];
}

def Kernel_Form : I32EnumAttr<"Form", "which code computes a dispatch", [
    I32EnumAttrCase<"Contraction", 0, "contraction">, I32EnumAttrCase<"Pointwise", 1, "pointwise">, I32EnumAttrCase<"TransposedCopy", 2, "transposed_copy">,
    I32EnumAttrCase<"Reduction", 3, "reduction">, I32EnumAttrCase<"Row", 4, "row">, I32EnumAttrCase<"Scatter", 5, "scatter">, I32EnumAttrCase<"Batch", 6, "batch">,
    I32EnumAttrCase<"Attention", 7, "attention">]> {
  let cppNamespace = "::mpc::kernel";
  let genSpecializedAttr = 0;
}
def Kernel_FormAttr : EnumAttr<Kernel_Dialect, Kernel_Form, "form"> {
  let assemblyFormat = "`<` $value `>`";
  let summary = "which code computes a dispatch";
  let description = [{
    A dispatch states its form before its name. Fusion decides it (`formOf` in dialects/Kernel/Analysis/Form.h), the verifier holds it against the body, and emission, the memory plan and the manifest ask it.

    - `contraction`: one matrix product or convolution of inputs, and what follows it: a call of a library on the host, and generated kernels on a GPU. The other forms are *loop dispatches*;
    - `pointwise`: one loop nest over the elements of the results, which all have equally many;
    - `transposed_copy` (GPUs): values and the transposes of their matrices, in tiles that go through shared memory;
    - `reduction`: reductions of the same runs of dimensions, and results that have an element for each row (dialects/Kernel/Analysis/Space.h);
    - `row`: the same, with some results that have an element for each point (softmax, norms);
    - `scatter`: one graph.scatter, which adds to the elements that its indices name;
    - `batch`: several small loop dispatches in one launch;
    - `attention` (GPUs): one graph.attention or graph.attention_grad, whose scores stay in registers; it reads inputs, or slices and transposes of them, and yields results, their transposes or concatenations of their heads.
  }];
}

def Kernel_ContractionAttr : AttrDef<Kernel_Dialect, "Contraction"> {
  let mnemonic = "contraction";
  let summary = "the schedule of a matrix product, a convolution or an attention on a GPU";
  let description = [{
    `#kernel.contraction<wgmma 128x256x64 stages=4 splits=2 cluster_m=2>` has the mainloop, the tile of a block (m x n, adding k at a time), and then the
    numbers that differ from their defaults. The schedule is one of the candidates that the target has for the dispatch
    (passes/Lowering/Schedule/Schedule.h); any other one is an error where the kernel is emitted. The numbers name the candidate: what it divides among warps, and the registers
    and blocks that it is made for, are in the target's table and not in the attribute.
    Of an attention, m is the number of queries of a block, n that of the keys which it takes at a time, and k the size of a head, rounded up; for dk and dv, m counts keys and n queries.
  }];
  let parameters = (ins AttrParameter<"::mpc::kernel::Contraction", "the numbers">:$schedule);
  let hasCustomAssemblyFormat = 1;
}

def Kernel_Walk : I32EnumAttr<"Walk", "how loops go through the points of a space", [
    I32EnumAttrCase<"Points", 0, "points">, I32EnumAttrCase<"Tiles", 1, "tiles">, I32EnumAttrCase<"Copies", 2, "copies">, I32EnumAttrCase<"Rows", 3, "rows">,
    I32EnumAttrCase<"Columns", 4, "columns">]> {
  let cppNamespace = "::mpc::kernel";
  let genSpecializedAttr = 0;
}

def Kernel_LoopsAttr : AttrDef<Kernel_Dialect, "Loops"> {
  let mnemonic = "loops";
  let summary = "in which order loops go through the space of a dispatch, and how threads share them";
  let description = [{
    An example is `#kernel.loops<columns 32x3136x64 order = [0 to 1 by 512, 2 by 32]>`, a sum of each of 64 channels on the host. mpc-plan-loops decides it once, and emission makes these loops
    and no others. Which loops a walk may have on a target is in dialects/Kernel/Analysis/LoopRules.h; the verifier of kernel.dispatch holds them against it.

    The walk says which results there are and which loop is innermost:

    - `points`: no reductions; an iteration computes all results of a point;
    - `tiles`: the same, in tiles of the two innermost loops, because an operand is contiguous along the outer one of them (a transpose);
    - `copies`, of the form transposed_copy: values and the transposes of their matrices, in tiles that go through shared memory;
    - `rows`: reductions; for each kept point, the reduced loops with their sums in registers;
    - `columns`: reductions along dimensions that are not contiguous; the last kept loop is innermost, and has a sum for each of its iterations.

    Then come the extents of the space's dimensions (dialects/Kernel/Analysis/Dims.h; those of `copies` are matrices, rows and columns) and the loops:

    - `order`: the loops, outermost first. Each walks a dimension, or several neighbouring ones as one row-major number (`0 to 1`); `by` gives the iterations of a tile. A reduced loop
      with tiles adds each of them up on its own, and then adds that sum to the total. A thread of a GPU takes a whole tile of `points`, whose iterations lie as far apart as there are tiles
      (those of a depthwise convolution are neighbours), or of the last reduced loop of `columns`, whose iterations are neighbours;
    - `parallel`: how many of the outermost loops are shared among threads, iteration by iteration; the tiles of kept loops always are;
    - `vector`: the neighbours along the innermost dimension that one iteration or thread computes;
    - `threads` (GPUs): the threads of a block. With `rows` the second number of them share a row: a power of two below a warp, if the rows fill whole warps, or whole warps. With `columns` they are neighbours along the innermost loop, and the first number
      divides the reduced loops among itself;
    - `unroll` (`rows` on GPUs): threads unroll their pieces of a row, and keep in registers what several stages read;
    - `cuts` (`points` on the host): places at which the innermost loop is cut, because what it reads changes there (a concatenation).
  }];
  let parameters = (ins "::mpc::kernel::Walk":$walk, ArrayRefParameter<"int64_t">:$extents, ArrayRefParameter<"::mpc::kernel::Loop">:$order, "int64_t":$parallel,
                        "int64_t":$vector, ArrayRefParameter<"int64_t">:$threads, "bool":$unroll, ArrayRefParameter<"int64_t">:$cuts);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

// Prints and parses [#kernel.tensor_map<...>, ...].
def Kernel_TensorMaps : OptionalArrayRefParameter<"::mpc::kernel::TensorMapAttr"> {
  let parser = "parseTensorMaps($_parser)";
  let printer = "printTensorMaps($_printer, $_self)";
}

def Kernel_EntryAttr : AttrDef<Kernel_Dialect, "Entry"> {
  let mnemonic = "entry";
  let summary = "what makes a function a GPU kernel, and how the kernel is launched";
  let description = [{
    An `llvm.func` with `kernel.entry = #kernel.entry<threads = 128, ...>` is a GPU kernel (DeviceOps.td, HopperOps.td).

    - `threads`: the threads of a block, a multiple of 32 up to 1024; every launch has exactly this number;
    - `resident`: the kernel is persistent, that is, right for any number of blocks, which it asks grid_size for. Where the grid is larger, a launch starts this number of blocks for
      each multiprocessor (SM), in whole clusters. Kernels that are not persistent have 0, and a launch starts all blocks of the grid;
    - `cluster`: the blocks of a cluster along x, 1 to 16; the grid is a multiple of it;
    - `min_blocks`, for PTX: the blocks that shall fit on an SM at once, which bounds a thread's registers; with 0 PTX says nothing;
    - `maps`: the tensor maps that a launch passes behind the buffers; ops name them by position.
  }];
  let parameters = (ins "int64_t":$threads, DefaultValuedParameter<"int64_t", "0">:$resident, DefaultValuedParameter<"int64_t", "1">:$cluster,
                        DefaultValuedParameter<"int64_t", "0">:$min_blocks, Kernel_TensorMaps:$maps);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let builders = [AttrBuilder<(ins "int64_t":$threads), "return $_get($_ctxt, threads, /*resident=*/0, /*cluster=*/1, /*min_blocks=*/0, ::llvm::ArrayRef<TensorMapAttr>());">];
  let extraClassDeclaration = [{
    /// The attribute of a GPU kernel; null for any other op.
    static EntryAttr of(::mlir::Operation *function) { return function->getAttrOfType<EntryAttr>(name); }
  }];
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
  let extraClassDeclaration = [{
    /// The position of the scratch in `args`.
    static constexpr int64_t scratch = -1;
    /// The launch of `blocks` (on the host: points of the grid) of a kernel, which is a function of a module of kernels.
    static LaunchAttr of(::mlir::Operation *kernel, int64_t blocks, int64_t grain, ::llvm::ArrayRef<int64_t> args);
  }];
}
#endif
