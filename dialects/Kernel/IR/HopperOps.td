//===- HopperOps.td - units of sm_90a that work beside the threads --------*- tablegen -*-===//
//
// Three things of sm_90a run on while threads go on: the tensor memory accelerator (tensor_load, tensor_store), the tensor cores that read shared memory
// (wgmma), and barriers in shared memory (mbarrier_*) by which threads learn that they are done. Function attributes beside those of DeviceOps.td:
// `kernel.tensor_maps` (array of #kernel.tensor_map, which the ops name by position) and `kernel.cluster` (i32, blocks of a cluster along x; the grid is a
// multiple of it).
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
    With b128 the number of the chunk, bits 4 to 6 of the address, is xored with bits 7 to 9; b64: bits 4 and 5 with 7 and 8; b32: bit 4 with 7. Tiles start at
    a multiple of 1024, 512 or 256 bytes.
  }];
}

def Kernel_TensorMapAttr : AttrDef<Kernel_Dialect, "TensorMap"> {
  let mnemonic = "tensor_map";
  let summary = "a tensor in global memory, and the box of it that one tensor_load or tensor_store moves";
  let description = [{
    `parameter`: the kernel's parameter that points to it (aligned to 16 bytes). All lists are innermost dimension first. `sizes`: elements; `strides`: bytes, of
    all dimensions but the innermost, multiples of 16; `box`: elements that a tile spans, each at most 256, the innermost as many as fill the swizzle's width in bytes; `steps` (1 to 8, the innermost 1): takes every
    steps[i]-th element, so ceil(box[i] / steps[i]) of them. What lies outside is read as zero and not written.

    With `pixels` > 0 the map is in im2col mode: dimensions are channels, W (H, D), N; `box` is the number of channels alone; a load takes `pixels`
    neighbouring positions of W, H, N in turn from within the box from `lower` (at 0) to `upper` (at the last element) of each spatial dimension. CUDA driver API: cuTensorMapEncodeTiled,
    cuTensorMapEncodeIm2col.
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
  let summary = "makes 8 bytes of shared memory a barrier, in phase 0, whose phases end after `count` arrivals and all bytes that they expect";
  let arguments = (ins Kernel_Shared:$barrier, I32Attr:$count);
  let assemblyFormat = "$barrier `,` $count attr-dict";
}
def Kernel_MbarrierFenceOp : Kernel_DeviceOp<"mbarrier_fence"> {
  let summary = "after mbarrier_init: the accelerator and the other blocks of the cluster will see it; a barrier must follow";
  let description = [{PTX: fence.mbarrier_init.release.cluster.}];
  let assemblyFormat = "attr-dict";
}
def Kernel_MbarrierArriveOp : Kernel_DeviceOp<"mbarrier_arrive"> {
  let summary = "one arrival; what the thread wrote before is seen by who waits for the phase";
  let description = [{
    With `block`, at the same barrier of that block of the cluster: what waits there knows that wgmmas which this thread has waited for have read their operands, and nothing else
    (the cluster's scope of memory order would cost a fence of all memory). PTX: mbarrier.arrive.
  }];
  let arguments = (ins Kernel_Shared:$barrier, Optional<I32>:$block);
  let assemblyFormat = "$barrier (`block` $block^)? attr-dict";
}
def Kernel_MbarrierExpectOp : Kernel_DeviceOp<"mbarrier_expect"> {
  let summary = "one arrival, and the phase ends no earlier than `bytes` more have come by tensor_load";
  let description = [{PTX: mbarrier.arrive.expect_tx.}];
  let arguments = (ins Kernel_Shared:$barrier, I32Attr:$bytes);
  let assemblyFormat = "$barrier `,` $bytes attr-dict";
}
def Kernel_MbarrierWaitOp : Kernel_DeviceOp<"mbarrier_wait"> {
  let summary = "waits until the phase of this parity (0 or 1) has ended; of a new barrier the phase before the first, of parity 1, has";
  let description = [{PTX: a loop of mbarrier.try_wait.parity.}];
  let arguments = (ins Kernel_Shared:$barrier, I32:$parity);
  let assemblyFormat = "$barrier `,` $parity attr-dict";
}
def Kernel_AsyncFenceOp : Kernel_DeviceOp<"async_fence"> {
  let summary = "what the thread wrote to shared memory by stores and copy_async (that it waited for) may be read by wgmma and tensor_store";
  let description = [{Each writing thread needs it before the barrier behind which those start. PTX: fence.proxy.async.shared::cta.}];
  let assemblyFormat = "attr-dict";
}

//===-- The tensor memory accelerator -------------------------------------------------===//

def Kernel_TensorLoadOp : Kernel_DeviceOp<"tensor_load", [AttrSizedOperandSegments]> {
  let summary = "starts a copy of a box of tensor map `map` to shared memory; its bytes, those outside included, are counted at the mbarrier";
  let description = [{
    One thread issues it. `coordinates`: of the box's first element, innermost first (i32). `offsets`: of the position in the filter, W first (i16; im2col only). With
    `blocks`, a mask (i16), the same goes to the same addresses and barriers of all these blocks of the cluster. PTX: cp.async.bulk.tensor.
  }];
  let arguments = (ins Kernel_Shared:$to, Kernel_Shared:$barrier, I32Attr:$map, Variadic<I32>:$coordinates, Variadic<I16>:$offsets, Optional<I16>:$blocks);
  let assemblyFormat = "$to `,` $barrier `map` $map `[` $coordinates `]` (`im2col` `[` $offsets^ `]`)? (`blocks` $blocks^)? attr-dict";
  let hasVerifier = 1;
}
def Kernel_TensorPrefetchOp : Kernel_DeviceOp<"tensor_prefetch"> {
  let summary = "fetches the tensor map itself";
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
  let summary = "the thread's stores since the last commit become a group";
  let assemblyFormat = "attr-dict";
}
def Kernel_TensorStoreWaitOp : Kernel_DeviceOp<"tensor_store_wait"> {
  let summary = "waits until at most `pending` of the thread's groups are under way; with `read`, until their shared memory has been read";
  let arguments = (ins I32Attr:$pending, UnitAttr:$read);
  let assemblyFormat = "$pending (`read` $read^)? attr-dict";
}

//===-- Products of a warpgroup ---------------------------------------------------------===//

def Kernel_MatrixLayoutAttr : AttrDef<Kernel_Dialect, "MatrixLayout"> {
  let mnemonic = "matrix_layout";
  let summary = "how an operand of wgmma lies in shared memory";
  let description = [{
    Without `transposed` k is contiguous: with swizzle b128 a row is 128 bytes (64 16-bit elements of k), 8 rows are an atom of 1024 bytes, the next 8 rows lie
    `stride` bytes on; `leading` says nothing. With `transposed` rows (of B: columns) are contiguous: an atom is 64 of them by 8 of k, the next 64 lie `leading` bytes on, the
    next 8 of k `stride`. b64 and b32 are the same with rows of 64 and 32 bytes. With none, an atom is 8 rows of 16 bytes: without `transposed` the next 8 of k lie `leading` bytes on,
    the next 8 rows `stride`; with it the next 8 rows lie `stride` bytes on, the next 8 of k `leading`. PTX ISA, "Asynchronous warpgroup level majorness and strides".
  }];
  let parameters = (ins EnumParameter<Kernel_Swizzle>:$swizzle, "int64_t":$leading, "int64_t":$stride, "bool":$transposed);
  let assemblyFormat = "`<` $swizzle `leading` $leading `stride` $stride `transposed` $transposed `>`";
}

def Kernel_WgmmaFenceOp : Kernel_DeviceOp<"wgmma_fence"> {
  let summary = "before the first wgmma, and after registers of its operands were written otherwise";
  let assemblyFormat = "attr-dict";
}
def Kernel_WgmmaOp : Kernel_DeviceOp<"wgmma"> {
  let summary = "starts D = A B + C of a warpgroup (128 threads): A is 64 x k, B k x n, both in shared memory, C and D 64 x n in f32; k is 32 bytes of elements";
  let description = [{
    Without C, D = A B. A and B are of type `element`; B of `elementB` where it is given (e4m3 and e5m2 go together; both need k contiguous).
    The tiles start `aOffset` and `bOffset` bytes behind the pointers, which are where atoms start; the k of one wgmma in a row of 128 bytes are chosen so (32 bytes each: 16 of f16 and bf16, 32 of e4m3 and
    e5m2). n is a multiple of 8 up to 256; a thread has
    n / 2 sums: sum 4 j + 2 h + p of lane l of warp w at row 16 w + l / 4 + 8 h, column 8 j + 2 (l mod 4) + p. Products are exact, sums in f32. D must not be
    touched, nor shared memory written, before wgmma_wait says so. PTX: wgmma.mma_async.

    Sums of 8-bit floats have fewer bits: each wgmma aligns its products and C to the largest exponent among them, cuts them 13 bits below it, and so its sum (DeepSeek-V3 Technical Report,
    3.5.2; MMA-Sim, arXiv 2511.10909, measured H100: 13 fractional bits, then the format 1-8-13). What is to be more precise is summed elsewhere every few wgmmas.
  }];
  let arguments = (ins Kernel_MmaType:$element, Kernel_Shared:$a, I32Attr:$aOffset, Kernel_MatrixLayoutAttr:$aLayout, Kernel_Shared:$b, I32Attr:$bOffset,
                   Kernel_MatrixLayoutAttr:$bLayout, Variadic<F32>:$c, OptionalAttr<Kernel_MmaType>:$elementB);
  let results = (outs Variadic<F32>:$d);
  let assemblyFormat = "$element (`by` $elementB^)? $a `[` $aOffset `]` $aLayout `,` $b `[` $bOffset `]` $bLayout `(` $c `)` attr-dict `:` type($d)";
  let extraClassDeclaration = [{
    ::mpc::kernel::MmaType typeOfB() { return getElementB().value_or(getElement()); }
    /// Of 8-bit floats.
    bool isFloat8() { return getElement() == MmaType::E4M3 || getElement() == MmaType::E5M2; }
  }];
  let hasVerifier = 1;
}
def Kernel_WgmmaCommitOp : Kernel_DeviceOp<"wgmma_commit"> {
  let summary = "the warpgroup's wgmmas since the last commit become a group";
  let assemblyFormat = "attr-dict";
}
def Kernel_WgmmaWaitOp : Kernel_DeviceOp<"wgmma_wait"> {
  let summary = "waits until at most `pending` of the warpgroup's groups are under way; gives their sums, which may be used from here on";
  let description = [{With `pending` 0. Otherwise the sums only pass through, for the next wgmma.}];
  let arguments = (ins I32Attr:$pending, Variadic<F32>:$sums);
  let results = (outs Variadic<F32>:$results);
  let assemblyFormat = "$pending `(` $sums `)` attr-dict (`:` type($results)^)?";
  let hasVerifier = 1;
}

//===-- Warpgroups of different kinds, clusters --------------------------------------------===//

def Kernel_SetRegistersOp : Kernel_DeviceOp<"set_registers"> {
  let summary = "from here on each thread of the warpgroup has so many registers (24 to 240, a multiple of 8)";
  let description = [{PTX: setmaxnreg.inc with `increase`, else .dec. What others gave back first may be taken.}];
  let arguments = (ins I32Attr:$count, UnitAttr:$increase);
  let assemblyFormat = "$count (`increase` $increase^)? attr-dict";
  let hasVerifier = 1;
}
def Kernel_StoreMatrixOp : Kernel_DeviceOp<"store_matrix"> {
  let summary = "1, 2 or 4 matrices of 8x8 16-bit elements from the fragments of a warp to shared memory";
  let description = [{Addresses and fragments as of load_matrix. PTX: stmatrix.}];
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
