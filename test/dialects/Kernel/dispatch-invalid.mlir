// RUN: mpc-opt %s --split-input-file --verify-diagnostics

func.func @entries(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{in_place has 2 entries for 1 results}}
  %0 = kernel.dispatch pointwise "d" (%x) {in_place = array<i64: 0, -1>} : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    kernel.yield %a : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----
func.func @input(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{in_place names input 1 of 1}}
  %0 = kernel.dispatch pointwise "d" (%x) {in_place = array<i64: 1>} : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    kernel.yield %a : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----
func.func @size(%x: tensor<8xf32>) -> tensor<8xf16> {
  // expected-error @+1 {{in_place lets result 0 share the buffer of input 0, whose elements are others in number or size}}
  %0 = kernel.dispatch pointwise "d" (%x) {in_place = array<i64: 0>} : (tensor<8xf32>) -> tensor<8xf16> {
  ^bb0(%a: tensor<8xf32>):
    %1 = graph.cast %a : tensor<8xf32> to tensor<8xf16>
    kernel.yield %1 : tensor<8xf16>
  }
  return %0 : tensor<8xf16>
}

// -----
func.func @args(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{args has 1 entries for 2 inputs and results}}
  %0 = kernel.dispatch pointwise "d" (%x) {args = array<i64: 64>} : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    kernel.yield %a : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----
func.func @scratch(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{has a scratch_offset, but no scratch_bytes}}
  %0 = kernel.dispatch pointwise "d" (%x) {scratch_offset = 64 : i64} : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    kernel.yield %a : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----
func.func @other(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{attribute 'scratch_bytes' failed to satisfy constraint: 64-bit signless integer attribute}}
  %0 = kernel.dispatch pointwise "d" (%x) {scratch_bytes = "many"} : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    kernel.yield %a : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----
func.func @arguments(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{block arguments differ from the inputs}}
  %0 = kernel.dispatch pointwise "d" (%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>):
    kernel.yield %a : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----
func.func @argument_types(%x: tensor<8xf32>) -> tensor<8xf16> {
  // expected-error @+1 {{block arguments differ from the inputs}}
  %0 = kernel.dispatch pointwise "d" (%x) : (tensor<8xf32>) -> tensor<8xf16> {
  ^bb0(%a: tensor<8xf16>):
    kernel.yield %a : tensor<8xf16>
  }
  return %0 : tensor<8xf16>
}

// -----
func.func @results(%x: tensor<8xf32>) -> tensor<8xf16> {
  // expected-error @+1 {{results differ from what is yielded}}
  %0 = kernel.dispatch pointwise "d" (%x) : (tensor<8xf32>) -> tensor<8xf16> {
  ^bb0(%a: tensor<8xf32>):
    kernel.yield %a : tensor<8xf32>
  }
  return %0 : tensor<8xf16>
}

// -----
func.func @other_terminator(%x: tensor<8xf32>) {
  // expected-error @+1 {{results differ from what is yielded}}
  kernel.dispatch pointwise "d" (%x) : (tensor<8xf32>) -> () {
  ^bb0(%a: tensor<8xf32>):
    llvm.unreachable
  }
  return
}

// -----
func.func @reuse_size(%x: tensor<8xf32>) -> tensor<8xf16> {
  // expected-error @+1 {{may_reuse lets result 0 take over the buffer of input 0, whose elements are others in number or size}}
  %0 = kernel.dispatch pointwise "d" (%x) {may_reuse = [array<i64: 0>]} : (tensor<8xf32>) -> tensor<8xf16> {
  ^bb0(%a: tensor<8xf32>):
    %1 = graph.cast %a : tensor<8xf32> to tensor<8xf16>
    kernel.yield %1 : tensor<8xf16>
  }
  return %0 : tensor<8xf16>
}

// -----
func.func @twice(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  // expected-error @+1 {{in_place lets two results share the buffer of input 0}}
  %0:2 = kernel.dispatch pointwise "d" (%x) {in_place = array<i64: 0, 0>} : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  ^bb0(%a: tensor<8xf32>):
    kernel.yield %a, %a : tensor<8xf32>, tensor<8xf32>
  }
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xf32>
}

// -----
func.func @negative(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{args are offsets in the arena, none of them negative}}
  %0 = kernel.dispatch pointwise "d" (%x) {args = array<i64: 0, -64>} : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    kernel.yield %a : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----
func.func @negative_scratch(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{scratch has a size and an offset that are not negative}}
  %0 = kernel.dispatch pointwise "d" (%x) {scratch_bytes = -1 : i64} : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    kernel.yield %a : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----
func.func @no_contraction(%x: tensor<8xf32>) {
  // expected-error @+1 {{is a contraction, which computes one matrix product or convolution; its body has 0}}
  %0 = kernel.dispatch contraction "d" (%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %1 = graph.exp %a : tensor<8xf32>
    kernel.yield %1 : tensor<8xf32>
  }
  return
}

