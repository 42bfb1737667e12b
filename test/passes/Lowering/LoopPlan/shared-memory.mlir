// RUN: mpc-opt %s --mpc-set-target=name=sm_60 --mpc-plan-loops | FileCheck %s

// Eight warps exchange the sums of 256 columns. Those of eight reductions are 64 KiB and do not fit the 48 KiB of a
// block, so it has half as many threads.
// CHECK: loops = #kernel.loops<columns 4096x65536 order = [0, 1] vector = 8 threads = 4x32>
func.func @sums(%x: tensor<4096x65536xf16>) -> (tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>) {
  %r:8 = kernel.dispatch reduction "sums" (%x) : (tensor<4096x65536xf16>) -> (tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>) {
  ^bb0(%a: tensor<4096x65536xf16>):
    %abs = graph.abs %a : tensor<4096x65536xf16>
    %neg = graph.neg %a : tensor<4096x65536xf16>
    %0 = graph.reduce_sum %a {axes = array<i64: 0>, keepdims = false} : (tensor<4096x65536xf16>) -> tensor<65536xf16>
    %1 = graph.reduce_max %a {axes = array<i64: 0>, keepdims = false} : (tensor<4096x65536xf16>) -> tensor<65536xf16>
    %2 = graph.reduce_min %a {axes = array<i64: 0>, keepdims = false} : (tensor<4096x65536xf16>) -> tensor<65536xf16>
    %3 = graph.reduce_mean %a {axes = array<i64: 0>, keepdims = false} : (tensor<4096x65536xf16>) -> tensor<65536xf16>
    %4 = graph.reduce_sum %abs {axes = array<i64: 0>, keepdims = false} : (tensor<4096x65536xf16>) -> tensor<65536xf16>
    %5 = graph.reduce_max %abs {axes = array<i64: 0>, keepdims = false} : (tensor<4096x65536xf16>) -> tensor<65536xf16>
    %6 = graph.reduce_min %abs {axes = array<i64: 0>, keepdims = false} : (tensor<4096x65536xf16>) -> tensor<65536xf16>
    %7 = graph.reduce_sum %neg {axes = array<i64: 0>, keepdims = false} : (tensor<4096x65536xf16>) -> tensor<65536xf16>
    kernel.yield %0, %1, %2, %3, %4, %5, %6, %7 : tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>
  }
  return %r#0, %r#1, %r#2, %r#3, %r#4, %r#5, %r#6, %r#7 : tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>
}

// Six transposes of f64 would have tiles of 50 KiB, so the threads walk single points.
// CHECK: loops = #kernel.loops<points
// CHECK-NOT: tiles
func.func @transposes(%x: tensor<64x64xf64>) -> (tensor<64x64xf64>, tensor<64x64xf64>, tensor<64x64xf64>, tensor<64x64xf64>, tensor<64x64xf64>, tensor<64x64xf64>) {
  %r:6 = kernel.dispatch pointwise "transposes" (%x) : (tensor<64x64xf64>) -> (tensor<64x64xf64>, tensor<64x64xf64>, tensor<64x64xf64>, tensor<64x64xf64>, tensor<64x64xf64>, tensor<64x64xf64>) {
  ^bb0(%a: tensor<64x64xf64>):
    %t = graph.transpose %a {permutation = array<i64: 1, 0>} : (tensor<64x64xf64>) -> tensor<64x64xf64>
    %0 = graph.neg %t : tensor<64x64xf64>
    %1 = graph.abs %t : tensor<64x64xf64>
    %2 = graph.exp %t : tensor<64x64xf64>
    %3 = graph.sqrt %t : tensor<64x64xf64>
    %4 = graph.tanh %t : tensor<64x64xf64>
    %5 = graph.log %t : tensor<64x64xf64>
    kernel.yield %0, %1, %2, %3, %4, %5 : tensor<64x64xf64>, tensor<64x64xf64>, tensor<64x64xf64>, tensor<64x64xf64>, tensor<64x64xf64>, tensor<64x64xf64>
  }
  return %r#0, %r#1, %r#2, %r#3, %r#4, %r#5 : tensor<64x64xf64>, tensor<64x64xf64>, tensor<64x64xf64>, tensor<64x64xf64>, tensor<64x64xf64>, tensor<64x64xf64>
}
