//===- DeviceOps.td - ops of GPU kernels that a CPU has no equivalent for --*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_KERNEL_DEVICE_OPS
#define MPC_KERNEL_DEVICE_OPS
include "dialects/Kernel/IR/KernelOps.td"
include "mlir/Dialect/LLVMIR/LLVMOpBase.td"
include "mlir/IR/EnumAttr.td"

// A GPU kernel is an `llvm.func` over pointers to global memory (address space 1) with the attribute `kernel.entry` (#kernel.entry, KernelAttrs.td). Its body has scf, arith,
// math and llvm ops and the ops of this file, each of which has a PTX form (passes/Lowering/DeviceToNvvm) and an emulated form (passes/Lowering/DeviceToEmulator). Shared memory
// is address space 3.

def Kernel_Global : LLVM_PointerInAddressSpace<1>;
def Kernel_Shared : LLVM_PointerInAddressSpace<3>;

class Kernel_DeviceOp<string mnemonic, list<Trait> traits = []> : Op<Kernel_Dialect, mnemonic, traits>;

//===-- Where am I ---------------------------------------------------------------===//

def Kernel_ThreadIdOp : Kernel_DeviceOp<"thread_id", [Pure]> {
  let summary = "number of the thread in its block; blocks are one-dimensional";
  let results = (outs I32:$id);
  let assemblyFormat = "attr-dict";
}

def Kernel_Axis : I32EnumAttr<"Axis", "an axis of the grid", [I32EnumAttrCase<"X", 0, "x">, I32EnumAttrCase<"Y", 1, "y">, I32EnumAttrCase<"Z", 2, "z">]> {
  let cppNamespace = "::mpc::kernel";
}
def Kernel_BlockIdOp : Kernel_DeviceOp<"block_id", [Pure]> {
  let summary = "position of the block in the grid";
  let arguments = (ins Kernel_Axis:$axis);
  let results = (outs I32:$id);
  let assemblyFormat = "$axis attr-dict";
}

def Kernel_GridSizeOp : Kernel_DeviceOp<"grid_size", [Pure]> {
  let summary = "number of blocks of the launch along x";
  let description = [{Persistent kernels use it: their blocks compute every grid_size-th work item, so they are right for any number of blocks.}];
  let results = (outs I32:$size);
  let assemblyFormat = "attr-dict";
}

//===-- Threads together ------------------------------------------------------------===//

