// RUN: mpc-opt %s --mpc-plan-loops | FileCheck %s --check-prefixes=CHECK,HOST
// RUN: mpc-opt %s --mpc-set-target=name=sm_80 --mpc-plan-loops | FileCheck %s --check-prefixes=CHECK,GPU
// RUN: mpc-opt %s --mpc-plan-loops --mpc-plan-loops | FileCheck %s --check-prefixes=CHECK,HOST

// The order of loops, from the strides of what is read and written.

// Contiguous dimensions are walked as one.
// HOST: kernel.dispatch pointwise "flat"{{.*}}loops = #kernel.loops<points 16x64x64 order = [0 to 2 by 1024]>
// GPU: kernel.dispatch pointwise "flat"{{.*}}loops = #kernel.loops<points 16x64x64 order = [0 to 2] parallel = 1 vector = 4 threads = 1x256>
func.func @flat(%x: tensor<16x64x64xf32>) -> tensor<16x64x64xf32> {
  %0 = kernel.dispatch pointwise "flat" (%x) : (tensor<16x64x64xf32>) -> tensor<16x64x64xf32> {
  ^bb0(%a: tensor<16x64x64xf32>):
    %1 = graph.relu %a : tensor<16x64x64xf32>
    kernel.yield %1 : tensor<16x64x64xf32>
  }
  return %0 : tensor<16x64x64xf32>
}

// What is broadcast along some of them keeps those apart.
// CHECK: kernel.dispatch pointwise "bias"{{.*}}loops = #kernel.loops<points 16x64x64 order = [0 to 1, 2]
func.func @bias(%x: tensor<16x64x64xf32>, %y: tensor<64xf32>) -> tensor<16x64x64xf32> {
  %0 = kernel.dispatch pointwise "bias" (%x, %y) : (tensor<16x64x64xf32>, tensor<64xf32>) -> tensor<16x64x64xf32> {
  ^bb0(%a: tensor<16x64x64xf32>, %b: tensor<64xf32>):
    %1 = graph.add %a, %b : (tensor<16x64x64xf32>, tensor<64xf32>) -> tensor<16x64x64xf32>
    kernel.yield %1 : tensor<16x64x64xf32>
  }
  return %0 : tensor<16x64x64xf32>
}

// Where a GPU's threads share the parameters of channels, each takes several rows of a large tensor.
// HOST: kernel.dispatch pointwise "parameters"{{.*}}loops = #kernel.loops<points 256x3136x64 order = [0 to 1, 2]
// GPU: kernel.dispatch pointwise "parameters"{{.*}}loops = #kernel.loops<points 256x3136x64 order = [0 to 1 by 4, 2] parallel = 2 vector = 8 threads = 1x256>
func.func @parameters(%x: tensor<256x3136x64xf16>, %y: tensor<64xf32>) -> tensor<256x3136x64xf16> {
  %0 = kernel.dispatch pointwise "parameters" (%x, %y) : (tensor<256x3136x64xf16>, tensor<64xf32>) -> tensor<256x3136x64xf16> {
  ^bb0(%a: tensor<256x3136x64xf16>, %b: tensor<64xf32>):
    %w = graph.cast %a : tensor<256x3136x64xf16> to tensor<256x3136x64xf32>
    %1 = graph.add %w, %b : (tensor<256x3136x64xf32>, tensor<64xf32>) -> tensor<256x3136x64xf32>
    %n = graph.cast %1 : tensor<256x3136x64xf32> to tensor<256x3136x64xf16>
    kernel.yield %n : tensor<256x3136x64xf16>
  }
  return %0 : tensor<256x3136x64xf16>
}

// A transpose is walked in tiles; the loop along which the operand is contiguous comes next to the innermost one.
// HOST: kernel.dispatch pointwise "transpose"{{.*}}loops = #kernel.loops<tiles 48x16x64 order = [1, 0 by 16, 2 by 16] parallel = 1>
// GPU: kernel.dispatch pointwise "transpose"{{.*}}loops = #kernel.loops<tiles 48x16x64 order = [1, 0 by 32, 2 by 32] parallel = 1 threads = 8x32>
func.func @transpose(%x: tensor<64x16x48xf32>) -> tensor<48x16x64xf32> {
  %0 = kernel.dispatch pointwise "transpose" (%x) : (tensor<64x16x48xf32>) -> tensor<48x16x64xf32> {
  ^bb0(%a: tensor<64x16x48xf32>):
    %1 = graph.transpose %a {permutation = array<i64: 2, 1, 0>} : (tensor<64x16x48xf32>) -> tensor<48x16x64xf32>
    kernel.yield %1 : tensor<48x16x64xf32>
  }
  return %0 : tensor<48x16x64xf32>
}

