// RUN: mpc-opt %s --mpc-emit-kernels --split-input-file --verify-diagnostics

// Emission makes the loops that a dispatch has, and chooses none itself.
func.func @none(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+2 {{dispatch 'exp' has no loops}}
  // expected-note @+1 {{hint: run mpc-plan-loops first}}
  %0 = kernel.dispatch pointwise "exp" (%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %1 = graph.exp %a : tensor<8xf32>
    kernel.yield %1 : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----
func.func @outer_tile(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // expected-error @+2 {{dispatch 'exp' has loops that the target cannot make: only the innermost kept loop has tiles}}
  // expected-note @+1 {{hint: run mpc-plan-loops again}}
  %0 = kernel.dispatch pointwise "exp" (%x) {loops = #kernel.loops<points 8x4 order = [0 by 2, 1]>} : (tensor<8x4xf32>) -> tensor<8x4xf32> {
  ^bb0(%a: tensor<8x4xf32>):
    %1 = graph.exp %a : tensor<8x4xf32>
    kernel.yield %1 : tensor<8x4xf32>
  }
  return %0 : tensor<8x4xf32>
}

// -----
func.func @reduced_tile(%x: tensor<8x4xf32>) -> tensor<8xf32> {
  // expected-error @+2 {{the target cannot make: only the outermost reduced loop of columns has tiles}}
  // expected-note @+1 {{hint}}
  %0 = kernel.dispatch reduction "sum" (%x) {loops = #kernel.loops<rows 8x4 order = [0, 1 by 2]>} : (tensor<8x4xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8x4xf32>):
    %1 = graph.reduce_sum %a {axes = array<i64: 1>, keepdims = false} : (tensor<8x4xf32>) -> tensor<8xf32>
    kernel.yield %1 : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----
func.func @vector(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // expected-error @+2 {{the target cannot make: neighbours are all iterations of a loop over one dimension}}
  // expected-note @+1 {{hint}}
  %0 = kernel.dispatch pointwise "exp" (%x) {loops = #kernel.loops<points 8x4 order = [0, 1] vector = 2>} : (tensor<8x4xf32>) -> tensor<8x4xf32> {
  ^bb0(%a: tensor<8x4xf32>):
    %1 = graph.exp %a : tensor<8x4xf32>
    kernel.yield %1 : tensor<8x4xf32>
  }
  return %0 : tensor<8x4xf32>
}

// -----
func.func @shared(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // expected-error @+2 {{the target cannot make: the innermost loops are not shared}}
  // expected-note @+1 {{hint}}
  %0 = kernel.dispatch pointwise "exp" (%x) {loops = #kernel.loops<points 8x4 order = [0, 1] parallel = 2>} : (tensor<8x4xf32>) -> tensor<8x4xf32> {
  ^bb0(%a: tensor<8x4xf32>):
    %1 = graph.exp %a : tensor<8x4xf32>
    kernel.yield %1 : tensor<8x4xf32>
  }
  return %0 : tensor<8x4xf32>
}

// -----
func.func @copies(%x: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<4x8xf32>) {
  // expected-error @+2 {{the target cannot make: values and their transposes in one walk are for GPUs}}
  // expected-note @+1 {{hint}}
  %0:2 = kernel.dispatch transposed_copy "copies" (%x) {loops = #kernel.loops<copies 1x8x4 order = [0, 1 by 64, 2 by 64]>} : (tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<4x8xf32>) {
  ^bb0(%a: tensor<8x4xf32>):
    %1 = graph.exp %a : tensor<8x4xf32>
    %2 = graph.transpose %1 {permutation = array<i64: 1, 0>} : (tensor<8x4xf32>) -> tensor<4x8xf32>
    kernel.yield %1, %2 : tensor<8x4xf32>, tensor<4x8xf32>
  }
  return %0#0, %0#1 : tensor<8x4xf32>, tensor<4x8xf32>
}

// -----
module attributes {kernel.target = #kernel.target<"sm_80">} {
  func.func @square_tiles(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
    // expected-error @+2 {{the target cannot make: tiles are squares of as many elements as a row of threads has, and those of copies have 64}}
    // expected-note @+1 {{hint}}
    %0 = kernel.dispatch pointwise "d" (%x) {loops = #kernel.loops<tiles 8x64 order = [0 by 16, 1 by 32] threads = 8x32>} : (tensor<8x64xf32>) -> tensor<8x64xf32> {
    ^bb0(%a: tensor<8x64xf32>):
      %1 = graph.exp %a : tensor<8x64xf32>
      kernel.yield %1 : tensor<8x64xf32>
    }
    return %0 : tensor<8x64xf32>
  }
}

// -----
module attributes {kernel.target = #kernel.target<"sm_80">} {
  func.func @all_parallel(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
    // expected-error @+2 {{the target cannot make: all kept loops are parallel}}
    // expected-note @+1 {{hint}}
    %0 = kernel.dispatch pointwise "d" (%x) {loops = #kernel.loops<points 8x64 order = [0, 1] parallel = 1 threads = 1x256>} : (tensor<8x64xf32>) -> tensor<8x64xf32> {
    ^bb0(%a: tensor<8x64xf32>):
      %1 = graph.exp %a : tensor<8x64xf32>
      kernel.yield %1 : tensor<8x64xf32>
    }
    return %0 : tensor<8x64xf32>
  }
}

// -----
module attributes {kernel.target = #kernel.target<"sm_80">} {
  func.func @neighbours(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
    // expected-error @+2 {{the target cannot make: the innermost loop has no such neighbours}}
    // expected-note @+1 {{hint}}
    %0 = kernel.dispatch pointwise "d" (%x) {loops = #kernel.loops<points 8x64 order = [0, 1] parallel = 2 vector = 3 threads = 1x256>} : (tensor<8x64xf32>) -> tensor<8x64xf32> {
    ^bb0(%a: tensor<8x64xf32>):
      %1 = graph.exp %a : tensor<8x64xf32>
      kernel.yield %1 : tensor<8x64xf32>
    }
    return %0 : tensor<8x64xf32>
  }
}

// -----
module attributes {kernel.target = #kernel.target<"sm_80">} {
  func.func @half_warp(%x: tensor<8x64xf32>) -> tensor<8xf32> {
    // expected-error @+2 {{the target cannot make: a row belongs to a warp or to a block}}
    // expected-note @+1 {{hint}}
    %0 = kernel.dispatch reduction "d" (%x) {loops = #kernel.loops<rows 8x64 order = [0, 1] parallel = 1 threads = 2x64>} : (tensor<8x64xf32>) -> tensor<8xf32> {
    ^bb0(%a: tensor<8x64xf32>):
      %1 = graph.reduce_sum %a {axes = array<i64: 1>, keepdims = false} : (tensor<8x64xf32>) -> tensor<8xf32>
      kernel.yield %1 : tensor<8xf32>
    }
    return %0 : tensor<8xf32>
  }
}

// -----
module attributes {kernel.target = #kernel.target<"sm_80">} {
  func.func @wide_columns(%x: tensor<8x64xf32>) -> tensor<64xf32> {
    // expected-error @+2 {{the target cannot make: the threads of a row of columns are a power of two, at most a warp}}
    // expected-note @+1 {{hint}}
    %0 = kernel.dispatch reduction "d" (%x) {loops = #kernel.loops<columns 8x64 order = [0, 1] threads = 4x64>} : (tensor<8x64xf32>) -> tensor<64xf32> {
    ^bb0(%a: tensor<8x64xf32>):
      %1 = graph.reduce_sum %a {axes = array<i64: 0>, keepdims = false} : (tensor<8x64xf32>) -> tensor<64xf32>
      kernel.yield %1 : tensor<64xf32>
    }
    return %0 : tensor<64xf32>
  }
}

// -----
module attributes {kernel.target = #kernel.target<"sm_80">} {
  func.func @two_loops(%x: tensor<4x8x64xf32>) -> tensor<8xf32> {
    // expected-error @+2 {{the target cannot make: only a single loop over the row is unrolled}}
    // expected-note @+1 {{hint}}
    %0 = kernel.dispatch reduction "d" (%x) {loops = #kernel.loops<rows 4x8x64 order = [1, 0, 2] parallel = 1 threads = 4x32 unroll>} : (tensor<4x8x64xf32>) -> tensor<8xf32> {
    ^bb0(%a: tensor<4x8x64xf32>):
      %1 = graph.reduce_sum %a {axes = array<i64: 0, 2>, keepdims = false} : (tensor<4x8x64xf32>) -> tensor<8xf32>
      kernel.yield %1 : tensor<8xf32>
    }
    return %0 : tensor<8xf32>
  }
}

// -----
module attributes {kernel.target = #kernel.target<"sm_80">} {
  func.func @gpu_cuts(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
    // expected-error @+2 {{the target cannot make: cuts are for the host}}
    // expected-note @+1 {{hint}}
    %0 = kernel.dispatch pointwise "d" (%x) {loops = #kernel.loops<points 8x64 order = [0, 1] parallel = 2 threads = 1x256 cuts = [32]>} : (tensor<8x64xf32>) -> tensor<8x64xf32> {
    ^bb0(%a: tensor<8x64xf32>):
      %1 = graph.exp %a : tensor<8x64xf32>
      kernel.yield %1 : tensor<8x64xf32>
    }
    return %0 : tensor<8x64xf32>
  }
}
