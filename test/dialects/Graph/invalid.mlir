// RUN: mpc-opt %s --split-input-file --verify-diagnostics -o /dev/null

func.func @f(%x: tensor<2x3xf32>, %y: tensor<2xf32>) {
  // expected-error@+2 {{shapes [2, 3] and [2] do not broadcast}}
  // expected-error@+1 {{'graph.add' op failed to infer returned types}}
  %0 = graph.add %x, %y : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{inferred type(s) 'tensor<2x3xf32>' are incompatible with return type(s) of operation 'tensor<3x2xf32>'}}
  // expected-error@+1 {{'graph.add' op failed to infer returned types}}
  %0 = graph.add %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %y: tensor<2x3xf16>) {
  // expected-error@+1 {{requires the same element type for all operands and results}}
  %0 = graph.mul %x, %y : (tensor<2x3xf32>, tensor<2x3xf16>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %c: tensor<i1>, %y: tensor<2x3xf16>) {
  // expected-error@+2 {{both choices must have one element type, not 'f32' and 'f16'}}
  // expected-error@+1 {{'graph.select' op failed to infer returned types}}
  %0 = graph.select %c, %x, %y : (tensor<i1>, tensor<2x3xf32>, tensor<2x3xf16>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %s: tensor<i64>) {
  // expected-error@+1 {{result must have the operand's type}}
  %0 = graph.dropout %x, %s, %s {ratio = 0.5 : f64, salt = 0 : i64} : (tensor<2x3xf32>, tensor<i64>, tensor<i64>) -> tensor<2x3xf16>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %s: tensor<i64>) {
  // expected-error@+1 {{ratio must be in [0, 1), not 1}}
  %0 = graph.dropout %x, %s, %s {ratio = 1.0 : f64, salt = 0 : i64} : (tensor<2x3xf32>, tensor<i64>, tensor<i64>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %s: tensor<i64>) {
  // expected-error@+1 {{shared: axis 2 is out of range for rank 2}}
  %0 = graph.dropout %x, %s, %s {ratio = 0.5 : f64, salt = 0 : i64, shared = array<i64: 2>} : (tensor<2x3xf32>, tensor<i64>, tensor<i64>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%s: tensor<2xi64>) {
  // expected-error@+1 {{seed and step must be one number each}}
  %0 = graph.random uniform %s, %s {salt = 0 : i64} : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error@+1 {{element types differ in width: 'f32' and 'i16'}}
  %0 = graph.bitcast %x : tensor<2xf32> to tensor<2xi16>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %s: tensor<2xi64>) {
  // expected-error@+1 {{seed and step must be one number each}}
  %0 = graph.dropout %x, %s, %s {ratio = 0.5 : f64, salt = 0 : i64} : (tensor<2x3xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%x: tensor<?xf32>) {
  // expected-error@+1 {{operand #0 must be statically shaped tensor}}
  %0 = graph.relu %x : tensor<?xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{axis 2 is out of range for rank 2}}
  %0 = graph.reduce_sum %x {axes = array<i64: 2>, keepdims = false} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{axes must be strictly increasing, got [1, 0]}}
  %0 = graph.reduce_mean %x {axes = array<i64: 1, 0>, keepdims = false} : (tensor<2x3xf32>) -> tensor<f32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{axis -1 is out of range for rank 2}}
  // expected-error@+1 {{'graph.argmax' op failed to infer returned types}}
  %0 = graph.argmax %x {axis = -1 : i64, keepdims = false} : (tensor<2x3xf32>) -> tensor<2xi64>
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{axis 1 is out of range for rank 1}}
  %0 = graph.iota {axis = 1 : i64} : tensor<3xi64>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{cannot reshape 6 elements to [4]}}
  %0 = graph.reshape %x : tensor<2x3xf32> to tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{[0, 0] is not a permutation of 2 dimensions}}
  // expected-error@+1 {{'graph.transpose' op failed to infer returned types}}
  %0 = graph.transpose %x {permutation = array<i64: 0, 0>} : (tensor<2x3xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{[0] is not a permutation of 2 dimensions}}
  // expected-error@+1 {{'graph.transpose' op failed to infer returned types}}
  %0 = graph.transpose %x {permutation = array<i64: 0>} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{[2, 3] does not broadcast to [2, 4]}}
  %0 = graph.broadcast %x : tensor<2x3xf32> to tensor<2x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{[2, 3] does not broadcast to [3]}}
  %0 = graph.broadcast %x : tensor<2x3xf32> to tensor<3xf32>
  return
}

// -----

func.func @f() {
  // expected-error@+2 {{nothing to concatenate}}
  // expected-error@+1 {{'graph.concat' op failed to infer returned types}}
  %0 = "graph.concat"() {axis = 0 : i64} : () -> tensor<0xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{axis 2 is out of range for rank 2}}
  // expected-error@+1 {{'graph.concat' op failed to infer returned types}}
  %0 = graph.concat %x, %x {axis = 2 : i64} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %y: tensor<2x3xf16>) {
  // expected-error@+2 {{cannot concatenate 'tensor<2x3xf32>' with 'tensor<2x3xf16>'}}
  // expected-error@+1 {{'graph.concat' op failed to infer returned types}}
  %0 = graph.concat %x, %y {axis = 0 : i64} : (tensor<2x3xf32>, tensor<2x3xf16>) -> tensor<4x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>) {
  // expected-error@+2 {{dimension 1 differs: 3 vs 4}}
  // expected-error@+1 {{'graph.concat' op failed to infer returned types}}
  %0 = graph.concat %x, %y {axis = 0 : i64} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{starts, sizes and strides need one entry for each of 2 dimensions}}
  // expected-error@+1 {{'graph.slice' op failed to infer returned types}}
  %0 = graph.slice %x {starts = array<i64: 0>, sizes = array<i64: 1>, strides = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<1xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{dimension 1: sizes are not negative and strides not zero}}
  // expected-error@+1 {{'graph.slice' op failed to infer returned types}}
  %0 = graph.slice %x {starts = array<i64: 0, 0>, sizes = array<i64: 1, 1>, strides = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<1x1xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{dimension 1: elements 1 to 3 of 3}}
  // expected-error@+1 {{'graph.slice' op failed to infer returned types}}
  %0 = graph.slice %x {starts = array<i64: 0, 1>, sizes = array<i64: 1, 2>, strides = array<i64: 1, 2>} : (tensor<2x3xf32>) -> tensor<1x2xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{dimension 1: elements 1 to -1 of 3}}
  // expected-error@+1 {{'graph.slice' op failed to infer returned types}}
  %0 = graph.slice %x {starts = array<i64: 0, 1>, sizes = array<i64: 1, 3>, strides = array<i64: 1, -1>} : (tensor<2x3xf32>) -> tensor<1x3xf32>
  return
}

// -----
// 0 + 4*2^62 is 0 in 64 bits.
func.func @slice_stride_overflow(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{dimension 0: 5 elements from 0 in steps of 4611686018427387904 do not lie within 2}}
  // expected-error@+1 {{'graph.slice' op failed to infer returned types}}
  %0 = graph.slice %x {starts = array<i64: 0, 0>, sizes = array<i64: 5, 3>, strides = array<i64: 4611686018427387904, 1>} : (tensor<2x3xf32>) -> tensor<5x3xf32>
  return
}

