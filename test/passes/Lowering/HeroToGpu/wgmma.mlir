// RUN: mpc-opt %s --mpc-set-target=name=sm_90a --mpc-emit-kernels --canonicalize --cse | FileCheck %s

// CHECK: kernel.dispatch contraction "cluster"{{.*}}launches = [#kernel.launch<@kernels0::@k0 grid = 512, 1, 1 args = 0, 1, 2>]
// CHECK: kernel.dispatch contraction "turns"{{.*}}launches = [#kernel.launch<@kernels0::@k1 grid = 1024, 1, 1 args = 0, 1, 2>]
// CHECK: kernel.dispatch contraction "conv"{{.*}}launches = [#kernel.launch<@kernels0::@k2 grid = 392, 1, 1 args = 0, 1, 2>]
// CHECK: kernel.dispatch contraction "gather"{{.*}}launches = [#kernel.launch<@kernels0::@k3 grid = 392, 1, 1 args = 0, 1, 2>]
// CHECK: kernel.dispatch contraction "split"{{.*}}launches = [#kernel.launch<@kernels0::@k4 grid = 16, 1, 1 args = 0, 1, -1>, #kernel.launch<@kernels0::@k4_reduce grid = 4, 1, 1 args = -1, 2>]

// Two blocks that are neighbours along m form a cluster and load a half of B's tile each, into both. Each map has the box of its operand's part; a fetch of a stage
// brings A's 128 x 64 and B's 64 x 256 elements.
// CHECK-LABEL: llvm.func @k0(
// CHECK-SAME: kernel.entry = #kernel.entry<threads = 384, resident = 1, cluster = 2, min_blocks = 1, maps = [
// CHECK-SAME: #kernel.tensor_map<0 : f16 sizes[4096, 4096] strides[8192] box[64, 128] steps[1, 1] b128>,
// CHECK-SAME: #kernel.tensor_map<1 : f16 sizes[4096, 4096] strides[8192] box[64, 64] steps[1, 1] b128>,
// CHECK-SAME: #kernel.tensor_map<2 : f16 sizes[4096, 4096] strides[8192] box[64, 64] steps[1, 1] b128>]>
// CHECK: kernel.shared 64 {alignment = 8 : i64}
// CHECK: kernel.shared 229376 {alignment = 1024 : i64}
// One thread initialises the barriers: the producer fills a stage, and the warps of both blocks' consumers empty it.
// CHECK: kernel.cluster_rank
// CHECK: scf.if
// CHECK: kernel.mbarrier_init %{{.*}}, 1{{$}}
// CHECK: kernel.mbarrier_init %{{.*}}, 16{{$}}
// CHECK-COUNT-6: kernel.mbarrier_init
// CHECK-NOT: kernel.mbarrier_init
// CHECK: kernel.mbarrier_fence
// CHECK-NEXT: kernel.tensor_prefetch 0
// CHECK-NEXT: kernel.tensor_prefetch 1
// CHECK-NEXT: kernel.tensor_prefetch 2
// CHECK: kernel.warp_sync
// CHECK-NEXT: kernel.cluster_barrier
// The producer is one thread of a warpgroup that gives its registers away.
// CHECK: scf.if
// CHECK-NEXT: kernel.set_registers 40{{$}}
// CHECK: scf.if
// CHECK: %[[SIZE:.*]] = kernel.grid_size
// CHECK: scf.for {{.*}} to %c256_i32 step %{{.*}} iter_args
// CHECK: scf.for {{.*}} to %c64_i32 step %c1_i32 iter_args
// CHECK: kernel.mbarrier_wait
// CHECK: kernel.mbarrier_expect %{{.*}}, 49152
// CHECK: kernel.tensor_load %{{.*}} map 0[%{{[^]]*}}]{{$}}
// CHECK-COUNT-2: kernel.tensor_load %{{.*}} map 1[%{{[^]]*}}] blocks
// CHECK-NOT: kernel.
// CHECK: } else {
// The consumers multiply 64 of k in four steps. They start the products of a tile before they wait for those of the tile before, whose stage they then release.
// CHECK-NEXT: kernel.set_registers 232 increase
// CHECK: scf.for {{.*}} to %c256_i32 step %{{.*}} iter_args
// CHECK: scf.for {{.*}} to %c64_i32 step %c1_i32 iter_args
// CHECK: kernel.mbarrier_wait
// CHECK: kernel.wgmma_fence
// CHECK: kernel.wgmma f16 %{{.*}}[0] <b128 leading 16 stride 1024 transposed false>, %{{.*}}[0] <b128 leading 8192 stride 1024 transposed true>
// CHECK: kernel.wgmma f16 %{{.*}}[32] <{{.*}}>, %{{.*}}[2048] <
// CHECK: kernel.wgmma f16 %{{.*}}[64] <{{.*}}>, %{{.*}}[4096] <
// CHECK: kernel.wgmma f16 %{{.*}}[96] <{{.*}}>, %{{.*}}[6144] <
// CHECK: kernel.wgmma_commit
// CHECK: kernel.wgmma_wait 1(
// CHECK: scf.if
// CHECK: kernel.mbarrier_arrive %{{.*}} block %
// CHECK: scf.yield
// CHECK: kernel.wgmma_wait 0(
// CHECK: kernel.mbarrier_arrive %{{.*}} block %
// The two consumers store their boxes of 64 x 64 independently, two at a time, each with a barrier of its own.
// CHECK-COUNT-32: arith.truncf
// CHECK: kernel.tensor_store_wait 1 read
// CHECK: kernel.barrier {id = 1 : i32, threads = 128 : i32}
// CHECK: } else {
// CHECK-NEXT: kernel.barrier {id = 2 : i32, threads = 128 : i32}
// CHECK-COUNT-4: kernel.store_matrix
// CHECK-NEXT: kernel.async_fence
// CHECK: kernel.barrier {id = 1 : i32, threads = 128 : i32}
// CHECK: kernel.barrier {id = 2 : i32, threads = 128 : i32}
// CHECK: kernel.tensor_store %{{.*}} map 2
// CHECK-NEXT: kernel.tensor_store_commit
// CHECK-COUNT-3: kernel.tensor_store_commit
// CHECK-NOT: kernel.tensor_store_commit
// CHECK: kernel.tensor_store_wait 0 read
// CHECK: kernel.warp_sync
// CHECK-NEXT: kernel.cluster_barrier
// CHECK-NEXT: llvm.return
func.func @cluster(%a: tensor<4096x4096xf16>, %b: tensor<4096x4096xf16>) -> tensor<4096x4096xf16> {
  %r = kernel.dispatch contraction "cluster" (%a, %b) {schedule = #kernel.contraction<wgmma 128x256x64 stages=4 cluster_m=2>} : (tensor<4096x4096xf16>, tensor<4096x4096xf16>) -> tensor<4096x4096xf16> {
  ^bb0(%0: tensor<4096x4096xf16>, %1: tensor<4096x4096xf16>):
    %h = graph.matmul %0, %1 : (tensor<4096x4096xf16>, tensor<4096x4096xf16>) -> tensor<4096x4096xf16>
    kernel.yield %h : tensor<4096x4096xf16>
  }
  return %r : tensor<4096x4096xf16>
}

