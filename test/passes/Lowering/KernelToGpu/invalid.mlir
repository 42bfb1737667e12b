// RUN: mpc-opt %s --mpc-set-target=name=sm_80 --mpc-plan-loops --mpc-emit-kernels --split-input-file --verify-diagnostics

func.func @operand(%x: tensor<65536x32768xf16>) -> tensor<65536xf16> {
  // expected-error @+2 {{'kernel.dispatch' op has 2147483648 points in its space, and the threads of a GPU count up to 2147482623}}
  // expected-note @+1 {{hint: use a smaller batch, or smaller parameters where none of it is a batch}}
  %r = kernel.dispatch reduction "operand" (%x) : (tensor<65536x32768xf16>) -> (tensor<65536xf16>) {
  ^bb0(%a: tensor<65536x32768xf16>):
    %0 = graph.reduce_max %a {axes = array<i64: 1>, keepdims = false} : (tensor<65536x32768xf16>) -> tensor<65536xf16>
    kernel.yield %0 : tensor<65536xf16>
  }
  return %r : tensor<65536xf16>
}

// -----

func.func @result(%x: tensor<65536x1xf16>) -> tensor<65536x32768xf16> {
  // expected-error @+2 {{'kernel.dispatch' op has 2147483648 points in its space, and the threads of a GPU count up to 2147483647}}
  // expected-note @+1 {{hint: use a smaller batch, or smaller parameters where none of it is a batch}}
  %r = kernel.dispatch pointwise "result" (%x) : (tensor<65536x1xf16>) -> (tensor<65536x32768xf16>) {
  ^bb0(%a: tensor<65536x1xf16>):
    %0 = graph.broadcast %a : tensor<65536x1xf16> to tensor<65536x32768xf16>
    kernel.yield %0 : tensor<65536x32768xf16>
  }
  return %r : tensor<65536x32768xf16>
}

// -----

// No tensor is large, but the sum goes over all pairs of their elements.
func.func @pairs(%x: tensor<65536x1xf32>, %y: tensor<1x65536xf32>) -> tensor<f32> {
  // expected-error @+2 {{'kernel.dispatch' op has 4294967296 points in its space, and the threads of a GPU count up to 2147482623}}
  // expected-note @+1 {{hint: use a smaller batch, or smaller parameters where none of it is a batch}}
  %r = kernel.dispatch reduction "pairs" (%x, %y) : (tensor<65536x1xf32>, tensor<1x65536xf32>) -> (tensor<f32>) {
  ^bb0(%a: tensor<65536x1xf32>, %b: tensor<1x65536xf32>):
    %0 = graph.broadcast %a : tensor<65536x1xf32> to tensor<65536x65536xf32>
    %1 = graph.broadcast %b : tensor<1x65536xf32> to tensor<65536x65536xf32>
    %2 = graph.sub %0, %1 : (tensor<65536x65536xf32>, tensor<65536x65536xf32>) -> tensor<65536x65536xf32>
    %3 = graph.reduce_sum %2 {axes = array<i64: 0, 1>, keepdims = false} : (tensor<65536x65536xf32>) -> tensor<f32>
    kernel.yield %3 : tensor<f32>
  }
  return %r : tensor<f32>
}

// -----

// The threads that share this maximum would count beyond 2^31 behind its last element.
func.func @longest(%x: tensor<2147483647xi8>) -> tensor<i8> {
  // expected-error @+2 {{'kernel.dispatch' op has 2147483647 points in its space, and the threads of a GPU count up to 2147482623}}
  // expected-note @+1 {{hint: use a smaller batch, or smaller parameters where none of it is a batch}}
  %r = kernel.dispatch reduction "longest" (%x) : (tensor<2147483647xi8>) -> (tensor<i8>) {
  ^bb0(%a: tensor<2147483647xi8>):
    %0 = graph.reduce_max %a {axes = array<i64: 0>, keepdims = false} : (tensor<2147483647xi8>) -> tensor<i8>
    kernel.yield %0 : tensor<i8>
  }
  return %r : tensor<i8>
}

// -----

// A tensor of one element fewer than 2^31 has a kernel.
func.func @most(%x: tensor<2147483647xi8>) -> tensor<2147483647xi8> {
  %r = kernel.dispatch pointwise "most" (%x) : (tensor<2147483647xi8>) -> (tensor<2147483647xi8>) {
  ^bb0(%a: tensor<2147483647xi8>):
    %0 = graph.neg %a : tensor<2147483647xi8>
    kernel.yield %0 : tensor<2147483647xi8>
  }
  return %r : tensor<2147483647xi8>
}

// -----

// So has the largest reduction behind whose last element threads count no further than that.
func.func @most_reduced(%x: tensor<2147482623xi8>) -> tensor<i8> {
  %r = kernel.dispatch reduction "most_reduced" (%x) : (tensor<2147482623xi8>) -> (tensor<i8>) {
  ^bb0(%a: tensor<2147482623xi8>):
    %0 = graph.reduce_max %a {axes = array<i64: 0>, keepdims = false} : (tensor<2147482623xi8>) -> tensor<i8>
    kernel.yield %0 : tensor<i8>
  }
  return %r : tensor<i8>
}

// -----

