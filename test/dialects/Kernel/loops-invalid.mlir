// RUN: mpc-opt %s --split-input-file --verify-diagnostics

// What the attribute itself must be, and then how its loops must fit the dispatch and the target.

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
  // expected-error @+2 {{tiles are made of the tiles of the two innermost loops}}
  // expected-note @+1 {{hint: run mpc-plan-loops again, which replaces these loops}}
  %0 = kernel.dispatch pointwise "d" (%x) {loops = #kernel.loops<tiles 4x8 order = [0 by 2, 1]>} : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %y = graph.exp %a : tensor<4x8xf32>
    kernel.yield %y : tensor<4x8xf32>
  }
  return %0 : tensor<4x8xf32>
}

// -----
func.func @unroll(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @+2 {{only the threads of a GPU that share a row unroll their pieces of it}}
  // expected-note @+1 {{hint: run mpc-plan-loops again, which replaces these loops}}
  %0 = kernel.dispatch pointwise "d" (%x) {loops = #kernel.loops<points 4x8 order = [0, 1] unroll>} : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %y = graph.exp %a : tensor<4x8xf32>
    kernel.yield %y : tensor<4x8xf32>
  }
  return %0 : tensor<4x8xf32>
}

// -----
func.func @merged_cut(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @+1 {{only an innermost loop over one dimension is cut}}
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
  // expected-error @+2 {{loops: the dimensions of its space are 4x8}}
  // expected-note @+1 {{hint: run mpc-plan-loops again, which replaces these loops}}
  %0 = kernel.dispatch reduction "d" (%x) {loops = #kernel.loops<columns 32x8 order = [0, 1]>} : (tensor<4x8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %y = graph.reduce_sum %a {axes = array<i64: 0>, keepdims = false} : (tensor<4x8xf32>) -> tensor<8xf32>
    kernel.yield %y : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----
func.func @no_reduction(%x: tensor<4x8xf32>) -> tensor<8xf32> {
  // expected-error @+2 {{loops: points do not go through a dispatch of the form reduction}}
  // expected-note @+1 {{hint: run mpc-plan-loops again, which replaces these loops}}
  %0 = kernel.dispatch reduction "d" (%x) {loops = #kernel.loops<points 4x8 order = [0, 1]>} : (tensor<4x8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %y = graph.reduce_sum %a {axes = array<i64: 0>, keepdims = false} : (tensor<4x8xf32>) -> tensor<8xf32>
    kernel.yield %y : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----
func.func @both(%x: tensor<4x8xf32>) -> tensor<8xf32> {
  // expected-error @+2 {{loops: a loop walks both kept and reduced dimensions}}
  // expected-note @+1 {{hint: run mpc-plan-loops again, which replaces these loops}}
  %0 = kernel.dispatch reduction "d" (%x) {loops = #kernel.loops<columns 4x8 order = [0 to 1]>} : (tensor<4x8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %y = graph.reduce_sum %a {axes = array<i64: 0>, keepdims = false} : (tensor<4x8xf32>) -> tensor<8xf32>
    kernel.yield %y : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----
func.func @reduced_last(%x: tensor<4x8xf32>) -> tensor<8xf32> {
  // expected-error @+2 {{loops: a walk over columns ends with a kept dimension}}
  // expected-note @+1 {{hint: run mpc-plan-loops again, which replaces these loops}}
  %0 = kernel.dispatch reduction "d" (%x) {loops = #kernel.loops<columns 4x8 order = [1, 0]>} : (tensor<4x8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %y = graph.reduce_sum %a {axes = array<i64: 0>, keepdims = false} : (tensor<4x8xf32>) -> tensor<8xf32>
    kernel.yield %y : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----
func.func @kept_last(%x: tensor<4x8xf32>) -> tensor<8xf32> {
  // expected-error @+2 {{loops: a loop over a kept dimension is inside of one over a reduced dimension}}
  // expected-note @+1 {{hint: run mpc-plan-loops again, which replaces these loops}}
  %0 = kernel.dispatch reduction "d" (%x) {loops = #kernel.loops<rows 4x8 order = [0, 1]>} : (tensor<4x8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %y = graph.reduce_sum %a {axes = array<i64: 0>, keepdims = false} : (tensor<4x8xf32>) -> tensor<8xf32>
    kernel.yield %y : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----
func.func @reduced_parallel(%x: tensor<4x8xf32>) -> tensor<8xf32> {
  // expected-error @+2 {{loops: at most 1 of the outermost loops of a walk over rows are parallel on this target, not 2}}
  // expected-note @+1 {{hint: run mpc-plan-loops again, which replaces these loops}}
  %0 = kernel.dispatch reduction "d" (%x) {loops = #kernel.loops<rows 4x8 order = [1, 0] parallel = 2>} : (tensor<4x8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %y = graph.reduce_sum %a {axes = array<i64: 0>, keepdims = false} : (tensor<4x8xf32>) -> tensor<8xf32>
    kernel.yield %y : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----
func.func @host_threads(%x: tensor<4x8xf32>) -> tensor<8xf32> {
  // expected-error @+2 {{loops: a kernel of the host has no threads}}
  // expected-note @+1 {{hint: run mpc-plan-loops again, which replaces these loops}}
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
    // expected-error @+2 {{loops: a kernel of a GPU has threads}}
    // expected-note @+1 {{hint: run mpc-plan-loops again, which replaces these loops}}
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
    // expected-error @+2 {{loops: copies do not go through a dispatch of the form pointwise}}
    // expected-note @+1 {{hint: run mpc-plan-loops again, which replaces these loops}}
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
  // expected-error @+2 {{loops: points do not go through a dispatch of the form scatter}}
  // expected-note @+1 {{hint: run mpc-plan-loops again, which replaces these loops}}
  %0 = kernel.dispatch scatter "d" (%dy, %i) {loops = #kernel.loops<points 1000x64 order = [0, 1]>} : (tensor<32x64xf32>, tensor<32xi64>) -> tensor<1000x64xf32> {
  ^bb0(%a: tensor<32x64xf32>, %b: tensor<32xi64>):
    %y = graph.scatter %a, %b {axis = 0 : i64} : (tensor<32x64xf32>, tensor<32xi64>) -> tensor<1000x64xf32>
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

// -----
// The product of these numbers is 0 in 64 bits.
func.func @many_threads(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @+1 {{a block has rows of threads, in all 32 to 1024 threads, a multiple of 32}}
  %0 = kernel.dispatch pointwise "d" (%x) {loops = #kernel.loops<points 4x8 order = [0, 1] threads = 4294967296x4294967296>} : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %y = graph.exp %a : tensor<4x8xf32>
    kernel.yield %y : tensor<4x8xf32>
  }
  return %0 : tensor<4x8xf32>
}

// -----
func.func @empty(%x: tensor<0x4xf32>) -> tensor<0x4xf32> {
  // expected-error @+2 {{loops: all results are empty, and no loops compute them}}
  // expected-note @+1 {{hint: run mpc-plan-loops again, which replaces these loops}}
  %0 = kernel.dispatch pointwise "d" (%x) {loops = #kernel.loops<points order = []>} : (tensor<0x4xf32>) -> tensor<0x4xf32> {
  ^bb0(%a: tensor<0x4xf32>):
    %y = graph.exp %a : tensor<0x4xf32>
    kernel.yield %y : tensor<0x4xf32>
  }
  return %0 : tensor<0x4xf32>
}

// -----
func.func @outer_tile(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // expected-error @+2 {{loops: only the innermost loop of a walk over points may have tiles on this target}}
  // expected-note @+1 {{hint: run mpc-plan-loops again, which replaces these loops}}
  %0 = kernel.dispatch pointwise "d" (%x) {loops = #kernel.loops<points 8x4 order = [0 by 2, 1]>} : (tensor<8x4xf32>) -> tensor<8x4xf32> {
  ^bb0(%a: tensor<8x4xf32>):
    %y = graph.exp %a : tensor<8x4xf32>
    kernel.yield %y : tensor<8x4xf32>
  }
  return %0 : tensor<8x4xf32>
}

// -----
func.func @reduced_tile(%x: tensor<8x4xf32>) -> tensor<8xf32> {
  // expected-error @+2 {{loops: none of the loops of a walk over rows may have tiles on this target}}
  // expected-note @+1 {{hint: run mpc-plan-loops again, which replaces these loops}}
  %0 = kernel.dispatch reduction "d" (%x) {loops = #kernel.loops<rows 8x4 order = [0, 1 by 2]>} : (tensor<8x4xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8x4xf32>):
    %y = graph.reduce_sum %a {axes = array<i64: 1>, keepdims = false} : (tensor<8x4xf32>) -> tensor<8xf32>
    kernel.yield %y : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----
func.func @two_reduced_tiles(%x: tensor<4x8x16xf32>) -> tensor<16xf32> {
  // expected-error @+2 {{loops: only the innermost loop and one reduced loop of a walk over columns may have tiles on this target}}
  // expected-note @+1 {{hint: run mpc-plan-loops again, which replaces these loops}}
  %0 = kernel.dispatch reduction "d" (%x) {loops = #kernel.loops<columns 4x8x16 order = [0 by 2, 1 by 2, 2]>} : (tensor<4x8x16xf32>) -> tensor<16xf32> {
  ^bb0(%a: tensor<4x8x16xf32>):
    %r = graph.exp %a : tensor<4x8x16xf32>
    %y = graph.reduce_sum %r {axes = array<i64: 0, 1>, keepdims = false} : (tensor<4x8x16xf32>) -> tensor<16xf32>
    kernel.yield %y : tensor<16xf32>
  }
  return %0 : tensor<16xf32>
}

// -----
func.func @third_tile(%x: tensor<2x16x16xf32>) -> tensor<2x16x16xf32> {
  // expected-error @+2 {{loops: only the two innermost loops of a walk over tiles may have tiles on this target}}
  // expected-note @+1 {{hint: run mpc-plan-loops again, which replaces these loops}}
  %0 = kernel.dispatch pointwise "d" (%x) {loops = #kernel.loops<tiles 2x16x16 order = [0 by 2, 1 by 16, 2 by 16] parallel = 1>} : (tensor<2x16x16xf32>) -> tensor<2x16x16xf32> {
  ^bb0(%a: tensor<2x16x16xf32>):
    %y = graph.exp %a : tensor<2x16x16xf32>
    kernel.yield %y : tensor<2x16x16xf32>
  }
  return %0 : tensor<2x16x16xf32>
}

// -----
func.func @large_tile(%x: tensor<512x10xf32>) -> tensor<10xf32> {
  // expected-error @+2 {{loops: a tile of 64 iterations is larger than its loop, which has 10}}
  // expected-note @+1 {{hint: run mpc-plan-loops again, which replaces these loops}}
  %0 = kernel.dispatch reduction "d" (%x) {loops = #kernel.loops<columns 512x10 order = [0, 1 by 64]>} : (tensor<512x10xf32>) -> tensor<10xf32> {
  ^bb0(%a: tensor<512x10xf32>):
    %y = graph.reduce_sum %a {axes = array<i64: 0>, keepdims = false} : (tensor<512x10xf32>) -> tensor<10xf32>
    kernel.yield %y : tensor<10xf32>
  }
  return %0 : tensor<10xf32>
}

// -----
// The sums of a block lie on the stack of a thread.
func.func @many_sums(%x: tensor<64x1000000xf32>) -> tensor<1000000xf32> {
  // expected-error @+2 {{loops: a block has sums of at most 64 columns, not of 1000000}}
  // expected-note @+1 {{hint: run mpc-plan-loops again, which replaces these loops}}
  %0 = kernel.dispatch reduction "d" (%x) {loops = #kernel.loops<columns 64x1000000 order = [0, 1]>} : (tensor<64x1000000xf32>) -> tensor<1000000xf32> {
  ^bb0(%a: tensor<64x1000000xf32>):
    %y = graph.reduce_sum %a {axes = array<i64: 0>, keepdims = false} : (tensor<64x1000000xf32>) -> tensor<1000000xf32>
    kernel.yield %y : tensor<1000000xf32>
  }
  return %0 : tensor<1000000xf32>
}

// -----
module attributes {kernel.target = #kernel.target<"sm_80">} {
  func.func @square_tiles(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
    // expected-error @+2 {{loops: a tile has 16 iterations and a row of threads has 32; on a GPU they are equal}}
    // expected-note @+1 {{hint: run mpc-plan-loops again, which replaces these loops}}
    %0 = kernel.dispatch pointwise "d" (%x) {loops = #kernel.loops<tiles 8x64 order = [0 by 16, 1 by 32] threads = 8x32>} : (tensor<8x64xf32>) -> tensor<8x64xf32> {
    ^bb0(%a: tensor<8x64xf32>):
      %y = graph.exp %a : tensor<8x64xf32>
      kernel.yield %y : tensor<8x64xf32>
    }
    return %0 : tensor<8x64xf32>
  }
}

// -----
module attributes {kernel.target = #kernel.target<"sm_80">} {
  func.func @gpu_tile(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
    // expected-error @+2 {{loops: only one loop, not the innermost one, of a walk over points may have tiles on this target}}
    // expected-note @+1 {{hint: run mpc-plan-loops again, which replaces these loops}}
    %0 = kernel.dispatch pointwise "d" (%x) {loops = #kernel.loops<points 8x64 order = [0, 1 by 32] parallel = 2 threads = 1x256>} : (tensor<8x64xf32>) -> tensor<8x64xf32> {
    ^bb0(%a: tensor<8x64xf32>):
      %y = graph.exp %a : tensor<8x64xf32>
      kernel.yield %y : tensor<8x64xf32>
    }
    return %0 : tensor<8x64xf32>
  }
}

// -----
module attributes {kernel.target = #kernel.target<"sm_80">} {
  func.func @shared_tiles(%x: tensor<2048x2048xf32>) -> tensor<2048x2048xf32> {
    // expected-error @+2 {{loops: a block takes 4198400 bytes of shared memory, and one of sm_80 has 166912}}
    // expected-note @+1 {{hint: run mpc-plan-loops again, which replaces these loops}}
    %0 = kernel.dispatch pointwise "d" (%x) {loops = #kernel.loops<tiles 2048x2048 order = [0 by 1024, 1 by 1024] threads = 1x1024>} : (tensor<2048x2048xf32>) -> tensor<2048x2048xf32> {
    ^bb0(%a: tensor<2048x2048xf32>):
      %y = graph.transpose %a {permutation = array<i64: 1, 0>} : (tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
      kernel.yield %y : tensor<2048x2048xf32>
    }
    return %0 : tensor<2048x2048xf32>
  }
}

// -----
func.func @host_copies(%x: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<4x8xf32>) {
  // expected-error @+2 {{loops: copies are for GPUs}}
  // expected-note @+1 {{hint: run mpc-plan-loops again, which replaces these loops}}
  %0:2 = kernel.dispatch transposed_copy "d" (%x) {loops = #kernel.loops<copies 1x8x4 order = [0, 1 by 64, 2 by 64]>} : (tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<4x8xf32>) {
  ^bb0(%a: tensor<8x4xf32>):
    %1 = graph.exp %a : tensor<8x4xf32>
    %2 = graph.transpose %1 {permutation = array<i64: 1, 0>} : (tensor<8x4xf32>) -> tensor<4x8xf32>
    kernel.yield %1, %2 : tensor<8x4xf32>, tensor<4x8xf32>
  }
  return %0#0, %0#1 : tensor<8x4xf32>, tensor<4x8xf32>
}

// -----
// Emission takes the loops for those over matrices, rows and columns.
module attributes {kernel.target = #kernel.target<"sm_80">} {
  func.func @swapped_copies(%x: tensor<64x128xf32>) -> (tensor<64x128xf32>, tensor<128x64xf32>) {
    // expected-error @+2 {{loops: the loops of copies are [0, 1 by 64, 2 by 64]}}
    // expected-note @+1 {{hint: run mpc-plan-loops again, which replaces these loops}}
    %0:2 = kernel.dispatch transposed_copy "d" (%x) {loops = #kernel.loops<copies 1x64x128 order = [0, 2 by 64, 1 by 64] parallel = 1 threads = 1x256>} : (tensor<64x128xf32>) -> (tensor<64x128xf32>, tensor<128x64xf32>) {
    ^bb0(%a: tensor<64x128xf32>):
      %1 = graph.exp %a : tensor<64x128xf32>
      %2 = graph.transpose %1 {permutation = array<i64: 1, 0>} : (tensor<64x128xf32>) -> tensor<128x64xf32>
      kernel.yield %1, %2 : tensor<64x128xf32>, tensor<128x64xf32>
    }
    return %0#0, %0#1 : tensor<64x128xf32>, tensor<128x64xf32>
  }
}

// -----
module attributes {kernel.target = #kernel.target<"sm_80">} {
  func.func @merged_copies(%x: tensor<64x128xf32>) -> (tensor<64x128xf32>, tensor<128x64xf32>) {
    // expected-error @+2 {{loops: the loops of copies are [0, 1 by 64, 2 by 64]}}
    // expected-note @+1 {{hint: run mpc-plan-loops again, which replaces these loops}}
    %0:2 = kernel.dispatch transposed_copy "d" (%x) {loops = #kernel.loops<copies 1x64x128 order = [0 to 1 by 64, 2 by 64] threads = 1x256>} : (tensor<64x128xf32>) -> (tensor<64x128xf32>, tensor<128x64xf32>) {
    ^bb0(%a: tensor<64x128xf32>):
      %1 = graph.exp %a : tensor<64x128xf32>
      %2 = graph.transpose %1 {permutation = array<i64: 1, 0>} : (tensor<64x128xf32>) -> tensor<128x64xf32>
      kernel.yield %1, %2 : tensor<64x128xf32>, tensor<128x64xf32>
    }
    return %0#0, %0#1 : tensor<64x128xf32>, tensor<128x64xf32>
  }
}

// -----
func.func @shared(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // expected-error @+2 {{loops: at most 1 of the outermost loops of a walk over points are parallel on this target, not 2}}
  // expected-note @+1 {{hint: run mpc-plan-loops again, which replaces these loops}}
  %0 = kernel.dispatch pointwise "d" (%x) {loops = #kernel.loops<points 8x4 order = [0, 1] parallel = 2>} : (tensor<8x4xf32>) -> tensor<8x4xf32> {
  ^bb0(%a: tensor<8x4xf32>):
    %y = graph.exp %a : tensor<8x4xf32>
    kernel.yield %y : tensor<8x4xf32>
  }
  return %0 : tensor<8x4xf32>
}

// -----
func.func @tiles_alone(%x: tensor<2x16x16xf32>) -> tensor<2x16x16xf32> {
  // expected-error @+2 {{loops: exactly 1 of the outermost loops of a walk over tiles are parallel on this target, not 0}}
  // expected-note @+1 {{hint: run mpc-plan-loops again, which replaces these loops}}
  %0 = kernel.dispatch pointwise "d" (%x) {loops = #kernel.loops<tiles 2x16x16 order = [0, 1 by 16, 2 by 16]>} : (tensor<2x16x16xf32>) -> tensor<2x16x16xf32> {
  ^bb0(%a: tensor<2x16x16xf32>):
    %y = graph.exp %a : tensor<2x16x16xf32>
    kernel.yield %y : tensor<2x16x16xf32>
  }
  return %0 : tensor<2x16x16xf32>
}

// -----
module attributes {kernel.target = #kernel.target<"sm_80">} {
  func.func @all_parallel(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
    // expected-error @+2 {{loops: exactly 2 of the outermost loops of a walk over points are parallel on this target, not 1}}
    // expected-note @+1 {{hint: run mpc-plan-loops again, which replaces these loops}}
    %0 = kernel.dispatch pointwise "d" (%x) {loops = #kernel.loops<points 8x64 order = [0, 1] parallel = 1 threads = 1x256>} : (tensor<8x64xf32>) -> tensor<8x64xf32> {
    ^bb0(%a: tensor<8x64xf32>):
      %y = graph.exp %a : tensor<8x64xf32>
      kernel.yield %y : tensor<8x64xf32>
    }
    return %0 : tensor<8x64xf32>
  }
}

// -----
func.func @half_vector(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // expected-error @+2 {{loops: vector = 2 needs an innermost loop of as many iterations over the last dimension alone}}
  // expected-note @+1 {{hint: run mpc-plan-loops again, which replaces these loops}}
  %0 = kernel.dispatch pointwise "d" (%x) {loops = #kernel.loops<points 8x4 order = [0, 1] vector = 2>} : (tensor<8x4xf32>) -> tensor<8x4xf32> {
  ^bb0(%a: tensor<8x4xf32>):
    %y = graph.exp %a : tensor<8x4xf32>
    kernel.yield %y : tensor<8x4xf32>
  }
  return %0 : tensor<8x4xf32>
}

// -----
// The innermost loop walks the outermost dimension.
func.func @outer_vector(%x: tensor<4x8x3xf32>) -> tensor<4x8x3xf32> {
  // expected-error @+2 {{loops: vector = 4 needs an innermost loop of as many iterations over the last dimension alone}}
  // expected-note @+1 {{hint: run mpc-plan-loops again, which replaces these loops}}
  %0 = kernel.dispatch pointwise "d" (%x) {loops = #kernel.loops<points 4x8x3 order = [1, 2, 0] vector = 4>} : (tensor<4x8x3xf32>) -> tensor<4x8x3xf32> {
  ^bb0(%a: tensor<4x8x3xf32>):
    %y = graph.exp %a : tensor<4x8x3xf32>
    kernel.yield %y : tensor<4x8x3xf32>
  }
  return %0 : tensor<4x8x3xf32>
}

// -----
func.func @row_vector(%x: tensor<8x4xf32>) -> tensor<8xf32> {
  // expected-error @+2 {{loops: an iteration of a walk over rows computes one point on this target}}
  // expected-note @+1 {{hint: run mpc-plan-loops again, which replaces these loops}}
  %0 = kernel.dispatch reduction "d" (%x) {loops = #kernel.loops<rows 8x4 order = [0, 1] vector = 4>} : (tensor<8x4xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8x4xf32>):
    %y = graph.reduce_sum %a {axes = array<i64: 1>, keepdims = false} : (tensor<8x4xf32>) -> tensor<8xf32>
    kernel.yield %y : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----
func.func @wide_vector(%x: tensor<4x64xf32>) -> tensor<4x64xf32> {
  // expected-error @+2 {{loops: at most 8 neighbours are computed together, not 64}}
  // expected-note @+1 {{hint: run mpc-plan-loops again, which replaces these loops}}
  %0 = kernel.dispatch pointwise "d" (%x) {loops = #kernel.loops<points 4x64 order = [0, 1] vector = 64>} : (tensor<4x64xf32>) -> tensor<4x64xf32> {
  ^bb0(%a: tensor<4x64xf32>):
    %y = graph.exp %a : tensor<4x64xf32>
    kernel.yield %y : tensor<4x64xf32>
  }
  return %0 : tensor<4x64xf32>
}

// -----
module attributes {kernel.target = #kernel.target<"sm_80">} {
  func.func @neighbours(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
    // expected-error @+2 {{loops: vector = 3 does not divide the innermost loop, which has 64 iterations}}
    // expected-note @+1 {{hint: run mpc-plan-loops again, which replaces these loops}}
    %0 = kernel.dispatch pointwise "d" (%x) {loops = #kernel.loops<points 8x64 order = [0, 1] parallel = 2 vector = 3 threads = 1x256>} : (tensor<8x64xf32>) -> tensor<8x64xf32> {
    ^bb0(%a: tensor<8x64xf32>):
      %y = graph.exp %a : tensor<8x64xf32>
      kernel.yield %y : tensor<8x64xf32>
    }
    return %0 : tensor<8x64xf32>
  }
}

// -----
module attributes {kernel.target = #kernel.target<"sm_80">} {
  func.func @many_neighbours(%x: tensor<64x1024xf32>) -> tensor<1024xf32> {
    // expected-error @+2 {{loops: at most 8 neighbours are computed together, not 1024}}
    // expected-note @+1 {{hint: run mpc-plan-loops again, which replaces these loops}}
    %0 = kernel.dispatch reduction "d" (%x) {loops = #kernel.loops<columns 64x1024 order = [0, 1] vector = 1024 threads = 32x1>} : (tensor<64x1024xf32>) -> tensor<1024xf32> {
    ^bb0(%a: tensor<64x1024xf32>):
      %y = graph.reduce_sum %a {axes = array<i64: 0>, keepdims = false} : (tensor<64x1024xf32>) -> tensor<1024xf32>
      kernel.yield %y : tensor<1024xf32>
    }
    return %0 : tensor<1024xf32>
  }
}

// -----
module attributes {kernel.target = #kernel.target<"sm_80">} {
  func.func @broken_taps(%x: tensor<10x64xf32>) -> tensor<64xf32> {
    // expected-error @+2 {{loops: a thread adds up 4 neighbours of a loop over one dimension, which do not divide its 10}}
    // expected-note @+1 {{hint: run mpc-plan-loops again, which replaces these loops}}
    %0 = kernel.dispatch reduction "d" (%x) {loops = #kernel.loops<columns 10x64 order = [0 by 4, 1] threads = 8x32>} : (tensor<10x64xf32>) -> tensor<64xf32> {
    ^bb0(%a: tensor<10x64xf32>):
      %y = graph.reduce_sum %a {axes = array<i64: 0>, keepdims = false} : (tensor<10x64xf32>) -> tensor<64xf32>
      kernel.yield %y : tensor<64xf32>
    }
    return %0 : tensor<64xf32>
  }
}

// -----
module attributes {kernel.target = #kernel.target<"sm_80">} {
  func.func @divided_warp(%x: tensor<10x64xf32>) -> tensor<10xf32> {
    // expected-error @+2 {{loops: a warp computes 4 rows at a time, and there are 10, which is no multiple}}
    // expected-note @+1 {{hint: run mpc-plan-loops again, which replaces these loops}}
    %0 = kernel.dispatch reduction "d" (%x) {loops = #kernel.loops<rows 10x64 order = [0, 1] parallel = 1 threads = 16x8>} : (tensor<10x64xf32>) -> tensor<10xf32> {
    ^bb0(%a: tensor<10x64xf32>):
      %y = graph.reduce_sum %a {axes = array<i64: 1>, keepdims = false} : (tensor<10x64xf32>) -> tensor<10xf32>
      kernel.yield %y : tensor<10xf32>
    }
    return %0 : tensor<10xf32>
  }
}

// -----
module attributes {kernel.target = #kernel.target<"sm_80">} {
  func.func @half_warp(%x: tensor<8x64xf32>) -> tensor<8xf32> {
    // expected-error @+2 {{loops: a block has several rows only if each is one warp of 32 threads or fewer, a power of two, and else one row of whole warps, not 2x64}}
    // expected-note @+1 {{hint: run mpc-plan-loops again, which replaces these loops}}
    %0 = kernel.dispatch reduction "d" (%x) {loops = #kernel.loops<rows 8x64 order = [0, 1] parallel = 1 threads = 2x64>} : (tensor<8x64xf32>) -> tensor<8xf32> {
    ^bb0(%a: tensor<8x64xf32>):
      %y = graph.reduce_sum %a {axes = array<i64: 1>, keepdims = false} : (tensor<8x64xf32>) -> tensor<8xf32>
      kernel.yield %y : tensor<8xf32>
    }
    return %0 : tensor<8xf32>
  }
}

// -----
module attributes {kernel.target = #kernel.target<"sm_80">} {
  func.func @wide_columns(%x: tensor<8x64xf32>) -> tensor<64xf32> {
    // expected-error @+2 {{loops: columns are shared by a power of two of threads, at most 32, not by 64}}
    // expected-note @+1 {{hint: run mpc-plan-loops again, which replaces these loops}}
    %0 = kernel.dispatch reduction "d" (%x) {loops = #kernel.loops<columns 8x64 order = [0, 1] threads = 4x64>} : (tensor<8x64xf32>) -> tensor<64xf32> {
    ^bb0(%a: tensor<8x64xf32>):
      %y = graph.reduce_sum %a {axes = array<i64: 0>, keepdims = false} : (tensor<8x64xf32>) -> tensor<64xf32>
      kernel.yield %y : tensor<64xf32>
    }
    return %0 : tensor<64xf32>
  }
}

// -----
module attributes {kernel.target = #kernel.target<"sm_60">} {
  func.func @shared_sums(%x: tensor<64x1024xf64>) -> tensor<1024xf64> {
    // expected-error @+2 {{loops: a block takes 65536 bytes of shared memory, and one of sm_60 has 49152}}
    // expected-note @+1 {{hint: run mpc-plan-loops again, which replaces these loops}}
    %0 = kernel.dispatch reduction "d" (%x) {loops = #kernel.loops<columns 64x1024 order = [0, 1] vector = 8 threads = 32x32>} : (tensor<64x1024xf64>) -> tensor<1024xf64> {
    ^bb0(%a: tensor<64x1024xf64>):
      %y = graph.reduce_sum %a {axes = array<i64: 0>, keepdims = false} : (tensor<64x1024xf64>) -> tensor<1024xf64>
      kernel.yield %y : tensor<1024xf64>
    }
    return %0 : tensor<1024xf64>
  }
}

// -----
// All tensors in memory are small.
module attributes {kernel.target = #kernel.target<"sm_80">} {
  func.func @wide_space(%x: tensor<65536x1xf32>, %z: tensor<1x65536xf32>) -> tensor<f32> {
    // expected-error @+2 {{'kernel.dispatch' op has 4294967296 points in its space, and the threads of a GPU count up to 2147482623}}
    // expected-note @+1 {{hint: use a smaller batch, or smaller parameters where none of it is a batch}}
    %0 = kernel.dispatch reduction "d" (%x, %z) {loops = #kernel.loops<rows 65536x65536 order = [0 to 1] threads = 1x1024>} : (tensor<65536x1xf32>, tensor<1x65536xf32>) -> tensor<f32> {
    ^bb0(%a: tensor<65536x1xf32>, %b: tensor<1x65536xf32>):
      %d = graph.sub %a, %b : (tensor<65536x1xf32>, tensor<1x65536xf32>) -> tensor<65536x65536xf32>
      %y = graph.reduce_sum %d {axes = array<i64: 0, 1>, keepdims = false} : (tensor<65536x65536xf32>) -> tensor<f32>
      kernel.yield %y : tensor<f32>
    }
    return %0 : tensor<f32>
  }
}

// -----
module attributes {kernel.target = #kernel.target<"sm_80">} {
  func.func @two_loops(%x: tensor<4x8x64xf32>) -> tensor<8xf32> {
    // expected-error @+2 {{loops: only a single loop over the row is unrolled}}
    // expected-note @+1 {{hint: run mpc-plan-loops again, which replaces these loops}}
    %0 = kernel.dispatch reduction "d" (%x) {loops = #kernel.loops<rows 4x8x64 order = [1, 0, 2] parallel = 1 threads = 4x32 unroll>} : (tensor<4x8x64xf32>) -> tensor<8xf32> {
    ^bb0(%a: tensor<4x8x64xf32>):
      %y = graph.reduce_sum %a {axes = array<i64: 0, 2>, keepdims = false} : (tensor<4x8x64xf32>) -> tensor<8xf32>
      kernel.yield %y : tensor<8xf32>
    }
    return %0 : tensor<8xf32>
  }
}

// -----
module attributes {kernel.target = #kernel.target<"sm_80">} {
  func.func @many_pieces(%x: tensor<8x65536xf32>) -> tensor<8xf32> {
    // expected-error @+2 {{loops: a thread unrolls at most 4 pieces of a row, not 2048}}
    // expected-note @+1 {{hint: run mpc-plan-loops again, which replaces these loops}}
    %0 = kernel.dispatch reduction "d" (%x) {loops = #kernel.loops<rows 8x65536 order = [0, 1] parallel = 1 threads = 4x32 unroll>} : (tensor<8x65536xf32>) -> tensor<8xf32> {
    ^bb0(%a: tensor<8x65536xf32>):
      %y = graph.reduce_sum %a {axes = array<i64: 1>, keepdims = false} : (tensor<8x65536xf32>) -> tensor<8xf32>
      kernel.yield %y : tensor<8xf32>
    }
    return %0 : tensor<8xf32>
  }
}

// -----
module attributes {kernel.target = #kernel.target<"sm_80">} {
  func.func @gpu_cuts(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
    // expected-error @+2 {{loops: only loops over single points on the host are cut}}
    // expected-note @+1 {{hint: run mpc-plan-loops again, which replaces these loops}}
    %0 = kernel.dispatch pointwise "d" (%x) {loops = #kernel.loops<points 8x64 order = [0, 1] parallel = 2 threads = 1x256 cuts = [32]>} : (tensor<8x64xf32>) -> tensor<8x64xf32> {
    ^bb0(%a: tensor<8x64xf32>):
      %y = graph.exp %a : tensor<8x64xf32>
      kernel.yield %y : tensor<8x64xf32>
    }
    return %0 : tensor<8x64xf32>
  }
}

// -----
// The innermost loop is no loop here, and another one would be cut.
func.func @vector_cuts(%x: tensor<2x8x4xf32>, %z: tensor<2x8x4xf32>) -> tensor<4x8x4xf32> {
  // expected-error @+2 {{loops: only loops over single points on the host are cut}}
  // expected-note @+1 {{hint: run mpc-plan-loops again, which replaces these loops}}
  %0 = kernel.dispatch pointwise "d" (%x, %z) {loops = #kernel.loops<points 4x8x4 order = [0 to 1, 2] vector = 4 cuts = [2]>} : (tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> tensor<4x8x4xf32> {
  ^bb0(%a: tensor<2x8x4xf32>, %b: tensor<2x8x4xf32>):
    %y = graph.concat %a, %b {axis = 0 : i64} : (tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> tensor<4x8x4xf32>
    kernel.yield %y : tensor<4x8x4xf32>
  }
  return %0 : tensor<4x8x4xf32>
}

// -----
module attributes {kernel.target = #kernel.target<"sm_80">} {
  func.func @gpu_contraction(%x: tensor<256x16xf32>, %z: tensor<16x64xf32>) -> (tensor<256x64xf32>, tensor<64xf32>) {
    // expected-error @+2 {{loops: a contraction of a GPU has none, because its schedule says how it is computed}}
    // expected-note @+1 {{hint: run mpc-plan-loops again, which replaces these loops}}
    %0:2 = kernel.dispatch contraction "d" (%x, %z) {loops = #kernel.loops<columns 256x64 order = [0, 1] threads = 8x32>} : (tensor<256x16xf32>, tensor<16x64xf32>) -> (tensor<256x64xf32>, tensor<64xf32>) {
    ^bb0(%a: tensor<256x16xf32>, %b: tensor<16x64xf32>):
      %p = graph.matmul %a, %b : (tensor<256x16xf32>, tensor<16x64xf32>) -> tensor<256x64xf32>
      %s = graph.reduce_sum %p {axes = array<i64: 0>, keepdims = false} : (tensor<256x64xf32>) -> tensor<64xf32>
      kernel.yield %p, %s : tensor<256x64xf32>, tensor<64xf32>
    }
    return %0#0, %0#1 : tensor<256x64xf32>, tensor<64xf32>
  }
}

// -----
func.func @call_alone(%x: tensor<256x16xf32>, %z: tensor<16x64xf32>) -> tensor<256x64xf32> {
  // expected-error @+2 {{loops: a host library computes the only result of this contraction}}
  // expected-note @+1 {{hint: run mpc-plan-loops again, which replaces these loops}}
  %0 = kernel.dispatch contraction "d" (%x, %z) {loops = #kernel.loops<columns 256x64 order = [0, 1 by 32]>} : (tensor<256x16xf32>, tensor<16x64xf32>) -> tensor<256x64xf32> {
  ^bb0(%a: tensor<256x16xf32>, %b: tensor<16x64xf32>):
    %p = graph.matmul %a, %b : (tensor<256x16xf32>, tensor<16x64xf32>) -> tensor<256x64xf32>
    kernel.yield %p : tensor<256x64xf32>
  }
  return %0 : tensor<256x64xf32>
}

// -----
// The loops of a contraction are those behind the call.
func.func @loops_behind(%x: tensor<256x16xf32>, %z: tensor<16x64xf32>) -> (tensor<256x64xf32>, tensor<64xf32>) {
  // expected-error @+2 {{loops: the dimensions of its space are 256x64}}
  // expected-note @+1 {{hint: run mpc-plan-loops again, which replaces these loops}}
  %0:2 = kernel.dispatch contraction "d" (%x, %z) {loops = #kernel.loops<columns 16x64 order = [0, 1 by 32]>} : (tensor<256x16xf32>, tensor<16x64xf32>) -> (tensor<256x64xf32>, tensor<64xf32>) {
  ^bb0(%a: tensor<256x16xf32>, %b: tensor<16x64xf32>):
    %p = graph.matmul %a, %b : (tensor<256x16xf32>, tensor<16x64xf32>) -> tensor<256x64xf32>
    %s = graph.reduce_sum %p {axes = array<i64: 0>, keepdims = false} : (tensor<256x64xf32>) -> tensor<64xf32>
    kernel.yield %p, %s : tensor<256x64xf32>, tensor<64xf32>
  }
  return %0#0, %0#1 : tensor<256x64xf32>, tensor<64xf32>
}

// -----
func.func @walk_behind(%x: tensor<256x16xf32>, %z: tensor<16x64xf32>) -> (tensor<256x64xf32>, tensor<64xf32>) {
  // expected-error @+2 {{loops: points do not go through a dispatch of the form reduction}}
  // expected-note @+1 {{hint: run mpc-plan-loops again, which replaces these loops}}
  %0:2 = kernel.dispatch contraction "d" (%x, %z) {loops = #kernel.loops<points 256x64 order = [0, 1]>} : (tensor<256x16xf32>, tensor<16x64xf32>) -> (tensor<256x64xf32>, tensor<64xf32>) {
  ^bb0(%a: tensor<256x16xf32>, %b: tensor<16x64xf32>):
    %p = graph.matmul %a, %b : (tensor<256x16xf32>, tensor<16x64xf32>) -> tensor<256x64xf32>
    %s = graph.reduce_sum %p {axes = array<i64: 0>, keepdims = false} : (tensor<256x64xf32>) -> tensor<64xf32>
    kernel.yield %p, %s : tensor<256x64xf32>, tensor<64xf32>
  }
  return %0#0, %0#1 : tensor<256x64xf32>, tensor<64xf32>
}

// -----
module attributes {kernel.target = #kernel.target<"sm_80">} {
  func.func @broken_strip(%x: tensor<30x32xf32>) -> tensor<30x32xf32> {
    // expected-error @+2 {{loops: a thread takes 4 iterations of a loop, which do not divide its 30}}
    // expected-note @+1 {{hint: run mpc-plan-loops again, which replaces these loops}}
    %0 = kernel.dispatch pointwise "d" (%x) {loops = #kernel.loops<points 30x32 order = [0 by 4, 1] parallel = 2 threads = 1x32>} : (tensor<30x32xf32>) -> tensor<30x32xf32> {
    ^bb0(%a: tensor<30x32xf32>):
      %y = graph.exp %a : tensor<30x32xf32>
      kernel.yield %y : tensor<30x32xf32>
    }
    return %0 : tensor<30x32xf32>
  }
}

// -----
module attributes {kernel.target = #kernel.target<"sm_80">} {
  func.func @two_strips(%x: tensor<8x8x32xf32>) -> tensor<8x8x32xf32> {
    // expected-error @+2 {{loops: only one loop, not the innermost one, of a walk over points may have tiles on this target}}
    // expected-note @+1 {{hint: run mpc-plan-loops again, which replaces these loops}}
    %0 = kernel.dispatch pointwise "d" (%x) {loops = #kernel.loops<points 8x8x32 order = [0 by 4, 1 by 4, 2] parallel = 3 threads = 1x32>} : (tensor<8x8x32xf32>) -> tensor<8x8x32xf32> {
    ^bb0(%a: tensor<8x8x32xf32>):
      %y = graph.exp %a : tensor<8x8x32xf32>
      kernel.yield %y : tensor<8x8x32xf32>
    }
    return %0 : tensor<8x8x32xf32>
  }
}

// -----
module attributes {kernel.target = #kernel.target<"sm_80">} {
  func.func @tiles_of_parts(%x: tensor<64x64xf32>) {
    // expected-error @+2 {{loops: tiles hold whole results, and this dispatch stores a concatenation in parts}}
    // expected-note @+1 {{hint: run mpc-plan-loops again, which replaces these loops}}
    %0:2 = kernel.dispatch pointwise "d" (%x) {loops = #kernel.loops<tiles 64x64 order = [0 by 32, 1 by 32] threads = 8x32>} : (tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x128xf32>) {
    ^bb0(%a: tensor<64x64xf32>):
      %1 = graph.transpose %a {permutation = array<i64: 1, 0>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
      %2 = graph.concat %1, %a {axis = 1 : i64} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x128xf32>
      kernel.yield %1, %2 : tensor<64x64xf32>, tensor<64x128xf32>
    }
    return
  }
}
