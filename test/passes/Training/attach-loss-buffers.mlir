// RUN: mpc-opt %s --mpc-attach-loss=loss=mse:y:t | FileCheck %s
// RUN: mpc-opt %s --mpc-attach-loss=step=first:loss=mse:z:t,second:loss=mse:y:t | FileCheck %s --check-prefix=STEPS

// The network updates @ema itself: what it computes from the new value behind the barrier, evaluation computes from the
// stored value.
train.variable @w parameter : tensor<3xf32> = #train.fill<1.0>
train.variable @ema buffer : tensor<3xf32> = #train.fill<0.0>
func.func @forward(%x: tensor<4x3xf32> {train.name = "x", train.batched}) -> (tensor<4x3xf32> {train.name = "y"}, tensor<4x3xf32> {train.name = "z"}) {
  %w = train.read @w : tensor<3xf32>
  %ema = train.read @ema : tensor<3xf32>
  %mean = graph.reduce_mean %x {axes = array<i64: 0>, keepdims = false} : (tensor<4x3xf32>) -> tensor<3xf32>
  %sum = graph.add %ema, %mean : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %next = graph.barrier %sum {number = 0 : i64} : tensor<3xf32>
  train.assign @ema, %next : tensor<3xf32>
  %z = graph.mul %x, %w : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %y = graph.div %z, %next : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  return %y, %z : tensor<4x3xf32>, tensor<4x3xf32>
}

// CHECK-LABEL: train.step @main
// CHECK: %[[NEXT:.*]] = graph.add
// CHECK-NOT: graph.barrier
// CHECK: train.assign @ema, %[[NEXT]]
// CHECK: graph.div %{{.*}}, %[[NEXT]]
// CHECK-LABEL: func.func @eval
// CHECK-NOT: train.assign
// CHECK-NOT: graph.barrier
// CHECK: %[[STORED:.*]] = train.read @ema
// CHECK: graph.div %{{.*}}, %[[STORED]]

// The step whose loss depends on the buffer updates it.
// STEPS-LABEL: train.step @first
// STEPS-NOT: train.assign
// STEPS-LABEL: train.step @second
// STEPS: train.assign @ema
