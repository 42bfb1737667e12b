// RUN: mpc-interpret %s | FileCheck %s
// RUN: mpc-opt %s --mpc-decompose-attention | mpc-interpret | FileCheck %s

func.func @main() -> (tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>, tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>, tensor<1x1x2x1xf32>) {
  // The first query is 0, so its scores are 0 and it takes the mean of the values 4 and 8. The scores of the second are 0 and log 3 = 1.0986123: p is 1/4 and 3/4.
  %q = graph.constant dense<[[[[0.0], [2.1972246]]]]> : tensor<1x1x2x1xf32>
  %k = graph.constant dense<[[[[0.0], [1.0]]]]> : tensor<1x1x2x1xf32>
  %v = graph.constant dense<[[[[4.0], [8.0]]]]> : tensor<1x1x2x1xf32>
  // CHECK: 0: tensor<1x1x2x1xf32> = {{\[\[\[\[}}6], [7]]]]
  // CHECK-NEXT: 1: tensor<1x1x2x1xf32> = {{\[\[\[\[}}0], [1.0986123]]]]
  // CHECK-NEXT: 2: tensor<1x1x2x1xf32> = {{\[\[\[\[}}0.6931472], [0.28768{{[0-9]*}}]]]]
  %y, %largest, %sum = graph.attention %q, %k, %v {scale = 0.5 : f64} : (tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>) -> (tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>)
  %delta = graph.constant dense<[[[[0.0], [7.0]]]]> : tensor<1x1x2x1xf32>
  // For dy = 0 and 1 only the second query counts: dv = p = 1/4, 3/4; dp = 4, 8; delta = 7; ds = -3/4, 3/4; dq = 3/8; dk = +-3/4 * 2.1972246 / 2.
  %dy = graph.constant dense<[[[[0.0], [1.0]]]]> : tensor<1x1x2x1xf32>
  // CHECK-NEXT: 3: tensor<1x1x2x1xf32> = {{\[\[\[\[}}0], [0.375{{[0-9]*}}]]]]
  // CHECK-NEXT: 4: tensor<1x1x2x1xf32> = {{\[\[\[\[}}-0.82395{{[0-9]*}}], [0.82395{{[0-9]*}}]]]]
  // CHECK-NEXT: 5: tensor<1x1x2x1xf32> = {{\[\[\[\[}}0.25{{0*}}], [0.75{{[0-9]*}}]]]]
  %dq, %dk, %dv = graph.attention_grad %q, %k, %v from %largest, %sum, %delta, %dy {scale = 0.5 : f64} : (tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>) -> (tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>)
  // A query that sees no key: p is 0, and the logarithm of its sum is infinite.
  %one = graph.constant dense<1.0> : tensor<1x1x1x1xf32>
  %none = graph.constant dense<false> : tensor<1x1x1x1xi1>
  // CHECK-NEXT: 6: tensor<1x1x1x1xf32> = {{\[\[\[\[}}0]]]]
  // CHECK-NEXT: 7: tensor<1x1x1x1xf32> = {{\[\[\[\[}}inf]]]]
  %z, %lowest, %infinite = graph.attention %one, %one, %one mask %none {scale = 1.0 : f64, zero_rows} : (tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>, tensor<1x1x1x1xi1>) -> (tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>)
  // The first query sees the first key alone.
  // CHECK-NEXT: 8: tensor<1x1x2x1xf32> = {{\[\[\[\[}}4], [7]]]]
  %causal:3 = graph.attention %q, %k, %v {scale = 0.5 : f64, after = 0 : i64} : (tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>) -> (tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>)
  return %y, %largest, %sum, %dq, %dk, %dv, %z, %infinite, %causal#0 : tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>, tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>, tensor<1x1x2x1xf32>
}
