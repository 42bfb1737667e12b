// RUN: mpc-opt %s --mpc-form-dispatches --mpc-find-reuse --mpc-plan-arena --mpc-verify-arena --split-input-file | FileCheck %s --check-prefixes=CHECK,HOST
// RUN: mpc-opt %s --mpc-set-target=name=sm_80 --mpc-form-dispatches --mpc-schedule --mpc-find-reuse --mpc-plan-arena --mpc-verify-arena --split-input-file | FileCheck %s --check-prefixes=CHECK,GPU

// The buffers that mpc-find-reuse finds are shared. On a GPU the launch of the product computes what follows it.
// HOST: kernel.plan = #kernel.plan<arena_bytes = 320, state_bytes = 64, constant_bytes = 0, temporary_bytes = 256, peak_bytes = 320, saved_bytes = 0>
// HOST: kernel.dispatch contraction "matmul"{{.*}}args = array<i64: 64, 0, 192>
// HOST: kernel.dispatch pointwise "exp"{{.*}}args = array<i64: 192, 192>, in_place = array<i64: 0>, may_reuse = [array<i64: 0>]
// GPU: kernel.plan = #kernel.plan<arena_bytes = 320,
// GPU: kernel.dispatch contraction "matmul+exp"{{.*}}args = array<i64: 64, 0, 192>
module {
  train.variable @w parameter : tensor<4x3xf32> = #train.fill<0.5 : f64>
  func.func @predict(%x: tensor<8x4xf32>) -> tensor<8x3xf32> {
    %w = train.read @w : tensor<4x3xf32>
    %0 = graph.matmul %x, %w : (tensor<8x4xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
    %1 = graph.exp %0 : tensor<8x3xf32>
    return %1 : tensor<8x3xf32>
  }
}

// -----
// A view is no obstacle.
// CHECK: kernel.plan = #kernel.plan<arena_bytes = 2048,
// CHECK: kernel.dispatch pointwise "exp"{{.*}}args = array<i64: 0, 1024>
// CHECK: kernel.dispatch pointwise "neg"{{.*}}args = array<i64: 1024, 1024>, in_place = array<i64: 0>, may_reuse = [array<i64: 0>]
func.func @view(%x: tensor<64x4xf32>) -> tensor<256xf32> {
  %0 = graph.exp %x : tensor<64x4xf32>
  %1 = graph.reshape %0 : tensor<64x4xf32> to tensor<256xf32>
  %2 = graph.neg %1 : tensor<256xf32>
  return %2 : tensor<256xf32>
}

// -----
// A transpose reads at other indices than it writes.
// CHECK: kernel.plan = #kernel.plan<arena_bytes = 3072,
// CHECK: kernel.dispatch reduction "reduce_sum"{{.*}}args = array<i64: 0, 2048>
// CHECK: kernel.dispatch pointwise "transpose"{{.*}}args = array<i64: 2048, 0>}
func.func @moved(%x: tensor<64x4x2xf32>) -> tensor<4x64xf32> {
  %0 = graph.reduce_sum %x {axes = array<i64: 2>, keepdims = false} : (tensor<64x4x2xf32>) -> tensor<64x4xf32>
  %1 = graph.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<64x4xf32>) -> tensor<4x64xf32>
  return %1 : tensor<4x64xf32>
}

// -----
// Weight and momentum are updated in place.
// CHECK: kernel.plan = #kernel.plan<arena_bytes = 192, state_bytes = 128, constant_bytes = 0, temporary_bytes = 64, peak_bytes = 192, saved_bytes = 0>
// CHECK: kernel.dispatch pointwise "add+sub"{{.*}}args = array<i64: 64, 128, 0, 64, 0>, in_place = array<i64: 0, 2>
// CHECK-NOT: "assign"
// CHECK: return
module {
  train.variable @w parameter : tensor<4xf32> = #train.fill<0.5 : f64>
  train.variable @m slot : tensor<4xf32> = #train.fill<0.0 : f64>
  func.func @update(%g: tensor<4xf32>) {
    %w = train.read @w : tensor<4xf32>
    %m = train.read @m : tensor<4xf32>
    %0 = graph.add %m, %g : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %1 = graph.sub %w, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    train.assign @w, %1 : tensor<4xf32>
    train.assign @m, %0 : tensor<4xf32>
    return
  }
}
