// RUN: mpc-opt %s --mpc-decompose | FileCheck %s
// A view stands between launches, so casts move to where they leave the smaller type in memory.

// CHECK-LABEL: @widening
// CHECK-NEXT: %[[V:.*]] = graph.reshape %{{.*}} : tensor<2x6xf16> to tensor<12xf16>
// CHECK-NEXT: %[[W:.*]] = graph.cast %[[V]] : tensor<12xf16> to tensor<12xf32>
// CHECK-NEXT: return %[[W]]
func.func @widening(%x: tensor<2x6xf16>) -> tensor<12xf32> {
  %0 = graph.cast %x : tensor<2x6xf16> to tensor<2x6xf32>
  %1 = graph.reshape %0 : tensor<2x6xf32> to tensor<12xf32>
  return %1 : tensor<12xf32>
}

// CHECK-LABEL: @narrowing
// CHECK-NEXT: %[[N:.*]] = graph.cast %{{.*}} : tensor<12xf32> to tensor<12xbf16>
// CHECK-NEXT: %[[V:.*]] = graph.reshape %[[N]] : tensor<12xbf16> to tensor<3x4xbf16>
// CHECK-NEXT: return %[[V]]
func.func @narrowing(%x: tensor<12xf32>) -> tensor<3x4xbf16> {
  %0 = graph.reshape %x : tensor<12xf32> to tensor<3x4xf32>
  %1 = graph.cast %0 : tensor<3x4xf32> to tensor<3x4xbf16>
  return %1 : tensor<3x4xbf16>
}