// On the host the loop over what a concatenation joins is cut.
// HOST: kernel.dispatch pointwise "concat"{{.*}}loops = #kernel.loops<points 64x40 order = [0, 1] parallel = 1 cuts = [32]>
// GPU: kernel.dispatch pointwise "concat"{{.*}}loops = #kernel.loops<points 64x40 order = [0, 1] parallel = 2 vector = 4 threads = 1x256>
func.func @concat(%x: tensor<64x32xf32>, %y: tensor<64x8xf32>) -> tensor<64x40xf32> {
  %0 = kernel.dispatch pointwise "concat" (%x, %y) : (tensor<64x32xf32>, tensor<64x8xf32>) -> tensor<64x40xf32> {
  ^bb0(%a: tensor<64x32xf32>, %b: tensor<64x8xf32>):
    %1 = graph.concat %a, %b {axis = 1 : i64} : (tensor<64x32xf32>, tensor<64x8xf32>) -> tensor<64x40xf32>
    kernel.yield %1 : tensor<64x40xf32>
  }
  return %0 : tensor<64x40xf32>
}

// Neighbours that share the words of one random draw are computed together.
// HOST: kernel.dispatch pointwise "random"{{.*}}loops = #kernel.loops<points 32x16x4 order = [0 to 1, 2] vector = 4>
// GPU: kernel.dispatch pointwise "random"{{.*}}loops = #kernel.loops<points 32x16x4 order = [0 to 1, 2] parallel = 2 vector = 4 threads = 1x256>
func.func @random(%seed: tensor<i64>, %step: tensor<i64>) -> tensor<32x64xf32> {
  %0 = kernel.dispatch pointwise "random" (%seed, %step) : (tensor<i64>, tensor<i64>) -> tensor<32x64xf32> {
  ^bb0(%s: tensor<i64>, %t: tensor<i64>):
    %1 = graph.random uniform %s, %t {salt = 7 : i64} : (tensor<i64>, tensor<i64>) -> tensor<32x64xf32>
    kernel.yield %1 : tensor<32x64xf32>
  }
  return %0 : tensor<32x64xf32>
}

// A row that is contiguous is summed row by row.
// HOST: kernel.dispatch row "rows"{{.*}}loops = #kernel.loops<rows 256x512 order = [0, 1] parallel = 1>
// GPU: kernel.dispatch row "rows"{{.*}}loops = #kernel.loops<rows 256x512 order = [0, 1] parallel = 1 vector = 4 threads = 4x32 unroll>
func.func @rows(%x: tensor<256x512xf32>) -> tensor<256x512xf32> {
  %0 = kernel.dispatch row "rows" (%x) : (tensor<256x512xf32>) -> tensor<256x512xf32> {
  ^bb0(%a: tensor<256x512xf32>):
    %1 = graph.reduce_max %a {axes = array<i64: 1>, keepdims = true} : (tensor<256x512xf32>) -> tensor<256x1xf32>
    %2 = graph.sub %a, %1 : (tensor<256x512xf32>, tensor<256x1xf32>) -> tensor<256x512xf32>
    kernel.yield %2 : tensor<256x512xf32>
  }
  return %0 : tensor<256x512xf32>
}

// Where it is not, columns come innermost, and long sums are made of shorter ones.
// HOST: kernel.dispatch reduction "columns"{{.*}}loops = #kernel.loops<columns 32x3136x64 order = [0 to 1 by 448, 2 by 32]>
// GPU: kernel.dispatch reduction "columns"{{.*}}loops = #kernel.loops<columns 32x3136x64 order = [0 to 1, 2] vector = 4 threads = 128x2>
func.func @columns(%x: tensor<32x3136x64xf32>) -> tensor<64xf32> {
  %0 = kernel.dispatch reduction "columns" (%x) : (tensor<32x3136x64xf32>) -> tensor<64xf32> {
  ^bb0(%a: tensor<32x3136x64xf32>):
    %1 = graph.reduce_sum %a {axes = array<i64: 0, 1>, keepdims = false} : (tensor<32x3136x64xf32>) -> tensor<64xf32>
    kernel.yield %1 : tensor<64xf32>
  }
  return %0 : tensor<64xf32>
}