// -----
func.func @two_contractions(%x: tensor<8x8xf32>) {
  // expected-error @+1 {{is a contraction, which computes one matrix product or convolution; its body has 2}}
  %0:2 = kernel.dispatch contraction "d" (%x) : (tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  ^bb0(%a: tensor<8x8xf32>):
    %1 = graph.matmul %a, %a : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %2 = graph.matmul %a, %a : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    kernel.yield %1, %2 : tensor<8x8xf32>, tensor<8x8xf32>
  }
  return
}

// -----
func.func @computed_operand(%x: tensor<8x8xf32>) {
  // expected-error @+1 {{is a contraction whose product or convolution reads what the body computes}}
  %0 = kernel.dispatch contraction "d" (%x) : (tensor<8x8xf32>) -> tensor<8x8xf32> {
  ^bb0(%a: tensor<8x8xf32>):
    %1 = graph.exp %a : tensor<8x8xf32>
    %2 = graph.matmul %1, %a : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    kernel.yield %2 : tensor<8x8xf32>
  }
  return
}

// -----
// An input of as many bytes has other elements.
func.func @other_elements(%x: tensor<8xf32>) {
  // expected-error @+1 {{in_place lets result 0 share the buffer of input 0, whose elements are others in number or size}}
  %0 = kernel.dispatch pointwise "d" (%x) {in_place = array<i64: 0>} : (tensor<8xf32>) -> tensor<16xf16> {
  ^bb0(%a: tensor<8xf32>):
    %1 = graph.constant dense<1.0> : tensor<16xf16>
    kernel.yield %1 : tensor<16xf16>
  }
  return
}

// -----
func.func @in_another_place(%x: tensor<8xf32>) {
  // expected-error @+1 {{in_place lets result 0 share the buffer of input 0, which args place elsewhere}}
  %0 = kernel.dispatch pointwise "d" (%x) {in_place = array<i64: 0>, args = array<i64: 0, 64>} : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %1 = graph.exp %a : tensor<8xf32>
    kernel.yield %1 : tensor<8xf32>
  }
  return
}

// -----
func.func @steps(%x: tensor<8xf32>) {
  // expected-error @+1 {{has arg_steps, but does not stand in the body of a graph.scan}}
  %0 = kernel.dispatch pointwise "d" (%x) {args = array<i64: 0, 64>, arg_steps = array<i64: 64, 64>} : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %1 = graph.exp %a : tensor<8xf32>
    kernel.yield %1 : tensor<8xf32>
  }
  return
}

// -----
func.func @few_steps(%x: tensor<8xf32>) {
  // expected-error @+1 {{arg_steps has an entry for each entry of args}}
  %0 = kernel.dispatch pointwise "d" (%x) {args = array<i64: 0, 64>, arg_steps = array<i64: 64>} : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %1 = graph.exp %a : tensor<8xf32>
    kernel.yield %1 : tensor<8xf32>
  }
  return
}

