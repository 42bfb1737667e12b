// RUN: mpc-opt --mpc-device-to-emulator %s | FileCheck %s

// CHECK-LABEL: llvm.func @barriers(
// CHECK: llvm.call @mpc_emu_mbarrier_init(%[[THREAD:[^,]*]], %{{.*}}, %{{.*}}, %{{.*}}) : (!llvm.ptr, !llvm.ptr, i32, i32) -> ()
// CHECK: llvm.call @mpc_emu_mbarrier_fence(%[[THREAD]])
// CHECK: llvm.call @mpc_emu_set_registers(
// CHECK: llvm.call @mpc_emu_mbarrier_expect(
// CHECK: llvm.call @mpc_emu_mbarrier_arrive(
// CHECK: llvm.call @mpc_emu_mbarrier_wait(
// CHECK: llvm.call @mpc_emu_async_fence(
// The granule is 8, and 384 threads start with 168 registers each.
// CHECK: llvm.mlir.global external constant @barriers.about("mpc-emulated 1\0Athreads 384\0Abuffers 0\0Agranule 8\0Ashared 8 8\0Aasynchronous 168\0Asite
llvm.func @barriers() attributes {kernel.entry = #kernel.entry<threads = 384>} {
  %bar = kernel.shared 8 {alignment = 8 : i64}
  %parity = llvm.mlir.constant(0 : i32) : i32
  kernel.mbarrier_init %bar, 2
  kernel.mbarrier_fence
  kernel.set_registers 160
  kernel.mbarrier_expect %bar, 4096
  kernel.mbarrier_arrive %bar
  kernel.mbarrier_wait %bar, %parity
  kernel.async_fence
  llvm.return
}

