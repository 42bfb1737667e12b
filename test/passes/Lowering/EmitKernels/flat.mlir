// RUN: mpc-opt %s --mpc-plan-loops --mpc-emit-kernels | FileCheck %s

// Updates of parameters of all shapes are launches of one kernel on the host, whose grid counts the elements. A result in place has other pointers, a bias is not read at the place of the element, and another number of elements in one operand is no flat kernel: these have kernels of their own.
// CHECK-LABEL: func.func @updates
// CHECK: "weight"{{.*}}launches = [#kernel.launch<@kernels0::@k0 grid = 432, 1, 1 grain = 432>]
// CHECK: "bias"{{.*}}launches = [#kernel.launch<@kernels0::@k0 grid = 16, 1, 1 grain = 16>]
// CHECK: "half"{{.*}}@kernels0::@k1 grid = 16, 1, 1
// CHECK: "in place"{{.*}}@kernels0::@k2 grid = 16, 1, 1
// CHECK: "other rate"{{.*}}@kernels0::@k3
// CHECK: "one number"{{.*}}@kernels0::@k4
// CHECK: "reshaped"{{.*}}@kernels0::@k5 grid = 432, 1, 1
func.func @updates(%w: tensor<16x3x3x3xf32>, %dw: tensor<16x3x3x3xf32>, %b: tensor<16xf32>, %db: tensor<16xf32>, %h: tensor<16xf16>, %dh: tensor<16xf16>, %rate: tensor<f32>, %rate16: tensor<f16>, %one: tensor<1xf32>)
    -> (tensor<16x3x3x3xf32>, tensor<16xf32>, tensor<16xf16>, tensor<16xf32>, tensor<16x3x3x3xf32>, tensor<1xf32>, tensor<27x16xf32>) {
  %0 = kernel.dispatch pointwise "weight" (%w, %dw, %rate) : (tensor<16x3x3x3xf32>, tensor<16x3x3x3xf32>, tensor<f32>) -> tensor<16x3x3x3xf32> {
  ^bb0(%x: tensor<16x3x3x3xf32>, %y: tensor<16x3x3x3xf32>, %r: tensor<f32>):
    %a = graph.mul %y, %r : (tensor<16x3x3x3xf32>, tensor<f32>) -> tensor<16x3x3x3xf32>
    %c = graph.sub %x, %a : (tensor<16x3x3x3xf32>, tensor<16x3x3x3xf32>) -> tensor<16x3x3x3xf32>
    kernel.yield %c : tensor<16x3x3x3xf32>
  }
  %1 = kernel.dispatch pointwise "bias" (%b, %db, %rate) : (tensor<16xf32>, tensor<16xf32>, tensor<f32>) -> tensor<16xf32> {
  ^bb0(%x: tensor<16xf32>, %y: tensor<16xf32>, %r: tensor<f32>):
    %a = graph.mul %y, %r : (tensor<16xf32>, tensor<f32>) -> tensor<16xf32>
    %c = graph.sub %x, %a : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    kernel.yield %c : tensor<16xf32>
  }
  %2 = kernel.dispatch pointwise "half" (%h, %dh, %rate16) : (tensor<16xf16>, tensor<16xf16>, tensor<f16>) -> tensor<16xf16> {
  ^bb0(%x: tensor<16xf16>, %y: tensor<16xf16>, %r: tensor<f16>):
    %a = graph.mul %y, %r : (tensor<16xf16>, tensor<f16>) -> tensor<16xf16>
    %c = graph.sub %x, %a : (tensor<16xf16>, tensor<16xf16>) -> tensor<16xf16>
    kernel.yield %c : tensor<16xf16>
  }
  %3 = kernel.dispatch pointwise "in place" (%b, %db, %rate) {in_place = array<i64: 0>} : (tensor<16xf32>, tensor<16xf32>, tensor<f32>) -> tensor<16xf32> {
  ^bb0(%x: tensor<16xf32>, %y: tensor<16xf32>, %r: tensor<f32>):
    %a = graph.mul %y, %r : (tensor<16xf32>, tensor<f32>) -> tensor<16xf32>
    %c = graph.sub %x, %a : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    kernel.yield %c : tensor<16xf32>
  }
  %4 = kernel.dispatch pointwise "other rate" (%w, %dw, %rate) : (tensor<16x3x3x3xf32>, tensor<16x3x3x3xf32>, tensor<f32>) -> tensor<16x3x3x3xf32> {
  ^bb0(%x: tensor<16x3x3x3xf32>, %y: tensor<16x3x3x3xf32>, %r: tensor<f32>):
    %a = graph.mul %x, %r : (tensor<16x3x3x3xf32>, tensor<f32>) -> tensor<16x3x3x3xf32>
    %c = graph.sub %y, %a : (tensor<16x3x3x3xf32>, tensor<16x3x3x3xf32>) -> tensor<16x3x3x3xf32>
    kernel.yield %c : tensor<16x3x3x3xf32>
  }
  %5 = kernel.dispatch pointwise "one number" (%one, %one, %rate) : (tensor<1xf32>, tensor<1xf32>, tensor<f32>) -> tensor<1xf32> {
  ^bb0(%x: tensor<1xf32>, %y: tensor<1xf32>, %r: tensor<f32>):
    %a = graph.mul %y, %r : (tensor<1xf32>, tensor<f32>) -> tensor<1xf32>
    %c = graph.sub %x, %a : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
    kernel.yield %c : tensor<1xf32>
  }
  %6 = kernel.dispatch pointwise "reshaped" (%w, %dw, %rate) : (tensor<16x3x3x3xf32>, tensor<16x3x3x3xf32>, tensor<f32>) -> tensor<27x16xf32> {
  ^bb0(%x: tensor<16x3x3x3xf32>, %y: tensor<16x3x3x3xf32>, %r: tensor<f32>):
    %a = graph.reshape %x : tensor<16x3x3x3xf32> to tensor<27x16xf32>
    %c = graph.reshape %y : tensor<16x3x3x3xf32> to tensor<27x16xf32>
    %d = graph.sub %a, %c : (tensor<27x16xf32>, tensor<27x16xf32>) -> tensor<27x16xf32>
    kernel.yield %d : tensor<27x16xf32>
  }
  return %0, %1, %2, %3, %4, %5, %6 : tensor<16x3x3x3xf32>, tensor<16xf32>, tensor<16xf16>, tensor<16xf32>, tensor<16x3x3x3xf32>, tensor<1xf32>, tensor<27x16xf32>
}

// The kernel has no constant but the places of the buffers and its steps, so that it holds for any number of elements.
// CHECK: llvm.func @k0(%{{.*}}: !llvm.ptr, %[[BEGIN:.*]]: i64, %[[END:.*]]: i64)
// CHECK-NOT: arith.constant {{[2-9]|1[0-9]}}
// CHECK: scf.for %{{.*}} = %[[BEGIN]] to %[[END]]
// CHECK-NOT: arith.{{div|rem}}
// CHECK: llvm.return

// Places in the reshaped operands leave no quotients behind.
// CHECK: llvm.func @k5(%{{.*}}: !llvm.ptr, %[[BEGIN:.*]]: i64, %[[END:.*]]: i64)
// CHECK: scf.for %[[I:[^ ]*]] = %[[BEGIN]] to %[[END]]
// CHECK-NEXT: llvm.getelementptr inbounds %{{.*}}[%[[I]]]
// CHECK-NOT: arith.{{div|rem}}
// CHECK: llvm.return
