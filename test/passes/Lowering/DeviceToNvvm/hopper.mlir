// RUN: mpc-opt %s --mpc-set-target=name=sm_90a --mpc-device-to-nvvm | FileCheck %s

// A descriptor is the address in units of 16 bytes plus constants. A starts 32 bytes on and its k is contiguous; B is transposed. In the high half 0x40000000
// is swizzle 128 and 1024 >> 4 = 64 the stride. The low halves add 1 << 16 and 2 (32 >> 4) for A, and 512 << 16 (8192 >> 4) for B.
// CHECK-LABEL: llvm.func @product
// CHECK-DAG: %[[MASK:.*]] = llvm.mlir.constant(16383 : i32)
// CHECK-DAG: llvm.and %{{.*}}, %[[MASK]]
// CHECK-DAG: %[[LOW:.*]] = llvm.mlir.constant(65538 : i32)
// CHECK-DAG: llvm.add %{{.*}}, %[[LOW]]
// CHECK-DAG: %[[HIGH:.*]] = llvm.mlir.constant(4611686293305294848 : i64)
// CHECK: llvm.mlir.constant(33554432 : i32)
// CHECK: %[[D:.*]] = llvm.inline_asm has_side_effects
// CHECK-SAME: wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {$0,$1,$2,$3}, $8, $9, add, 1, 1, 0, 1;
// CHECK-SAME: "=f,=f,=f,=f,0,1,2,3,l,l,~{memory}"
// CHECK: %[[D0:.*]] = llvm.extractvalue %[[D]][0]
// CHECK: nvvm.wgmma.commit.group.sync.aligned
// The wgmma is under way, so the sums are passed on as they are.
// CHECK: nvvm.wgmma.wait.group.sync.aligned 1
// CHECK-NOT: llvm.inline_asm
// The wgmma is done, so the sums are valid from here on.
// CHECK: nvvm.wgmma.wait.group.sync.aligned 0
// CHECK: %[[S:.*]] = llvm.inline_asm has_side_effects "", "=f,=f,=f,=f,0,1,2,3" %[[D0]],
// CHECK: %[[S3:.*]] = llvm.extractvalue %[[S]][3]
// CHECK: llvm.store %[[S3]]
llvm.func @product(%out: !llvm.ptr<1>, %f: f32) attributes {kernel.entry = #kernel.entry<threads = 128>} {
  %a = kernel.shared 32768 {alignment = 1024 : i64}
  kernel.wgmma_fence
  %d:4 = kernel.wgmma bf16 %a[32] #kernel.matrix_layout<b128 leading 16 stride 1024 transposed false>,
                           %a[0] #kernel.matrix_layout<b128 leading 8192 stride 1024 transposed true> (%f, %f, %f, %f) : f32, f32, f32, f32
  kernel.wgmma_commit
  %w:4 = kernel.wgmma_wait 1 (%d#0, %d#1, %d#2, %d#3) : f32, f32, f32, f32
  %s:4 = kernel.wgmma_wait 0 (%w#0, %w#1, %w#2, %w#3) : f32, f32, f32, f32
  llvm.store %s#3, %out : f32, !llvm.ptr<1>
  llvm.return
}

// Tensor maps become parameters after the pointers.
// CHECK-LABEL: llvm.func @maps
// CHECK-SAME: %{{.*}}: !llvm.ptr<1> {llvm.noalias}, %[[MAP:.*]]: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}, %{{.*}}: !llvm.ptr {
// CHECK-NOT: kernel.
// CHECK-SAME: nvvm.cluster_dim = array<i32: 2, 1, 1>
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %[[MAP]], %{{.*}}, box[%{{.*}}, %{{.*}}] : !llvm.ptr<7>, !llvm.ptr
// CHECK: nvvm.setmaxregister decrease 40
llvm.func @maps(%x: !llvm.ptr<1> {llvm.noalias}) attributes {kernel.entry = #kernel.entry<threads = 128, cluster = 2,
    maps = [#kernel.tensor_map<0 : f16 sizes [64, 64] strides [128] box [64, 64] steps [1, 1] b128>,
                          #kernel.tensor_map<0 : f16 sizes [64] box [64] steps [1] none>]>} {
  %a = kernel.shared 8192 {alignment = 1024 : i64}
  %m = kernel.shared 8
  %i = kernel.cluster_rank
  kernel.tensor_load %a, %m map 0 [%i, %i]
  kernel.set_registers 40
  llvm.return
}
