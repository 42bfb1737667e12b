// RUN: mpc-opt %s --split-input-file --verify-diagnostics

// What the attribute itself must be.

func.func @keyword(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @+1 {{'spiral' is no walk; write points, tiles, copies, rows or columns}}
  %0 = kernel.dispatch pointwise "d" (%x) {loops = #kernel.loops<spiral 32 order = [0]>} : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %y = graph.exp %a : tensor<4x8xf32>
    kernel.yield %y : tensor<4x8xf32>
  }
  return %0 : tensor<4x8xf32>
}

// -----
func.func @ascending(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @+1 {{a loop walks dimensions in ascending order}}
  %0 = kernel.dispatch pointwise "d" (%x) {loops = #kernel.loops<points 4x8 order = [1 to 0]>} : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %y = graph.exp %a : tensor<4x8xf32>
    kernel.yield %y : tensor<4x8xf32>
  }
  return %0 : tensor<4x8xf32>
}

// -----
func.func @tile(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @+1 {{a tile has at least one iteration}}
  %0 = kernel.dispatch pointwise "d" (%x) {loops = #kernel.loops<points 32 order = [0 by 0]>} : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %y = graph.exp %a : tensor<4x8xf32>
    kernel.yield %y : tensor<4x8xf32>
  }
  return %0 : tensor<4x8xf32>
}

// -----
func.func @extent(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @+1 {{the dimensions of a space have at least one index}}
  %0 = kernel.dispatch pointwise "d" (%x) {loops = #kernel.loops<points 0x8 order = [0, 1]>} : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %y = graph.exp %a : tensor<4x8xf32>
    kernel.yield %y : tensor<4x8xf32>
  }
  return %0 : tensor<4x8xf32>
}

// -----
func.func @beyond(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @+1 {{a loop walks dimension 2 of a space with 2}}
  %0 = kernel.dispatch pointwise "d" (%x) {loops = #kernel.loops<points 4x8 order = [0, 1 to 2]>} : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %y = graph.exp %a : tensor<4x8xf32>
    kernel.yield %y : tensor<4x8xf32>
  }
  return %0 : tensor<4x8xf32>
}

// -----
func.func @missing(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @+1 {{loops walk each dimension once, and dimension 1 0 times}}
  %0 = kernel.dispatch pointwise "d" (%x) {loops = #kernel.loops<points 4x8 order = [0]>} : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %y = graph.exp %a : tensor<4x8xf32>
    kernel.yield %y : tensor<4x8xf32>
  }
  return %0 : tensor<4x8xf32>
}

// -----
func.func @twice(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @+1 {{loops walk each dimension once, and dimension 0 2 times}}
  %0 = kernel.dispatch pointwise "d" (%x) {loops = #kernel.loops<points 4x8 order = [0 to 1, 0]>} : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %y = graph.exp %a : tensor<4x8xf32>
    kernel.yield %y : tensor<4x8xf32>
  }
  return %0 : tensor<4x8xf32>
}

// -----
func.func @parallel(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @+1 {{3 of 2 loops are parallel}}
  %0 = kernel.dispatch pointwise "d" (%x) {loops = #kernel.loops<points 4x8 order = [0, 1] parallel = 3>} : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %y = graph.exp %a : tensor<4x8xf32>
    kernel.yield %y : tensor<4x8xf32>
  }
  return %0 : tensor<4x8xf32>
}

// -----
func.func @vector(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @+1 {{an iteration computes at least one point, not 0}}
  %0 = kernel.dispatch pointwise "d" (%x) {loops = #kernel.loops<points 32 order = [0] vector = 0>} : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %y = graph.exp %a : tensor<4x8xf32>
    kernel.yield %y : tensor<4x8xf32>
  }
  return %0 : tensor<4x8xf32>
}

// -----
func.func @threads(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @+1 {{a block has rows of threads, in all 32 to 1024 threads, a multiple of 32}}
  %0 = kernel.dispatch pointwise "d" (%x) {loops = #kernel.loops<points 32 order = [0] threads = 1x48>} : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %y = graph.exp %a : tensor<4x8xf32>
    kernel.yield %y : tensor<4x8xf32>
  }
  return %0 : tensor<4x8xf32>
}

