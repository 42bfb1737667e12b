// RUN: mpc-opt %s --mpc-verify-arena --split-input-file --verify-diagnostics

// Tensors are side by side, and one constant is in two places of the program.
train.variable @w parameter : tensor<4xf32> = #train.fill<0.5 : f64> {kernel.offset = 0 : i64}
func.func @apart() -> (tensor<4xf32> {kernel.offset = 64 : i64}, tensor<4xf32> {kernel.offset = 64 : i64}) {
  %0 = graph.constant {kernel.offset = 64 : i64} dense<1.0> : tensor<4xf32>
  %1 = graph.constant {kernel.offset = 64 : i64} dense<1.0> : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----
// A constant without elements is where a real one is. A writer that takes one constant for each offset would leave the other out.
func.func @empty() {
  // expected-note @+1 {{the other one, at bytes 64 to 65}}
  %0 = graph.constant {kernel.offset = 64 : i64} dense<> : tensor<0xf32>
  // expected-error @+2 {{lies at bytes 64 to 80, where another constant or variable lies}}
  // expected-note @+1 {{hint: this is a defect of mpc; report it with the model}}
  %1 = graph.constant {kernel.offset = 64 : i64} dense<1.0> : tensor<4xf32>
  return
}

// -----
// expected-note @+1 {{the other one, at bytes 0 to 80}}
train.variable @w parameter : tensor<20xf32> = #train.fill<0.5 : f64> {kernel.offset = 0 : i64}
func.func @variable() {
  // expected-error @+2 {{lies at bytes 64 to 80, where another constant or variable lies}}
  // expected-note @+1 {{hint: this is a defect of mpc}}
  %0 = graph.constant {kernel.offset = 64 : i64} dense<1.0> : tensor<4xf32>
  return
}

// -----
// The second launch takes the buffer of the argument, which nothing reads any more; the third takes over that of its input.
func.func @right(%x: tensor<4xf32> {kernel.offset = 0 : i64}) -> (tensor<4xf32> {kernel.offset = 0 : i64}) {
  %0 = kernel.dispatch pointwise "exp" (%x) {args = array<i64: 0, 64>} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %e = graph.exp %a : tensor<4xf32>
    kernel.yield %e : tensor<4xf32>
  }
  %1 = kernel.dispatch pointwise "exp" (%0) {args = array<i64: 64, 0>} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %e = graph.exp %a : tensor<4xf32>
    kernel.yield %e : tensor<4xf32>
  }
  %2 = kernel.dispatch pointwise "exp" (%1) {args = array<i64: 0, 0>, in_place = array<i64: 0>} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %e = graph.exp %a : tensor<4xf32>
    kernel.yield %e : tensor<4xf32>
  }
  return %2 : tensor<4xf32>
}

// -----
func.func @overwritten(%x: tensor<4xf32> {kernel.offset = 0 : i64}) -> (tensor<4xf32> {kernel.offset = 128 : i64}) {
  // expected-note @+1 {{it was written here}}
  %0 = kernel.dispatch pointwise "exp" (%x) {args = array<i64: 0, 0>, in_place = array<i64: 0>} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %e = graph.exp %a : tensor<4xf32>
    kernel.yield %e : tensor<4xf32>
  }
  // expected-error @+2 {{'kernel.dispatch' op reads input 1 at bytes 0 to 16, where at byte 0 lies another tensor}}
  // expected-note @+1 {{hint: this is a defect of mpc}}
  %1 = kernel.dispatch pointwise "add" (%0, %x) {args = array<i64: 0, 0, 128>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %e = graph.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    kernel.yield %e : tensor<4xf32>
  }
  return %1 : tensor<4xf32>
}

// -----
// The result of the first launch reaches into the place of the second one's.
func.func @partly(%x: tensor<32xf32> {kernel.offset = 0 : i64}) -> (tensor<32xf32> {kernel.offset = 128 : i64}, tensor<32xf32> {kernel.offset = 192 : i64}) {
  %0 = kernel.dispatch pointwise "exp" (%x) {args = array<i64: 0, 128>} : (tensor<32xf32>) -> tensor<32xf32> {
  ^bb0(%a: tensor<32xf32>):
    %e = graph.exp %a : tensor<32xf32>
    kernel.yield %e : tensor<32xf32>
  }
  // expected-note @+1 {{it was written here}}
  %1 = kernel.dispatch pointwise "tanh" (%x) {args = array<i64: 0, 192>} : (tensor<32xf32>) -> tensor<32xf32> {
  ^bb0(%a: tensor<32xf32>):
    %e = graph.tanh %a : tensor<32xf32>
    kernel.yield %e : tensor<32xf32>
  }
  return %0, %1 : tensor<32xf32>, tensor<32xf32>
}
// expected-error @-14 {{returns result 0 at bytes 128 to 256, where at byte 192 lies another tensor}}
// expected-note @-15 {{hint: this is a defect of mpc}}

