// RUN: mpc-opt %s --mpc-plan-arena --split-input-file --verify-diagnostics

// What no dispatch computes would have no buffer.
func.func @before(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+2 {{'graph.exp' op is in no dispatch, so its tensors have no place in the arena}}
  // expected-note@+1 {{hint: run mpc-form-dispatches before mpc-plan-arena}}
  %a = graph.exp %x : tensor<4xf32>
  %d = kernel.dispatch pointwise "neg" (%a) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%b: tensor<4xf32>):
    %c = graph.neg %b : tensor<4xf32>
    kernel.yield %c : tensor<4xf32>
  }
  return %d : tensor<4xf32>
}

// -----
// What reads a value outside of dispatches would not keep its buffer alive.
train.variable @w parameter : tensor<4xf32> = #train.fill<0.5 : f64>
train.step @main(%g: tensor<4xf32>) attributes {optimizer = #train.optimizer<sgd>, parameters = [@w], scaler = #train.scaler<none>} {
  // expected-error@+2 {{'train.update' op is in no dispatch, so its tensors have no place in the arena}}
  // expected-note@+1 {{hint: run mpc-form-dispatches before mpc-plan-arena}}
  train.update @w, %g : tensor<4xf32>
  train.yield
}

// -----
// A GPU kernel is a function too, but no entry.
// expected-error@+2 {{argument 0 of entry 'kernel' is !llvm.ptr<3>, which has no place in the arena}}
// expected-note@+1 {{hint: give functions of one block that take tensors of known size; kernels are made after the memory is planned}}
llvm.func @kernel(%s: !llvm.ptr<3>) attributes {kernel.entry = #kernel.entry<threads = 32>} {
  llvm.return
}

// -----
// expected-error@+2 {{argument 0 of entry 'open' is tensor<?xf32>, which has no place in the arena}}
// expected-note@+1 {{hint: give functions of one block}}
func.func @open(%x: tensor<?xf32>) {
  return
}

// -----
// expected-error@+2 {{entry 'blocks' has several blocks}}
// expected-note@+1 {{hint: give functions of one block}}
llvm.func @blocks() {
  llvm.br ^next
^next:
  llvm.return
}
