// RUN: mpc-opt %s --mpc-form-dispatches --mpc-plan-arena --split-input-file | FileCheck %s

// The variable comes first, then room for x (live until the matmul), its product and the result.
// CHECK: module attributes {kernel.plan = #kernel.plan<arena_bytes = {{[0-9]+}}, state_bytes = 64, constant_bytes = 0, temporary_bytes = {{[0-9]+}}, peak_bytes = {{[0-9]+}}, saved_bytes = 0>}
// CHECK: train.variable @w {{.*}}kernel.offset = 0 : i64
// CHECK: func.func @predict(%{{.*}}: tensor<8x4xf32> {kernel.offset = [[X:[0-9]+]] : i64}) -> (tensor<8x3xf32> {kernel.offset = [[Y:[0-9]+]] : i64})
// CHECK: kernel.dispatch contraction "matmul"{{.*}}args = array<i64: [[X]], 0, [[P:[0-9]+]]>
// CHECK: kernel.dispatch pointwise "exp"{{.*}}args = array<i64: [[P]], [[Y]]>
module {
  train.variable @w parameter : tensor<4x3xf32> = #train.fill<0.5 : f64>
  func.func @predict(%x: tensor<8x4xf32>) -> tensor<8x3xf32> {
    %w = train.read @w : tensor<4x3xf32>
    %0 = graph.matmul %x, %w : (tensor<8x4xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
    %1 = graph.exp %0 : tensor<8x3xf32>
    return %1 : tensor<8x3xf32>
  }
}

// -----
// The new value is computed in place of the old one only if no later launch reads the old one. (mpc-find-reuse has not run, so no result may share a buffer
// that is read, and the update goes through a copy.)
// CHECK: train.variable @w {{.*}}kernel.offset = 0 : i64
// CHECK: kernel.dispatch pointwise "add"{{.*}}args = array<i64: 0, [[D:[0-9]+]], [[T:[0-9]+]]>
// CHECK: kernel.dispatch pointwise "assign"{{.*}}args = array<i64: [[T]], 0>
module {
  train.variable @w parameter : tensor<4xf32> = #train.fill<0.5 : f64>
  func.func @update(%d: tensor<4xf32>) {
    %w = train.read @w : tensor<4xf32>
    %0 = graph.add %w, %d : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    train.assign @w, %0 : tensor<4xf32>
    return
  }
}

// -----
// A variable that is not read is written in place.
// CHECK: kernel.dispatch pointwise "exp"{{.*}}args = array<i64: {{[0-9]+}}, 0>
// CHECK-NOT: "assign"
module {
  train.variable @w buffer : tensor<4xf32> = #train.fill<0.5 : f64>
  func.func @update(%d: tensor<4xf32>) {
    %0 = graph.exp %d : tensor<4xf32>
    train.assign @w, %0 : tensor<4xf32>
    return
  }
}

// -----
// Two variables change places, so the one that is overwritten first is saved.
// CHECK: kernel.dispatch pointwise "save"
// CHECK: kernel.dispatch pointwise "save"
// CHECK: kernel.dispatch pointwise "assign"
// CHECK: kernel.dispatch pointwise "assign"
module {
  train.variable @a buffer : tensor<4xf32> = #train.fill<0.5 : f64>
  train.variable @b buffer : tensor<4xf32> = #train.fill<1.5 : f64>
  func.func @swap() {
    %a = train.read @a : tensor<4xf32>
    %b = train.read @b : tensor<4xf32>
    train.assign @a, %b : tensor<4xf32>
    train.assign @b, %a : tensor<4xf32>
    return
  }
}

// -----
// A read gives the old value wherever it stands, so the computation into @a comes after the copy that saves it for @b.
// CHECK: train.variable @a {{.*}}kernel.offset = 0 : i64
// CHECK: train.variable @b {{.*}}kernel.offset = 64 : i64
// CHECK: kernel.dispatch pointwise "save"{{.*}}args = array<i64: 0, [[OLD:[0-9]+]]>
// CHECK: kernel.dispatch pointwise "new"{{.*}}args = array<i64: {{[0-9]+}}, 0>
// CHECK: kernel.dispatch pointwise "assign"{{.*}}args = array<i64: [[OLD]], 64>
module {
  train.variable @a buffer : tensor<2x2xf32> = #train.fill<0.5 : f64>
  train.variable @b buffer : tensor<4xf32> = #train.fill<1.5 : f64>
  func.func @late(%d: tensor<2x2xf32>) {
    %new = kernel.dispatch pointwise "new"(%d) : (tensor<2x2xf32>) -> tensor<2x2xf32> {
    ^bb0(%x: tensor<2x2xf32>):
      %0 = graph.exp %x : tensor<2x2xf32>
      kernel.yield %0 : tensor<2x2xf32>
    }
    train.assign @a, %new : tensor<2x2xf32>
    %a = train.read @a : tensor<2x2xf32>
    %v = graph.reshape %a : tensor<2x2xf32> to tensor<4xf32>
    train.assign @b, %v : tensor<4xf32>
    return
  }
}
