// RUN: mpc-opt %s --split-input-file --verify-diagnostics

func.func @stacked_operand(%x: tensor<4x2xf32>) {
  // expected-error @+1 {{stacked operand 0 has type 'tensor<4x2xf32>', whose first dimension is not the number of iterations, 3}}
  graph.scan 3 over(%x : tensor<4x2xf32>) {
  ^bb0(%xt: tensor<2xf32>):
    graph.scan_yield
  }
  return
}

// -----
func.func @stacked_result(%x: tensor<3x2xf32>) {
  // expected-error @+1 {{stacked result 0 has type 'tensor<f32>', whose first dimension is not the number of iterations, 3}}
  %y = graph.scan 3 over(%x : tensor<3x2xf32>) stack(tensor<f32>) {
  ^bb0(%xt: tensor<2xf32>):
    graph.scan_yield %xt : tensor<2xf32>
  }
  return
}

// -----
func.func @final(%h: tensor<2xf32>) {
  // expected-error @+1 {{returns other types than it carries}}
  %y = graph.scan 3 carry(%h : tensor<2xf32>) -> (tensor<3xf32>) {
  ^bb0(%hb: tensor<2xf32>):
    graph.scan_yield %hb : tensor<2xf32>
  }
  return
}

// -----
func.func @arguments(%h: tensor<2xf32>) {
  // expected-error @+1 {{has 1 operands, but its body has 2 arguments}}
  %y = graph.scan 3 carry(%h : tensor<2xf32>) -> (tensor<2xf32>) {
  ^bb0(%hb: tensor<2xf32>, %more: tensor<2xf32>):
    graph.scan_yield %hb : tensor<2xf32>
  }
  return
}

// -----
func.func @slice(%x: tensor<3x2xf32>) {
  // expected-error @+1 {{argument 0 of its body has type 'tensor<3x2xf32>' instead of 'tensor<2xf32>'}}
  graph.scan 3 over(%x : tensor<3x2xf32>) {
  ^bb0(%xt: tensor<3x2xf32>):
    graph.scan_yield
  }
  return
}

// -----
func.func @count(%h: tensor<2xf32>) {
  %y = graph.scan 3 carry(%h : tensor<2xf32>) -> (tensor<2xf32>) {
  ^bb0(%hb: tensor<2xf32>):
    // expected-error @+1 {{yields 2 values for 1 results}}
    graph.scan_yield %hb, %hb : tensor<2xf32>, tensor<2xf32>
  }
  return
}

// -----
func.func @yielded(%h: tensor<2xf32>) {
  %y = graph.scan 3 carry(%h : tensor<2xf32>) stack(tensor<3x2xf32>) {
  ^bb0(%hb: tensor<2xf32>):
    graph.scan_yield %hb, %hb : tensor<2xf32>, tensor<2xf32>
  }
  return
}
// expected-error @-6 {{returns other types than it carries}}

// -----
func.func @type(%h: tensor<2xf32>) {
  %f, %y = graph.scan 3 carry(%h : tensor<2xf32>) -> (tensor<2xf32>) stack(tensor<3x4xf32>) {
  ^bb0(%hb: tensor<2xf32>):
    // expected-error @+1 {{value 1 has type 'tensor<2xf32>' instead of 'tensor<4xf32>'}}
    graph.scan_yield %hb, %hb : tensor<2xf32>, tensor<2xf32>
  }
  return
}

// -----
func.func @nested(%h: tensor<2xf32>) {
  %f = graph.scan 3 carry(%h : tensor<2xf32>) -> (tensor<2xf32>) {
  ^bb0(%hb: tensor<2xf32>):
    // expected-error @+2 {{stands in the body of another scan}}
    // expected-note @+1 {{hint: repeat its body explicitly}}
    %0 = graph.scan 2 carry(%hb : tensor<2xf32>) -> (tensor<2xf32>) {
    ^bb0(%hc: tensor<2xf32>):
      graph.scan_yield %hc : tensor<2xf32>
    }
    graph.scan_yield %0 : tensor<2xf32>
  }
  return
}

// -----
train.variable @w buffer : tensor<2xf32> = #train.fill<0.5 : f64>
func.func @effects(%h: tensor<2xf32>) {
  %f = graph.scan 3 carry(%h : tensor<2xf32>) -> (tensor<2xf32>) {
  ^bb0(%hb: tensor<2xf32>):
    // expected-error @+2 {{has effects, and stands in the body of a graph.scan}}
    // expected-note @+1 {{hint: pass what it reads or writes in and out of the scan}}
    train.assign @w, %hb : tensor<2xf32>
    graph.scan_yield %hb : tensor<2xf32>
  }
  return
}

// -----
func.func @trips(%h: tensor<2xf32>) {
  // expected-error @+1 {{attribute 'trips' failed to satisfy constraint: 64-bit signless integer attribute whose value is non-negative}}
  %f = "graph.scan"(%h) <{trips = -1 : i64, operandSegmentSizes = array<i32: 1, 0, 0>, resultSegmentSizes = array<i32: 1, 0>}> ({
  ^bb0(%hb: tensor<2xf32>):
    graph.scan_yield %hb : tensor<2xf32>
  }) : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----
func.func @terminator(%h: tensor<2xf32>) {
  // expected-error @+1 {{ends without graph.scan_yield}}
  %y = graph.scan 3 carry(%h : tensor<2xf32>) -> (tensor<2xf32>) {
  ^bb0(%hb: tensor<2xf32>):
    llvm.unreachable
  }
  return
}