// -----
func.func @result_over_input(%x: tensor<4xf32> {kernel.offset = 0 : i64}) -> (tensor<4xf32> {kernel.offset = 0 : i64}) {
  // expected-error @+2 {{writes result 0 over input 0}}
  // expected-note @+1 {{hint: this is a defect of mpc}}
  %0 = kernel.dispatch pointwise "exp" (%x) {args = array<i64: 0, 0>} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %e = graph.exp %a : tensor<4xf32>
    kernel.yield %e : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----
func.func @result_over_result(%x: tensor<4xf32> {kernel.offset = 0 : i64}) {
  // expected-error @+2 {{writes result 0 over result 1}}
  // expected-note @+1 {{hint: this is a defect of mpc}}
  %0:2 = kernel.dispatch pointwise "both" (%x) {args = array<i64: 0, 64, 72>} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>):
    %e = graph.exp %a : tensor<4xf32>
    %t = graph.tanh %a : tensor<4xf32>
    kernel.yield %e, %t : tensor<4xf32>, tensor<4xf32>
  }
  return
}

// -----
func.func @scratch(%x: tensor<4xf32> {kernel.offset = 0 : i64}) {
  // expected-error @+2 {{has its scratch over result 0}}
  // expected-note @+1 {{hint: this is a defect of mpc}}
  %0 = kernel.dispatch pointwise "exp" (%x) {args = array<i64: 0, 64>, scratch_bytes = 128 : i64, scratch_offset = 64 : i64} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %e = graph.exp %a : tensor<4xf32>
    kernel.yield %e : tensor<4xf32>
  }
  return
}

// -----
func.func @unplaced(%x: tensor<4xf32> {kernel.offset = 0 : i64}) {
  // expected-error @+2 {{has no place in the arena}}
  // expected-note @+1 {{hint: this is a defect of mpc}}
  %0 = kernel.dispatch pointwise "exp" (%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %e = graph.exp %a : tensor<4xf32>
    kernel.yield %e : tensor<4xf32>
  }
  return
}

// -----
// expected-error @+2 {{gives argument 0 no place in the arena}}
// expected-note @+1 {{hint: this is a defect of mpc}}
func.func @argument(%x: tensor<4xf32>) {
  return
}

// -----
// expected-error @+2 {{gives result 0 no place in the arena}}
// expected-note @+1 {{hint: this is a defect of mpc}}
func.func @result(%x: tensor<4xf32> {kernel.offset = 0 : i64}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----
// The assigned value never comes to the variable.
// expected-error @+2 {{has its state for the next entry at bytes 0 to 16, where at byte 0 lies another tensor}}
// expected-note @+1 {{hint: this is a defect of mpc}}
train.variable @w buffer : tensor<4xf32> = #train.fill<0.5 : f64> {kernel.offset = 0 : i64}
func.func @assign(%x: tensor<4xf32> {kernel.offset = 64 : i64}) {
  %0 = kernel.dispatch pointwise "exp" (%x) {args = array<i64: 64, 128>} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %e = graph.exp %a : tensor<4xf32>
    kernel.yield %e : tensor<4xf32>
  }
  train.assign @w, %0 : tensor<4xf32>
  return
}

// -----
// A temporary lies where a variable does that this entry does not assign.
// expected-error @+2 {{has its state for the next entry at bytes 0 to 16, where at byte 0 lies another tensor}}
// expected-note @+1 {{hint: this is a defect of mpc}}
train.variable @w buffer : tensor<4xf32> = #train.fill<0.5 : f64> {kernel.offset = 0 : i64}
func.func @state(%x: tensor<4xf32> {kernel.offset = 64 : i64}) {
  // expected-note @+1 {{it was written here}}
  %0 = kernel.dispatch pointwise "exp" (%x) {args = array<i64: 64, 0>} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %e = graph.exp %a : tensor<4xf32>
    kernel.yield %e : tensor<4xf32>
  }
  return
}

