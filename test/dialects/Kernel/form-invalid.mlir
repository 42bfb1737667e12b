// RUN: mpc-opt %s --split-input-file --verify-diagnostics

func.func @missing(%x: tensor<8xf32>) {
  // expected-error @+1 {{a dispatch states its form before its name, one of contraction, pointwise, transposed_copy, reduction, row, scatter, batch, attention}}
  %0 = kernel.dispatch "d" (%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    kernel.yield %a : tensor<8xf32>
  }
  return
}

// -----
func.func @unknown(%x: tensor<8xf32>) {
  // expected-error @+1 {{a dispatch states its form before its name, one of contraction, pointwise}}
  %0 = kernel.dispatch loop "d" (%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    kernel.yield %a : tensor<8xf32>
  }
  return
}

// -----
func.func @product_as_loops(%x: tensor<8x8xf32>) {
  // expected-error @+2 {{states the form pointwise, but its body has the form contraction}}
  // expected-note @+1 {{hint: write kernel.dispatch contraction}}
  %0 = kernel.dispatch pointwise "d" (%x) : (tensor<8x8xf32>) -> tensor<8x8xf32> {
  ^bb0(%a: tensor<8x8xf32>):
    %1 = graph.matmul %a, %a : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    kernel.yield %1 : tensor<8x8xf32>
  }
  return
}

// -----
func.func @reduction_as_row(%x: tensor<8x8xf32>) {
  // expected-error @+2 {{states the form row, but its body has the form reduction}}
  // expected-note @+1 {{hint: write kernel.dispatch reduction}}
  %0 = kernel.dispatch row "d" (%x) : (tensor<8x8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8x8xf32>):
    %1 = graph.reduce_sum %a {axes = array<i64: 1>, keepdims = false} : (tensor<8x8xf32>) -> tensor<8xf32>
    kernel.yield %1 : tensor<8xf32>
  }
  return
}

// -----
func.func @row_as_reduction(%x: tensor<8x8xf32>) {
  // expected-error @+2 {{states the form reduction, but its body has the form row}}
  // expected-note @+1 {{hint: write kernel.dispatch row}}
  %0 = kernel.dispatch reduction "d" (%x) : (tensor<8x8xf32>) -> tensor<8x8xf32> {
  ^bb0(%a: tensor<8x8xf32>):
    %1 = graph.reduce_sum %a {axes = array<i64: 1>, keepdims = true} : (tensor<8x8xf32>) -> tensor<8x1xf32>
    %2 = graph.sub %a, %1 : (tensor<8x8xf32>, tensor<8x1xf32>) -> tensor<8x8xf32>
    kernel.yield %2 : tensor<8x8xf32>
  }
  return
}

// -----
func.func @loops_as_batch(%x: tensor<8xf32>) {
  %0 = kernel.dispatch batch "d" (%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    // expected-error @+1 {{is in a batch, which has dispatches that are loops}}
    %1 = graph.exp %a : tensor<8xf32>
    kernel.yield %1 : tensor<8xf32>
  }
  return
}

// -----
func.func @axes(%x: tensor<10x30xf32>) {
  // expected-error @+2 {{has reductions over different dimensions, or results of different sizes, which no one loop nest computes}}
  // expected-note @+1 {{hint: compute them in dispatches of their own}}
  %0:2 = kernel.dispatch reduction "d" (%x) : (tensor<10x30xf32>) -> (tensor<10xf32>, tensor<30xf32>) {
  ^bb0(%a: tensor<10x30xf32>):
    %1 = graph.reduce_sum %a {axes = array<i64: 1>, keepdims = false} : (tensor<10x30xf32>) -> tensor<10xf32>
    %2 = graph.reduce_sum %a {axes = array<i64: 0>, keepdims = false} : (tensor<10x30xf32>) -> tensor<30xf32>
    kernel.yield %1, %2 : tensor<10xf32>, tensor<30xf32>
  }
  return
}

// -----
func.func @sizes(%x: tensor<10xf32>, %y: tensor<5xf32>) {
  // expected-error @+2 {{has reductions over different dimensions, or results of different sizes, which no one loop nest computes}}
  // expected-note @+1 {{hint: compute them in dispatches of their own}}
  %0:2 = kernel.dispatch pointwise "d" (%x, %y) : (tensor<10xf32>, tensor<5xf32>) -> (tensor<10xf32>, tensor<5xf32>) {
  ^bb0(%a: tensor<10xf32>, %b: tensor<5xf32>):
    kernel.yield %a, %b : tensor<10xf32>, tensor<5xf32>
  }
  return
}