func.func @scatter_indices(%dy: tensor<2147483647x4xf32>, %i: tensor<2147483647xi32>) -> tensor<8x4xf32> {
  // expected-error @+2 {{'kernel.dispatch' op has 2147483647 elements in its tensor of indices, and the threads of a GPU count up to 2147482623}}
  // expected-note @+1 {{hint: use a smaller batch}}
  %r = kernel.dispatch scatter "scatter_indices" (%dy, %i) : (tensor<2147483647x4xf32>, tensor<2147483647xi32>) -> (tensor<8x4xf32>) {
  ^bb0(%a: tensor<2147483647x4xf32>, %b: tensor<2147483647xi32>):
    %0 = graph.scatter %a, %b {axis = 0 : i64} : (tensor<2147483647x4xf32>, tensor<2147483647xi32>) -> tensor<8x4xf32>
    kernel.yield %0 : tensor<8x4xf32>
  }
  return %r : tensor<8x4xf32>
}

// -----

func.func @scatter_rows(%dy: tensor<8x4xf32>, %i: tensor<8xi32>) -> tensor<2147483647x4xf32> {
  // expected-error @+2 {{'kernel.dispatch' op has 2147483647 rows in its result, and the threads of a GPU count up to 2147482623}}
  // expected-note @+1 {{hint: divide the table that is indexed into several}}
  %r = kernel.dispatch scatter "scatter_rows" (%dy, %i) : (tensor<8x4xf32>, tensor<8xi32>) -> (tensor<2147483647x4xf32>) {
  ^bb0(%a: tensor<8x4xf32>, %b: tensor<8xi32>):
    %0 = graph.scatter %a, %b {axis = 0 : i64} : (tensor<8x4xf32>, tensor<8xi32>) -> tensor<2147483647x4xf32>
    kernel.yield %0 : tensor<2147483647x4xf32>
  }
  return %r : tensor<2147483647x4xf32>
}

// -----

func.func @scatter_columns(%dy: tensor<8x2147483647xf32>, %i: tensor<8xi32>) -> tensor<2x2147483647xf32> {
  // expected-error @+2 {{'kernel.dispatch' op has 2147483647 columns in its result, and the threads of a GPU count up to 2147482623}}
  // expected-note @+1 {{hint: divide the rows of the table that is indexed}}
  %r = kernel.dispatch scatter "scatter_columns" (%dy, %i) : (tensor<8x2147483647xf32>, tensor<8xi32>) -> (tensor<2x2147483647xf32>) {
  ^bb0(%a: tensor<8x2147483647xf32>, %b: tensor<8xi32>):
    %0 = graph.scatter %a, %b {axis = 0 : i64} : (tensor<8x2147483647xf32>, tensor<8xi32>) -> tensor<2x2147483647xf32>
    kernel.yield %0 : tensor<2x2147483647xf32>
  }
  return %r : tensor<2x2147483647xf32>
}

// -----

func.func @composite(%x: tensor<4x10xf32>) -> tensor<4x10xf32> {
  %r = kernel.dispatch pointwise "softmax" (%x) : (tensor<4x10xf32>) -> (tensor<4x10xf32>) {
  ^bb0(%a: tensor<4x10xf32>):
    // expected-error @+2 {{'graph.softmax' op cannot be in a loop dispatch}}
    // expected-note @+1 {{hint: composite ops need mpc-decompose first; matmul and convolutions need a dispatch of the form contraction}}
    %0 = graph.softmax %a {axis = 1 : i64} : tensor<4x10xf32>
    kernel.yield %0 : tensor<4x10xf32>
  }
  return %r : tensor<4x10xf32>
}

// -----

// The error names the member of a batch and not the batch.
func.func @member(%x: tensor<65536x32768xf16>, %y: tensor<8xf16>) -> (tensor<65536x32768xf16>, tensor<8xf16>) {
  %r:2 = kernel.dispatch batch "batch" (%x, %y) : (tensor<65536x32768xf16>, tensor<8xf16>) -> (tensor<65536x32768xf16>, tensor<8xf16>) {
  ^bb0(%a: tensor<65536x32768xf16>, %b: tensor<8xf16>):
    // expected-error @+2 {{'kernel.dispatch' op has 2147483648 points in its space, and the threads of a GPU count up to 2147483647}}
    // expected-note @+1 {{hint: use a smaller batch, or smaller parameters where none of it is a batch}}
    %0 = kernel.dispatch pointwise "large" (%a) : (tensor<65536x32768xf16>) -> (tensor<65536x32768xf16>) {
    ^bb0(%c: tensor<65536x32768xf16>):
      %2 = graph.neg %c : tensor<65536x32768xf16>
      kernel.yield %2 : tensor<65536x32768xf16>
    }
    %1 = kernel.dispatch pointwise "small" (%b) : (tensor<8xf16>) -> (tensor<8xf16>) {
    ^bb0(%c: tensor<8xf16>):
      %2 = graph.neg %c : tensor<8xf16>
      kernel.yield %2 : tensor<8xf16>
    }
    kernel.yield %0, %1 : tensor<65536x32768xf16>, tensor<8xf16>
  }
  return %r#0, %r#1 : tensor<65536x32768xf16>, tensor<8xf16>
}