// Products that pass on their sums share an array.
// CHECK-LABEL: llvm.func @products(
// CHECK: %[[SUMS:.*]] = llvm.alloca %{{.*}} x f32 : (i32) -> !llvm.ptr
// CHECK-NOT: llvm.alloca
// CHECK: llvm.call @mpc_emu_wgmma_fence(
// CHECK: llvm.store %{{.*}}, %{{.*}} : f32, !llvm.ptr
// b128 is encoded as 3, and transposed as 259. There are 4 sums, so there are 8 columns.
// CHECK: llvm.mlir.constant(32 : i32)
// CHECK: llvm.mlir.constant(3 : i32)
// CHECK: llvm.mlir.constant(259 : i32)
// CHECK: llvm.mlir.constant(4096 : i32)
// CHECK: llvm.mlir.constant(8 : i32)
// CHECK: llvm.call @mpc_emu_wgmma({{.*}}, %[[SUMS]], %{{.*}})
// CHECK: llvm.load %{{.*}} : !llvm.ptr -> f32
// CHECK: llvm.call @mpc_emu_wgmma({{.*}}, %[[SUMS]], %{{.*}})
// CHECK: llvm.call @mpc_emu_wgmma_commit(
// CHECK: llvm.call @mpc_emu_wgmma_wait(
llvm.func @products(%x: !llvm.ptr<1>) attributes {kernel.entry = #kernel.entry<threads = 128>} {
  %s = kernel.shared 8192 {alignment = 1024 : i64}
  %z = llvm.mlir.constant(0.0 : f32) : f32
  kernel.wgmma_fence
  %d:4 = kernel.wgmma bf16 %s[32] <b128 leading 0 stride 1024 transposed false>, %s[0] <b128 leading 4096 stride 1024 transposed true> (%z, %z, %z, %z) : f32, f32, f32, f32
  %e:4 = kernel.wgmma bf16 %s[32] <b128 leading 0 stride 1024 transposed false>, %s[0] <b128 leading 4096 stride 1024 transposed true> (%d#0, %d#1, %d#2, %d#3) : f32, f32, f32, f32
  kernel.wgmma_commit
  %f:4 = kernel.wgmma_wait 0 (%e#0, %e#1, %e#2, %e#3) : f32, f32, f32, f32
  llvm.store %f#3, %x : f32, !llvm.ptr<1>
  llvm.return
}

// Registers of A go through the thread's state; 65536 says so.
// CHECK-LABEL: llvm.func @registers(
// CHECK: llvm.store %{{.*}}, %{{.*}} : i32, !llvm.ptr
// CHECK: llvm.mlir.zero : !llvm.ptr
// CHECK: llvm.mlir.constant(65536 : i32)
// CHECK: llvm.call @mpc_emu_wgmma(
llvm.func @registers(%x: !llvm.ptr<1>) attributes {kernel.entry = #kernel.entry<threads = 128>} {
  %r = kernel.thread_id
  %s = kernel.shared 8192 {alignment = 1024 : i64}
  kernel.wgmma_fence
  %d:4 = kernel.wgmma bf16 registers(%r, %r, %r, %r), %s[0] <b128 leading 4096 stride 1024 transposed true> () : f32, f32, f32, f32
  kernel.wgmma_commit
  %f:4 = kernel.wgmma_wait 0 (%d#0, %d#1, %d#2, %d#3) : f32, f32, f32, f32
  llvm.store %f#3, %x : f32, !llvm.ptr<1>
  llvm.return
}

// Tensor maps go into the description. Coordinates are padded to five, and offsets to three.
// CHECK-LABEL: llvm.func @tensors(
// CHECK: llvm.call @mpc_emu_tensor_load({{.*}}) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32) -> ()
// CHECK: %[[BY:.*]] = llvm.zext %{{.*}} : i16 to i32
// CHECK: llvm.call @mpc_emu_tensor_load({{.*}}, %[[BY]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
// CHECK: llvm.call @mpc_emu_tensor_store(
// CHECK: llvm.call @mpc_emu_tensor_store_commit(
// CHECK: llvm.call @mpc_emu_tensor_store_wait(
// CHECK: llvm.call @mpc_emu_store_matrix(
// CHECK: @tensors.about({{.*}}\0Amap 0 2 3 0 2 128 100 256 64 32 1 1\0Amap 0 2 1 8 3 16 10 4 32 320 16 1 2 1 -1 -1\0Aasynchronous
llvm.func @tensors(%x: !llvm.ptr<1>) attributes {kernel.entry = #kernel.entry<threads = 128, maps = [
    #kernel.tensor_map<0 : f16 sizes [128, 100] strides [256] box [64, 32] steps [1, 1] b128>,
    #kernel.tensor_map<0 : bf16 sizes [16, 10, 4] strides [32, 320] box [16] steps [1, 2, 1] b32 im2col 8 lower [-1] upper [-1]>]>} {
  %s = kernel.shared 8192 {alignment = 1024 : i64}
  %bar = kernel.shared 8 {alignment = 8 : i64}
  %c = llvm.mlir.constant(0 : i32) : i32
  %by = llvm.mlir.constant(1 : i16) : i16
  kernel.tensor_prefetch 0
  kernel.tensor_load %s, %bar map 0 [%c, %c]
  kernel.tensor_load %s, %bar map 1 [%c, %c, %c] im2col [%by]
  kernel.tensor_store %s map 0 [%c, %c]
  kernel.tensor_store_commit
  kernel.tensor_store_wait 0 read
  kernel.store_matrix %s, %c
  llvm.return
}

// Without a block an op means its own block, which is -1. Without a mask of blocks it means its own block too, which is 0.
// CHECK-LABEL: llvm.func @cluster(
// CHECK: %[[RANK:.*]] = llvm.call @mpc_emu_cluster_rank(
// CHECK: llvm.call @mpc_emu_cluster_barrier(
// CHECK: llvm.call @mpc_emu_mbarrier_arrive(%{{.*}}, %{{.*}}, %[[RANK]], %{{.*}})
// CHECK: %[[OWN:.*]] = llvm.mlir.constant(-1 : i32)
// CHECK: llvm.call @mpc_emu_mbarrier_arrive(%{{.*}}, %{{.*}}, %[[OWN]], %{{.*}})
// CHECK: %[[MASK:.*]] = llvm.zext %{{.*}} : i16 to i32
// CHECK: llvm.call @mpc_emu_tensor_load({{.*}}, %[[MASK]], %{{.*}})
// CHECK: @cluster.about({{.*}}\0Acluster 2\0Amap
llvm.func @cluster(%x: !llvm.ptr<1>) attributes {kernel.entry = #kernel.entry<threads = 128, cluster = 2, maps = [
    #kernel.tensor_map<0 : f16 sizes [64] box [64] steps [1] b128>]>} {
  %s = kernel.shared 1024 {alignment = 1024 : i64}
  %bar = kernel.shared 8 {alignment = 8 : i64}
  %c = llvm.mlir.constant(0 : i32) : i32
  %mask = llvm.mlir.constant(3 : i16) : i16
  %rank = kernel.cluster_rank
  kernel.cluster_barrier
  kernel.mbarrier_arrive %bar block %rank
  kernel.mbarrier_arrive %bar
  kernel.tensor_load %s, %bar map 0 [%c] blocks %mask
  llvm.return
}
