// RUN: mpc-opt %s --mpc-set-target=name=host --mpc-transpose-invariants=least-elements=1 | FileCheck %s
// RUN: mpc-opt %s --mpc-set-target=name=host --mpc-transpose-invariants | FileCheck %s --check-prefix=SMALL
// RUN: mpc-opt %s --mpc-set-target=name=sm_90a --mpc-transpose-invariants=least-elements=1 | FileCheck %s --check-prefix=SMALL

// The weights are transposed once, ahead of the scan; both products read them so.
// CHECK-LABEL: @gradient
// CHECK: %[[T:.*]] = graph.transpose %arg1 {{.*}} -> tensor<3x8xf32>
// CHECK: graph.scan 8 reverse {{.*}} with(%[[T]] : tensor<3x8xf32>)
// CHECK: ^bb0(%{{.*}}: tensor<32x3xf32>, %[[B:.*]]: tensor<3x8xf32>, %{{.*}}: tensor<32x8xf32>):
// CHECK: graph.matmul %{{.*}}, %[[B]] {transpose_b} : (tensor<32x8xf32>, tensor<3x8xf32>) -> tensor<32x3xf32>
// CHECK: graph.matmul %{{.*}}, %[[B]] {transpose_b} : (tensor<32x8xf32>, tensor<3x8xf32>) -> tensor<32x3xf32>
// SMALL-LABEL: @gradient
// SMALL-NOT: graph.transpose
func.func @gradient(%dh0: tensor<32x3xf32>, %w: tensor<8x3xf32>, %dy: tensor<8x32x8xf32>) -> tensor<32x3xf32> {
  %dh = graph.scan 8 reverse carry(%dh0 : tensor<32x3xf32>) with(%w : tensor<8x3xf32>) over(%dy : tensor<8x32x8xf32>) -> (tensor<32x3xf32>) {
  ^bb0(%d: tensor<32x3xf32>, %wb: tensor<8x3xf32>, %dyt: tensor<32x8xf32>):
    %0 = graph.matmul %dyt, %wb : (tensor<32x8xf32>, tensor<8x3xf32>) -> tensor<32x3xf32>
    %1 = graph.relu %dyt : tensor<32x8xf32>
    %2 = graph.matmul %1, %wb : (tensor<32x8xf32>, tensor<8x3xf32>) -> tensor<32x3xf32>
    %3 = graph.add %0, %2 : (tensor<32x3xf32>, tensor<32x3xf32>) -> tensor<32x3xf32>
    %4 = graph.add %d, %3 : (tensor<32x3xf32>, tensor<32x3xf32>) -> tensor<32x3xf32>
    graph.scan_yield %4 : tensor<32x3xf32>
  }
  return %dh : tensor<32x3xf32>
}

// CHECK-LABEL: @halves
// CHECK: graph.transpose %arg1 {{.*}} -> tensor<4x6xf16>
// CHECK: graph.matmul %{{.*}}, %{{.*}} {transpose_b} : (tensor<32x6xf16>, tensor<4x6xf16>) -> tensor<32x4xf16>
func.func @halves(%h: tensor<32x4xf16>, %w: tensor<6x4xf16>, %x: tensor<8x32x6xf16>) -> tensor<32x4xf16> {
  %0 = graph.scan 8 carry(%h : tensor<32x4xf16>) with(%w : tensor<6x4xf16>) over(%x : tensor<8x32x6xf16>) -> (tensor<32x4xf16>) {
  ^bb0(%c: tensor<32x4xf16>, %wb: tensor<6x4xf16>, %xt: tensor<32x6xf16>):
    %a = graph.matmul %xt, %wb : (tensor<32x6xf16>, tensor<6x4xf16>) -> tensor<32x4xf16>
    %b = graph.add %c, %a : (tensor<32x4xf16>, tensor<32x4xf16>) -> tensor<32x4xf16>
    graph.scan_yield %b : tensor<32x4xf16>
  }
  return %0 : tensor<32x4xf16>
}