// -----
func.func @slice_start_overflow(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{dimension 1: 2 elements from 4611686018427387904 in steps of 4611686018427387905 do not lie within 3}}
  // expected-error@+1 {{'graph.slice' op failed to infer returned types}}
  %0 = graph.slice %x {starts = array<i64: 0, 4611686018427387904>, sizes = array<i64: 1, 2>, strides = array<i64: 1, 4611686018427387905>} : (tensor<2x3xf32>) -> tensor<1x2xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{low, high and interior need one entry for each of 2 dimensions}}
  // expected-error@+1 {{'graph.pad' op failed to infer returned types}}
  %0 = graph.pad %x {value = 0.0 : f64, low = array<i64: 1>, high = array<i64: 1>, interior = array<i64: 0>} : (tensor<2x3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{dimension 0 becomes negative}}
  // expected-error@+1 {{'graph.pad' op failed to infer returned types}}
  %0 = graph.pad %x {value = 0.0 : f64, low = array<i64: -1, 0>, high = array<i64: -2, 0>, interior = array<i64: 0, 0>} : (tensor<2x3xf32>) -> tensor<0x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{dimension 0: interior padding is negative}}
  // expected-error@+1 {{'graph.pad' op failed to infer returned types}}
  %0 = graph.pad %x {value = 0.0 : f64, low = array<i64: 0, 0>, high = array<i64: 0, 0>, interior = array<i64: -1, 0>} : (tensor<2x3xf32>) -> tensor<1x3xf32>
  return
}

// -----
// 2 + 1*(2^63 - 1) and 2^62 + 2 + 2^62 overflow, and so they must not become small.
func.func @pad_interior_overflow(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{dimension 0: padding by 0, 0 and 9223372036854775807 between neighbours overflows 64 bits}}
  // expected-error@+1 {{'graph.pad' op failed to infer returned types}}
  %0 = graph.pad %x {value = 0.0 : f64, low = array<i64: 0, 0>, high = array<i64: 0, 0>, interior = array<i64: 9223372036854775807, 0>} : (tensor<2x3xf32>) -> tensor<1x3xf32>
  return
}

// -----
func.func @pad_overflow(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{dimension 0: padding by 4611686018427387904, 4611686018427387904 and 0 between neighbours overflows 64 bits}}
  // expected-error@+1 {{'graph.pad' op failed to infer returned types}}
  %0 = graph.pad %x {value = 0.0 : f64, low = array<i64: 4611686018427387904, 0>, high = array<i64: 4611686018427387904, 0>, interior = array<i64: 0, 0>} : (tensor<2x3xf32>) -> tensor<1x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %i: tensor<2xi64>) {
  // expected-error@+2 {{axis 2 is out of range for rank 2}}
  // expected-error@+1 {{'graph.gather' op failed to infer returned types}}
  %0 = graph.gather %x, %i {axis = 2 : i64} : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2x2xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %i: tensor<5xi64>) {
  // expected-error@+1 {{the updates should be [2, 5], not [2, 3]}}
  %0 = graph.scatter %x, %i {axis = 1 : i64} : (tensor<2x3xf32>, tensor<5xi64>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %i: tensor<3xi64>) {
  // expected-error@+1 {{axis 3 is out of range for rank 2}}
  %0 = graph.scatter %x, %i {axis = 3 : i64} : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{scales and offsets need one entry for each of 2 dimensions}}
  %0 = graph.resize %x {mode = #graph<resize_mode linear>, scales = array<f64: 1.0>, offsets = array<f64: 0.0>} : (tensor<2x3xf32>) -> tensor<2x6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{result and operand differ in rank: 1 and 2}}
  %0 = graph.resize_grad %x {mode = #graph<resize_mode linear>, scales = array<f64: 1.0, 1.0>, offsets = array<f64: 0.0, 0.0>} : (tensor<2x3xf32>) -> tensor<6xf32>
  return
}

// -----

func.func @f(%a: tensor<3xf32>) {
  // expected-error@+2 {{operands need two dimensions at least}}
  // expected-error@+1 {{'graph.matmul' op failed to infer returned types}}
  %0 = graph.matmul %a, %a : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
  return
}

// -----

func.func @f(%a: tensor<2x3x4xf32>, %b: tensor<3x4x5xf32>) {
  // expected-error@+2 {{batch dimensions [2] and [3] do not broadcast}}
  // expected-error@+1 {{'graph.matmul' op failed to infer returned types}}
  %0 = graph.matmul %a, %b : (tensor<2x3x4xf32>, tensor<3x4x5xf32>) -> tensor<2x3x5xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<4x5xf32>) {
  // expected-error@+2 {{inner dimensions differ: 3 vs 4}}
  // expected-error@+1 {{'graph.matmul' op failed to infer returned types}}
  %0 = graph.matmul %a, %b : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x5xf32>) {
  // expected-error@+2 {{inner dimensions differ: 2 vs 5}}
  // expected-error@+1 {{'graph.matmul' op failed to infer returned types}}
  %0 = graph.matmul %a, %b {transpose_a, transpose_b} : (tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @f(%x: tensor<1x2x5x5xf32>, %w: tensor<3x2x3xf32>) {
  // expected-error@+2 {{x and w need the same rank, 3 to 5, not 4 and 3}}
  // expected-error@+1 {{'graph.conv' op failed to infer returned types}}
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x2x5x5xf32>, tensor<3x2x3xf32>) -> tensor<1x3x3x3xf32>
  return
}

// -----

func.func @f(%x: tensor<1x2xf32>, %w: tensor<3x2xf32>) {
  // expected-error@+2 {{x and w need the same rank, 3 to 5, not 2 and 2}}
  // expected-error@+1 {{'graph.conv' op failed to infer returned types}}
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x2xf32>, tensor<3x2xf32>) -> tensor<1x3xf32>
  return
}

// -----

func.func @f(%x: tensor<1x2x5x5xf32>, %w: tensor<3x2x3x3xf32>) {
  // expected-error@+2 {{window attributes need 2 entries, not 1}}
  // expected-error@+1 {{'graph.conv' op failed to infer returned types}}
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x2x5x5xf32>, tensor<3x2x3x3xf32>) -> tensor<1x3x3x3xf32>
  return
}

// -----

func.func @f(%x: tensor<1x2x5x5xf32>, %w: tensor<3x3x3x3xf32>) {
  // expected-error@+2 {{x has 2 channels, w takes 3 x 1 groups}}
  // expected-error@+1 {{'graph.conv' op failed to infer returned types}}
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x2x5x5xf32>, tensor<3x3x3x3xf32>) -> tensor<1x3x3x3xf32>
  return
}

// -----

func.func @f(%x: tensor<1x2x5x5xf32>, %w: tensor<3x1x3x3xf32>) {
  // expected-error@+2 {{3 output channels do not divide into 2 groups}}
  // expected-error@+1 {{'graph.conv' op failed to infer returned types}}
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 2 : i64} : (tensor<1x2x5x5xf32>, tensor<3x1x3x3xf32>) -> tensor<1x3x3x3xf32>
  return
}

// -----