// -----
func.func @scatter(%x: tensor<8x8xf32>, %i: tensor<8xi32>) {
  // expected-error @+2 {{computes more than a scatter, which is the only result of its dispatch}}
  // expected-note @+1 {{hint: compute the rest in a dispatch of its own}}
  %0 = kernel.dispatch scatter "d" (%x, %i) : (tensor<8x8xf32>, tensor<8xi32>) -> tensor<5x8xf32> {
  ^bb0(%a: tensor<8x8xf32>, %b: tensor<8xi32>):
    %1 = graph.scatter %a, %b {axis = 0 : i64} : (tensor<8x8xf32>, tensor<8xi32>) -> tensor<5x8xf32>
    %2 = graph.exp %1 : tensor<5x8xf32>
    kernel.yield %2 : tensor<5x8xf32>
  }
  return
}

// -----
module attributes {kernel.target = #kernel.target<"host">} {
  func.func @host(%x: tensor<8x4xf16>) {
    // expected-error @+2 {{states the form transposed_copy, which is for GPUs, and its module is compiled for the host}}
    // expected-note @+1 {{hint: state the form pointwise}}
    %0:2 = kernel.dispatch transposed_copy "d" (%x) : (tensor<8x4xf16>) -> (tensor<8x4xf16>, tensor<4x8xf16>) {
    ^bb0(%a: tensor<8x4xf16>):
      %1 = graph.transpose %a {permutation = array<i64: 1, 0>} : (tensor<8x4xf16>) -> tensor<4x8xf16>
      kernel.yield %a, %1 : tensor<8x4xf16>, tensor<4x8xf16>
    }
    return
  }
}

// -----
module attributes {kernel.target = #kernel.target<"sm_80">} {
  func.func @no_transpose(%x: tensor<8x4xf16>) {
    // expected-error @+2 {{states the form transposed_copy, but its results are not values of one shape and transposes of their matrices}}
    // expected-note @+1 {{hint: state the form pointwise}}
    %0 = kernel.dispatch transposed_copy "d" (%x) : (tensor<8x4xf16>) -> tensor<8x4xf16> {
    ^bb0(%a: tensor<8x4xf16>):
      %1 = graph.exp %a : tensor<8x4xf16>
      kernel.yield %1 : tensor<8x4xf16>
    }
    return
  }
}

// -----
// Two transposes of f64 take more than the 48 KB of a P100.
module attributes {kernel.target = #kernel.target<"sm_60">} {
  func.func @large_tiles(%x: tensor<8x4xf64>) {
    // expected-error @+2 {{has transposes whose tiles take 65536 bytes of shared memory, and a block of sm_60 has 49152}}
    // expected-note @+1 {{hint: state the form pointwise}}
    %0:3 = kernel.dispatch transposed_copy "d" (%x) : (tensor<8x4xf64>) -> (tensor<8x4xf64>, tensor<4x8xf64>, tensor<4x8xf64>) {
    ^bb0(%a: tensor<8x4xf64>):
      %1 = graph.exp %a : tensor<8x4xf64>
      %2 = graph.transpose %a {permutation = array<i64: 1, 0>} : (tensor<8x4xf64>) -> tensor<4x8xf64>
      %3 = graph.transpose %1 {permutation = array<i64: 1, 0>} : (tensor<8x4xf64>) -> tensor<4x8xf64>
      kernel.yield %1, %2, %3 : tensor<8x4xf64>, tensor<4x8xf64>, tensor<4x8xf64>
    }
    return
  }
}

// -----
module attributes {kernel.target = #kernel.target<"sm_80">} {
func.func @relu_behind_attention(%q: tensor<1x1x16x16xf16>) -> tensor<1x1x16x16xf16> {
  // expected-error @+2 {{states the form attention, but its body is not one attention and slices, transposes and concatenations of its heads}}
  // expected-note @+1 {{hint: compute the rest in a dispatch of its own}}
  %0 = kernel.dispatch attention "a"(%q) : (tensor<1x1x16x16xf16>) -> tensor<1x1x16x16xf16> {
  ^bb0(%a: tensor<1x1x16x16xf16>):
    %y, %l, %s = graph.attention %a, %a, %a {scale = 1.0 : f64} : (tensor<1x1x16x16xf16>, tensor<1x1x16x16xf16>, tensor<1x1x16x16xf16>) -> (tensor<1x1x16x16xf16>, tensor<1x1x16x1xf32>, tensor<1x1x16x1xf32>)
    %r = graph.relu %y : tensor<1x1x16x16xf16>
    kernel.yield %r : tensor<1x1x16x16xf16>
  }
  return %0 : tensor<1x1x16x16xf16>
}
}

