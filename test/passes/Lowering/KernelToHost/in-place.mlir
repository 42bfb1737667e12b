// RUN: mpc-opt %s --mpc-plan-loops --mpc-emit-kernels | FileCheck %s

// A result that shares an operand's buffer is written through the operand's pointer, so that LLVM sees one memory and needs no check.
func.func @update(%w: tensor<1000xf32>, %g: tensor<1000xf32>) -> tensor<1000xf32> {
  %r = kernel.dispatch pointwise "update" (%w, %g) {in_place = array<i64: 0>} : (tensor<1000xf32>, tensor<1000xf32>) -> (tensor<1000xf32>) {
  ^bb0(%a: tensor<1000xf32>, %b: tensor<1000xf32>):
    %0 = graph.sub %a, %b : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32>
    kernel.yield %0 : tensor<1000xf32>
  }
  return %r : tensor<1000xf32>
}
// CHECK-LABEL: llvm.func @k0
// CHECK: %[[W:.*]] = llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr -> !llvm.ptr
// CHECK: %[[G:.*]] = llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr -> !llvm.ptr
// CHECK-NOT: !llvm.ptr -> !llvm.ptr
// CHECK: arith.subf
// CHECK: %[[AT:.*]] = llvm.getelementptr inbounds %[[W]][
// CHECK: llvm.store %{{.*}}, %[[AT]]