// The chains of a sum end where a dimension does, so the same numbers are added in the same order where fewer dimensions are walked by one loop, because something else is read: here 49 of 4x7x7 rows, and 224 of 8x56x56.
// HOST: kernel.dispatch reduction "pooled"{{.*}}loops = #kernel.loops<columns 4x7x7x64 order = [0 to 2 by 49, 3 by 32]>
// HOST: kernel.dispatch reduction "pooled_gradient"{{.*}}loops = #kernel.loops<columns 4x7x7x64 order = [0 by 1, 1 to 2, 3 by 32]>
func.func @chains(%x: tensor<4x7x7x64xf32>, %y: tensor<4x1x1x64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %0 = kernel.dispatch reduction "pooled" (%x) : (tensor<4x7x7x64xf32>) -> tensor<64xf32> {
  ^bb0(%a: tensor<4x7x7x64xf32>):
    %2 = graph.reduce_sum %a {axes = array<i64: 0, 1, 2>, keepdims = false} : (tensor<4x7x7x64xf32>) -> tensor<64xf32>
    kernel.yield %2 : tensor<64xf32>
  }
  %1 = kernel.dispatch reduction "pooled_gradient" (%x, %y) : (tensor<4x7x7x64xf32>, tensor<4x1x1x64xf32>) -> tensor<64xf32> {
  ^bb0(%a: tensor<4x7x7x64xf32>, %b: tensor<4x1x1x64xf32>):
    %2 = graph.mul %a, %b : (tensor<4x7x7x64xf32>, tensor<4x1x1x64xf32>) -> tensor<4x7x7x64xf32>
    %3 = graph.reduce_sum %2 {axes = array<i64: 0, 1, 2>, keepdims = false} : (tensor<4x7x7x64xf32>) -> tensor<64xf32>
    kernel.yield %3 : tensor<64xf32>
  }
  return %0, %1 : tensor<64xf32>, tensor<64xf32>
}
// HOST: kernel.dispatch reduction "scaled"{{.*}}loops = #kernel.loops<columns 8x56x56x64 order = [0, 1 to 2 by 224, 3 by 32]>
func.func @inner_chains(%x: tensor<8x56x56x64xf32>, %y: tensor<8x1x1x64xf32>) -> tensor<64xf32> {
  %0 = kernel.dispatch reduction "scaled" (%x, %y) : (tensor<8x56x56x64xf32>, tensor<8x1x1x64xf32>) -> tensor<64xf32> {
  ^bb0(%a: tensor<8x56x56x64xf32>, %b: tensor<8x1x1x64xf32>):
    %2 = graph.mul %a, %b : (tensor<8x56x56x64xf32>, tensor<8x1x1x64xf32>) -> tensor<8x56x56x64xf32>
    %3 = graph.reduce_sum %2 {axes = array<i64: 0, 1, 2>, keepdims = false} : (tensor<8x56x56x64xf32>) -> tensor<64xf32>
    kernel.yield %3 : tensor<64xf32>
  }
  return %0 : tensor<64xf32>
}

// A sum of each channel in the middle keeps the loops inside and outside of it apart.
// HOST: kernel.dispatch reduction "channels"{{.*}}loops = #kernel.loops<rows 32x64x14x14 order = [1, 0, 2 to 3] parallel = 1>
// GPU: kernel.dispatch reduction "channels"{{.*}}loops = #kernel.loops<rows 32x64x14x14 order = [1, 0, 2 to 3] parallel = 1 vector = 4 threads = 1x512>
func.func @channels(%x: tensor<32x64x14x14xf32>) -> tensor<64xf32> {
  %0 = kernel.dispatch reduction "channels" (%x) : (tensor<32x64x14x14xf32>) -> tensor<64xf32> {
  ^bb0(%a: tensor<32x64x14x14xf32>):
    %1 = graph.reduce_sum %a {axes = array<i64: 0, 2, 3>, keepdims = false} : (tensor<32x64x14x14xf32>) -> tensor<64xf32>
    kernel.yield %1 : tensor<64xf32>
  }
  return %0 : tensor<64xf32>
}

// A scatter has loops of its own.
// CHECK: kernel.dispatch scatter "scatter"
// CHECK-NOT: loops
// CHECK: graph.scatter
func.func @scatter(%dy: tensor<32x64xf32>, %i: tensor<32xi64>) -> tensor<1000x64xf32> {
  %0 = kernel.dispatch scatter "scatter" (%dy, %i) : (tensor<32x64xf32>, tensor<32xi64>) -> tensor<1000x64xf32> {
  ^bb0(%a: tensor<32x64xf32>, %b: tensor<32xi64>):
    %1 = graph.scatter %a, %b {axis = 0 : i64} : (tensor<32x64xf32>, tensor<32xi64>) -> tensor<1000x64xf32>
    kernel.yield %1 : tensor<1000x64xf32>
  }
  return %0 : tensor<1000x64xf32>
}