// -----
func.func @no_scratch(%x: tensor<8xf32>) {
  // expected-error @+1 {{a launch passes its scratch, but it has no scratch_bytes}}
  %0 = kernel.dispatch pointwise "d" (%x) {launches = [#kernel.launch<@k grid = 1 args = 0, -1>]} : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %1 = graph.exp %a : tensor<8xf32>
    kernel.yield %1 : tensor<8xf32>
  }
  return
}

// -----
module attributes {kernel.target = #kernel.target<"sm_90a">} {
  llvm.func @k(!llvm.ptr<1>, !llvm.ptr<1>) attributes {kernel.entry = #kernel.entry<threads = 128>}
  func.func @few_arguments(%x: tensor<8xf32>) {
    // expected-error @+1 {{launches @k with 1 of its 2 arguments}}
    %0 = kernel.dispatch pointwise "d" (%x) {launches = [#kernel.launch<@k grid = 1, 1, 1 args = 0>]} : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%a: tensor<8xf32>):
      %1 = graph.exp %a : tensor<8xf32>
      kernel.yield %1 : tensor<8xf32>
    }
    return
  }
}

// -----
module attributes {kernel.target = #kernel.target<"sm_90a">} {
  llvm.func @k(!llvm.ptr<1>, !llvm.ptr<1>) attributes {kernel.entry = #kernel.entry<threads = 128, cluster = 2, resident = 1>}
  func.func @clusters(%x: tensor<8xf32>) {
    // expected-error @+1 {{launches @k with 3 blocks, which are no clusters of 2}}
    %0 = kernel.dispatch pointwise "d" (%x) {launches = [#kernel.launch<@k grid = 3, 1, 1 args = 0, 1>]} : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%a: tensor<8xf32>):
      %1 = graph.exp %a : tensor<8xf32>
      kernel.yield %1 : tensor<8xf32>
    }
    return
  }
}

// -----

func.func @f(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-error @+1 {{lets result 0 take over the buffer of input 0, of which the kernel may read elements that it has overwritten}}
  %0 = kernel.dispatch pointwise "d" (%x) {may_reuse = [array<i64: 0>]} : (tensor<8x8xf32>) -> tensor<8x8xf32> {
  ^bb0(%a: tensor<8x8xf32>):
    %y = graph.transpose %a {permutation = array<i64: 1, 0>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    kernel.yield %y : tensor<8x8xf32>
  }
  return %0 : tensor<8x8xf32>
}

// -----

func.func @f(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-error @+1 {{lets result 0 take over the buffer of input 0, of which the kernel may read elements that it has overwritten}}
  %0 = kernel.dispatch pointwise "d" (%x) {in_place = array<i64: 0>} : (tensor<8x8xf32>) -> tensor<8x8xf32> {
  ^bb0(%a: tensor<8x8xf32>):
    %y = graph.slice %a {starts = array<i64: 0, 7>, sizes = array<i64: 8, 8>, strides = array<i64: 1, -1>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    kernel.yield %y : tensor<8x8xf32>
  }
  return %0 : tensor<8x8xf32>
}

// -----

// The members of a batch are looked at before they are verified.
func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = kernel.dispatch batch "batch" (%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    // expected-error @+1 {{expects a non-empty block}}
    %1 = kernel.dispatch pointwise "empty" (%a) : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%b: tensor<8xf32>):
    }
    kernel.yield %1 : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----
func.func @member_in_place(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = kernel.dispatch batch "b" (%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    // expected-error @+1 {{is a member of a batch, whose memory is planned as a whole, and has places of its own}}
    %1 = kernel.dispatch pointwise "m" (%a) {in_place = array<i64: 0>} : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%b: tensor<8xf32>):
      kernel.yield %b : tensor<8xf32>
    }
    kernel.yield %1 : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----
func.func @input_of_another_member(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  // expected-error @+1 {{in_place lets result 0 share the buffer of input 1, which the member that computes it does not read}}
  %0:2 = kernel.dispatch batch "b" (%x, %y) {in_place = array<i64: 1, -1>} : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>):
    %1 = kernel.dispatch pointwise "m" (%a) : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%c: tensor<8xf32>):
      kernel.yield %c : tensor<8xf32>
    }
    %2 = kernel.dispatch pointwise "n" (%b) : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%c: tensor<8xf32>):
      kernel.yield %c : tensor<8xf32>
    }
    kernel.yield %1, %2 : tensor<8xf32>, tensor<8xf32>
  }
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xf32>
}

// -----
func.func @storage_twice(%x: tensor<2x4xf32>) -> tensor<8xf32> {
  %a = graph.reshape %x : tensor<2x4xf32> to tensor<8xf32>
  // expected-error @+1 {{in_place lets result 0 share the buffer of input 0, which another input lies in too}}
  %0 = kernel.dispatch pointwise "d" (%a, %x) {in_place = array<i64: 0>} : (tensor<8xf32>, tensor<2x4xf32>) -> tensor<8xf32> {
  ^bb0(%0: tensor<8xf32>, %1: tensor<2x4xf32>):
    %2 = graph.reshape %1 : tensor<2x4xf32> to tensor<8xf32>
    %3 = graph.slice %2 {starts = array<i64: 7>, sizes = array<i64: 8>, strides = array<i64: -1>} : (tensor<8xf32>) -> tensor<8xf32>
    %4 = graph.add %0, %3 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    kernel.yield %4 : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----
func.func @contraction_in_place(%x: tensor<8x8xf32>, %r: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-error @+1 {{is a contraction, whose results have buffers of their own, and has in_place}}
  %0 = kernel.dispatch contraction "d" (%x, %r) {in_place = array<i64: 1>} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> {
  ^bb0(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>):
    %1 = graph.matmul %a, %a : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %2 = graph.add %1, %b : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    kernel.yield %2 : tensor<8x8xf32>
  }
  return %0 : tensor<8x8xf32>
}

// -----
func.func @contraction_reuse(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-error @+1 {{is a contraction, whose results have buffers of their own, and has may_reuse}}
  %0 = kernel.dispatch contraction "d" (%x) {may_reuse = [array<i64>]} : (tensor<8x8xf32>) -> tensor<8x8xf32> {
  ^bb0(%a: tensor<8x8xf32>):
    %1 = graph.matmul %a, %a : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    kernel.yield %1 : tensor<8x8xf32>
  }
  return %0 : tensor<8x8xf32>
}