// In ping-pong each consumer has a tile of 128 rows, and a barrier passes the turn: it is taken before the products and passed on behind the last. Results of f32
// have no boxes and leave through shared memory, so there is no third map.
// CHECK-LABEL: llvm.func @k1(
// CHECK-SAME: kernel.entry = #kernel.entry<threads = 384, resident = 1, min_blocks = 1, maps = [#kernel.tensor_map<0 : {{[^>]*}}>, #kernel.tensor_map<1 : {{[^>]*}}>]>
// CHECK: kernel.shared 96
// CHECK: kernel.shared 229376 {alignment = 1024 : i64}
// CHECK: kernel.shared 16
// CHECK-COUNT-14: kernel.mbarrier_init
// CHECK-NOT: kernel.mbarrier_init
// CHECK: kernel.mbarrier_fence
// CHECK: kernel.barrier
// CHECK: kernel.set_registers 40{{$}}
// CHECK: kernel.mbarrier_wait
// CHECK: kernel.mbarrier_expect %{{.*}}, 32768
// CHECK: kernel.tensor_load %{{.*}} map 0
// CHECK: kernel.tensor_load %{{.*}} map 1
// CHECK: kernel.set_registers 232 increase
// CHECK: scf.for {{.*}} to %c1024_i32
// CHECK: scf.if
// CHECK: kernel.mbarrier_wait
// CHECK: scf.for {{.*}} to %c64_i32
// CHECK: kernel.mbarrier_wait
// CHECK: kernel.wgmma_fence
// CHECK-COUNT-8: kernel.wgmma f16
// CHECK: kernel.wgmma_commit
// CHECK: kernel.wgmma_wait 1(
// CHECK: kernel.mbarrier_arrive %{{[0-9]+}}{{$}}
// CHECK: scf.yield
// CHECK: kernel.mbarrier_arrive %{{[0-9]+}}{{$}}
// CHECK: kernel.wgmma_wait 0(
// CHECK: kernel.mbarrier_arrive %{{[0-9]+}}{{$}}
// CHECK-NOT: kernel.tensor_store
// CHECK-COUNT-16: llvm.store {{.*}} : vector<2xf32>, !llvm.ptr<3>
// CHECK-NEXT: kernel.warp_sync
// CHECK-COUNT-8: llvm.store {{.*}} : f32, !llvm.ptr<1>
// CHECK: llvm.return
func.func @turns(%a: tensor<4096x4096xf16>, %b: tensor<4096x4096xf16>) -> tensor<4096x4096xf32> {
  %r = kernel.dispatch contraction "turns" (%a, %b) {schedule = #kernel.contraction<wgmma 128x128x64 stages=6 pingpong=1>} : (tensor<4096x4096xf16>, tensor<4096x4096xf16>) -> tensor<4096x4096xf32> {
  ^bb0(%0: tensor<4096x4096xf16>, %1: tensor<4096x4096xf16>):
    %h = graph.matmul %0, %1 {transpose_b} : (tensor<4096x4096xf16>, tensor<4096x4096xf16>) -> tensor<4096x4096xf16>
    %w = graph.cast %h : tensor<4096x4096xf16> to tensor<4096x4096xf32>
    kernel.yield %w : tensor<4096x4096xf32>
  }
  return %r : tensor<4096x4096xf32>
}

