// RUN: mpc-opt %s --mpc-autocast="type=fp16 opt-level=O1" | FileCheck %s
// RUN: mpc-opt %s --mpc-autocast="type=fp16 opt-level=O1" | grep -c graph.cast | FileCheck %s --check-prefix=O1
// RUN: mpc-opt %s --mpc-autocast="type=bf16 opt-level=O1" | grep -c graph.cast | FileCheck %s --check-prefix=O1
// RUN: mpc-opt %s --mpc-autocast="type=fp16 opt-level=O2" | grep -c graph.cast | FileCheck %s --check-prefix=O1
// RUN: mpc-opt %s --mpc-autocast="type=fp16 opt-level=O3" | grep -c graph.cast | FileCheck %s --check-prefix=O3
// RUN: mpc-opt %s --mpc-autocast="type=fp16 opt-level=O0" | FileCheck %s --check-prefix=O0
// RUN: mpc-opt %s --mpc-autocast="type=fp16 opt-level=O1" | mpc-opt --mpc-autocast="type=fp16 opt-level=O1" | FileCheck %s

// These are the casts of O1 on LeNet-5, counted by hand as torch.amp makes them:
//   x                                      1   (conv1's input)
//   conv1.weight, conv1.bias               2
//   conv2.weight, conv2.bias               2
//   fc1, fc2, fc3: weight and bias each    6
//   logits to fp32 for the cross-entropy   1
// There are 12 in all, since relu, max_pool and reshape follow in f16 and have none.
// O1: {{^}}12{{$}}
// O3 stores the parameters in low precision, so only x and the logits are cast.
// O3: {{^}}2{{$}}
// O0-NOT: f16

