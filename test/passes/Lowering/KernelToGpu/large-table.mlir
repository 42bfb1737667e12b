// RUN: mpc-opt %s --mpc-set-target=name=sm_80 --mpc-plan-loops --mpc-emit-kernels --canonicalize --cse | FileCheck %s

// Threads count the eight points of the space in 32 bits. The table has 2^31 elements, and places in it have 64 bits.
// CHECK: kernel.dispatch pointwise "gather"{{.*}}loops = #kernel.loops<points 8
// CHECK-LABEL: llvm.func @k0(
// CHECK: llvm.load {{.*}} : !llvm.ptr<1> -> i64
// CHECK: arith.minsi %{{.*}}, %c2147483647_i64 : i64
// CHECK: llvm.getelementptr inbounds %arg0[%{{.*}}] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
// CHECK: llvm.return
func.func @gather(%x: tensor<2147483648xf32>, %i: tensor<8xi64>) -> tensor<8xf32> {
  %r = kernel.dispatch pointwise "gather" (%x, %i) : (tensor<2147483648xf32>, tensor<8xi64>) -> (tensor<8xf32>) {
  ^bb0(%a: tensor<2147483648xf32>, %b: tensor<8xi64>):
    %0 = graph.gather %a, %b {axis = 0 : i64} : (tensor<2147483648xf32>, tensor<8xi64>) -> tensor<8xf32>
    kernel.yield %0 : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}
