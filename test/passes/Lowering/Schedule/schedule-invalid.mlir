// RUN: mpc-opt %s --mpc-set-target=name=sm_90a --mpc-schedule --mpc-emit-kernels --split-input-file --verify-diagnostics

func.func @orders(%x: tensor<64x32xf8E4M3FN>, %y: tensor<64x32xf8E5M2>) {
  %y0 = kernel.dispatch contraction "orders" (%x, %y) : (tensor<64x32xf8E4M3FN>, tensor<64x32xf8E5M2>) -> tensor<32x32xf32> {
  ^bb0(%0: tensor<64x32xf8E4M3FN>, %1: tensor<64x32xf8E5M2>):
    // expected-error@+2 {{factor A of 8-bit floats is not contiguous along the summed dimension}}
    // expected-note@+1 {{hint: pass its graph.transpose, made where it is cast to 8 bits, and turn transpose_a around}}
    %h = graph.matmul %0, %1 {transpose_a} : (tensor<64x32xf8E4M3FN>, tensor<64x32xf8E5M2>) -> tensor<32x32xf32>
    kernel.yield %h : tensor<32x32xf32>
  }
  return
}

// -----

func.func @rows(%x: tensor<32x24xf8E4M3FN>) {
  %y = kernel.dispatch contraction "rows" (%x) : (tensor<32x24xf8E4M3FN>) -> tensor<32x32xf16> {
  ^bb0(%0: tensor<32x24xf8E4M3FN>):
    // expected-error@+2 {{factors of 8-bit floats whose 24 summed elements are no rows of 16 bytes}}
    // expected-note@+1 {{hint: make the summed dimension a multiple of 16, at least 16}}
    %h = graph.matmul %0, %0 {transpose_b} : (tensor<32x24xf8E4M3FN>, tensor<32x24xf8E4M3FN>) -> tensor<32x32xf16>
    kernel.yield %h : tensor<32x32xf16>
  }
  return
}

// -----

// 2^30 rows are too many for offsets of 32 bits.
func.func @long(%x: tensor<1073741824x16xf16>, %y: tensor<16x16xf16>) {
  %r = kernel.dispatch contraction "long" (%x, %y) : (tensor<1073741824x16xf16>, tensor<16x16xf16>) -> tensor<1073741824x16xf16> {
  ^bb0(%0: tensor<1073741824x16xf16>, %1: tensor<16x16xf16>):
    // expected-error@+2 {{'graph.matmul' op has an axis of 1073741824 elements, more than 1073741823: kernels count them in 32 bits}}
    // expected-note@+1 {{hint: make the batch smaller, or compile for the host}}
    %h = graph.matmul %0, %1 : (tensor<1073741824x16xf16>, tensor<16x16xf16>) -> tensor<1073741824x16xf16>
    kernel.yield %h : tensor<1073741824x16xf16>
  }
  return
}

// -----

// Only elements of the hero's result can be computed after it.
func.func @behind(%x: tensor<8x8xf32>) {
  %r = kernel.dispatch contraction "behind" (%x) : (tensor<8x8xf32>) -> tensor<8x8xf32> {
  ^bb0(%0: tensor<8x8xf32>):
    %h = graph.matmul %0, %0 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    // expected-error@+2 {{'graph.softmax' op has no lowering to loops}}
    // expected-note@+1 {{hint: composite ops need mpc-decompose first; matmul and convolutions need a dispatch of the form contraction}}
    %s = graph.softmax %h {axis = 1 : i64} : tensor<8x8xf32>
    kernel.yield %s : tensor<8x8xf32>
  }
  return
}

// -----

// A schedule that the user chose is not replaced by another.
func.func @chosen(%x: tensor<8x8xf32>) {
  // expected-error@+2 {{'simt 1x1x1' is no schedule of this problem on sm_90a}}
  // expected-note-re@+1 {{hint: take one of its own, as 'simt {{.*}}', or leave the choice to mpc-schedule}}
  %r = kernel.dispatch contraction "chosen" (%x) {schedule = #kernel.contraction<simt 1x1x1>} : (tensor<8x8xf32>) -> tensor<8x8xf32> {
  ^bb0(%0: tensor<8x8xf32>):
    %h = graph.matmul %0, %0 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    kernel.yield %h : tensor<8x8xf32>
  }
  return
}

// -----

func.func @attention(%q: tensor<1x1x16x16xf16>) -> tensor<1x1x16x16xf16> {
  // expected-error @+2 {{'mma 64x32x16 stages=2' is no schedule of this attention on sm_90a}}
  // expected-note @+1 {{hint: take one of its own, as 'mma 64x64x16 stages=2', or leave the choice to mpc-schedule}}
  %0 = kernel.dispatch attention "a"(%q) {schedule = #kernel.contraction<mma 64x32x16 stages=2>} : (tensor<1x1x16x16xf16>) -> tensor<1x1x16x16xf16> {
  ^bb0(%a: tensor<1x1x16x16xf16>):
    %y, %l, %s = graph.attention %a, %a, %a {scale = 1.0 : f64} : (tensor<1x1x16x16xf16>, tensor<1x1x16x16xf16>, tensor<1x1x16x16xf16>) -> (tensor<1x1x16x16xf16>, tensor<1x1x16x1xf32>, tensor<1x1x16x1xf32>)
    kernel.yield %y : tensor<1x1x16x16xf16>
  }
  return %0 : tensor<1x1x16x16xf16>
}