// -----
module attributes {kernel.target = #kernel.target<"sm_75">} {
func.func @no_kernel(%q: tensor<1x1x16x16xf16>) -> tensor<1x1x16x16xf16> {
  // expected-error @+2 {{is an attention without a kernel: its kernels need mma of bf16 and copy_async}}
  // expected-note @+1 {{hint: run mpc-decompose-attention before dispatches are formed}}
  %0 = kernel.dispatch attention "a"(%q) : (tensor<1x1x16x16xf16>) -> tensor<1x1x16x16xf16> {
  ^bb0(%a: tensor<1x1x16x16xf16>):
    %y, %l, %s = graph.attention %a, %a, %a {scale = 1.0 : f64} : (tensor<1x1x16x16xf16>, tensor<1x1x16x16xf16>, tensor<1x1x16x16xf16>) -> (tensor<1x1x16x16xf16>, tensor<1x1x16x1xf32>, tensor<1x1x16x1xf32>)
    kernel.yield %y : tensor<1x1x16x16xf16>
  }
  return %0 : tensor<1x1x16x16xf16>
}
}

// -----
func.func @attention_on_the_host(%q: tensor<1x1x16x16xf16>) -> tensor<1x1x16x16xf16> {
  // expected-error @+2 {{states the form pointwise, but its body has the form attention}}
  // expected-note @+1 {{hint: write kernel.dispatch attention}}
  %0 = kernel.dispatch pointwise "a"(%q) : (tensor<1x1x16x16xf16>) -> tensor<1x1x16x16xf16> {
  ^bb0(%a: tensor<1x1x16x16xf16>):
    %y, %l, %s = graph.attention %a, %a, %a {scale = 1.0 : f64} : (tensor<1x1x16x16xf16>, tensor<1x1x16x16xf16>, tensor<1x1x16x16xf16>) -> (tensor<1x1x16x16xf16>, tensor<1x1x16x1xf32>, tensor<1x1x16x1xf32>)
    kernel.yield %y : tensor<1x1x16x16xf16>
  }
  return %0 : tensor<1x1x16x16xf16>
}

// -----
module attributes {kernel.target = #kernel.target<"sm_80">} {
func.func @twice(%q: tensor<1x1x16x16xf16>) -> (tensor<1x1x16x16xf16>, tensor<1x1x16x16xf16>) {
  // expected-error @+2 {{is an attention that yields one of its results twice}}
  // expected-note @+1 {{hint: yield it once, as it is, transposed or as a part of a concatenation}}
  %0:2 = kernel.dispatch attention "a"(%q) : (tensor<1x1x16x16xf16>) -> (tensor<1x1x16x16xf16>, tensor<1x1x16x16xf16>) {
  ^bb0(%a: tensor<1x1x16x16xf16>):
    %y, %l, %s = graph.attention %a, %a, %a {scale = 1.0 : f64} : (tensor<1x1x16x16xf16>, tensor<1x1x16x16xf16>, tensor<1x1x16x16xf16>) -> (tensor<1x1x16x16xf16>, tensor<1x1x16x1xf32>, tensor<1x1x16x1xf32>)
    kernel.yield %y, %y : tensor<1x1x16x16xf16>, tensor<1x1x16x16xf16>
  }
  return %0#0, %0#1 : tensor<1x1x16x16xf16>, tensor<1x1x16x16xf16>
}
}

// -----
// Only parts of one size are stored one by one.
func.func @parts_of_two_sizes(%x: tensor<8x4xf32>, %y: tensor<8x2xf32>) {
  // expected-error @+2 {{has reductions over different dimensions, or results of different sizes, which no one loop nest computes}}
  // expected-note @+1 {{hint: compute them in dispatches of their own}}
  %0:2 = kernel.dispatch pointwise "d" (%x, %y) : (tensor<8x4xf32>, tensor<8x2xf32>) -> (tensor<8x4xf32>, tensor<8x6xf32>) {
  ^bb0(%a: tensor<8x4xf32>, %b: tensor<8x2xf32>):
    %1 = graph.concat %a, %b {axis = 1 : i64} : (tensor<8x4xf32>, tensor<8x2xf32>) -> tensor<8x6xf32>
    kernel.yield %a, %1 : tensor<8x4xf32>, tensor<8x6xf32>
  }
  return
}
