// RUN: mpc-opt %s --mpc-carry-state="carry=hn:h0" | FileCheck %s --check-prefix=STATE
// RUN: mpc-opt %s --mpc-carry-state="carry=hn:h0" --mpc-attach-loss="loss=mse:y:t" | FileCheck %s --check-prefix=ENTRIES
// RUN: mpc-opt %s --mpc-carry-state="carry=hn:h0" --mpc-attach-loss="loss=mse:y:t outputs=y,hn" | FileCheck %s --check-prefix=NAMED
// RUN: mpc-opt %s --mpc-carry-state="carry=hn:h0:new" | FileCheck %s --check-prefix=RESET
// RUN: mpc-opt %s --mpc-carry-state="carry=hn:h0" --mpc-attach-loss="loss=mse:y:t" --mpc-autodiff --mpc-loss-scaling="guard-loss" | FileCheck %s --check-prefix=GUARD
// RUN: mpc-opt %s --mpc-carry-state | FileCheck %s --check-prefix=NONE
// RUN: not mpc-opt %s --mpc-carry-state="carry=hn:h0,hn:h0" 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not mpc-opt %s --mpc-carry-state="carry=y:h0" 2>&1 | FileCheck %s --check-prefix=TYPES
// RUN: not mpc-opt %s --mpc-carry-state="carry=hn:h0:x" 2>&1 | FileCheck %s --check-prefix=TRUTH

train.variable @w parameter : tensor<3x1xf32> = #train.fill<0.5>

// STATE: train.variable @h0 buffer : tensor<1x2x3xf32> = #train.fill<0.000000e+00 : f64> {train.carried = "hn"}
// STATE: func.func @forward(%{{.*}}: tensor<2x3xf32> {train.batched, train.name = "x"}) ->
// STATE: %[[H:.*]] = train.read @h0
// STATE: graph.reshape %[[H]]
// STATE: train.assign @h0, %[[NEXT:.*]] :
// STATE-NEXT: return %{{.*}}, %[[NEXT]]

// All entries read the state and assign it; predict does not return it unless it is asked to.
// ENTRIES: train.step @main(
// ENTRIES: train.read @h0
// ENTRIES: train.assign @h0
// ENTRIES: func.func @eval(
// ENTRIES: train.read @h0
// ENTRIES: train.assign @h0
// ENTRIES: func.func @predict({{.*}}) -> (tensor<2x1xf32> {train.batched, train.name = "y", train.role = "output"})
// ENTRIES: train.read @h0
// ENTRIES: train.assign @h0
// NAMED: func.func @predict({{.*}}) -> (tensor<2x1xf32> {{.*}}, tensor<1x2x3xf32> {train.name = "hn", train.role = "output"})

// RESET: func.func @forward(%{{.*}}: tensor<2x3xf32> {{.*}}, %[[NEW:.*]]: tensor<2xi1> {train.batched, train.name = "new"})
// RESET: %[[H:.*]] = train.read @h0
// RESET: %[[SPREAD:.*]] = graph.reshape %[[NEW]] : tensor<2xi1> to tensor<1x2x1xi1>
// RESET: %[[BEGUN:.*]] = graph.select %[[SPREAD]], %{{.*}}, %[[H]]
// RESET: graph.reshape %[[BEGUN]]

// The state stays as it was where the new one is not finite, and not where the loss is not.
// GUARD: train.step @main(
// GUARD: %[[NEXT:.*]] = graph.reshape %{{.*}} to tensor<1x2x3xf32>
// GUARD: %[[OLD:.*]] = train.read @h0
// GUARD: %[[BAD:.*]] = graph.reduce_any
// GUARD: %[[KEPT:.*]] = graph.select %[[BAD]], %[[OLD]], %[[NEXT]]
// GUARD: train.assign @h0, %[[KEPT]]

// NONE: func.func @forward(%{{.*}}: tensor<2x3xf32> {{.*}}, %{{.*}}: tensor<1x2x3xf32> {train.name = "h0"})
// NONE-NOT: train.assign

// TWICE: error: --carry: the input 'h0' is carried twice: from 'hn' and once more
// TYPES: error: --carry: the output 'y' is tensor<2x1xf32>, but the input 'h0' is tensor<1x2x3xf32>
// TRUTH: error: --carry: 'x' is an input of the network that is no truth value for each sample
func.func @forward(%x: tensor<2x3xf32> {train.name = "x", train.batched}, %h0: tensor<1x2x3xf32> {train.name = "h0"})
    -> (tensor<2x1xf32> {train.name = "y"}, tensor<1x2x3xf32> {train.name = "hn"}) {
  %h = graph.reshape %h0 : tensor<1x2x3xf32> to tensor<2x3xf32>
  %sum = graph.add %h, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %w = train.read @w : tensor<3x1xf32>
  %y = graph.matmul %sum, %w : (tensor<2x3xf32>, tensor<3x1xf32>) -> tensor<2x1xf32>
  %hn = graph.reshape %sum : tensor<2x3xf32> to tensor<1x2x3xf32>
  return %y, %hn : tensor<2x1xf32>, tensor<1x2x3xf32>
}