def Kernel_BarrierOp : Kernel_DeviceOp<"barrier"> {
  let summary = "waits for the threads of the block, or for those that a named barrier counts";
  let description = [{
    Everything that a thread wrote to shared or global memory before the barrier is seen by the other threads behind it. Barrier 0 is that of the whole block;
    with `threads` (a multiple of 32) only that many threads take part, in whole warps. A block has 16 barriers. PTX: bar.sync.
  }];
  let arguments = (ins DefaultValuedAttr<I32Attr, "0">:$id, OptionalAttr<I32Attr>:$threads);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def Kernel_WarpSyncOp : Kernel_DeviceOp<"warp_sync"> {
  let summary = "waits for all threads of the warp and orders their memory accesses";
  let assemblyFormat = "attr-dict";
}

def Kernel_ShuffleMode : I32EnumAttr<"ShuffleMode", "where the value comes from",
    [I32EnumAttrCase<"Xor", 0, "xor">, I32EnumAttrCase<"Down", 1, "down">, I32EnumAttrCase<"Up", 2, "up">, I32EnumAttrCase<"Index", 3, "index">]> {
  let cppNamespace = "::mpc::kernel";
}
def Kernel_ShuffleOp : Kernel_DeviceOp<"shuffle", [TypesMatchWith<"the result is of the value's type", "value", "result", "$_self">]> {
  let summary = "the value of another thread of the warp; all 32 take part";
  let description = [{
    Lane l gets the value of lane l ^ offset (xor), l + offset (down), l - offset (up) or offset (index), or its own value where the warp has no such lane.
    `offset` counts modulo 32. PTX: shfl.sync.
  }];
  let arguments = (ins Kernel_ShuffleMode:$mode, AnyTypeOf<[I32, F32]>:$value, I32:$offset);
  let results = (outs AnyTypeOf<[I32, F32]>:$result);
  let assemblyFormat = "$mode $value `,` $offset attr-dict `:` type($value)";
}

def Kernel_VoteMode : I32EnumAttr<"VoteMode", "what is asked", [I32EnumAttrCase<"Any", 0, "any">, I32EnumAttrCase<"All", 1, "all">]> {
  let cppNamespace = "::mpc::kernel";
}
def Kernel_VoteOp : Kernel_DeviceOp<"vote"> {
  let summary = "whether the predicate holds for any thread, or for all threads, of the warp";
  let arguments = (ins Kernel_VoteMode:$mode, I1:$predicate);
  let results = (outs I1:$result);
  let assemblyFormat = "$mode $predicate attr-dict";
}

//===-- Shared memory -------------------------------------------------------------------===//

// The op allocates, so that two ops stay two allocations even after a pass that merges equal ops.
def Kernel_SharedOp : Kernel_DeviceOp<"shared"> {
  let summary = "uninitialised shared memory of the block; every op is an allocation of its own";
  let arguments = (ins I64Attr:$bytes, DefaultValuedAttr<I64Attr, "::mpc::sharedAlignment">:$alignment);
  let results = (outs Res<Kernel_Shared, "a piece of its own", [MemAlloc]>:$pointer);
  let assemblyFormat = "$bytes attr-dict";
  let hasVerifier = 1;
}

def Kernel_CopyAsyncOp : Kernel_DeviceOp<"copy_async"> {
  let summary = "starts a copy of 4, 8 or 16 bytes from global to shared memory";
  let description = [{
    Both addresses are aligned to `bytes`. With `valid` (0 … bytes), only that many bytes are read and the rest is filled with zeros. The copy is complete when
    copy_async_wait says so. PTX: cp.async (sm_80); copies of 16 bytes bypass L1.
  }];
  let arguments = (ins Kernel_Shared:$to, Kernel_Global:$from, I32Attr:$bytes, Optional<I32>:$valid);
  let assemblyFormat = "$to `,` $from `,` $bytes (`valid` $valid^)? attr-dict";
  let hasVerifier = 1;
}
def Kernel_CopyAsyncCommitOp : Kernel_DeviceOp<"copy_async_commit"> {
  let summary = "makes the thread's copies since the last commit a group";
  let assemblyFormat = "attr-dict";
}
def Kernel_CopyAsyncWaitOp : Kernel_DeviceOp<"copy_async_wait"> {
  let summary = "waits until at most `pending` of the thread's groups are under way; other threads see the copied bytes behind a barrier";
  let arguments = (ins I32Attr:$pending);
  let assemblyFormat = "$pending attr-dict";
}

//===-- Matrices ----------------------------------------------------------------------------===//

def Kernel_LoadMatrixOp : Kernel_DeviceOp<"load_matrix"> {
  let summary = "1, 2 or 4 matrices of 8x8 16-bit elements from shared memory into the fragments of a warp";
  let description = [{
    Lane 8 i + r holds the address of row r of matrix i; a row has 16 bytes and is aligned to 16. Register i of lane l holds elements 2 (l mod 4) and 2 (l mod
    4) + 1 of row l / 4 of matrix i, or of column l / 4 with `transpose`. PTX: ldmatrix (sm_75).
  }];
  let arguments = (ins Kernel_Shared:$row, UnitAttr:$transpose);
  let results = (outs Variadic<I32>:$registers);
  let assemblyFormat = "$row attr-dict `:` type($registers)";
  let hasVerifier = 1;
}

def Kernel_MmaType : I32EnumAttr<"MmaType", "the element type of A and B",
    [I32EnumAttrCase<"F16", 0, "f16">, I32EnumAttrCase<"BF16", 1, "bf16">, I32EnumAttrCase<"TF32", 2, "tf32">,
     I32EnumAttrCase<"E4M3", 3, "e4m3">, I32EnumAttrCase<"E5M2", 4, "e5m2">]> {
  let cppNamespace = "::mpc::kernel";
}
def Kernel_MmaOp : Kernel_DeviceOp<"mma", [Pure, AttrSizedOperandSegments]> {
  let summary = "D = A B + C of a warp: A is 16 x k, B k x 8, C and D 16 x 8 in f32";
  let description = [{
    A's fragments are row-major and B's column-major, as the PTX manual lays them out for m16n8k8 and m16n8k16: k = 16 takes 4 and 2 registers (f16, bf16), k
    = 8 takes 2 and 1 (f16), or 4 and 2 (tf32). Products are exact, sums are in f32. PTX: mma.sync; f16 with k = 8 from sm_75, everything else from sm_80.
  }];
  let arguments = (ins Kernel_MmaType:$element, I32Attr:$k, Variadic<I32>:$a, Variadic<I32>:$b, Variadic<F32>:$c);
  let results = (outs F32:$d0, F32:$d1, F32:$d2, F32:$d3);
  let assemblyFormat = "$element $k `(` $a `)` `(` $b `)` `(` $c `)` attr-dict";
  let hasVerifier = 1;
}

//===-- Functions of the hardware --------------------------------------------------------------===//

def Kernel_Approx : I32EnumAttr<"Approx", "a function that the hardware approximates",
    [I32EnumAttrCase<"Exp2", 0, "exp2">, I32EnumAttrCase<"Log2", 1, "log2">, I32EnumAttrCase<"Reciprocal", 2, "reciprocal">,
     I32EnumAttrCase<"Rsqrt", 3, "rsqrt">]> {
  let cppNamespace = "::mpc::kernel";
}
def Kernel_ApproxOp : Kernel_DeviceOp<"approx", [Pure]> {
  let summary = "an f32 function within 2 ULP of the exact value (log2: 2^-22 absolute near 1); denormals are flushed";
  let description = [{
    PTX: ex2, lg2, rcp, rsqrt with .approx.ftz.f32. The emulated form is correctly rounded, so results may differ by the approximation's error. Kernels for the host may have
    the reciprocal, which becomes a division (passes/Lowering/MathApprox).
  }];
  let arguments = (ins Kernel_Approx:$function, F32:$x);
  let results = (outs F32:$y);
  let assemblyFormat = "$function $x attr-dict";
}

//===-- bf16 -----------------------------------------------------------------------------------//

def Kernel_RoundBF16Op : Kernel_DeviceOp<"round_bf16", [Pure]> {
  let summary = "rounds an f32 to a number of bf16: to nearest even; NaN becomes the one with the bits 0x7fff0000";
  let description = [{
    The result is an f32 whose lower 16 bits are 0. Kernels for the host may have this op, too. It becomes integer arithmetic (passes/Lowering/MathApprox) where there is no instruction.
    PTX: cvt.rn.bf16.f32 (sm_80), for two neighbours that are stored together cvt.rn.bf16x2.f32. LLVM folds the conversion of a NaN that only it finds to be constant (0/0, say) to a NaN with other bits.
  }];
  let arguments = (ins F32:$x);
  let results = (outs F32:$y);
  let assemblyFormat = "$x attr-dict";
}

//===-- 8-bit floats -------------------------------------------------------------------------//

def Kernel_Float8Attr : TypeAttrOf<AnyTypeOf<[F8E4M3FN, F8E5M2], "8-bit float">>;

def Kernel_EncodeFloat8Op : Kernel_DeviceOp<"encode_f8", [Pure]> {
  let summary = "rounds an f32 to the code of an 8-bit float: to nearest even; what is larger than the largest finite number, and infinity, becomes that number; NaN becomes 0x7f";
  let description = [{
    Kernels for the host may have this op, too. It becomes integer arithmetic (passes/Lowering/MathApprox) where there is no instruction. PTX:
    cvt.rn.satfinite.e4m3x2.f32, .e5m2x2 (sm_89).
  }];
  let arguments = (ins F32:$x, Kernel_Float8Attr:$format);
  let results = (outs I8:$code);
  let assemblyFormat = "$x `to` $format attr-dict";
}
def Kernel_DecodeFloat8Op : Kernel_DeviceOp<"decode_f8", [Pure]> {
  let summary = "the exact value of an 8-bit float";
  let description = [{PTX: cvt.rn.f16x2.e4m3x2, .e5m2x2 (sm_89), then a conversion to f32. Elsewhere it becomes integer arithmetic, as encode_f8 does.}];
  let arguments = (ins I8:$code, Kernel_Float8Attr:$format);
  let results = (outs F32:$x);
  let assemblyFormat = "$code `from` $format attr-dict";
}
#endif