// -----
func.func @untiled(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @+1 {{tiles are made of the tiles of the two innermost loops}}
  %0 = kernel.dispatch pointwise "d" (%x) {loops = #kernel.loops<tiles 4x8 order = [0 by 2, 1]>} : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %y = graph.exp %a : tensor<4x8xf32>
    kernel.yield %y : tensor<4x8xf32>
  }
  return %0 : tensor<4x8xf32>
}

// -----
func.func @unroll(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @+1 {{only the threads that share a row unroll their pieces of it}}
  %0 = kernel.dispatch pointwise "d" (%x) {loops = #kernel.loops<points 32 order = [0] unroll>} : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %y = graph.exp %a : tensor<4x8xf32>
    kernel.yield %y : tensor<4x8xf32>
  }
  return %0 : tensor<4x8xf32>
}

// -----
func.func @merged_cut(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @+1 {{only the innermost loop over points is cut, where it walks one dimension}}
  %0 = kernel.dispatch pointwise "d" (%x) {loops = #kernel.loops<points 4x8 order = [0 to 1] cuts = [3]>} : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %y = graph.exp %a : tensor<4x8xf32>
    kernel.yield %y : tensor<4x8xf32>
  }
  return %0 : tensor<4x8xf32>
}

// -----
func.func @cut(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @+1 {{the innermost loop is cut at ascending places inside of it, not at 3}}
  %0 = kernel.dispatch pointwise "d" (%x) {loops = #kernel.loops<points 4x8 order = [0, 1] cuts = [5, 3]>} : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %y = graph.exp %a : tensor<4x8xf32>
    kernel.yield %y : tensor<4x8xf32>
  }
  return %0 : tensor<4x8xf32>
}