// -----
// The body reads a slice, and writes the next carried value over the last one, and a slice of the result.
func.func @scan(%x: tensor<5x16xf32> {kernel.offset = 0 : i64}, %h: tensor<16xf32> {kernel.offset = 320 : i64}) -> (tensor<16xf32> {kernel.offset = 384 : i64}, tensor<5x16xf32> {kernel.offset = 448 : i64}) {
  %0 = kernel.dispatch pointwise "carry" (%h) {args = array<i64: 320, 384>} : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%a: tensor<16xf32>):
    kernel.yield %a : tensor<16xf32>
  }
  %last, %all = graph.scan 5 carry(%0 : tensor<16xf32>) over(%x : tensor<5x16xf32>) -> (tensor<16xf32>) stack(tensor<5x16xf32>) {
  ^bb0(%hb: tensor<16xf32>, %xt: tensor<16xf32>):
    %1:2 = kernel.dispatch pointwise "add" (%hb, %xt) {args = array<i64: 384, 0, 384, 448>, arg_steps = array<i64: 0, 64, 0, 64>, in_place = array<i64: 0, -1>} : (tensor<16xf32>, tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
    ^bb0(%a: tensor<16xf32>, %b: tensor<16xf32>):
      %e = graph.add %a, %b : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
      %f = graph.exp %e : tensor<16xf32>
      kernel.yield %e, %f : tensor<16xf32>, tensor<16xf32>
    }
    graph.scan_yield %1#0, %1#1 : tensor<16xf32>, tensor<16xf32>
  }
  return %last, %all : tensor<16xf32>, tensor<5x16xf32>
}

// -----
// The second iteration still reads the first slice.
func.func @same_slice(%x: tensor<5x16xf32> {kernel.offset = 0 : i64}) -> (tensor<5x16xf32> {kernel.offset = 448 : i64}) {
  %all = graph.scan 5 over(%x : tensor<5x16xf32>) stack(tensor<5x16xf32>) {
  ^bb0(%xt: tensor<16xf32>):
    // expected-error @+2 {{reads input 0 at bytes 0 to 64, where at byte 0 lies another part of the tensor}}
    // expected-note @+1 {{hint: this is a defect of mpc}}
    %1 = kernel.dispatch pointwise "exp" (%xt) {args = array<i64: 0, 448>, arg_steps = array<i64: 0, 64>} : (tensor<16xf32>) -> tensor<16xf32> {
    ^bb0(%a: tensor<16xf32>):
      %e = graph.exp %a : tensor<16xf32>
      kernel.yield %e : tensor<16xf32>
    }
    graph.scan_yield %1 : tensor<16xf32>
  }
  return %all : tensor<5x16xf32>
}

// -----
// The carried value stays where it was computed, and the next iteration reads the first one.
func.func @not_carried(%h: tensor<16xf32> {kernel.offset = 0 : i64}) -> (tensor<16xf32> {kernel.offset = 64 : i64}) {
  %last = graph.scan 5 carry(%h : tensor<16xf32>) -> (tensor<16xf32>) {
  ^bb0(%hb: tensor<16xf32>):
    // expected-error @+2 {{reads input 0 at bytes 0 to 64, where at byte 0 lies another tensor}}
    // expected-note @+1 {{hint: this is a defect of mpc}}
    %1 = kernel.dispatch pointwise "exp" (%hb) {args = array<i64: 0, 64>} : (tensor<16xf32>) -> tensor<16xf32> {
    ^bb0(%a: tensor<16xf32>):
      %e = graph.exp %a : tensor<16xf32>
      kernel.yield %e : tensor<16xf32>
    }
    graph.scan_yield %1 : tensor<16xf32>
  }
  return %last : tensor<16xf32>
}

// -----
// Each iteration writes its slice over that of the last one.
func.func @one_slice(%x: tensor<5x16xf32> {kernel.offset = 0 : i64}) -> (tensor<5x16xf32> {kernel.offset = 448 : i64}) {
  // expected-error @+2 {{puts the slices of result 0 at distances that are not their size}}
  // expected-note @+1 {{hint: this is a defect of mpc}}
  %all = graph.scan 5 over(%x : tensor<5x16xf32>) stack(tensor<5x16xf32>) {
  ^bb0(%xt: tensor<16xf32>):
    %1 = kernel.dispatch pointwise "exp" (%xt) {args = array<i64: 0, 448>, arg_steps = array<i64: 64, 0>} : (tensor<16xf32>) -> tensor<16xf32> {
    ^bb0(%a: tensor<16xf32>):
      %e = graph.exp %a : tensor<16xf32>
      kernel.yield %e : tensor<16xf32>
    }
    graph.scan_yield %1 : tensor<16xf32>
  }
  return %all : tensor<5x16xf32>
}

