//===- HopperOps.td - units of sm_90a that work asynchronously --------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// On sm_90a three units work while the threads go on: the tensor memory accelerator (tensor_load, tensor_store), the tensor cores that read shared memory
// (wgmma), and barriers in shared memory (mbarrier_*), by which threads learn that the other two are done. The kernel's #kernel.entry has the tensor maps, which ops name by
// position, and the size of its clusters.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_KERNEL_HOPPER_OPS
#define MPC_KERNEL_HOPPER_OPS
include "dialects/Kernel/IR/DeviceOps.td"
include "mlir/IR/AttrTypeBase.td"

//===-- Tensor maps ---------------------------------------------------------------===//

def Kernel_Swizzle : I32EnumAttr<"Swizzle", "which chunks of 16 bytes of shared memory change places",
    [I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"B32", 1, "b32">, I32EnumAttrCase<"B64", 2, "b64">, I32EnumAttrCase<"B128", 3, "b128">]> {
  let cppNamespace = "::mpc::kernel";
  let description = [{
    With b128 the number of the chunk, bits 4 to 6 of the address, is xored with bits 7 to 9; with b64 bits 4 and 5 are xored with bits 7 and 8; with b32 bit
    4 with bit 7. Tiles start at a multiple of 1024, 512 or 256 bytes.
  }];
}

def Kernel_TensorMapAttr : AttrDef<Kernel_Dialect, "TensorMap"> {
  let mnemonic = "tensor_map";
  let summary = "a tensor in global memory, and the box of it that one tensor_load or tensor_store moves";
  let description = [{
    All lists have the innermost dimension first.

    - `parameter`: the kernel's parameter that points to the tensor, aligned to 16 bytes.
    - `sizes`: the extents in elements.
    - `strides`: in bytes, multiples of 16, of all dimensions but the innermost.
    - `box`: the elements that a tile spans along each dimension, at most 256; along the innermost one as many as fill the swizzle's width in bytes.
    - `steps` (1 to 8; 1 for the innermost dimension): a tile takes every steps[i]-th element, so ceil(box[i] / steps[i]) of them.

    Elements outside of the tensor are read as zeros and are not written.

    With `pixels` > 0 the map is in im2col mode: the dimensions are channels, W (H, D), N, and `box` has only the number of channels. A load takes `pixels`
    positions of W, H, N, one after the other, from within the box that reaches from `lower` (relative to position 0) to `upper` (relative to the last
    position) of each spatial dimension. CUDA driver API: cuTensorMapEncodeTiled, cuTensorMapEncodeIm2col.
  }];
  let parameters = (ins "unsigned":$parameter, "::mlir::Type":$element, ArrayRefParameter<"int64_t">:$sizes, OptionalArrayRefParameter<"int64_t">:$strides,
                    ArrayRefParameter<"int64_t">:$box, ArrayRefParameter<"int64_t">:$steps, EnumParameter<Kernel_Swizzle>:$swizzle,
                    DefaultValuedParameter<"int64_t", "0">:$pixels, OptionalArrayRefParameter<"int64_t">:$lower, OptionalArrayRefParameter<"int64_t">:$upper);
  let assemblyFormat = [{
    `<` $parameter `:` $element `sizes` `[` $sizes `]` (`strides` `[` $strides^ `]`)? `box` `[` $box `]` `steps` `[` $steps `]` $swizzle
    (`im2col` $pixels^)? (`lower` `[` $lower^ `]`)? (`upper` `[` $upper^ `]`)? `>`
  }];
  let genVerifyDecl = 1;
}

//===-- Barriers in shared memory ---------------------------------------------------===//