func.func @f(%x: tensor<1x2x5x5xf32>, %w: tensor<3x2x3x3xf32>) {
  // expected-error@+2 {{strides and dilations are positive, padding not negative}}
  // expected-error@+1 {{'graph.conv' op failed to infer returned types}}
  %0 = graph.conv %x, %w {strides = array<i64: 0, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x2x5x5xf32>, tensor<3x2x3x3xf32>) -> tensor<1x3x3x3xf32>
  return
}

// -----

func.func @f(%x: tensor<1x2x5x5xf32>, %w: tensor<3x2x3x3xf32>) {
  // expected-error@+2 {{strides and dilations are positive, padding not negative}}
  // expected-error@+1 {{'graph.conv' op failed to infer returned types}}
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, -1>, groups = 1 : i64} : (tensor<1x2x5x5xf32>, tensor<3x2x3x3xf32>) -> tensor<1x3x3x3xf32>
  return
}

// -----

func.func @f(%x: tensor<1x2x5x5xf32>, %w: tensor<3x2x3x3xf32>) {
  // expected-error@+2 {{the kernel (3, dilation 3) does not fit into 5 elements with padding 0 and 0}}
  // expected-error@+1 {{'graph.conv' op failed to infer returned types}}
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 3>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x2x5x5xf32>, tensor<3x2x3x3xf32>) -> tensor<1x3x1x1xf32>
  return
}

// -----
// The window spans 4*2^62 + 1 elements, which is 1 in 64 bits.
func.func @conv_dilation_overflow(%x: tensor<1x2x8xf32>, %w: tensor<3x2x5xf32>) {
  // expected-error@+2 {{the kernel (5, dilation 4611686018427387904) does not fit into 8 elements with padding 0 and 0}}
  // expected-error@+1 {{'graph.conv' op failed to infer returned types}}
  %0 = graph.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 4611686018427387904>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, groups = 1 : i64} : (tensor<1x2x8xf32>, tensor<3x2x5xf32>) -> tensor<1x3x8xf32>
  return
}

// -----

func.func @f(%dy: tensor<1x3x4x4xf32>, %w: tensor<3x2x3x3xf32>) {
  // expected-error@+1 {{the forward convolution gives [1, 3, 3, 3], but dy is [1, 3, 4, 4]}}
  %0 = graph.conv_input_grad %dy, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x3x4x4xf32>, tensor<3x2x3x3xf32>) -> tensor<1x2x5x5xf32>
  return
}

// -----

func.func @f(%x: tensor<1x2x5x5xf32>, %dy: tensor<1x3x4x4xf32>) {
  // expected-error@+1 {{the forward convolution gives [1, 3, 3, 3], but dy is [1, 3, 4, 4]}}
  %0 = graph.conv_weight_grad %x, %dy {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x2x5x5xf32>, tensor<1x3x4x4xf32>) -> tensor<3x2x3x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{x needs a spatial dimension}}
  // expected-error@+1 {{'graph.avg_pool' op failed to infer returned types}}
  %0 = graph.avg_pool %x {kernel = array<i64: 2>, strides = array<i64: 2>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>) {
  // expected-error@+2 {{window attributes need 1 entries, not 2}}
  // expected-error@+1 {{'graph.avg_pool' op failed to infer returned types}}
  %0 = graph.avg_pool %x {kernel = array<i64: 2, 2>, strides = array<i64: 2>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>} : (tensor<2x3x4xf32>) -> tensor<2x3x2xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>) {
  // expected-error@+2 {{kernel, strides and dilations are positive, padding not negative}}
  // expected-error@+1 {{'graph.avg_pool' op failed to infer returned types}}
  %0 = graph.avg_pool %x {kernel = array<i64: 0>, strides = array<i64: 2>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>} : (tensor<2x3x4xf32>) -> tensor<2x3x2xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>) {
  // expected-error@+2 {{the window (5) does not fit into 4 elements}}
  // expected-error@+1 {{'graph.avg_pool' op failed to infer returned types}}
  %0 = graph.avg_pool %x {kernel = array<i64: 5>, strides = array<i64: 2>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>} : (tensor<2x3x4xf32>) -> tensor<2x3x2xf32>
  return
}

// -----

func.func @f(%x: tensor<1x1x40000xf32>) {
  // expected-error@+1 {{a window of [32768] elements is too large: the position of the largest one is a number of 16 bits, at most 32767}}
  %0, %1 = graph.max_pool %x {kernel = array<i64: 32768>, strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>} : (tensor<1x1x40000xf32>) -> (tensor<1x1x2xf32>, tensor<1x1x2xi16>)
  return
}

// -----

func.func @f(%dy: tensor<1x1x2xf32>, %a: tensor<1x1x3xi16>) {
  // expected-error@+1 {{argmax and dy differ in shape}}
  %0 = graph.max_pool_grad %dy, %a {kernel = array<i64: 2>, strides = array<i64: 2>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>} : (tensor<1x1x2xf32>, tensor<1x1x3xi16>) -> tensor<1x1x4xf32>
  return
}

// -----

func.func @f(%dy: tensor<1x1x4xf32>, %a: tensor<1x1x4xi16>) {
  // expected-error@+1 {{dy [1, 1, 4] is not a pooling of dx [1, 1, 5]}}
  %0 = graph.max_pool_grad %dy, %a {kernel = array<i64: 2>, strides = array<i64: 2>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>} : (tensor<1x1x4xf32>, tensor<1x1x4xi16>) -> tensor<1x1x5xf32>
  return
}

// -----