// -----
// What an iteration reads is no slice that it writes.
func.func @no_slice(%x: tensor<5x16xf32> {kernel.offset = 0 : i64}) -> (tensor<5x16xf32> {kernel.offset = 448 : i64}) {
  // expected-error @+2 {{yields as a slice of result 0 what the iteration does not write}}
  // expected-note @+1 {{hint: this is a defect of mpc}}
  %all = graph.scan 5 over(%x : tensor<5x16xf32>) stack(tensor<5x16xf32>) {
  ^bb0(%xt: tensor<16xf32>):
    graph.scan_yield %xt : tensor<16xf32>
  }
  return %all : tensor<5x16xf32>
}

// -----
// The slice is overwritten before the iteration ends.
func.func @lost_slice(%x: tensor<5x16xf32> {kernel.offset = 0 : i64}) -> (tensor<5x16xf32> {kernel.offset = 448 : i64}) {
  // expected-error @+2 {{yields a slice of result 0 at bytes 448 to 512, where at byte 448 lies another tensor}}
  // expected-note @+1 {{hint: this is a defect of mpc}}
  %all = graph.scan 5 over(%x : tensor<5x16xf32>) stack(tensor<5x16xf32>) {
  ^bb0(%xt: tensor<16xf32>):
    %1 = kernel.dispatch pointwise "exp" (%xt) {args = array<i64: 0, 448>, arg_steps = array<i64: 64, 64>} : (tensor<16xf32>) -> tensor<16xf32> {
    ^bb0(%a: tensor<16xf32>):
      %e = graph.exp %a : tensor<16xf32>
      kernel.yield %e : tensor<16xf32>
    }
    // expected-note @+1 {{it was written here}}
    %2 = kernel.dispatch pointwise "tanh" (%xt) {args = array<i64: 0, 448>, arg_steps = array<i64: 64, 64>} : (tensor<16xf32>) -> tensor<16xf32> {
    ^bb0(%a: tensor<16xf32>):
      %e = graph.tanh %a : tensor<16xf32>
      kernel.yield %e : tensor<16xf32>
    }
    graph.scan_yield %1 : tensor<16xf32>
  }
  return %all : tensor<5x16xf32>
}

// -----
// expected-error @+2 {{has no place in the arena}}
// expected-note @+1 {{hint: this is a defect of mpc}}
train.variable @w buffer : tensor<4xf32> = #train.fill<0.5 : f64>
func.func @unplaced_variable() {
  return
}

// -----
// Nobody puts the argument where the result should be.
// expected-error @+2 {{returns result 0 at bytes 64 to 80, where at byte 64 nothing has been written}}
// expected-note @+1 {{hint: this is a defect of mpc}}
func.func @unwritten(%x: tensor<4xf32> {kernel.offset = 0 : i64}) -> (tensor<4xf32> {kernel.offset = 64 : i64}) {
  return %x : tensor<4xf32>
}

// -----
func.func @unplaced_sum(%x: tensor<4xf32> {kernel.offset = 0 : i64}) {
  // expected-error @+2 {{'train.all_reduce' op has no place in the arena}}
  // expected-note @+1 {{hint: this is a defect of mpc}}
  %0 = train.all_reduce %x : tensor<4xf32>
  return
}

// -----
// Ranks are summed where the sum lies, and the gradient is elsewhere.
func.func @sum(%x: tensor<4xf32> {kernel.offset = 0 : i64}) {
  // expected-error @+2 {{sums its operand at bytes 64 to 80, where at byte 64 nothing has been written}}
  // expected-note @+1 {{hint: this is a defect of mpc}}
  %0 = train.all_reduce %x {kernel.offset = 64 : i64} : tensor<4xf32>
  return
}

// -----
// The place of the result ends beyond the largest number that there is.
// expected-error @+2 {{returns result 0 at bytes 64 to 128, where at byte 64 nothing has been written}}
// expected-note @+1 {{hint: this is a defect of mpc}}
func.func @far(%x: tensor<16xf32> {kernel.offset = 0 : i64}) -> (tensor<16xf32> {kernel.offset = 64 : i64}) {
  %0 = kernel.dispatch pointwise "far" (%x) {args = array<i64: 0, 9223372036854775807>} : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%a: tensor<16xf32>):
    %e = graph.exp %a : tensor<16xf32>
    kernel.yield %e : tensor<16xf32>
  }
  return %0 : tensor<16xf32>
}