module {
  train.variable @"conv1.weight" parameter : tensor<6x1x5x5xf32> = #train.fill<0.1>
  train.variable @"conv1.bias" parameter : tensor<6xf32> = #train.fill<0.0>
  train.variable @"conv2.weight" parameter : tensor<16x6x5x5xf32> = #train.fill<0.1>
  train.variable @"conv2.bias" parameter : tensor<16xf32> = #train.fill<0.0>
  train.variable @"fc1.weight" parameter : tensor<120x256xf32> = #train.fill<0.1>
  train.variable @"fc1.bias" parameter : tensor<120xf32> = #train.fill<0.0>
  train.variable @"fc2.weight" parameter : tensor<84x120xf32> = #train.fill<0.1>
  train.variable @"fc2.bias" parameter : tensor<84xf32> = #train.fill<0.0>
  train.variable @"fc3.weight" parameter : tensor<10x84xf32> = #train.fill<0.1>
  train.variable @"fc3.bias" parameter : tensor<10xf32> = #train.fill<0.0>

  // CHECK-LABEL: train.step @main(
  // CHECK-SAME: %[[X:[^:]*]]: tensor<8x1x28x28xf32>
  train.step @main(%x: tensor<8x1x28x28xf32> {train.name = "x", train.batched}, %labels: tensor<8xi64> {train.name = "labels", train.batched})
      -> (tensor<f32> {train.role = "loss"})
      attributes {parameters = [@"conv1.weight", @"conv1.bias", @"conv2.weight", @"conv2.bias", @"fc1.weight", @"fc1.bias", @"fc2.weight", @"fc2.bias",
                                @"fc3.weight", @"fc3.bias"], optimizer = #train.optimizer<sgd>, scaler = #train.scaler<none>} {
    // CHECK-NEXT: %[[X16:.*]] = graph.cast %[[X]] {mpc.reason = "conv computes in f16"} : tensor<8x1x28x28xf32> to tensor<8x1x28x28xf16>
    // CHECK-NEXT: %[[W1:.*]] = train.read @conv1.weight : tensor<6x1x5x5xf32>
    // CHECK-NEXT: %[[W1H:.*]] = graph.cast %[[W1]] {mpc.reason = "conv computes in f16"}
    %w1 = train.read @"conv1.weight" : tensor<6x1x5x5xf32>
    // CHECK-NEXT: %[[B1:.*]] = train.read @conv1.bias : tensor<6xf32>
    // CHECK-NEXT: %[[B1H:.*]] = graph.cast %[[B1]] {mpc.reason = "add computes in its input's type, f16"} : tensor<6xf32> to tensor<6xf16>
    // CHECK-NEXT: %[[C1:.*]] = graph.conv %[[X16]], %[[W1H]]
    // CHECK-SAME: -> tensor<8x6x24x24xf16>
    // CHECK-NEXT: %[[B1R:.*]] = graph.reshape %[[B1H]] : tensor<6xf16> to tensor<6x1x1xf16>
    // CHECK-NEXT: graph.add %[[C1]], %[[B1R]]
    %b1 = train.read @"conv1.bias" : tensor<6xf32>
    %c1 = graph.conv %x, %w1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64}
      : (tensor<8x1x28x28xf32>, tensor<6x1x5x5xf32>) -> tensor<8x6x24x24xf32>
    %b1r = graph.reshape %b1 : tensor<6xf32> to tensor<6x1x1xf32>
    %a1 = graph.add %c1, %b1r : (tensor<8x6x24x24xf32>, tensor<6x1x1xf32>) -> tensor<8x6x24x24xf32>
    // CHECK-NEXT: graph.relu {{.*}} : tensor<8x6x24x24xf16>
    %r1 = graph.relu %a1 : tensor<8x6x24x24xf32>
    // CHECK-NEXT: graph.max_pool {{.*}} -> (tensor<8x6x12x12xf16>, tensor<8x6x12x12xi16>)
    %p1, %i1 = graph.max_pool %r1 {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>}
      : (tensor<8x6x24x24xf32>) -> (tensor<8x6x12x12xf32>, tensor<8x6x12x12xi16>)
    %w2 = train.read @"conv2.weight" : tensor<16x6x5x5xf32>
    %b2 = train.read @"conv2.bias" : tensor<16xf32>
    %c2 = graph.conv %p1, %w2 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64}
      : (tensor<8x6x12x12xf32>, tensor<16x6x5x5xf32>) -> tensor<8x16x8x8xf32>
    %b2r = graph.reshape %b2 : tensor<16xf32> to tensor<16x1x1xf32>
    %a2 = graph.add %c2, %b2r : (tensor<8x16x8x8xf32>, tensor<16x1x1xf32>) -> tensor<8x16x8x8xf32>
    %r2 = graph.relu %a2 : tensor<8x16x8x8xf32>
    %p2, %i2 = graph.max_pool %r2 {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>}
      : (tensor<8x16x8x8xf32>) -> (tensor<8x16x4x4xf32>, tensor<8x16x4x4xi16>)
    // CHECK: graph.reshape {{.*}} : tensor<8x16x4x4xf16> to tensor<8x256xf16>
    %f = graph.reshape %p2 : tensor<8x16x4x4xf32> to tensor<8x256xf32>
    %w3 = train.read @"fc1.weight" : tensor<120x256xf32>
    %b3 = train.read @"fc1.bias" : tensor<120xf32>
    %m3 = graph.matmul %f, %w3 {transpose_b} : (tensor<8x256xf32>, tensor<120x256xf32>) -> tensor<8x120xf32>
    %a3 = graph.add %m3, %b3 : (tensor<8x120xf32>, tensor<120xf32>) -> tensor<8x120xf32>
    %r3 = graph.relu %a3 : tensor<8x120xf32>
    %w4 = train.read @"fc2.weight" : tensor<84x120xf32>
    %b4 = train.read @"fc2.bias" : tensor<84xf32>
    %m4 = graph.matmul %r3, %w4 {transpose_b} : (tensor<8x120xf32>, tensor<84x120xf32>) -> tensor<8x84xf32>
    %a4 = graph.add %m4, %b4 : (tensor<8x84xf32>, tensor<84xf32>) -> tensor<8x84xf32>
    %r4 = graph.relu %a4 : tensor<8x84xf32>
    %w5 = train.read @"fc3.weight" : tensor<10x84xf32>
    %b5 = train.read @"fc3.bias" : tensor<10xf32>
    %m5 = graph.matmul %r4, %w5 {transpose_b} : (tensor<8x84xf32>, tensor<10x84xf32>) -> tensor<8x10xf32>
    // CHECK: %[[Z:.*]] = graph.add {{.*}} -> tensor<8x10xf16>
    // CHECK-NEXT: %[[Z32:.*]] = graph.cast %[[Z]] {mpc.reason = "softmax_cross_entropy needs f32"} : tensor<8x10xf16> to tensor<8x10xf32>
    // CHECK-NEXT: %[[LOSS:.*]] = graph.softmax_cross_entropy %[[Z32]]
    // CHECK-SAME: -> tensor<f32>
    // CHECK-NEXT: train.yield %[[LOSS]] : tensor<f32>
    %z = graph.add %m5, %b5 : (tensor<8x10xf32>, tensor<10xf32>) -> tensor<8x10xf32>
    %loss = graph.softmax_cross_entropy %z, %labels {reduction = #graph<reduction mean>} : (tensor<8x10xf32>, tensor<8xi64>) -> tensor<f32>
    train.yield %loss : tensor<f32>
  }
}