// 128 channels are whole boxes of 64, so the tensor memory accelerator finds the 64 positions of a tile in the picture and fills in the padding (im2col).
// CHECK-LABEL: llvm.func @k2(
// CHECK-SAME: kernel.entry = #kernel.entry<threads = 256, resident = 2, min_blocks = 2, maps = [
// CHECK-SAME: #kernel.tensor_map<0 : f16 sizes[128, 28, 28, 32] strides[256, 7168, 200704] box[64] steps[1, 1, 1, 1] b128 im2col 64 lower[-1, -1] upper[-1, -1]>,
// CHECK-SAME: #kernel.tensor_map<1 : f16 sizes[1152, 64] strides[2304] box[64, 64] steps[1, 1] b128>, #kernel.tensor_map<2 :
// CHECK-NOT: kernel.set_registers
// CHECK: scf.for {{.*}} to %c18_i32 step %c1_i32 iter_args
// CHECK: kernel.mbarrier_expect %{{.*}}, 16384
// CHECK: kernel.tensor_load %{{.*}} map 0[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] im2col[%{{.*}}, %{{.*}}]
// CHECK: kernel.tensor_load %{{.*}} map 1[%{{.*}}, %{{.*}}]
// CHECK-COUNT-4: kernel.wgmma f16
// CHECK: kernel.barrier {id = 1 : i32, threads = 128 : i32}
// CHECK-COUNT-4: kernel.store_matrix
// CHECK-NEXT: kernel.async_fence
// CHECK: kernel.barrier {id = 1 : i32, threads = 128 : i32}
// CHECK: kernel.tensor_store %{{.*}} map 2
// CHECK: llvm.return
func.func @conv(%x: tensor<32x28x28x128xf16>, %w: tensor<64x3x3x128xf16>) -> tensor<32x28x28x64xf16> {
  %r = kernel.dispatch contraction "conv" (%x, %w) {schedule = #kernel.contraction<wgmma 64x64x64 stages=6>} : (tensor<32x28x28x128xf16>, tensor<64x3x3x128xf16>) -> tensor<32x28x28x64xf16> {
  ^bb0(%0: tensor<32x28x28x128xf16>, %1: tensor<64x3x3x128xf16>):
    %h = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 1 : i64, layout = #graph<layout channels_last>, weight_channels_last} : (tensor<32x28x28x128xf16>, tensor<64x3x3x128xf16>) -> tensor<32x28x28x64xf16>
    kernel.yield %h : tensor<32x28x28x64xf16>
  }
  return %r : tensor<32x28x28x64xf16>
}