// -----
func.func @dims(%x: tensor<4x8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{loops: the dimensions of its space are 4x8}}
  %0 = kernel.dispatch reduction "d" (%x) {loops = #kernel.loops<columns 32x8 order = [0, 1]>} : (tensor<4x8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %y = graph.reduce_sum %a {axes = array<i64: 0>, keepdims = false} : (tensor<4x8xf32>) -> tensor<8xf32>
    kernel.yield %y : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----
func.func @no_reduction(%x: tensor<4x8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{loops: points do not go through a dispatch of the form reduction}}
  %0 = kernel.dispatch reduction "d" (%x) {loops = #kernel.loops<points 4x8 order = [0, 1]>} : (tensor<4x8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %y = graph.reduce_sum %a {axes = array<i64: 0>, keepdims = false} : (tensor<4x8xf32>) -> tensor<8xf32>
    kernel.yield %y : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----
func.func @both(%x: tensor<4x8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{loops: a loop walks kept and reduced dimensions}}
  %0 = kernel.dispatch reduction "d" (%x) {loops = #kernel.loops<columns 4x8 order = [0 to 1]>} : (tensor<4x8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %y = graph.reduce_sum %a {axes = array<i64: 0>, keepdims = false} : (tensor<4x8xf32>) -> tensor<8xf32>
    kernel.yield %y : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----
func.func @reduced_last(%x: tensor<4x8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{loops: a walk over columns ends with a kept dimension}}
  %0 = kernel.dispatch reduction "d" (%x) {loops = #kernel.loops<columns 4x8 order = [1, 0]>} : (tensor<4x8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %y = graph.reduce_sum %a {axes = array<i64: 0>, keepdims = false} : (tensor<4x8xf32>) -> tensor<8xf32>
    kernel.yield %y : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----
func.func @kept_last(%x: tensor<4x8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{loops: a loop over a kept dimension is inside of one over a reduced dimension}}
  %0 = kernel.dispatch reduction "d" (%x) {loops = #kernel.loops<rows 4x8 order = [0, 1]>} : (tensor<4x8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %y = graph.reduce_sum %a {axes = array<i64: 0>, keepdims = false} : (tensor<4x8xf32>) -> tensor<8xf32>
    kernel.yield %y : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----
func.func @reduced_parallel(%x: tensor<4x8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{loops: a loop over a reduced dimension is parallel}}
  %0 = kernel.dispatch reduction "d" (%x) {loops = #kernel.loops<rows 4x8 order = [1, 0] parallel = 2>} : (tensor<4x8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %y = graph.reduce_sum %a {axes = array<i64: 0>, keepdims = false} : (tensor<4x8xf32>) -> tensor<8xf32>
    kernel.yield %y : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----
func.func @host_threads(%x: tensor<4x8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{loops: a kernel of the host has no threads}}
  %0 = kernel.dispatch reduction "d" (%x) {loops = #kernel.loops<rows 4x8 order = [1, 0] parallel = 1 threads = 4x32>} : (tensor<4x8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %y = graph.reduce_sum %a {axes = array<i64: 0>, keepdims = false} : (tensor<4x8xf32>) -> tensor<8xf32>
    kernel.yield %y : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----
module attributes {kernel.target = #kernel.target<"sm_80">} {
  func.func @no_threads(%x: tensor<32xf32>) -> tensor<32xf32> {
    // expected-error @+1 {{loops: a kernel of a GPU has threads}}
    %0 = kernel.dispatch pointwise "d" (%x) {loops = #kernel.loops<points 32 order = [0]>} : (tensor<32xf32>) -> tensor<32xf32> {
    ^bb0(%a: tensor<32xf32>):
      %y = graph.exp %a : tensor<32xf32>
      kernel.yield %y : tensor<32xf32>
    }
    return %0 : tensor<32xf32>
  }
}

// -----
// Tiles of values and their transposes are a form of their own.
module attributes {kernel.target = #kernel.target<"sm_80">} {
  func.func @pointwise_copies(%x: tensor<8x4xf32>) -> tensor<4x8xf32> {
    // expected-error @+1 {{loops: copies do not go through a dispatch of the form pointwise}}
    %0 = kernel.dispatch pointwise "d" (%x) {loops = #kernel.loops<copies 1x8x4 order = [0, 1 by 64, 2 by 64] parallel = 1 threads = 1x256>} : (tensor<8x4xf32>) -> tensor<4x8xf32> {
    ^bb0(%a: tensor<8x4xf32>):
      %y = graph.transpose %a {permutation = array<i64: 1, 0>} : (tensor<8x4xf32>) -> tensor<4x8xf32>
      kernel.yield %y : tensor<4x8xf32>
    }
    return %0 : tensor<4x8xf32>
  }
}

// -----
// A scatter has loops of its own.
func.func @scatter(%dy: tensor<32x64xf32>, %i: tensor<32xi64>) -> tensor<1000x64xf32> {
  // expected-error @+1 {{loops: points do not go through a dispatch of the form scatter}}
  %0 = kernel.dispatch scatter "d" (%dy, %i) {loops = #kernel.loops<points 1000x64 order = [0, 1]>} : (tensor<32x64xf32>, tensor<32xi64>) -> tensor<1000x64xf32> {
  ^bb0(%a: tensor<32x64xf32>, %b: tensor<32xi64>):
    %y = graph.gather_grad %a, %b {axis = 0 : i64} : (tensor<32x64xf32>, tensor<32xi64>) -> tensor<1000x64xf32>
    kernel.yield %y : tensor<1000x64xf32>
  }
  return %0 : tensor<1000x64xf32>
}

// -----
func.func @batch(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{is a batch, whose members have loops, and has loops of its own}}
  %0 = kernel.dispatch batch "b" (%x) {loops = #kernel.loops<points 8 order = [0]>} : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %1 = kernel.dispatch pointwise "m" (%a) : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%b: tensor<8xf32>):
      %y = graph.exp %b : tensor<8xf32>
      kernel.yield %y : tensor<8xf32>
    }
    kernel.yield %1 : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}
