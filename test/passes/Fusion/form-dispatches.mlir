// RUN: mpc-opt %s --mpc-form-dispatches --split-input-file | FileCheck %s

// The bias goes into the library call. The relu does not, because a library's relu gives 0 for NaN.
// CHECK-LABEL: @epilogue
// CHECK: kernel.dispatch contraction "matmul+add"(%{{.*}}, %{{.*}}, %{{.*}})
// CHECK: graph.matmul
// CHECK: graph.add
// CHECK: kernel.yield
// CHECK: kernel.dispatch pointwise "relu"
// CHECK-NOT: kernel.dispatch
func.func @epilogue(%x: tensor<8x4xf32>, %w: tensor<4x3xf32>, %b: tensor<3xf32>) -> tensor<8x3xf32> {
  %0 = graph.matmul %x, %w : (tensor<8x4xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
  %1 = graph.add %0, %b : (tensor<8x3xf32>, tensor<3xf32>) -> tensor<8x3xf32>
  %2 = graph.relu %1 : tensor<8x3xf32>
  return %2 : tensor<8x3xf32>
}

// -----
// A product that another op reads is stored before its bias is added.
// CHECK-LABEL: @shared_product
// CHECK: kernel.dispatch contraction "matmul"
// CHECK: kernel.dispatch pointwise "add+relu"
func.func @shared_product(%x: tensor<8x4xf32>, %w: tensor<4x3xf32>, %b: tensor<3xf32>) -> (tensor<8x3xf32>, tensor<8x3xf32>) {
  %0 = graph.matmul %x, %w : (tensor<8x4xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
  %1 = graph.add %0, %b : (tensor<8x3xf32>, tensor<3xf32>) -> tensor<8x3xf32>
  %2 = graph.relu %1 : tensor<8x3xf32>
  return %0, %2 : tensor<8x3xf32>, tensor<8x3xf32>
}

// -----
// A chain of elementwise ops is one launch, with all the results that others read.
// CHECK-LABEL: @pointwise
// CHECK: %[[D:.*]]:2 = kernel.dispatch
// CHECK-NOT: kernel.dispatch
// CHECK: return %[[D]]#0, %[[D]]#1
func.func @pointwise(%x: tensor<8x4xf32>, %y: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %0 = graph.add %x, %y : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = graph.exp %0 : tensor<8x4xf32>
  %2 = graph.mul %1, %y : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return %1, %2 : tensor<8x4xf32>, tensor<8x4xf32>
}

// -----
// A widening cast is repeated where it is used, never stored.
// CHECK-LABEL: @casts
// CHECK: kernel.dispatch reduction {{.*}} : (tensor<8x4xf16>) -> tensor<4xf32>
// CHECK: graph.cast
// CHECK: graph.reduce_sum
// CHECK: kernel.dispatch pointwise {{.*}} : (tensor<8x4xf16>, tensor<4xf32>) -> tensor<8x4xf32>
// CHECK: graph.cast
// CHECK: graph.sub
func.func @casts(%x: tensor<8x4xf16>) -> tensor<8x4xf32> {
  %0 = graph.cast %x : tensor<8x4xf16> to tensor<8x4xf32>
  %1 = graph.reduce_sum %0 {axes = array<i64: 0>, keepdims = false} : (tensor<8x4xf32>) -> tensor<4xf32>
  %2 = graph.sub %0, %1 : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}

// -----
// Softmax over rows is one launch; softmax over few columns of one row is not.
// CHECK-LABEL: @softmax
// CHECK: kernel.dispatch row {{.*}} : (tensor<16x10xf32>) -> tensor<16x10xf32>
// CHECK-NOT: kernel.dispatch
func.func @softmax(%x: tensor<16x10xf32>) -> tensor<16x10xf32> {
  %0 = graph.reduce_max %x {axes = array<i64: 1>, keepdims = true} : (tensor<16x10xf32>) -> tensor<16x1xf32>
  %1 = graph.sub %x, %0 : (tensor<16x10xf32>, tensor<16x1xf32>) -> tensor<16x10xf32>
  %2 = graph.exp %1 : tensor<16x10xf32>
  %3 = graph.reduce_sum %2 {axes = array<i64: 1>, keepdims = true} : (tensor<16x10xf32>) -> tensor<16x1xf32>
  %4 = graph.div %2, %3 : (tensor<16x10xf32>, tensor<16x1xf32>) -> tensor<16x10xf32>
  return %4 : tensor<16x10xf32>
}

// -----
// Two sums over the same tensors share their loads; the second one must not wait for the first.
// CHECK-LABEL: @siblings
// CHECK: kernel.dispatch reduction {{.*}} -> (tensor<4xf32>, tensor<4xf32>)
// CHECK-NOT: kernel.dispatch
func.func @siblings(%x: tensor<8x4xf32>, %dy: tensor<8x4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = graph.reduce_sum %dy {axes = array<i64: 0>, keepdims = false} : (tensor<8x4xf32>) -> tensor<4xf32>
  %1 = graph.mul %dy, %x : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %2 = graph.reduce_sum %1 {axes = array<i64: 0>, keepdims = false} : (tensor<8x4xf32>) -> tensor<4xf32>
  return %0, %2 : tensor<4xf32>, tensor<4xf32>
}

// -----
// The same holds for the second stages of such sums, whatever arithmetic uses the results of both.
// CHECK-LABEL: @sibling_stages
// CHECK: kernel.dispatch reduction {{.*}} -> (tensor<16x4xf32>, tensor<16x4xf32>)
// CHECK: kernel.dispatch reduction {{.*}} : (tensor<16x4xf32>, tensor<16x4xf32>) -> tensor<4xf32>
// CHECK-NOT: kernel.dispatch
func.func @sibling_stages(%x: tensor<16x8x4xf32>) -> tensor<4xf32> {
  %0 = graph.reduce_sum %x {axes = array<i64: 1>, keepdims = false} : (tensor<16x8x4xf32>) -> tensor<16x4xf32>
  %1 = graph.reduce_sum %0 {axes = array<i64: 0>, keepdims = false} : (tensor<16x4xf32>) -> tensor<4xf32>
  %2 = graph.mul %x, %x : (tensor<16x8x4xf32>, tensor<16x8x4xf32>) -> tensor<16x8x4xf32>
  %3 = graph.reduce_sum %2 {axes = array<i64: 1>, keepdims = false} : (tensor<16x8x4xf32>) -> tensor<16x4xf32>
  %4 = graph.reduce_sum %3 {axes = array<i64: 0>, keepdims = false} : (tensor<16x4xf32>) -> tensor<4xf32>
  %5 = graph.mul %1, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %6 = graph.sub %4, %5 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %6 : tensor<4xf32>
}

// -----
// A few elements of a tensor in memory are read there by all that need them, and so is arithmetic on them alone.
// CHECK-LABEL: @samples
// CHECK: kernel.dispatch reduction {{.*}}(%arg0) : (tensor<64x4xf32>) -> tensor<4xf32> {
// CHECK: graph.slice
// CHECK: graph.abs
// CHECK: graph.reduce_sum
// CHECK: kernel.dispatch pointwise {{.*}}(%arg0) : (tensor<64x4xf32>) -> tensor<64x4xf32> {
// CHECK: graph.slice
// CHECK: graph.abs
// CHECK: graph.mul
// CHECK-NOT: kernel.dispatch
func.func @samples(%x: tensor<64x4xf32>) -> (tensor<4xf32>, tensor<64x4xf32>) {
  %0 = graph.slice %x {starts = array<i64: 9, 0>, sizes = array<i64: 1, 4>, strides = array<i64: 1, 1>} : (tensor<64x4xf32>) -> tensor<1x4xf32>
  %1 = graph.abs %0 : tensor<1x4xf32>
  %2 = graph.sub %x, %1 : (tensor<64x4xf32>, tensor<1x4xf32>) -> tensor<64x4xf32>
  %3 = graph.reduce_sum %2 {axes = array<i64: 0>, keepdims = false} : (tensor<64x4xf32>) -> tensor<4xf32>
  %4 = graph.mul %x, %1 : (tensor<64x4xf32>, tensor<1x4xf32>) -> tensor<64x4xf32>
  return %3, %4 : tensor<4xf32>, tensor<64x4xf32>
}

// -----
// The variance needs the mean first, so there are two launches.
// CHECK-LABEL: @dependent_reductions
// CHECK: kernel.dispatch reduction {{.*}} : (tensor<8x4xf32>) -> tensor<4xf32>
// CHECK: kernel.dispatch reduction {{.*}} : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<4xf32>
func.func @dependent_reductions(%x: tensor<8x4xf32>) -> tensor<4xf32> {
  %0 = graph.reduce_sum %x {axes = array<i64: 0>, keepdims = false} : (tensor<8x4xf32>) -> tensor<4xf32>
  %1 = graph.sub %x, %0 : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %2 = graph.mul %1, %1 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %3 = graph.reduce_sum %2 {axes = array<i64: 0>, keepdims = false} : (tensor<8x4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

// -----
// A group must not read its own result through another launch: x -> a -> matmul -> b, with a and b of one shape.
// CHECK-LABEL: @no_cycles
// CHECK: kernel.dispatch pointwise "exp"
// CHECK: kernel.dispatch contraction "matmul"
// CHECK: kernel.dispatch pointwise "mul"
func.func @no_cycles(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = graph.exp %x : tensor<4x4xf32>
  %1 = graph.matmul %0, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = graph.mul %1, %0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

// -----
// Reshapes stay between launches.
// CHECK-LABEL: @views
// CHECK: %[[A:.*]] = kernel.dispatch pointwise "exp"
// CHECK: %[[V:.*]] = graph.reshape %[[A]]
// CHECK: kernel.dispatch pointwise "log"(%[[V]])
func.func @views(%x: tensor<4x4xf32>) -> tensor<16xf32> {
  %0 = graph.exp %x : tensor<4x4xf32>
  %1 = graph.reshape %0 : tensor<4x4xf32> to tensor<16xf32>
  %2 = graph.log %1 : tensor<16xf32>
  return %2 : tensor<16xf32>
}

// -----
// A few zeros around pointwise results need no launch of their own; with many, fusion would compute each result many times.
// CHECK-LABEL: @pads
// CHECK: kernel.dispatch pointwise "exp+pad"
// CHECK: kernel.dispatch pointwise "exp"
// CHECK: kernel.dispatch pointwise "pad"
// CHECK-NOT: kernel.dispatch
// CHECK: return
func.func @pads(%x: tensor<8x3xf32>, %y: tensor<1x4xf32>) -> (tensor<8x4xf32>, tensor<64x4xf32>) {
  %0 = graph.exp %x : tensor<8x3xf32>
  %1 = graph.pad %0 {value = 0.0, low = array<i64: 0, 0>, high = array<i64: 0, 1>, interior = array<i64: 0, 0>} : (tensor<8x3xf32>) -> tensor<8x4xf32>
  %2 = graph.exp %y : tensor<1x4xf32>
  %3 = graph.pad %2 {value = 0.0, low = array<i64: 0, 0>, high = array<i64: 63, 0>, interior = array<i64: 0, 0>} : (tensor<1x4xf32>) -> tensor<64x4xf32>
  return %1, %3 : tensor<8x4xf32>, tensor<64x4xf32>
}

// -----
// A value that is read at other indices than it was computed at is stored, as are the rows of a softmax whose halves are moved.
// CHECK-LABEL: @moved
// CHECK: kernel.dispatch reduction "exp+{{.*}}(%arg0)
// CHECK: kernel.dispatch
// CHECK: graph.pad
// CHECK-NOT: graph.exp
// CHECK: return
func.func @moved(%x: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %0 = graph.exp %x : tensor<16x8xf32>
  %1 = graph.reduce_sum %0 {axes = array<i64: 1>, keepdims = true} : (tensor<16x8xf32>) -> tensor<16x1xf32>
  %2 = graph.div %0, %1 : (tensor<16x8xf32>, tensor<16x1xf32>) -> tensor<16x8xf32>
  %3 = graph.pad %2 {value = 0.0, low = array<i64: 8, 0>, high = array<i64: -8, 0>, interior = array<i64: 0, 0>} : (tensor<16x8xf32>) -> tensor<16x8xf32>
  return %3 : tensor<16x8xf32>
}

// -----
// One op reads a value and a view of it, so the view stays between two launches.
// CHECK-LABEL: @view_of_producer
// CHECK: %[[A:.*]] = kernel.dispatch pointwise "exp"
// CHECK: %[[V:.*]] = graph.reshape %[[A]]
// CHECK: kernel.dispatch pointwise "mod"({{.*}}%[[V]]
func.func @view_of_producer(%x: tensor<1xf32>) -> (tensor<1xf32>, tensor<1xf32>) {
  %0 = graph.exp %x : tensor<1xf32>
  %1 = graph.reshape %0 : tensor<1xf32> to tensor<f32>
  %2 = graph.mod %1, %0 {fmod} : (tensor<f32>, tensor<1xf32>) -> tensor<1xf32>
  return %2, %0 : tensor<1xf32>, tensor<1xf32>
}

// -----
// The form follows from the body: a sum along one index is a copy, a sum over nothing writes constants, and a scatter has loops of its own.
// CHECK-LABEL: @forms
// CHECK: kernel.dispatch pointwise {{.*}} : (tensor<8x1xf32>) -> tensor<8xf32>
// CHECK: kernel.dispatch pointwise {{.*}} -> tensor<4xf32>
// CHECK: kernel.dispatch scatter {{.*}} -> tensor<5x4xf32>
func.func @forms(%x: tensor<8x1xf32>, %y: tensor<0x4xf32>, %dy: tensor<8x4xf32>, %i: tensor<8xi32>) -> (tensor<8xf32>, tensor<4xf32>, tensor<5x4xf32>) {
  %0 = graph.reduce_sum %x {axes = array<i64: 1>, keepdims = false} : (tensor<8x1xf32>) -> tensor<8xf32>
  %1 = graph.reduce_sum %y {axes = array<i64: 0>, keepdims = false} : (tensor<0x4xf32>) -> tensor<4xf32>
  %2 = graph.scatter %dy, %i {axis = 0 : i64} : (tensor<8x4xf32>, tensor<8xi32>) -> tensor<5x4xf32>
  return %0, %1, %2 : tensor<8xf32>, tensor<4xf32>, tensor<5x4xf32>
}

// -----
// A transpose reads each element of its operand once, so its loops compute the arithmetic in front of it. It is alone in its launch: a reduction of the same value has one of its own,
// and computes the cheap arithmetic again.
// CHECK-LABEL: @transposed_arithmetic
// CHECK: kernel.dispatch pointwise "mul+cast+transpose"(%{{.*}}, %{{.*}}) : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<4x8xf16>
// CHECK: graph.mul
// CHECK: graph.cast
// CHECK: graph.transpose
// CHECK: kernel.yield
// CHECK: kernel.dispatch reduction "mul+reduce_sum"
// CHECK-NOT: kernel.dispatch
func.func @transposed_arithmetic(%x: tensor<8x4xf32>, %s: tensor<4xf32>) -> (tensor<4x8xf16>, tensor<4xf32>) {
  %0 = graph.mul %x, %s : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %1 = graph.cast %0 : tensor<8x4xf32> to tensor<8x4xf16>
  %2 = graph.transpose %1 {permutation = array<i64: 1, 0>} : (tensor<8x4xf16>) -> tensor<4x8xf16>
  %3 = graph.reduce_sum %0 {axes = array<i64: 0>, keepdims = false} : (tensor<8x4xf32>) -> tensor<4xf32>
  return %2, %3 : tensor<4x8xf16>, tensor<4xf32>
}

// -----
// What another launch needs in memory is stored, and the transpose reads it from there. Random numbers are drawn in the order of the elements, where four neighbours share the work.
// CHECK-LABEL: @stored_before_transpose
// CHECK: %[[D:.*]]:2 = kernel.dispatch pointwise "tanh+dropout+neg"
// CHECK: kernel.dispatch pointwise "transpose"(%[[D]]#0)
// CHECK: kernel.dispatch pointwise "transpose"(%[[D]]#1)
// CHECK-NOT: kernel.dispatch
func.func @stored_before_transpose(%x: tensor<8x4xf32>, %s: tensor<i64>) -> (tensor<8x4xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = graph.tanh %x : tensor<8x4xf32>
  %1 = graph.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %2 = graph.dropout %x, %s, %s {ratio = 0.5 : f64, salt = 3 : i64} : (tensor<8x4xf32>, tensor<i64>, tensor<i64>) -> tensor<8x4xf32>
  %3 = graph.neg %2 : tensor<8x4xf32>
  %4 = graph.transpose %3 {permutation = array<i64: 1, 0>} : (tensor<8x4xf32>) -> tensor<4x8xf32>
  return %0, %1, %4 : tensor<8x4xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// -----
// What computes the operands of a concatenation stores it in parts: the gradients of a cell's gates, which a product reads as one matrix, and the state that goes on. (A copy behind them
// would read both from memory.)
// CHECK-LABEL: @parts
// CHECK: %[[D:.*]]:2 = kernel.dispatch pointwise "mul+sub+concat+add"(%{{.*}}, %{{.*}}) : (tensor<32x512xf32>, tensor<32x512xf32>) -> (tensor<32x512xf32>, tensor<32x1024xf32>)
// CHECK: graph.concat
// CHECK: kernel.yield
// CHECK-NOT: kernel.dispatch
// CHECK: return %[[D]]#0, %[[D]]#1
func.func @parts(%x: tensor<32x512xf32>, %y: tensor<32x512xf32>) -> (tensor<32x512xf32>, tensor<32x1024xf32>) {
  %0 = graph.mul %x, %y : (tensor<32x512xf32>, tensor<32x512xf32>) -> tensor<32x512xf32>
  %1 = graph.sub %x, %y : (tensor<32x512xf32>, tensor<32x512xf32>) -> tensor<32x512xf32>
  %2 = graph.concat %0, %1 {axis = 1 : i64} : (tensor<32x512xf32>, tensor<32x512xf32>) -> tensor<32x1024xf32>
  %3 = graph.add %x, %y : (tensor<32x512xf32>, tensor<32x512xf32>) -> tensor<32x512xf32>
  return %3, %2 : tensor<32x512xf32>, tensor<32x1024xf32>
}

// -----
// A part that is in memory already, and parts of different sizes, are copied.
// CHECK-LABEL: @no_parts
// CHECK: kernel.dispatch pointwise "mul"
// CHECK: kernel.dispatch pointwise "concat"
// CHECK: kernel.dispatch pointwise "concat"
// CHECK-NOT: kernel.dispatch
func.func @no_parts(%x: tensor<8x4xf32>, %y: tensor<8x4xf32>, %z: tensor<8x2xf32>) -> (tensor<8x4xf32>, tensor<8x8xf32>, tensor<8x6xf32>) {
  %0 = graph.mul %x, %y : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = graph.concat %0, %y {axis = 1 : i64} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x8xf32>
  %2 = graph.concat %0, %z {axis = 1 : i64} : (tensor<8x4xf32>, tensor<8x2xf32>) -> tensor<8x6xf32>
  return %0, %1, %2 : tensor<8x4xf32>, tensor<8x8xf32>, tensor<8x6xf32>
}

// -----
// A launch that stores nothing besides the concatenation would walk its elements, and compute each part in a loop of its own.
// CHECK-LABEL: @nothing_besides
// CHECK: %[[D:.*]]:2 = kernel.dispatch pointwise "mul+sub"
// CHECK: kernel.dispatch pointwise "concat"(%[[D]]#0, %[[D]]#1)
// CHECK-NOT: kernel.dispatch
func.func @nothing_besides(%x: tensor<8x4xf32>, %y: tensor<8x4xf32>) -> tensor<8x8xf32> {
  %0 = graph.mul %x, %y : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = graph.sub %x, %y : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %2 = graph.concat %0, %1 {axis = 1 : i64} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}

// -----
// Several concatenations of the same parts are stored in parts, also where nothing else is stored.
// CHECK-LABEL: @two_concatenations
// CHECK: kernel.dispatch pointwise "add+mul+concat"(%{{.*}}, %{{.*}}) : (tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<8x8xf32>, tensor<12x8xf32>)
// CHECK-NOT: kernel.dispatch
func.func @two_concatenations(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> (tensor<8x8xf32>, tensor<12x8xf32>) {
  %p = graph.add %x, %y : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %q = graph.mul %x, %y : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %a = graph.concat %p, %q {axis = 0 : i64} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %b = graph.concat %q, %p, %q {axis = 0 : i64} : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<12x8xf32>
  return %a, %b : tensor<8x8xf32>, tensor<12x8xf32>
}

// -----
// Both are stored in parts where a part is stored, too.
// CHECK-LABEL: @two_in_parts
// CHECK: kernel.dispatch pointwise {{.*}} -> (tensor<4x8xf32>, tensor<8x8xf32>, tensor<12x8xf32>)
// CHECK-NOT: kernel.dispatch
func.func @two_in_parts(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<8x8xf32>, tensor<12x8xf32>) {
  %p = graph.add %x, %y : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %q = graph.mul %x, %y : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %a = graph.concat %p, %q {axis = 0 : i64} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %b = graph.concat %q, %p, %q {axis = 0 : i64} : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<12x8xf32>
  return %p, %a, %b : tensor<4x8xf32>, tensor<8x8xf32>, tensor<12x8xf32>
}

// -----
// A launch that stores parts joins no reduction, whose loops have other points.
// CHECK-LABEL: @parts_beside_sum
// CHECK: kernel.dispatch reduction "reduce_sum"
// CHECK: kernel.dispatch pointwise {{.*}} -> (tensor<32xf32>, tensor<16xf32>)
// CHECK-NOT: kernel.dispatch
func.func @parts_beside_sum(%a: tensor<16xf32>, %b: tensor<16xf32>, %x: tensor<16x64xf32>) -> (tensor<32xf32>, tensor<16xf32>) {
  %s = graph.reduce_sum %x {axes = array<i64: 1>, keepdims = false} : (tensor<16x64xf32>) -> tensor<16xf32>
  %p = graph.mul %a, %b : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %q = graph.add %p, %a : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %c = graph.concat %p, %q {axis = 0 : i64} : (tensor<16xf32>, tensor<16xf32>) -> tensor<32xf32>
  %z = graph.add %p, %s : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return %c, %z : tensor<32xf32>, tensor<16xf32>
}