// Weights that another op reads, too, 24 and 65 rows, seven iterations, f64, and weights that are read as [n, k] already: nothing is transposed.
// CHECK-LABEL: @others
// CHECK-NOT: graph.transpose
// CHECK: return
func.func @others(%x: tensor<32x4xf32>, %w: tensor<4x4xf32>, %few: tensor<24x4xf32>, %rows: tensor<65x4xf32>, %low: tensor<32x4xf64>, %v: tensor<4x4xf64>) -> (tensor<32x4xf32>, tensor<65x4xf32>, tensor<32x4xf32>, tensor<32x4xf64>, tensor<32x4xf32>, tensor<24x4xf32>) {
  %0 = graph.scan 8 carry(%x : tensor<32x4xf32>) with(%w : tensor<4x4xf32>) -> (tensor<32x4xf32>) {
  ^bb0(%h: tensor<32x4xf32>, %wb: tensor<4x4xf32>):
    %a = graph.tanh %wb : tensor<4x4xf32>
    %b = graph.matmul %h, %wb : (tensor<32x4xf32>, tensor<4x4xf32>) -> tensor<32x4xf32>
    %c = graph.matmul %b, %a : (tensor<32x4xf32>, tensor<4x4xf32>) -> tensor<32x4xf32>
    graph.scan_yield %c : tensor<32x4xf32>
  }
  %1 = graph.scan 8 carry(%rows : tensor<65x4xf32>) with(%w : tensor<4x4xf32>) -> (tensor<65x4xf32>) {
  ^bb0(%h: tensor<65x4xf32>, %wb: tensor<4x4xf32>):
    %a = graph.matmul %h, %wb : (tensor<65x4xf32>, tensor<4x4xf32>) -> tensor<65x4xf32>
    graph.scan_yield %a : tensor<65x4xf32>
  }
  %2 = graph.scan 7 carry(%x : tensor<32x4xf32>) with(%w : tensor<4x4xf32>) -> (tensor<32x4xf32>) {
  ^bb0(%h: tensor<32x4xf32>, %wb: tensor<4x4xf32>):
    %a = graph.matmul %h, %wb : (tensor<32x4xf32>, tensor<4x4xf32>) -> tensor<32x4xf32>
    graph.scan_yield %a : tensor<32x4xf32>
  }
  %3 = graph.scan 8 carry(%low : tensor<32x4xf64>) with(%v : tensor<4x4xf64>) -> (tensor<32x4xf64>) {
  ^bb0(%h: tensor<32x4xf64>, %wb: tensor<4x4xf64>):
    %a = graph.matmul %h, %wb : (tensor<32x4xf64>, tensor<4x4xf64>) -> tensor<32x4xf64>
    graph.scan_yield %a : tensor<32x4xf64>
  }
  %4 = graph.scan 8 carry(%x : tensor<32x4xf32>) with(%w : tensor<4x4xf32>) -> (tensor<32x4xf32>) {
  ^bb0(%h: tensor<32x4xf32>, %wb: tensor<4x4xf32>):
    %a = graph.matmul %h, %wb {transpose_b} : (tensor<32x4xf32>, tensor<4x4xf32>) -> tensor<32x4xf32>
    graph.scan_yield %a : tensor<32x4xf32>
  }
  %5 = graph.scan 8 carry(%few : tensor<24x4xf32>) with(%w : tensor<4x4xf32>) -> (tensor<24x4xf32>) {
  ^bb0(%h: tensor<24x4xf32>, %wb: tensor<4x4xf32>):
    %a = graph.matmul %h, %wb : (tensor<24x4xf32>, tensor<4x4xf32>) -> tensor<24x4xf32>
    graph.scan_yield %a : tensor<24x4xf32>
  }
  return %0, %1, %2, %3, %4, %5 : tensor<32x4xf32>, tensor<65x4xf32>, tensor<32x4xf32>, tensor<32x4xf64>, tensor<32x4xf32>, tensor<24x4xf32>
}
