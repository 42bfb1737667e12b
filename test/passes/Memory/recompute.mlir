// RUN: mpc-opt %s --mpc-recompute --split-input-file | FileCheck %s
// RUN: mpc-opt %s --mpc-recompute=products=9 --split-input-file | FileCheck %s --check-prefix=ALL

// The relu's result is computed again from its operand, which the gradient of the relu would need, too. The reader behind the loss that comes first gets the copy; the forward pass keeps its own.
// The sum, which the loss needs, is not computed again, nor is a product.
// CHECK-LABEL: train.step @cheap
// CHECK: %[[P:.*]] = graph.matmul %arg0
// CHECK: %[[R:.*]] = graph.max %[[P]]
// CHECK: graph.matmul %[[R]]
// CHECK: %[[LOSS:.*]] = graph.reduce_sum
// CHECK-NOT: graph.matmul
// CHECK: %[[SAVED:.*]] = graph.barrier %[[P]] {number = 0 : i64}
// CHECK: %[[AGAIN:.*]] = graph.max %[[SAVED]]
// CHECK: %[[G:.*]] = graph.matmul %[[AGAIN]], %{{.*}} {transpose_a}
// CHECK: graph.compare {{ ?}}gt %[[P]]
// CHECK: train.yield %[[LOSS]]
module {
  train.variable @w parameter : tensor<64x64xf32> = dense<1.0> : tensor<64x64xf32>
  train.variable @v parameter : tensor<64x64xf32> = dense<1.0> : tensor<64x64xf32>
  train.step @cheap(%x: tensor<64x64xf32>) -> tensor<f32> attributes {accumulate = 1 : i64, optimizer = #train.optimizer<sgd>, parameters = [@w, @v], scaler = #train.scaler<none>} {
    %zero = graph.constant dense<0.0> : tensor<f32>
    %w = train.read @w : tensor<64x64xf32>
    %v = train.read @v : tensor<64x64xf32>
    %p = graph.matmul %x, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %r = graph.max %p, %zero : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
    %q = graph.matmul %r, %v : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %loss = graph.reduce_sum %q {axes = array<i64: 0, 1>, keepdims = false} : (tensor<64x64xf32>) -> tensor<f32>
    %dq = graph.constant dense<1.0> : tensor<64x64xf32>
    %dv = graph.matmul %r, %dq {transpose_a} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %dr = graph.matmul %dq, %v {transpose_b} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %mask = graph.compare gt %p, %zero : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xi1>
    %dp = graph.select %mask, %dr, %zero : (tensor<64x64xi1>, tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
    %dw = graph.matmul %x, %dp {transpose_a} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    train.assign @v, %dv : tensor<64x64xf32>
    train.assign @w, %dw : tensor<64x64xf32>
    train.yield %loss : tensor<f32>
  }
}

// -----
// A launch adds the bias to its product and rounds once, so the sum is saved. (The product is not in memory, and to save it would round it once more.)
// CHECK-LABEL: train.step @bias
// CHECK: %[[P:.*]] = graph.matmul %arg0
// CHECK: %[[S:.*]] = graph.add %[[P]]
// CHECK: graph.reduce_sum
// CHECK-NOT: graph.add
// CHECK: %[[SAVED:.*]] = graph.barrier %[[S]]
// CHECK: %[[AGAIN:.*]] = graph.max %[[SAVED]]
// CHECK: graph.matmul %[[AGAIN]], %{{.*}} {transpose_a}
// CHECK: graph.compare {{ ?}}gt %[[S]]
module {
  train.variable @w parameter : tensor<64x64xbf16> = dense<1.0> : tensor<64x64xbf16>
  train.variable @b parameter : tensor<64xbf16> = dense<1.0> : tensor<64xbf16>
  train.step @bias(%x: tensor<64x64xbf16>) -> tensor<f32> attributes {accumulate = 1 : i64, optimizer = #train.optimizer<sgd>, parameters = [@w, @b], scaler = #train.scaler<none>} {
    %zero = graph.constant dense<0.0> : tensor<bf16>
    %w = train.read @w : tensor<64x64xbf16>
    %b = train.read @b : tensor<64xbf16>
    %p = graph.matmul %x, %w : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
    %s = graph.add %p, %b : (tensor<64x64xbf16>, tensor<64xbf16>) -> tensor<64x64xbf16>
    %r = graph.max %s, %zero : (tensor<64x64xbf16>, tensor<bf16>) -> tensor<64x64xbf16>
    %f = graph.cast %r : tensor<64x64xbf16> to tensor<64x64xf32>
    %loss = graph.reduce_sum %f {axes = array<i64: 0, 1>, keepdims = false} : (tensor<64x64xf32>) -> tensor<f32>
    %dr = graph.constant dense<1.0> : tensor<64x64xbf16>
    %dv = graph.matmul %r, %dr {transpose_a} : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
    %mask = graph.compare gt %s, %zero : (tensor<64x64xbf16>, tensor<bf16>) -> tensor<64x64xi1>
    %dp = graph.select %mask, %dv, %zero : (tensor<64x64xi1>, tensor<64x64xbf16>, tensor<bf16>) -> tensor<64x64xbf16>
    train.assign @w, %dp : tensor<64x64xbf16>
    train.yield %loss : tensor<f32>
  }
}

// -----
// A dense block: each concatenation continues the one before. The copy of the longer one, which is read first, does without a copy of the shorter one, which would wait in memory for its own reader.
// CHECK-LABEL: train.step @dense
// CHECK: %[[A:[0-9]+]] = graph.matmul %arg0
// CHECK: %[[B:[0-9]+]] = graph.matmul %[[A]]
// CHECK: %[[AB:[0-9]+]] = graph.concat %[[A]], %[[B]] {
// CHECK: graph.concat %[[AB]], %[[C:[0-9]+]] {
// CHECK: graph.reduce_sum
// CHECK-NOT: graph.concat
// CHECK-DAG: %[[A1:[0-9]+]] = graph.barrier %[[A]] {
// CHECK-DAG: %[[B1:[0-9]+]] = graph.barrier %[[B]] {
// CHECK-DAG: %[[C1:[0-9]+]] = graph.barrier %[[C]] {
// CHECK: graph.concat %[[A1]], %[[B1]], %[[C1]] {
// CHECK: graph.matmul
// CHECK: graph.concat %{{[0-9]+}}, %{{[0-9]+}} {
// CHECK: train.yield
module {
  train.variable @w parameter : tensor<64x64xf32> = dense<1.0> : tensor<64x64xf32>
  train.variable @v parameter : tensor<128x64xf32> = dense<1.0> : tensor<128x64xf32>
  train.variable @u parameter : tensor<192x64xf32> = dense<1.0> : tensor<192x64xf32>
  train.step @dense(%x: tensor<64x64xf32>) -> tensor<f32> attributes {accumulate = 1 : i64, optimizer = #train.optimizer<sgd>, parameters = [@w, @v, @u], scaler = #train.scaler<none>} {
    %w = train.read @w : tensor<64x64xf32>
    %v = train.read @v : tensor<128x64xf32>
    %u = train.read @u : tensor<192x64xf32>
    %a = graph.matmul %x, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %b = graph.matmul %a, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %ab = graph.concat %a, %b {axis = 1 : i64} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x128xf32>
    %rab = graph.exp %ab : tensor<64x128xf32>
    %c = graph.matmul %rab, %v : (tensor<64x128xf32>, tensor<128x64xf32>) -> tensor<64x64xf32>
    %abc = graph.concat %ab, %c {axis = 1 : i64} : (tensor<64x128xf32>, tensor<64x64xf32>) -> tensor<64x192xf32>
    %rabc = graph.exp %abc : tensor<64x192xf32>
    %d = graph.matmul %rabc, %u : (tensor<64x192xf32>, tensor<192x64xf32>) -> tensor<64x64xf32>
    %loss = graph.reduce_sum %d {axes = array<i64: 0, 1>, keepdims = false} : (tensor<64x64xf32>) -> tensor<f32>
    %dd = graph.constant dense<1.0> : tensor<64x64xf32>
    %du = graph.matmul %rabc, %dd {transpose_a} : (tensor<64x192xf32>, tensor<64x64xf32>) -> tensor<192x64xf32>
    %db = graph.matmul %b, %dd {transpose_a} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %da = graph.matmul %a, %db {transpose_a} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %dc = graph.matmul %c, %da {transpose_a} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %dv = graph.matmul %rab, %dc {transpose_a} : (tensor<64x128xf32>, tensor<64x64xf32>) -> tensor<128x64xf32>
    train.assign @u, %du : tensor<192x64xf32>
    train.assign @v, %dv : tensor<128x64xf32>
    train.assign @w, %da : tensor<64x64xf32>
    train.yield %loss : tensor<f32>
  }
}

// -----
// With products, what enters a segment is saved, and the layers within are computed again when the backward pass gets there: those of the first half behind the gradients of the second half, which reads its
// own values as they are.
// ALL-LABEL: train.step @chain
// ALL-COUNT-6: graph.matmul
// ALL: graph.reduce_sum
module {
  train.variable @w parameter : tensor<64x64xf32> = dense<1.0> : tensor<64x64xf32>
  train.step @chain(%x: tensor<64x64xf32>) -> tensor<f32> attributes {accumulate = 1 : i64, optimizer = #train.optimizer<sgd>, parameters = [@w], scaler = #train.scaler<none>} {
    %zero = graph.constant dense<0.0> : tensor<f32>
    %w = train.read @w : tensor<64x64xf32>
    %p0 = graph.matmul %x, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %r0 = graph.max %p0, %zero : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
    %p1 = graph.matmul %r0, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %r1 = graph.max %p1, %zero : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
    %p2 = graph.matmul %r1, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %r2 = graph.max %p2, %zero : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
    %p3 = graph.matmul %r2, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %r3 = graph.max %p3, %zero : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
    %p4 = graph.matmul %r3, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %r4 = graph.max %p4, %zero : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
    %p5 = graph.matmul %r4, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %r5 = graph.max %p5, %zero : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
    %loss = graph.reduce_sum %r5 {axes = array<i64: 0, 1>, keepdims = false} : (tensor<64x64xf32>) -> tensor<f32>
    %g6 = graph.constant dense<1.0> : tensor<64x64xf32>
    %m5 = graph.compare gt %p5, %zero : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xi1>
    %d5 = graph.select %m5, %g6, %zero : (tensor<64x64xi1>, tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
    %dw5 = graph.matmul %r4, %d5 {transpose_a} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %s5 = graph.add %dw5, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %g5 = graph.matmul %d5, %w {transpose_b} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %m4 = graph.compare gt %p4, %zero : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xi1>
    %d4 = graph.select %m4, %g5, %zero : (tensor<64x64xi1>, tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
    %dw4 = graph.matmul %r3, %d4 {transpose_a} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %s4 = graph.add %s5, %dw4 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %g4 = graph.matmul %d4, %w {transpose_b} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %m3 = graph.compare gt %p3, %zero : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xi1>
    %d3 = graph.select %m3, %g4, %zero : (tensor<64x64xi1>, tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
    %dw3 = graph.matmul %r2, %d3 {transpose_a} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %s3 = graph.add %s4, %dw3 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %g3 = graph.matmul %d3, %w {transpose_b} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %m2 = graph.compare gt %p2, %zero : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xi1>
    %d2 = graph.select %m2, %g3, %zero : (tensor<64x64xi1>, tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
    %dw2 = graph.matmul %r1, %d2 {transpose_a} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %s2 = graph.add %s3, %dw2 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %g2 = graph.matmul %d2, %w {transpose_b} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %m1 = graph.compare gt %p1, %zero : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xi1>
    %d1 = graph.select %m1, %g2, %zero : (tensor<64x64xi1>, tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
    %dw1 = graph.matmul %r0, %d1 {transpose_a} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %s1 = graph.add %s2, %dw1 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %g1 = graph.matmul %d1, %w {transpose_b} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %m0 = graph.compare gt %p0, %zero : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xi1>
    %d0 = graph.select %m0, %g1, %zero : (tensor<64x64xi1>, tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
    %dw0 = graph.matmul %x, %d0 {transpose_a} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %s0 = graph.add %s1, %dw0 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    train.assign @w, %s0 : tensor<64x64xf32>
    train.yield %loss : tensor<f32>
  }
}
