// RUN: mpc-opt %s --mpc-hero-to-gpu --split-input-file --verify-diagnostics

func.func @none(%x: tensor<8xf32>) {
  // expected-error@+2 {{'kernel.dispatch' op holds no hero}}
  // expected-note@+1 {{hint: library dispatches hold a graph.matmul or a convolution}}
  %y = kernel.dispatch "none" (%x) {library} : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%0: tensor<8xf32>):
    %h = graph.relu %0 : tensor<8xf32>
    kernel.yield %h : tensor<8xf32>
  }
  return
}

// -----

func.func @computed(%x: tensor<8x8xf32>) {
  %y = kernel.dispatch "computed" (%x) {library} : (tensor<8x8xf32>) -> tensor<8x8xf32> {
  ^bb0(%0: tensor<8x8xf32>):
    %r = graph.relu %0 : tensor<8x8xf32>
    // expected-error@+2 {{an operand of 'graph.matmul' is computed in the dispatch}}
    // expected-note@+1 {{hint: what comes before a hero is a dispatch of its own}}
    %h = graph.matmul %0, %r : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    kernel.yield %h : tensor<8x8xf32>
  }
  return
}

// -----

func.func @two(%x: tensor<8x8xf32>) {
  %y = kernel.dispatch "two" (%x) {library} : (tensor<8x8xf32>) -> tensor<8x8xf32> {
  ^bb0(%0: tensor<8x8xf32>):
    %g = graph.matmul %0, %0 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    // expected-error@+2 {{a second hero in one dispatch}}
    // expected-note@+1 {{hint: fusion puts one into each}}
    %h = graph.matmul %0, %g : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    kernel.yield %h : tensor<8x8xf32>
  }
  return
}