func.func @f(%dy: tensor<1x1x3xf32>) {
  // expected-error@+1 {{dy [1, 1, 3] is not a pooling of dx [1, 1, 5]}}
  %0 = graph.avg_pool_grad %dy {kernel = array<i64: 2>, strides = array<i64: 2>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>} : (tensor<1x1x3xf32>) -> tensor<1x1x5xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf16>, %s: tensor<3xf32>) {
  // expected-error@+1 {{axis 2 is out of range for rank 2}}
  %0:3 = graph.batch_norm %x, %s, %s {epsilon = 1.0e-05 : f64, axis = 2 : i64} : (tensor<2x3xf16>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf16>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x3xf16>, %s: tensor<2xf32>) {
  // expected-error@+1 {{needs one 'f32' for each of 3 channels, not 'tensor<2xf32>'}}
  %0:3 = graph.batch_norm %x, %s, %s {epsilon = 1.0e-05 : f64, axis = 1 : i64} : (tensor<2x3xf16>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2x3xf16>, tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x3xf16>, %s: tensor<3xf64>) {
  // expected-error@+1 {{needs one 'f32' for each of 3 channels, not 'tensor<3xf64>'}}
  %0:3 = graph.batch_norm %x, %s, %s {epsilon = 1.0e-05 : f64, axis = 1 : i64} : (tensor<2x3xf16>, tensor<3xf64>, tensor<3xf64>) -> (tensor<2x3xf16>, tensor<3xf64>, tensor<3xf64>)
  return
}

// -----

func.func @f(%x: tensor<2x3xf16>, %y: tensor<2x3xf32>, %s: tensor<3xf32>) {
  // expected-error@+1 {{x and dy differ in type}}
  %0:3 = graph.batch_norm_grad %x, %s, %s, %s, %y {epsilon = 1.0e-05 : f64, axis = 1 : i64} : (tensor<2x3xf16>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf16>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x3xf16>, %s: tensor<3xf32>, %t: tensor<2xf32>) {
  // expected-error@+1 {{needs one 'f32' for each of 3 channels, not 'tensor<2xf32>'}}
  %0 = graph.batch_norm_inference %x, %s, %s, %s, %t {epsilon = 1.0e-05 : f64, axis = 1 : i64} : (tensor<2x3xf16>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2xf32>) -> tensor<2x3xf16>
  return
}

// -----
func.func @batch_norm_epsilon(%x: tensor<2x3xf16>, %s: tensor<3xf32>) {
  // expected-error@+1 {{'graph.batch_norm' op epsilon must not be negative or NaN, but it is -1.0}}
  %0:3 = graph.batch_norm %x, %s, %s {epsilon = -1.0 : f64, axis = 1 : i64} : (tensor<2x3xf16>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf16>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----
func.func @batch_norm_epsilon_nan(%x: tensor<2x3xf16>, %s: tensor<3xf32>) {
  // expected-error@+1 {{'graph.batch_norm' op epsilon must not be negative or NaN}}
  %0:3 = graph.batch_norm %x, %s, %s {epsilon = 0x7FF8000000000000 : f64, axis = 1 : i64} : (tensor<2x3xf16>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf16>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----
func.func @batch_norm_grad_epsilon(%x: tensor<2x3xf16>, %s: tensor<3xf32>) {
  // expected-error@+1 {{'graph.batch_norm_grad' op epsilon must not be negative or NaN}}
  %0:3 = graph.batch_norm_grad %x, %s, %s, %s, %x {epsilon = -1.0e-05 : f64, axis = 1 : i64} : (tensor<2x3xf16>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3xf16>) -> (tensor<2x3xf16>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----
func.func @batch_norm_inference_epsilon(%x: tensor<2x3xf16>, %s: tensor<3xf32>) {
  // expected-error@+1 {{'graph.batch_norm_inference' op epsilon must not be negative or NaN}}
  %0 = graph.batch_norm_inference %x, %s, %s, %s, %s {epsilon = -1.0e-05 : f64, axis = 1 : i64} : (tensor<2x3xf16>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf16>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{axis -1 is out of range for rank 2}}
  %0 = graph.softmax %x {axis = -1 : i64} : tensor<2x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{axis 2 is out of range for rank 2}}
  %0 = graph.log_softmax %x {axis = 2 : i64} : tensor<2x3xf32>
  return
}

// -----

func.func @f(%x: tensor<3xf32>, %t: tensor<3xi64>) {
  // expected-error@+1 {{scores are [N, C, d...], not [3]}}
  %0 = graph.nll_loss %x, %t {reduction = #graph<reduction mean>} : (tensor<3xf32>, tensor<3xi64>) -> tensor<f32>
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>, %t: tensor<2x3xi64>) {
  // expected-error@+1 {{labels should be [2, 4], not [2, 3]}}
  %0 = graph.softmax_cross_entropy %x, %t {reduction = #graph<reduction mean>} : (tensor<2x3x4xf32>, tensor<2x3xi64>) -> tensor<f32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %t: tensor<2xi64>, %w: tensor<2xf32>) {
  // expected-error@+1 {{weights should be 3 of 'f32', not 'tensor<2xf32>'}}
  %0 = graph.softmax_cross_entropy %x, %t, %w {reduction = #graph<reduction mean>} : (tensor<2x3xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<f32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %t: tensor<2xi64>, %w: tensor<3xf64>) {
  // expected-error@+1 {{weights should be 3 of 'f32', not 'tensor<3xf64>'}}
  %0 = graph.nll_loss %x, %t, %w {reduction = #graph<reduction mean>} : (tensor<2x3xf32>, tensor<2xi64>, tensor<3xf64>) -> tensor<f32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf8E4M3FN>, %y: tensor<8x4xf16>) {
  // expected-error@+2 {{requires the same element type for all operands and results, unless all operands are 8-bit floats}}
  // expected-error@+1 {{'graph.matmul' op failed to infer returned types}}
  %0 = graph.matmul %x, %y : (tensor<4x8xf8E4M3FN>, tensor<8x4xf16>) -> tensor<4x4xf16>
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>) {
  // expected-error@+1 {{'graph.matmul' op requires the same element type for all operands and results, unless all operands are 8-bit floats}}
  %0 = graph.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf16>
  return
}

// -----

func.func @f(%x: tensor<4x4xf8E4M3FN>) {
  // expected-error@+2 {{inferred type(s) 'tensor<4x4xf32>' are incompatible with return type(s) of operation 'tensor<4x4xf64>'}}
  // expected-error@+1 {{'graph.matmul' op failed to infer returned types}}
  %0 = graph.matmul %x, %x : (tensor<4x4xf8E4M3FN>, tensor<4x4xf8E4M3FN>) -> tensor<4x4xf64>
  return
}

// -----

func.func @f(%x: tensor<4xf8E5M2>) {
  // expected-error@+1 {{must be statically shaped tensor}}
  %0 = graph.add %x, %x : (tensor<4xf8E5M2>, tensor<4xf8E5M2>) -> tensor<4xf8E5M2>
  return
}

// -----
func.func @layer_norm_scale(%x: tensor<2x3xf16>, %s: tensor<2xf32>) {
  // expected-error @+1 {{'graph.layer_norm' op 'tensor<2xf32>' does not broadcast to 'tensor<2x3xf16>'}}
  %0:3 = graph.layer_norm %x, %s, %s {axes = array<i64: 1>, epsilon = 1.0e-05 : f64, kind = #graph<norm layer>} : (tensor<2x3xf16>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2x3xf16>, tensor<2x1xf32>, tensor<2x1xf32>)
  return
}

// -----
func.func @layer_norm_type(%x: tensor<2x3xf64>, %s: tensor<3xf32>) {
  // expected-error @+1 {{'graph.layer_norm' op needs scale and bias of 'f64', not 'tensor<3xf32>'}}
  %0:3 = graph.layer_norm %x, %s, %s {axes = array<i64: 1>, epsilon = 1.0e-05 : f64, kind = #graph<norm layer>} : (tensor<2x3xf64>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf64>, tensor<2x1xf32>, tensor<2x1xf32>)
  return
}

// -----
func.func @layer_norm_axes(%x: tensor<2x3xf16>, %s: tensor<f32>) {
  // expected-error @+1 {{'graph.layer_norm' op axes must be strictly increasing, got [1, 0]}}
  %0:3 = graph.layer_norm %x, %s, %s {axes = array<i64: 1, 0>, epsilon = 1.0e-05 : f64, kind = #graph<norm rms>} : (tensor<2x3xf16>, tensor<f32>, tensor<f32>) -> (tensor<2x3xf16>, tensor<1x1xf32>, tensor<1x1xf32>)
  return
}

// -----
func.func @layer_norm_grad_statistics(%x: tensor<2x3xf16>, %s: tensor<f32>, %m: tensor<2xf32>) {
  // expected-error @+1 {{'graph.layer_norm_grad' op needs statistics 'tensor<2x1xf32>', not 'tensor<2xf32>'}}
  %0:3 = graph.layer_norm_grad %x, %s, %s, %m, %m, %x {axes = array<i64: 1>, epsilon = 1.0e-05 : f64, kind = #graph<norm layer>} : (tensor<2x3xf16>, tensor<f32>, tensor<f32>, tensor<2xf32>, tensor<2xf32>, tensor<2x3xf16>) -> (tensor<2x3xf16>, tensor<f32>, tensor<f32>)
  return
}

// -----
func.func @group_norm_groups(%x: tensor<2x3x4xf16>, %s: tensor<3xf32>) {
  // expected-error @+1 {{'graph.group_norm' op 3 channels do not divide into 2 groups}}
  %0:3 = graph.group_norm %x, %s, %s {epsilon = 1.0e-05 : f64, axis = 1 : i64, groups = 2 : i64} : (tensor<2x3x4xf16>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf16>, tensor<2x2xf32>, tensor<2x2xf32>)
  return
}

// -----
func.func @group_norm_axis(%x: tensor<3x4xf16>, %s: tensor<3xf32>) {
  // expected-error @+1 {{'graph.group_norm' op the first dimension is the samples', not the channels'}}
  %0:3 = graph.group_norm %x, %s, %s {epsilon = 1.0e-05 : f64, axis = 0 : i64, groups = 1 : i64} : (tensor<3x4xf16>, tensor<3xf32>, tensor<3xf32>) -> (tensor<3x4xf16>, tensor<3x1xf32>, tensor<3x1xf32>)
  return
}

// -----
func.func @prelu_slope(%x: tensor<3xf32>, %s: tensor<2x3xf32>) {
  // expected-error @+1 {{'graph.prelu' op the slope [2, 3] does not broadcast to x [3]}}
  %0 = graph.prelu %x, %s : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<3xf32>
  return
}

// -----
func.func @pool_nothing(%x: tensor<2x3x0xf32>) {
  // expected-error@+2 {{there is nothing to pool: dimension 2 has no elements}}
  // expected-error@+1 {{'graph.avg_pool' op failed to infer returned types}}
  %0 = graph.avg_pool %x {kernel = array<i64: 1>, strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 1>, pad_high = array<i64: 0>} : (tensor<2x3x0xf32>) -> tensor<2x3x1xf32>
  return
}

// -----
func.func @pool_gradient_type(%dy: tensor<1x1x2xf16>) {
  // expected-error@+1 {{'graph.avg_pool_grad' op dx and dy differ in element type}}
  %0 = graph.avg_pool_grad %dy {kernel = array<i64: 2>, strides = array<i64: 2>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>} : (tensor<1x1x2xf16>) -> tensor<1x1x4xf32>
  return
}

// -----
func.func @max_pool_gradient_type(%dy: tensor<1x1x2xf16>, %a: tensor<1x1x2xi16>) {
  // expected-error@+1 {{'graph.max_pool_grad' op dx and dy differ in element type}}
  %0 = graph.max_pool_grad %dy, %a {kernel = array<i64: 2>, strides = array<i64: 2>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>} : (tensor<1x1x2xf16>, tensor<1x1x2xi16>) -> tensor<1x1x4xf32>
  return
}

// -----
func.func @argmax_of_nothing(%x: tensor<2x0xf32>) {
  // expected-error@+2 {{axis 1 has no elements, so none is the largest or smallest}}
  // expected-error@+1 {{'graph.argmax' op failed to infer returned types}}
  %0 = graph.argmax %x {axis = 1 : i64, keepdims = false} : (tensor<2x0xf32>) -> tensor<2xi64>
  return
}

// -----
func.func @scatter_type(%dy: tensor<2x5xf16>, %i: tensor<5xi64>) {
  // expected-error@+1 {{'graph.scatter' op result and updates differ in element type}}
  %0 = graph.scatter %dy, %i {axis = 1 : i64} : (tensor<2x5xf16>, tensor<5xi64>) -> tensor<2x4xf32>
  return
}

// -----
func.func @resize_type(%x: tensor<2x3xf16>) {
  // expected-error@+1 {{'graph.resize' op result and operand differ in element type}}
  %0 = graph.resize %x {mode = #graph<resize_mode linear>, scales = array<f64: 1.0, 0.5>, offsets = array<f64: 0.0, 0.0>} : (tensor<2x3xf16>) -> tensor<2x6xf32>
  return
}

// -----
func.func @resize_gradient_type(%x: tensor<2x6xf32>) {
  // expected-error@+1 {{'graph.resize_grad' op result and operand differ in element type}}
  %0 = graph.resize_grad %x {mode = #graph<resize_mode linear>, scales = array<f64: 1.0, 0.5>, offsets = array<f64: 0.0, 0.0>} : (tensor<2x6xf32>) -> tensor<2x3xf16>
  return
}

// -----
func.func @resize_negative_scale(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'graph.resize' op dimension 1: a scale is finite and not negative, not -}}
  %0 = graph.resize %x {mode = #graph<resize_mode linear>, scales = array<f64: 1.0, -0.5>, offsets = array<f64: 0.0, 0.0>} : (tensor<2x3xf32>) -> tensor<2x6xf32>
  return
}

// -----
func.func @resize_nan_scale(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'graph.resize' op dimension 0: a scale is finite and not negative, not }}
  %0 = graph.resize %x {mode = #graph<resize_mode linear>, scales = array<f64: 0x7FF8000000000000, 1.0>, offsets = array<f64: 0.0, 0.0>} : (tensor<2x3xf32>) -> tensor<2x6xf32>
  return
}

// -----
func.func @resize_infinite_scale(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'graph.resize' op dimension 1: a scale is finite and not negative, not }}
  %0 = graph.resize %x {mode = #graph<resize_mode linear>, scales = array<f64: 1.0, 0x7FF0000000000000>, offsets = array<f64: 0.0, 0.0>} : (tensor<2x3xf32>) -> tensor<2x6xf32>
  return
}

// -----
func.func @resize_nan_offset(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'graph.resize' op dimension 1: an offset is finite, not }}
  %0 = graph.resize %x {mode = #graph<resize_mode linear>, scales = array<f64: 1.0, 0.5>, offsets = array<f64: 0.0, 0x7FF8000000000000>} : (tensor<2x3xf32>) -> tensor<2x6xf32>
  return
}

// -----
func.func @resize_infinite_bias(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'graph.resize' op nearest_bias is finite, not }}
  %0 = graph.resize %x {mode = #graph<resize_mode linear>, scales = array<f64: 1.0, 0.5>, offsets = array<f64: 0.0, 0.0>, nearest_bias = 0x7FF0000000000000 : f64} : (tensor<2x3xf32>) -> tensor<2x6xf32>
  return
}

// -----
func.func @resize_gradient_scale(%x: tensor<2x6xf32>) {
  // expected-error@+1 {{'graph.resize_grad' op dimension 1: a scale is finite and not negative, not -}}
  %0 = graph.resize_grad %x {mode = #graph<resize_mode linear>, scales = array<f64: 1.0, -0.5>, offsets = array<f64: 0.0, 0.0>} : (tensor<2x6xf32>) -> tensor<2x3xf32>
  return
}

// -----
func.func @layer_norm_axis(%x: tensor<2x3xf16>, %s: tensor<f32>) {
  // expected-error@+1 {{'graph.layer_norm' op axis 2 is out of range for rank 2}}
  %0:3 = graph.layer_norm %x, %s, %s {axes = array<i64: 2>, epsilon = 1.0e-05 : f64, kind = #graph<norm layer>} : (tensor<2x3xf16>, tensor<f32>, tensor<f32>) -> (tensor<2x3xf16>, tensor<2x3xf32>, tensor<2x3xf32>)
  return
}

// -----
func.func @layer_norm_no_axis(%x: tensor<2x3xf16>, %s: tensor<f32>) {
  // expected-error@+1 {{'graph.layer_norm' op needs an axis}}
  %0:3 = graph.layer_norm %x, %s, %s {axes = array<i64>, epsilon = 1.0e-05 : f64, kind = #graph<norm layer>} : (tensor<2x3xf16>, tensor<f32>, tensor<f32>) -> (tensor<2x3xf16>, tensor<2x3xf32>, tensor<2x3xf32>)
  return
}

// -----
func.func @layer_norm_epsilon(%x: tensor<2x3xf16>, %s: tensor<f32>) {
  // expected-error@+1 {{'graph.layer_norm' op epsilon must not be negative}}
  %0:3 = graph.layer_norm %x, %s, %s {axes = array<i64: 1>, epsilon = -1.0e-05 : f64, kind = #graph<norm layer>} : (tensor<2x3xf16>, tensor<f32>, tensor<f32>) -> (tensor<2x3xf16>, tensor<2x1xf32>, tensor<2x1xf32>)
  return
}

// -----
func.func @layer_norm_epsilon_nan(%x: tensor<2x3xf16>, %s: tensor<f32>) {
  // expected-error@+1 {{'graph.layer_norm' op epsilon must not be negative}}
  %0:3 = graph.layer_norm %x, %s, %s {axes = array<i64: 1>, epsilon = 0x7FF8000000000000 : f64, kind = #graph<norm rms>} : (tensor<2x3xf16>, tensor<f32>, tensor<f32>) -> (tensor<2x3xf16>, tensor<2x1xf32>, tensor<2x1xf32>)
  return
}

// -----
func.func @layer_norm_grad_type(%x: tensor<2x3xf16>, %dy: tensor<2x3xf32>, %s: tensor<f32>, %m: tensor<2x1xf32>) {
  // expected-error@+1 {{'graph.layer_norm_grad' op x and dy differ in type}}
  %0:3 = graph.layer_norm_grad %x, %s, %s, %m, %m, %dy {axes = array<i64: 1>, epsilon = 1.0e-05 : f64, kind = #graph<norm layer>} : (tensor<2x3xf16>, tensor<f32>, tensor<f32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x3xf32>) -> (tensor<2x3xf16>, tensor<f32>, tensor<f32>)
  return
}

// -----
func.func @group_norm_bias(%x: tensor<2x3x4xf16>, %s: tensor<3xf32>, %b: tensor<4xf32>) {
  // expected-error@+1 {{'graph.group_norm' op scale and bias differ in type}}
  %0:3 = graph.group_norm %x, %s, %b {epsilon = 1.0e-05 : f64, axis = 1 : i64, groups = 1 : i64} : (tensor<2x3x4xf16>, tensor<3xf32>, tensor<4xf32>) -> (tensor<2x3x4xf16>, tensor<2x1xf32>, tensor<2x1xf32>)
  return
}

// -----
func.func @group_norm_no_groups(%x: tensor<2x3x4xf16>, %s: tensor<3xf32>) {
  // expected-error@+1 {{'graph.group_norm' op 3 channels do not divide into 0 groups}}
  %0:3 = graph.group_norm %x, %s, %s {epsilon = 1.0e-05 : f64, axis = 1 : i64, groups = 0 : i64} : (tensor<2x3x4xf16>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf16>, tensor<2x0xf32>, tensor<2x0xf32>)
  return
}

// -----
func.func @group_norm_epsilon(%x: tensor<2x3x4xf16>, %s: tensor<3xf32>) {
  // expected-error@+1 {{'graph.group_norm' op epsilon must not be negative}}
  %0:3 = graph.group_norm %x, %s, %s {epsilon = -1.0 : f64, axis = 1 : i64, groups = 1 : i64} : (tensor<2x3x4xf16>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf16>, tensor<2x1xf32>, tensor<2x1xf32>)
  return
}

// -----
func.func @group_norm_grad_type(%x: tensor<2x3x4xf16>, %dy: tensor<2x3x4xf32>, %s: tensor<3xf32>, %m: tensor<2x1xf32>) {
  // expected-error@+1 {{'graph.group_norm_grad' op x and dy differ in type}}
  %0:3 = graph.group_norm_grad %x, %s, %m, %m, %dy {epsilon = 1.0e-05 : f64, axis = 1 : i64, groups = 1 : i64} : (tensor<2x3x4xf16>, tensor<3xf32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x3x4xf32>) -> (tensor<2x3x4xf16>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----
func.func @group_norm_grad_statistics(%x: tensor<2x3x4xf16>, %s: tensor<3xf32>, %m: tensor<2x1xf32>, %i: tensor<2x3xf32>) {
  // expected-error@+1 {{'graph.group_norm_grad' op needs statistics 'tensor<2x1xf32>', not 'tensor<2x3xf32>'}}
  %0:3 = graph.group_norm_grad %x, %s, %m, %i, %x {epsilon = 1.0e-05 : f64, axis = 1 : i64, groups = 1 : i64} : (tensor<2x3x4xf16>, tensor<3xf32>, tensor<2x1xf32>, tensor<2x3xf32>, tensor<2x3x4xf16>) -> (tensor<2x3x4xf16>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----
func.func @group_norm_epsilon_nan(%x: tensor<2x3x4xf16>, %s: tensor<3xf32>) {
  // expected-error@+1 {{'graph.group_norm' op epsilon must not be negative or NaN}}
  %0:3 = graph.group_norm %x, %s, %s {epsilon = 0x7FF8000000000000 : f64, axis = 1 : i64, groups = 1 : i64} : (tensor<2x3x4xf16>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf16>, tensor<2x1xf32>, tensor<2x1xf32>)
  return
}

// -----
func.func @group_norm_grad_epsilon(%x: tensor<2x3x4xf16>, %s: tensor<3xf32>, %m: tensor<2x1xf32>) {
  // expected-error@+1 {{'graph.group_norm_grad' op epsilon must not be negative or NaN}}
  %0:3 = graph.group_norm_grad %x, %s, %m, %m, %x {epsilon = -1.0e-05 : f64, axis = 1 : i64, groups = 1 : i64} : (tensor<2x3x4xf16>, tensor<3xf32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x3x4xf16>) -> (tensor<2x3x4xf16>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----
func.func @layer_norm_grad_epsilon(%x: tensor<2x3xf16>, %s: tensor<f32>, %m: tensor<2x1xf32>) {
  // expected-error@+1 {{'graph.layer_norm_grad' op epsilon must not be negative or NaN}}
  %0:3 = graph.layer_norm_grad %x, %s, %s, %m, %m, %x {axes = array<i64: 1>, epsilon = -1.0e-05 : f64, kind = #graph<norm layer>} : (tensor<2x3xf16>, tensor<f32>, tensor<f32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x3xf16>) -> (tensor<2x3xf16>, tensor<f32>, tensor<f32>)
  return
}

// -----
func.func @clip_nan_min(%x: tensor<4xf32>) {
  // expected-error@+1 {{'graph.clip' op min is NaN, which bounds nothing}}
  %0 = graph.clip %x {min = 0x7FF8000000000000 : f64, max = 1.0 : f64} : tensor<4xf32>
  return
}

// -----
func.func @clip_nan_max(%x: tensor<4xi32>) {
  // expected-error@+1 {{'graph.clip' op max is NaN, which bounds nothing}}
  %0 = graph.clip %x {min = 0.0 : f64, max = 0x7FF8000000000000 : f64} : tensor<4xi32>
  return
}

// -----
func.func @conv_no_kernel(%x: tensor<1x2x5x5xf32>, %w: tensor<3x2x3x0xf32>) {
  // expected-error@+2 {{the kernel [3, 0] has no elements, so it computes nothing}}
  // expected-error@+1 {{'graph.conv' op failed to infer returned types}}
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x2x5x5xf32>, tensor<3x2x3x0xf32>) -> tensor<1x3x3x6xf32>
  return
}

// -----
func.func @conv_input_grad_no_kernel(%dy: tensor<1x3x6x3xf32>, %w: tensor<3x0x3x2xf32>) {
  // expected-error@+1 {{the kernel [0, 3] has no elements, so it computes nothing}}
  %0 = graph.conv_input_grad %dy, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64, weight_channels_last} : (tensor<1x3x6x3xf32>, tensor<3x0x3x2xf32>) -> tensor<1x2x5x5xf32>
  return
}

// -----
func.func @conv_weight_grad_no_kernel(%x: tensor<1x2x5x5xf32>, %dy: tensor<1x3x6x6xf32>) {
  // expected-error@+1 {{the kernel [0, 0] has no elements, so it computes nothing}}
  %0 = graph.conv_weight_grad %x, %dy {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x2x5x5xf32>, tensor<1x3x6x6xf32>) -> tensor<3x2x0x0xf32>
  return
}

// -----

func.func @f(%x: tensor<1x1x8x8xf32>) {
  // The product of the extents is 2^64.
  // expected-error@+1 {{a window of [4294967296, 4294967296] elements is too large}}
  %0, %1 = graph.max_pool %x {kernel = array<i64: 4294967296, 4294967296>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 4294967296, 4294967296>, pad_high = array<i64: 0, 0>} : (tensor<1x1x8x8xf32>) -> (tensor<1x1x9x9xf32>, tensor<1x1x9x9xi16>)
  return
}

// -----

func.func @f(%x: tensor<2x0xf32>) {
  // expected-error@+1 {{'graph.resize' op there is nothing to resize: 'tensor<2x0xf32>' has no elements and 'tensor<2x6xf32>' has some}}
  %0 = graph.resize %x {mode = #graph<resize_mode linear>, scales = array<f64: 1.0, 0.5>, offsets = array<f64: 0.0, 0.0>} : (tensor<2x0xf32>) -> tensor<2x6xf32>
  return
}

// -----

func.func @f(%dy: tensor<2x6xf32>) {
  // expected-error@+1 {{'graph.resize_grad' op there is nothing to resize: 'tensor<2x0xf32>' has no elements and 'tensor<2x6xf32>' has some}}
  %0 = graph.resize_grad %dy {mode = #graph<resize_mode linear>, scales = array<f64: 1.0, 0.5>, offsets = array<f64: 0.0, 0.0>} : (tensor<2x6xf32>) -> tensor<2x0xf32>
  return
}

// -----

func.func @f(%x: tensor<1x8x5x5xf32>, %w: tensor<4x2x3x3xf32>) -> tensor<1x4x3x3xf32> {
  // The product of groups and channels is beyond 64 bits.
  // expected-error@+2 {{x has 8 channels, w takes 2 x 9223372036854775807 groups}}
  // expected-error@+1 {{'graph.conv' op failed to infer returned types}}
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 9223372036854775807 : i64} : (tensor<1x8x5x5xf32>, tensor<4x2x3x3xf32>) -> tensor<1x4x3x3xf32>
  return %0 : tensor<1x4x3x3xf32>
}

// -----

func.func @f(%x: tensor<1x4x5xf32>, %w: tensor<3x2xf32>) {
  // expected-error@+1 {{w has to be [3, 4], but it is [3, 2]}}
  %0 = graph.depthwise_conv %x, %w {kernel = array<i64: 3>, strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>} : (tensor<1x4x5xf32>, tensor<3x2xf32>) -> tensor<1x4x3xf32>
  return
}

// -----

func.func @f(%dy: tensor<1x4x5xf32>, %w: tensor<3x4xf32>) {
  // expected-error@+1 {{the forward convolution gives [1, 4, 3], not [1, 4, 5]}}
  %0 = graph.depthwise_input_grad %dy, %w {kernel = array<i64: 3>, strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>} : (tensor<1x4x5xf32>, tensor<3x4xf32>) -> tensor<1x4x5xf32>
  return
}

// -----

func.func @attention(%q: tensor<2x4x8x16xf16>, %k: tensor<2x3x6x16xf16>, %v: tensor<2x3x6x16xf16>) {
  // expected-error@+1 {{4 heads of q do not divide among 3 of k and v}}
  %0:3 = graph.attention %q, %k, %v {scale = 1.0 : f64} : (tensor<2x4x8x16xf16>, tensor<2x3x6x16xf16>, tensor<2x3x6x16xf16>) -> (tensor<2x4x8x16xf16>, tensor<2x4x8x1xf32>, tensor<2x4x8x1xf32>)
  return
}

// -----

func.func @attention(%q: tensor<2x4x8x16xf16>, %k: tensor<2x2x6x16xf16>, %v: tensor<2x2x5x16xf16>) {
  // expected-error@+1 {{do not fit to q [2, 4, 8, 16]}}
  %0:3 = graph.attention %q, %k, %v {scale = 1.0 : f64} : (tensor<2x4x8x16xf16>, tensor<2x2x6x16xf16>, tensor<2x2x5x16xf16>) -> (tensor<2x4x8x16xf16>, tensor<2x4x8x1xf32>, tensor<2x4x8x1xf32>)
  return
}

// -----

func.func @attention(%q: tensor<2x4x8x16xf16>, %k: tensor<2x2x6x16xf16>, %v: tensor<2x2x6x16xf16>, %m: tensor<2x1x8x5xi1>) {
  // expected-error@+1 {{'tensor<2x1x8x5xi1>' is no mask or bias of scores [2, 4, 8, 6]}}
  %0:3 = graph.attention %q, %k, %v mask %m {scale = 1.0 : f64} : (tensor<2x4x8x16xf16>, tensor<2x2x6x16xf16>, tensor<2x2x6x16xf16>, tensor<2x1x8x5xi1>) -> (tensor<2x4x8x16xf16>, tensor<2x4x8x1xf32>, tensor<2x4x8x1xf32>)
  return
}

// -----

func.func @attention(%q: tensor<2x4x8x16xf16>, %k: tensor<2x2x6x16xf16>, %v: tensor<2x2x6x16xf16>, %m: tensor<8x6xi1>) {
  // expected-error@+1 {{is no mask or bias of scores [2, 4, 8, 6]}}
  %0:3 = graph.attention %q, %k, %v mask %m {scale = 1.0 : f64} : (tensor<2x4x8x16xf16>, tensor<2x2x6x16xf16>, tensor<2x2x6x16xf16>, tensor<8x6xi1>) -> (tensor<2x4x8x16xf16>, tensor<2x4x8x1xf32>, tensor<2x4x8x1xf32>)
  return
}

// -----

func.func @attention(%q: tensor<2x4x8x16xf16>, %k: tensor<2x2x6x16xf16>, %v: tensor<2x2x6x16xf16>, %b: tensor<1x1x8x6xf64>) {
  // expected-error@+1 {{needs a bias of 'f32', not 'tensor<1x1x8x6xf64>'}}
  %0:3 = graph.attention %q, %k, %v bias %b {scale = 1.0 : f64} : (tensor<2x4x8x16xf16>, tensor<2x2x6x16xf16>, tensor<2x2x6x16xf16>, tensor<1x1x8x6xf64>) -> (tensor<2x4x8x16xf16>, tensor<2x4x8x1xf32>, tensor<2x4x8x1xf32>)
  return
}

// -----

func.func @attention(%q: tensor<2x4x8x16xf16>, %k: tensor<2x2x6x16xf16>, %v: tensor<2x2x6x16xf16>) {
  // expected-error@+1 {{dropout has a seed, a step, a ratio and a salt}}
  %0:3 = graph.attention %q, %k, %v {scale = 1.0 : f64, ratio = 0.5 : f64} : (tensor<2x4x8x16xf16>, tensor<2x2x6x16xf16>, tensor<2x2x6x16xf16>) -> (tensor<2x4x8x16xf16>, tensor<2x4x8x1xf32>, tensor<2x4x8x1xf32>)
  return
}

// -----

func.func @attention(%q: tensor<2x4x8x16xf16>, %k: tensor<2x2x6x16xf16>, %v: tensor<2x2x6x16xf16>, %i: tensor<i64>) {
  // expected-error@+1 {{the ratio of dropout is at least 0 and below 1, not 1}}
  %0:3 = graph.attention %q, %k, %v dropout %i, %i {scale = 1.0 : f64, ratio = 1.0 : f64, salt = 1 : i64} : (tensor<2x4x8x16xf16>, tensor<2x2x6x16xf16>, tensor<2x2x6x16xf16>, tensor<i64>, tensor<i64>) -> (tensor<2x4x8x16xf16>, tensor<2x4x8x1xf32>, tensor<2x4x8x1xf32>)
  return
}

// -----

func.func @attention(%q: tensor<2x4x8x16xf16>, %k: tensor<2x2x6x16xf16>, %v: tensor<2x2x6x16xf32>) {
  // expected-error@+1 {{q, k and v differ in element type}}
  %0:3 = graph.attention %q, %k, %v {scale = 1.0 : f64} : (tensor<2x4x8x16xf16>, tensor<2x2x6x16xf16>, tensor<2x2x6x16xf32>) -> (tensor<2x4x8x16xf16>, tensor<2x4x8x1xf32>, tensor<2x4x8x1xf32>)
  return
}

// -----

func.func @attention(%q: tensor<2x4x8x16xf16>, %k: tensor<2x2x6x16xf16>, %v: tensor<2x2x6x16xf16>) {
  // expected-error@+1 {{hides all keys of a query by before and after, which needs zero_rows}}
  %0:3 = graph.attention %q, %k, %v {scale = 1.0 : f64, before = 1 : i64} : (tensor<2x4x8x16xf16>, tensor<2x2x6x16xf16>, tensor<2x2x6x16xf16>) -> (tensor<2x4x8x16xf16>, tensor<2x4x8x1xf32>, tensor<2x4x8x1xf32>)
  return
}

// -----

func.func @attention(%q: tensor<2x4x8x16xf16>, %k: tensor<2x2x6x16xf16>, %v: tensor<2x2x6x16xf16>, %l: tensor<2x4x8xf32>) {
  // expected-error@+1 {{largest, log_sum and delta are 'tensor<2x4x8x1xf32>', not 'tensor<2x4x8xf32>'}}
  %0:3 = graph.attention_grad %q, %k, %v from %l, %l, %l, %q {scale = 1.0 : f64} : (tensor<2x4x8x16xf16>, tensor<2x2x6x16xf16>, tensor<2x2x6x16xf16>, tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8x16xf16>) -> (tensor<2x4x8x16xf16>, tensor<2x2x6x16xf16>, tensor<2x2x6x16xf16>)
  return
}

// -----

func.func @attention(%q: tensor<2x4x8x16xf16>, %k: tensor<2x2x6x16xf16>, %v: tensor<2x2x6x16xf16>, %l: tensor<2x4x8x1xf32>) {
  // expected-error@+1 {{dy is 'tensor<2x4x8x16xf16>', not 'tensor<2x2x6x16xf16>'}}
  %0:3 = graph.attention_grad %q, %k, %v from %l, %l, %l, %k {scale = 1.0 : f64} : (tensor<2x4x8x16xf16>, tensor<2x2x6x16xf16>, tensor<2x2x6x16xf16>, tensor<2x4x8x1xf32>, tensor<2x4x8x1xf32>, tensor<2x4x8x1xf32>, tensor<2x2x6x16xf16>) -> (tensor<2x4x8x16xf16>, tensor<2x2x6x16xf16>, tensor<2x2x6x16xf16>)
  return
}

// -----

func.func @attention(%q: tensor<2x4x8x16xf16>, %k: tensor<2x2x6x16xf16>, %v: tensor<2x2x6x16xf16>, %l: tensor<2x4x8x1xf32>) {
  // expected-error@+1 {{the cotangents differ in type from q, k and v}}
  %0:3 = graph.attention_grad %q, %k, %v from %l, %l, %l, %q {scale = 1.0 : f64} : (tensor<2x4x8x16xf16>, tensor<2x2x6x16xf16>, tensor<2x2x6x16xf16>, tensor<2x4x8x1xf32>, tensor<2x4x8x1xf32>, tensor<2x4x8x1xf32>, tensor<2x4x8x16xf16>) -> (tensor<2x2x6x16xf16>, tensor<2x2x6x16xf16>, tensor<2x2x6x16xf16>)
  return
}

// -----

func.func @attention(%q: tensor<2x4x8x16xf16>, %k: tensor<2x2x6x16xf16>, %v: tensor<2x2x6x16xf16>, %l: tensor<2x4x8x1xf32>) {
  // expected-error@+1 {{dbias is a cotangent of the bias, and has its type}}
  %0:4 = graph.attention_grad %q, %k, %v from %l, %l, %l, %q {scale = 1.0 : f64} : (tensor<2x4x8x16xf16>, tensor<2x2x6x16xf16>, tensor<2x2x6x16xf16>, tensor<2x4x8x1xf32>, tensor<2x4x8x1xf32>, tensor<2x4x8x1xf32>, tensor<2x4x8x16xf16>) -> (tensor<2x4x8x16xf16>, tensor<2x2x6x16xf16>, tensor<2x2x6x16xf16>, tensor<1x1x8x6xf32>)
  return
}