def Kernel_MbarrierInitOp : Kernel_DeviceOp<"mbarrier_init"> {
  let summary = "makes 8 bytes of shared memory a barrier in phase 0; a phase ends after `count` arrivals and after all bytes that it expects have come";
  let description = [{`count` is from 1 to 2^20 - 1. PTX: mbarrier.init.}];
  let arguments = (ins Kernel_Shared:$barrier, I32Attr:$count);
  let assemblyFormat = "$barrier `,` $count attr-dict";
  let hasVerifier = 1;
}
def Kernel_MbarrierFenceOp : Kernel_DeviceOp<"mbarrier_fence"> {
  let summary = "follows mbarrier_init: the tensor memory accelerator and the other blocks of the cluster will see the new barrier; a block barrier must follow";
  let description = [{PTX: fence.mbarrier_init.release.cluster.}];
  let assemblyFormat = "attr-dict";
}
def Kernel_MbarrierArriveOp : Kernel_DeviceOp<"mbarrier_arrive"> {
  let summary = "arrives once at the barrier; what the thread wrote before is seen by the threads that wait for the phase";
  let description = [{
    With `block` the arrival is at the same barrier of that block of the cluster. Then the waiting threads know only that the wgmmas which this thread has
    waited for have read their operands; they need not see this thread's writes (memory order at cluster scope would cost a fence of all memory). PTX:
    mbarrier.arrive.
  }];
  let arguments = (ins Kernel_Shared:$barrier, Optional<I32>:$block);
  let assemblyFormat = "$barrier (`block` $block^)? attr-dict";
}
def Kernel_MbarrierExpectOp : Kernel_DeviceOp<"mbarrier_expect"> {
  let summary = "arrives once at the barrier; the phase does not end before `bytes` more bytes have come by tensor_load";
  let description = [{`bytes` is at most 2^20 - 1. PTX: mbarrier.arrive.expect_tx.}];
  let arguments = (ins Kernel_Shared:$barrier, I32Attr:$bytes);
  let assemblyFormat = "$barrier `,` $bytes attr-dict";
  let hasVerifier = 1;
}
def Kernel_MbarrierWaitOp : Kernel_DeviceOp<"mbarrier_wait"> {
  let summary = "waits until the phase of this parity (0 or 1) has ended; on a new barrier a wait for parity 1 returns at once, as if a phase before the first had ended";
  let description = [{PTX: a loop of mbarrier.try_wait.parity.}];
  let arguments = (ins Kernel_Shared:$barrier, I32:$parity);
  let assemblyFormat = "$barrier `,` $parity attr-dict";
}
def Kernel_AsyncFenceOp : Kernel_DeviceOp<"async_fence"> {
  let summary = "lets wgmma and tensor_store read what the thread wrote to shared memory by stores and by copy_async that it has waited for";
  let description = [{Each writing thread executes it before the barrier behind which those ops start. PTX: fence.proxy.async.shared::cta.}];
  let assemblyFormat = "attr-dict";
}

//===-- The tensor memory accelerator -------------------------------------------------===//

def Kernel_TensorLoadOp : Kernel_DeviceOp<"tensor_load", [AttrSizedOperandSegments]> {
  let summary = "starts a copy of a box of tensor map `map` to shared memory; the mbarrier counts its bytes, including those that lie outside of the tensor";
  let description = [{
    One thread issues it. `coordinates` (i32) are those of the box's first element, innermost first. `offsets` (i16; im2col only) are the position in the
    filter, W first. With `blocks`, a mask (i16), the same bytes go to the same addresses and barriers of all these blocks of the cluster. PTX:
    cp.async.bulk.tensor.
  }];
  let arguments = (ins Kernel_Shared:$to, Kernel_Shared:$barrier, I32Attr:$map, Variadic<I32>:$coordinates, Variadic<I16>:$offsets, Optional<I16>:$blocks);
  let assemblyFormat = "$to `,` $barrier `map` $map `[` $coordinates `]` (`im2col` `[` $offsets^ `]`)? (`blocks` $blocks^)? attr-dict";
  let hasVerifier = 1;
}
def Kernel_TensorPrefetchOp : Kernel_DeviceOp<"tensor_prefetch"> {
  let summary = "fetches the descriptor of tensor map `map` itself into the cache";
  let arguments = (ins I32Attr:$map);
  let assemblyFormat = "$map attr-dict";
  let hasVerifier = 1;
}
def Kernel_TensorStoreOp : Kernel_DeviceOp<"tensor_store"> {
  let summary = "starts a copy of a box from shared memory to tensor map `map`";
  let arguments = (ins Kernel_Shared:$from, I32Attr:$map, Variadic<I32>:$coordinates);
  let assemblyFormat = "$from `map` $map `[` $coordinates `]` attr-dict";
  let hasVerifier = 1;
}
def Kernel_TensorStoreCommitOp : Kernel_DeviceOp<"tensor_store_commit"> {
  let summary = "makes the thread's stores since the last commit a group";
  let assemblyFormat = "attr-dict";
}
def Kernel_TensorStoreWaitOp : Kernel_DeviceOp<"tensor_store_wait"> {
  let summary = "waits until at most `pending` of the thread's groups are under way; with `read`, only until their shared memory has been read";
  let arguments = (ins I32Attr:$pending, UnitAttr:$read);
  let assemblyFormat = "$pending (`read` $read^)? attr-dict";
}

