// RUN: mpc-opt %s | mpc-opt | FileCheck %s

// The ops of sm_90a and their attributes print as they parse; layouts have a short form.
// CHECK-LABEL: llvm.func @kernel
// CHECK-SAME: kernel.entry = #kernel.entry<threads = 384, resident = 1, cluster = 2, maps = [
// CHECK-SAME: #kernel.tensor_map<0 : f16 sizes[128, 100] strides[256] box[64, 32] steps[1, 1] b128>,
// CHECK-SAME: #kernel.tensor_map<0 : bf16 sizes[16, 10, 4] strides[32, 320] box[16] steps[1, 2, 1] b32 im2col 8 lower[-1] upper[-1]>]>
llvm.func @kernel(%x: !llvm.ptr<1>) attributes {kernel.entry = #kernel.entry<threads = 384, resident = 1, cluster = 2, maps = [
    #kernel.tensor_map<0 : f16 sizes [128, 100] strides [256] box [64, 32] steps [1, 1] b128>,
    #kernel.tensor_map<0 : bf16 sizes [16, 10, 4] strides [32, 320] box [16] steps [1, 2, 1] b32 im2col 8 lower [-1] upper [-1]>]>} {
  %s = kernel.shared 8192 {alignment = 1024 : i64}
  %bar = kernel.shared 8 {alignment = 8 : i64}
  %c = llvm.mlir.constant(0 : i32) : i32
  %m = llvm.mlir.constant(1 : i16) : i16
  %z = llvm.mlir.constant(0.0 : f32) : f32
  // CHECK: %[[SIZE:.*]] = kernel.grid_size
  %size = kernel.grid_size
  // CHECK: %[[RANK:.*]] = kernel.cluster_rank
  %rank = kernel.cluster_rank
  // CHECK: kernel.mbarrier_init %{{.*}}, 2
  kernel.mbarrier_init %bar, 2
  // CHECK: kernel.mbarrier_fence
  kernel.mbarrier_fence
  // CHECK: kernel.cluster_barrier
  kernel.cluster_barrier
  // CHECK: kernel.set_registers 40{{$}}
  kernel.set_registers 40
  // CHECK: kernel.set_registers 232 increase
  kernel.set_registers 232 increase
  // CHECK: kernel.mbarrier_expect %{{.*}}, 4096
  kernel.mbarrier_expect %bar, 4096
  // CHECK: kernel.mbarrier_arrive %{{[0-9]+}}{{$}}
  kernel.mbarrier_arrive %bar
  // CHECK: kernel.mbarrier_arrive %{{.*}} block %[[RANK]]
  kernel.mbarrier_arrive %bar block %rank
  // CHECK: kernel.mbarrier_wait %{{.*}}, %[[SIZE]]
  kernel.mbarrier_wait %bar, %size
  // CHECK: kernel.async_fence
  kernel.async_fence
  // CHECK: kernel.tensor_prefetch 0
  kernel.tensor_prefetch 0
  // CHECK: kernel.tensor_load %{{.*}}, %{{.*}} map 0[%{{.*}}, %{{.*}}]{{$}}
  kernel.tensor_load %s, %bar map 0 [%c, %c]
  // CHECK: kernel.tensor_load %{{.*}}, %{{.*}} map 0[%{{.*}}, %{{.*}}] blocks %{{.*}}
  kernel.tensor_load %s, %bar map 0 [%c, %c] blocks %m
  // CHECK: kernel.tensor_load %{{.*}}, %{{.*}} map 1[%{{.*}}, %{{.*}}, %{{.*}}] im2col[%{{.*}}]
  kernel.tensor_load %s, %bar map 1 [%c, %c, %c] im2col [%m]
  // CHECK: kernel.wgmma_fence
  kernel.wgmma_fence
  // CHECK: %[[D:.*]]:4 = kernel.wgmma bf16 %{{.*}}[32] <b128 leading 16 stride 1024 transposed false>, %{{.*}}[0] <b128 leading 4096 stride 1024 transposed true>(
  %d:4 = kernel.wgmma bf16 %s[32] #kernel.matrix_layout<b128 leading 16 stride 1024 transposed false>, %s[0] <b128 leading 4096 stride 1024 transposed true> (%z, %z, %z, %z) : f32, f32, f32, f32
  // CHECK: kernel.wgmma f16 registers(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}), %{{.*}}[64] <b128 leading 4096 stride 1024 transposed true>() : f32, f32, f32, f32
  %r:4 = kernel.wgmma f16 registers(%c, %c, %c, %c), %s[64] <b128 leading 4096 stride 1024 transposed true> () : f32, f32, f32, f32
  // CHECK: kernel.wgmma_commit
  kernel.wgmma_commit
  // CHECK: kernel.wgmma_wait 1(%[[D]]#0, %[[D]]#1, %[[D]]#2, %[[D]]#3) : f32, f32, f32, f32
  %w:4 = kernel.wgmma_wait 1 (%d#0, %d#1, %d#2, %d#3) : f32, f32, f32, f32
  // CHECK: kernel.store_matrix %{{.*}}, %{{.*}}
  kernel.store_matrix %s, %c
  // CHECK: kernel.tensor_store %{{.*}} map 0[%{{.*}}, %{{.*}}]
  kernel.tensor_store %s map 0 [%c, %c]
  // CHECK: kernel.tensor_store_commit
  kernel.tensor_store_commit
  // CHECK: kernel.tensor_store_wait 1 read
  kernel.tensor_store_wait 1 read
  // CHECK: kernel.tensor_store_wait 0{{$}}
  kernel.tensor_store_wait 0
  llvm.return
}