// The mean and the scale of a row, which do not change along it, say nothing about the walk, however many there are.
// CHECK: kernel.dispatch reduction "row_numbers"{{.*}}loops = #kernel.loops<columns 1024x64 order =
func.func @row_numbers(%x: tensor<1024x64xbf16>, %mean: tensor<1024x1xf32>, %scale: tensor<1024x1xf32>) -> tensor<64xf32> {
  %0 = kernel.dispatch reduction "row_numbers" (%x, %mean, %scale) : (tensor<1024x64xbf16>, tensor<1024x1xf32>, tensor<1024x1xf32>) -> tensor<64xf32> {
  ^bb0(%a: tensor<1024x64xbf16>, %b: tensor<1024x1xf32>, %c: tensor<1024x1xf32>):
    %1 = graph.cast %a : tensor<1024x64xbf16> to tensor<1024x64xf32>
    %2 = graph.sub %1, %b : (tensor<1024x64xf32>, tensor<1024x1xf32>) -> tensor<1024x64xf32>
    %3 = graph.mul %2, %c : (tensor<1024x64xf32>, tensor<1024x1xf32>) -> tensor<1024x64xf32>
    %4 = graph.reduce_sum %3 {axes = array<i64: 0>, keepdims = false} : (tensor<1024x64xf32>) -> tensor<64xf32>
    kernel.yield %4 : tensor<64xf32>
  }
  return %0 : tensor<64xf32>
}

// On the host, what follows a library's call has loops; on a GPU all of it is one kernel, which has a schedule.
// HOST: kernel.dispatch contraction "call"{{.*}} {loops = #kernel.loops<columns 256x64 order = [0 by 16, 1 by 32]>
// GPU: kernel.dispatch contraction "call"(%{{.*}}, %{{.*}}) :
func.func @call(%x: tensor<256x16xf32>, %w: tensor<16x64xf32>) -> (tensor<256x64xf32>, tensor<64xf32>) {
  %0:2 = kernel.dispatch contraction "call" (%x, %w) : (tensor<256x16xf32>, tensor<16x64xf32>) -> (tensor<256x64xf32>, tensor<64xf32>) {
  ^bb0(%a: tensor<256x16xf32>, %b: tensor<16x64xf32>):
    %1 = graph.matmul %a, %b : (tensor<256x16xf32>, tensor<16x64xf32>) -> tensor<256x64xf32>
    %2 = graph.reduce_sum %1 {axes = array<i64: 0>, keepdims = false} : (tensor<256x64xf32>) -> tensor<64xf32>
    kernel.yield %1, %2 : tensor<256x64xf32>, tensor<64xf32>
  }
  return %0#0, %0#1 : tensor<256x64xf32>, tensor<64xf32>
}

// The loops of a launch that stores a concatenation in parts walk the elements of a part. The parts of a row lie apart, so rows stay loops of their own.
// HOST: kernel.dispatch pointwise "parts"{{.*}}loops = #kernel.loops<points 32x512 order = [0, 1] parallel = 1>
// GPU: kernel.dispatch pointwise "parts"{{.*}}loops = #kernel.loops<points 32x512 order = [0, 1] parallel = 2 vector = 4 threads = 1x256>
func.func @parts(%x: tensor<32x512xf32>, %y: tensor<32x512xf32>) -> (tensor<32x1024xf32>, tensor<32x512xf32>) {
  %0:2 = kernel.dispatch pointwise "parts" (%x, %y) : (tensor<32x512xf32>, tensor<32x512xf32>) -> (tensor<32x1024xf32>, tensor<32x512xf32>) {
  ^bb0(%a: tensor<32x512xf32>, %b: tensor<32x512xf32>):
    %1 = graph.mul %a, %b : (tensor<32x512xf32>, tensor<32x512xf32>) -> tensor<32x512xf32>
    %2 = graph.concat %1, %b {axis = 1 : i64} : (tensor<32x512xf32>, tensor<32x512xf32>) -> tensor<32x1024xf32>
    kernel.yield %2, %1 : tensor<32x1024xf32>, tensor<32x512xf32>
  }
  return %0#0, %0#1 : tensor<32x1024xf32>, tensor<32x512xf32>
}