//===-- Products of a warpgroup ---------------------------------------------------------===//

def Kernel_MatrixLayoutAttr : AttrDef<Kernel_Dialect, "MatrixLayout"> {
  let mnemonic = "matrix_layout";
  let summary = "how an operand of wgmma lies in shared memory";
  let description = [{
    Without `transposed`, k is contiguous. With swizzle b128 a row has 128 bytes (64 16-bit elements of k), 8 rows are an atom of 1024 bytes, and the next 8
    rows lie `stride` bytes further on; `leading` has no meaning. With `transposed`, rows (of B: columns) are contiguous: an atom is 64 of them by 8 of k, the
    next 64 lie `leading` bytes further on, the next 8 of k lie `stride` bytes further on. b64 and b32 are the same with rows of 64 and 32 bytes. With swizzle
    none an atom is 8 rows of 16 bytes: without `transposed` the next 8 of k lie `leading` bytes further on and the next 8 rows `stride` bytes; with
    `transposed` the next 8 rows lie `stride` bytes further on and the next 8 of k `leading` bytes. PTX ISA, "Asynchronous warpgroup level majorness and
    strides".
  }];
  let parameters = (ins EnumParameter<Kernel_Swizzle>:$swizzle, "int64_t":$leading, "int64_t":$stride, "bool":$transposed);
  let assemblyFormat = "`<` $swizzle `leading` $leading `stride` $stride `transposed` $transposed `>`";
}

