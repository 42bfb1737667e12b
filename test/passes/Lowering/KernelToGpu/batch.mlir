// RUN: mpc-opt %s --mpc-set-target=name=sm_90a --mpc-plan-loops --mpc-emit-kernels --canonicalize --cse | FileCheck %s

// Two members compute the same, so blocks 0 and 1 are theirs and block 2 is the reduction's. A block has 256 threads, of which the reduction uses 128.
// CHECK: kernel.dispatch batch "b"{{.*}}launches = [#kernel.launch<@kernels0::@k0 grid = 3, 1, 1
// Emission leaves the members as they are: what is in place is said by the batch.
// CHECK: kernel.dispatch pointwise "r"({{[^{]*}}) {loops = #kernel.loops<points 32x32 order = [0 to 1] parallel = 1 vector = 4 threads = 1x256>} : (
// CHECK: kernel.dispatch batch "c"{{.*}}@k1 

// CHECK-LABEL: llvm.func @k0(
// CHECK-SAME: %[[X:arg0]]: !llvm.ptr<1> {llvm.align = 64 : i64, llvm.noalias}
// CHECK-SAME: %[[Y:arg1]]: !llvm.ptr<1> {llvm.align = 64 : i64, llvm.noalias}
// CHECK-SAME: kernel.entry = #kernel.entry<threads = 256>
// CHECK: %[[BLOCK:.*]] = kernel.block_id x
// CHECK: %[[TWO:.*]] = arith.cmpi ult, %[[BLOCK]], %c2_i32
// CHECK: scf.if %[[TWO]]
// CHECK: arith.cmpi ult, %[[BLOCK]], %c1_i32
// CHECK: arith.select %{{.*}}, %[[X]], %[[Y]] : !llvm.ptr<1>
// CHECK-NOT: kernel.barrier
// CHECK-COUNT-4: llvm.store
// CHECK-NOT: llvm.store
// CHECK: arith.subi %[[BLOCK]], %c2_i32
// CHECK: scf.if
// CHECK: %[[THREAD:.*]] = kernel.thread_id
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[THREAD]], %c128_i32
// CHECK: scf.if %[[INSIDE]]
// CHECK-COUNT-5: kernel.shuffle
// CHECK: llvm.store
// CHECK-NOT: kernel.block_id
// CHECK: llvm.return
func.func @f(%x: tensor<32x32xf32>, %y: tensor<32x32xf32>, %z: tensor<16xf32>) -> (tensor<32x32xf32>, tensor<32x32xf32>, tensor<f32>) {
  %0:3 = kernel.dispatch batch "b" (%x, %y, %z) {in_place = array<i64: 0, 1, -1>} : (tensor<32x32xf32>, tensor<32x32xf32>, tensor<16xf32>) -> (tensor<32x32xf32>, tensor<32x32xf32>, tensor<f32>) {
  ^bb0(%a: tensor<32x32xf32>, %b: tensor<32x32xf32>, %c: tensor<16xf32>):
    %1 = kernel.dispatch pointwise "r" (%a) : (tensor<32x32xf32>) -> tensor<32x32xf32> {
    ^bb0(%d: tensor<32x32xf32>):
      %4 = graph.relu %d : tensor<32x32xf32>
      kernel.yield %4 : tensor<32x32xf32>
    }
    %2 = kernel.dispatch pointwise "s" (%b) : (tensor<32x32xf32>) -> tensor<32x32xf32> {
    ^bb0(%d: tensor<32x32xf32>):
      %4 = graph.relu %d : tensor<32x32xf32>
      kernel.yield %4 : tensor<32x32xf32>
    }
    %3 = kernel.dispatch reduction "t" (%c) : (tensor<16xf32>) -> tensor<f32> {
    ^bb0(%d: tensor<16xf32>):
      %4 = graph.reduce_sum %d {axes = array<i64: 0>, keepdims = false} : (tensor<16xf32>) -> tensor<f32>
      kernel.yield %4 : tensor<f32>
    }
    kernel.yield %1, %2, %3 : tensor<32x32xf32>, tensor<32x32xf32>, tensor<f32>
  }
  return %0#0, %0#1, %0#2 : tensor<32x32xf32>, tensor<32x32xf32>, tensor<f32>
}

// The threads of each member combine their sums in shared memory, of which a block has only as much as one member needs.
// CHECK-LABEL: llvm.func @k1(
// CHECK: kernel.shared
// CHECK-SAME: 256
// CHECK-NOT: kernel.shared
// CHECK: scf.if
// CHECK-COUNT-16: kernel.shuffle
// CHECK: kernel.barrier
// CHECK: llvm.store {{.*}} f32, !llvm.ptr<1>
// CHECK: scf.if
// CHECK-COUNT-16: kernel.shuffle
// CHECK: kernel.barrier
// CHECK: llvm.store {{.*}} f32, !llvm.ptr<1>
// CHECK-NOT: kernel.barrier
// CHECK-NOT: kernel.shared
// CHECK: llvm.return
func.func @shared(%x: tensor<256x16xf32>, %y: tensor<256x48xf32>) -> (tensor<16xf32>, tensor<48xf32>) {
  %0:2 = kernel.dispatch batch "c" (%x, %y) : (tensor<256x16xf32>, tensor<256x48xf32>) -> (tensor<16xf32>, tensor<48xf32>) {
  ^bb0(%a: tensor<256x16xf32>, %b: tensor<256x48xf32>):
    %1 = kernel.dispatch reduction "r" (%a) : (tensor<256x16xf32>) -> tensor<16xf32> {
    ^bb0(%d: tensor<256x16xf32>):
      %4 = graph.reduce_sum %d {axes = array<i64: 0>, keepdims = false} : (tensor<256x16xf32>) -> tensor<16xf32>
      kernel.yield %4 : tensor<16xf32>
    }
    %2 = kernel.dispatch reduction "s" (%b) : (tensor<256x48xf32>) -> tensor<48xf32> {
    ^bb0(%d: tensor<256x48xf32>):
      %4 = graph.reduce_sum %d {axes = array<i64: 0>, keepdims = false} : (tensor<256x48xf32>) -> tensor<48xf32>
      kernel.yield %4 : tensor<48xf32>
    }
    kernel.yield %1, %2 : tensor<16xf32>, tensor<48xf32>
  }
  return %0#0, %0#1 : tensor<16xf32>, tensor<48xf32>
}