// With 8 channels a tile of k has taps that lie apart, so 128 threads copy the activations; the weights still have a map. A stage is full when every one of these
// threads and the thread that fetches have arrived. Copies of four stages are under way, and what they wrote is announced to the asynchronous proxy.
// CHECK-LABEL: llvm.func @k3(
// CHECK-SAME: maps = [#kernel.tensor_map<1 : f16 sizes[72, 64] strides[144] box[64, 64] steps[1, 1] b128>, #kernel.tensor_map<2 :
// CHECK: kernel.mbarrier_init %{{.*}}, 129
// CHECK: scf.for {{.*}} to %c6_i32 step %c1_i32 iter_args
// CHECK: scf.if
// CHECK: kernel.mbarrier_wait
// CHECK: scf.if
// CHECK: kernel.mbarrier_expect %{{.*}}, 8192
// CHECK: kernel.tensor_load %{{.*}} map 0
// CHECK-COUNT-4: kernel.copy_async %{{.*}}, 16 valid %
// CHECK: }
// CHECK-NEXT: kernel.copy_async_commit
// CHECK-NEXT: kernel.copy_async_wait 4
// CHECK-NEXT: kernel.async_fence
// CHECK: scf.if
// CHECK: kernel.mbarrier_arrive
// CHECK: } else {
// CHECK: scf.for {{.*}} to %c2_i32 step %c1_i32 iter_args
// CHECK-COUNT-4: kernel.wgmma f16
// CHECK: kernel.tensor_store %{{.*}} map 1
// CHECK: llvm.return
func.func @gather(%x: tensor<32x28x28x8xf16>, %w: tensor<64x3x3x8xf16>) -> tensor<32x28x28x64xf16> {
  %r = kernel.dispatch contraction "gather" (%x, %w) {schedule = #kernel.contraction<wgmma 64x64x64 stages=6>} : (tensor<32x28x28x8xf16>, tensor<64x3x3x8xf16>) -> tensor<32x28x28x64xf16> {
  ^bb0(%0: tensor<32x28x28x8xf16>, %1: tensor<64x3x3x8xf16>):
    %h = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 1 : i64, layout = #graph<layout channels_last>, weight_channels_last} : (tensor<32x28x28x8xf16>, tensor<64x3x3x8xf16>) -> tensor<32x28x28x64xf16>
    kernel.yield %h : tensor<32x28x28x64xf16>
  }
  return %r : tensor<32x28x28x64xf16>
}

// Partial sums go to scratch in 16 bytes; the second kernel adds the 16 of them.
// CHECK-LABEL: llvm.func @k4(
// CHECK: scf.for {{.*}} to %c16_i32
// CHECK: scf.for
// CHECK-COUNT-4: kernel.wgmma bf16
// CHECK-NOT: kernel.tensor_store
// CHECK-COUNT-16: llvm.store {{.*}} : vector<2xf32>, !llvm.ptr<3>
// CHECK: kernel.warp_sync
// CHECK-COUNT-2: llvm.store {{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
// CHECK: llvm.return
// CHECK-LABEL: llvm.func @k4_reduce(
// CHECK-SAME: kernel.entry = #kernel.entry<threads = 256
// CHECK: scf.for {{.*}} to %c16_i32 step %c1_i32 iter_args
// CHECK-COUNT-4: arith.addf
// CHECK: scf.yield
// CHECK-COUNT-4: llvm.store {{.*}} : i16, !llvm.ptr<1>
// CHECK: llvm.return
// CHECK-NOT: llvm.func
func.func @split(%a: tensor<64x8192xbf16>, %b: tensor<8192x64xbf16>) -> tensor<64x64xbf16> {
  %r = kernel.dispatch contraction "split" (%a, %b) {schedule = #kernel.contraction<wgmma 64x64x64 stages=6 splits=16>, scratch_bytes = 262144 : i64} : (tensor<64x8192xbf16>, tensor<8192x64xbf16>) -> tensor<64x64xbf16> {
  ^bb0(%0: tensor<64x8192xbf16>, %1: tensor<8192x64xbf16>):
    %h = graph.matmul %0, %1 : (tensor<64x8192xbf16>, tensor<8192x64xbf16>) -> tensor<64x64xbf16>
    kernel.yield %h : tensor<64x64xbf16>
  }
  return %r : tensor<64x64xbf16>
}