def Kernel_WgmmaFenceOp : Kernel_DeviceOp<"wgmma_fence"> {
  let summary = "orders accesses to registers; stands before the first wgmma, and where other ops wrote registers of its operands";
  let assemblyFormat = "attr-dict";
}
def Kernel_WgmmaOp : Kernel_DeviceOp<"wgmma", [AttrSizedOperandSegments]> {
  let summary = "starts D = A B + C of a warpgroup (128 threads): A is 64 x k, in shared memory or registers, B k x n in shared memory, C and D are 64 x n in f32; k is 32 bytes of elements";
  let description = [{
    Without C, D = A B. A and B have type `element`; B has `elementB` where that is given (e4m3 and e5m2 may be mixed; both need k contiguous).
    The tiles start `aOffset` and `bOffset` bytes behind the pointers, which point to where atoms start. The offsets choose the k of one wgmma within a row of
    128 bytes: 32 bytes each, that is 16 of f16 and bf16, 32 of e4m3 and e5m2. n is a multiple of 8 up to 256. A thread has n / 2 sums: sum 4 j + 2 h + p of
    lane l of warp w is at row 16 w + l / 4 + 8 h, column 8 j + 2 (l mod 4) + p. Products are exact, sums are in f32. Until wgmma_wait says so, D must not be
    touched and the shared memory must not be written. PTX: wgmma.mma_async.

    With `registers`, A of f16 or bf16 is in four registers of each thread, as A of mma.m16n8k16 is: warp w has rows 16 w to 16 w + 15. Until wgmma_wait says
    so, they must not be written either.

    Sums of 8-bit floats have fewer bits: each wgmma aligns its products and C to the largest exponent among them, cuts them off 13 bits below it, and does
    the same to their sum (DeepSeek-V3 Technical Report, 3.5.2; MMA-Sim, arXiv 2511.10909, measured on H100: 13 fractional bits, then the format 1-8-13). A
    kernel that needs more precision adds the sums of a few wgmmas elsewhere.
  }];
  let arguments = (ins Kernel_MmaType:$element, Optional<Kernel_Shared>:$a, OptionalAttr<I32Attr>:$aOffset, OptionalAttr<Kernel_MatrixLayoutAttr>:$aLayout,
                   Variadic<I32>:$aRegisters, Kernel_Shared:$b, I32Attr:$bOffset, Kernel_MatrixLayoutAttr:$bLayout, Variadic<F32>:$c,
                   OptionalAttr<Kernel_MmaType>:$elementB);
  let results = (outs Variadic<F32>:$d);
  let assemblyFormat = "$element (`by` $elementB^)? ($a^ `[` $aOffset `]` $aLayout)? (`registers` `(` $aRegisters^ `)`)? `,` $b `[` $bOffset `]` $bLayout `(` $c `)` attr-dict `:` type($d)";
  let extraClassDeclaration = [{
    ::mpc::kernel::MmaType typeOfB() { return getElementB().value_or(getElement()); }
    /// Whether A and B hold 8-bit floats.
    bool isFloat8() { return getElement() == MmaType::E4M3 || getElement() == MmaType::E5M2; }
  }];
  let hasVerifier = 1;
}
def Kernel_WgmmaCommitOp : Kernel_DeviceOp<"wgmma_commit"> {
  let summary = "makes the warpgroup's wgmmas since the last commit a group";
  let assemblyFormat = "attr-dict";
}
def Kernel_WgmmaWaitOp : Kernel_DeviceOp<"wgmma_wait"> {
  let summary = "waits until at most `pending` of the warpgroup's groups are under way, and passes sums on";
  let description = [{With `pending` 0 the results may be used. Otherwise they are only passed on to the next wgmma.}];
  let arguments = (ins I32Attr:$pending, Variadic<F32>:$sums);
  let results = (outs Variadic<F32>:$results);
  let assemblyFormat = "$pending `(` $sums `)` attr-dict (`:` type($results)^)?";
  let hasVerifier = 1;
}

//===-- Warpgroups of different kinds, clusters --------------------------------------------===//

def Kernel_SetRegistersOp : Kernel_DeviceOp<"set_registers"> {
  let summary = "sets the number of registers that each thread of the warpgroup has from here on (24 to 240, a multiple of 8)";
  let description = [{PTX: setmaxnreg.inc with `increase`, else .dec. A warpgroup can only take registers that others have given back before.}];
  let arguments = (ins I32Attr:$count, UnitAttr:$increase);
  let assemblyFormat = "$count (`increase` $increase^)? attr-dict";
  let hasVerifier = 1;
}
def Kernel_StoreMatrixOp : Kernel_DeviceOp<"store_matrix"> {
  let summary = "1, 2 or 4 matrices of 8x8 16-bit elements from the fragments of a warp to shared memory";
  let description = [{Addresses and fragments are as for load_matrix. PTX: stmatrix.}];
  let arguments = (ins Kernel_Shared:$row, Variadic<I32>:$registers, UnitAttr:$transpose);
  let assemblyFormat = "$row `,` $registers attr-dict";
  let hasVerifier = 1;
}
def Kernel_ClusterRankOp : Kernel_DeviceOp<"cluster_rank", [Pure]> {
  let summary = "number of the block in its cluster";
  let results = (outs I32:$rank);
  let assemblyFormat = "attr-dict";
}
def Kernel_ClusterBarrierOp : Kernel_DeviceOp<"cluster_barrier"> {
  let summary = "waits for all threads of the cluster and orders their memory accesses";
  let description = [{PTX: barrier.cluster.arrive, barrier.cluster.wait.}];
  let assemblyFormat = "attr-dict";
}
#endif
