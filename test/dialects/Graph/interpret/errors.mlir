// RUN: not mpc-interpret %s --entry=index 2>&1 | FileCheck %s --check-prefix=INDEX
// RUN: not mpc-interpret %s --entry=label 2>&1 | FileCheck %s --check-prefix=LABEL
// RUN: not mpc-interpret %s --entry=missing 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: error: no entry @missing

func.func @index() -> tensor<1xf32> {
  %x = graph.constant dense<0.0> : tensor<3xf32>
  %i = graph.constant dense<-4> : tensor<1xi64>
  // INDEX: errors.mlir:[[@LINE+1]]:8: error: 'graph.gather' op index -4 is out of range for 3 elements
  %y = graph.gather %x, %i {axis = 0 : i64} : (tensor<3xf32>, tensor<1xi64>) -> tensor<1xf32>
  return %y : tensor<1xf32>
}
func.func @label() -> tensor<f32> {
  %x = graph.constant dense<0.0> : tensor<2x3xf32>
  %i = graph.constant dense<[0, 3]> : tensor<2xi64>
  // LABEL: error: 'graph.softmax_cross_entropy' op label 3 of sample 1 is not in [0, 3)
  %y = graph.softmax_cross_entropy %x, %i {reduction = #graph<reduction mean>} : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<f32>
  return %y : tensor<f32>
}
