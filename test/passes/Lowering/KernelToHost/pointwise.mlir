// RUN: mpc-opt %s --mpc-plan-loops --mpc-emit-kernels | FileCheck %s

// Operands of the same elements in the same order make one loop over elements [begin, end), with the alias scopes of three memories.
// CHECK-DAG: #[[S0:.*]] = #llvm.alias_scope<{{.*}}>
// CHECK: kernel.dispatch pointwise "flat"{{.*}}launches = [#kernel.launch<@kernels0::@k0 grid = 120000, 1, 1 grain = {{[0-9]+}}>]
func.func @flat(%x: tensor<30x4000xf32>, %y: tensor<30x4000xf32>) -> tensor<30x4000xf32> {
  %r = kernel.dispatch pointwise "flat" (%x, %y) : (tensor<30x4000xf32>, tensor<30x4000xf32>) -> (tensor<30x4000xf32>) {
  ^bb0(%a: tensor<30x4000xf32>, %b: tensor<30x4000xf32>):
    %0 = graph.add %a, %b : (tensor<30x4000xf32>, tensor<30x4000xf32>) -> tensor<30x4000xf32>
    %1 = graph.relu %0 : tensor<30x4000xf32>
    kernel.yield %1 : tensor<30x4000xf32>
  }
  return %r : tensor<30x4000xf32>
}

// A row is broadcast here: the grid goes over rows, and the columns are one loop with constant bounds. f16 is computed in f32
// and rounded at each op; relu commutes with rounding, so there is one rounding.
func.func @rows(%x: tensor<200x64xf16>, %y: tensor<64xf16>) -> tensor<200x64xf16> {
  %r = kernel.dispatch pointwise "rows" (%x, %y) : (tensor<200x64xf16>, tensor<64xf16>) -> (tensor<200x64xf16>) {
  ^bb0(%a: tensor<200x64xf16>, %b: tensor<64xf16>):
    %0 = graph.mul %a, %b : (tensor<200x64xf16>, tensor<64xf16>) -> tensor<200x64xf16>
    %1 = graph.relu %0 : tensor<200x64xf16>
    kernel.yield %1 : tensor<200x64xf16>
  }
  return %r : tensor<200x64xf16>
}

// The reshape costs nothing: its quotients cancel.
func.func @reshaped(%x: tensor<8x6x50xf32>) -> tensor<48x50xf32> {
  %r = kernel.dispatch pointwise "reshaped" (%x) : (tensor<8x6x50xf32>) -> (tensor<48x50xf32>) {
  ^bb0(%a: tensor<8x6x50xf32>):
    %0 = graph.reshape %a : tensor<8x6x50xf32> to tensor<48x50xf32>
    %1 = graph.relu %0 : tensor<48x50xf32>
    kernel.yield %1 : tensor<48x50xf32>
  }
  return %r : tensor<48x50xf32>
}

// CHECK-LABEL: llvm.func @k0(%arg0: !llvm.ptr, %arg1: i64, %arg2: i64)
// CHECK: scf.for %[[I:.*]] = %arg1 to %arg2
// CHECK-NOT: arith.muli
// CHECK: %[[A:.*]] = llvm.load %{{.*}} {alias_scopes = [#[[A0:.*]]], alignment = 4 : i64, noalias_scopes = [
// CHECK: arith.addf
// CHECK: arith.maximumf {{.*}} fastmath<nsz>
// CHECK: llvm.store

// CHECK-LABEL: llvm.func @k1
// CHECK: scf.for %[[ROW:.*]] = %arg1 to %arg2
// CHECK-NEXT: scf.for %[[COLUMN:.*]] = %c0_i64 to %c64_i64
// CHECK: arith.extf %{{.*}} : f16 to f32
// CHECK: arith.mulf
// CHECK: arith.maximumf
// CHECK: arith.truncf %{{.*}} : f32 to f16
// CHECK: llvm.store

// CHECK-LABEL: llvm.func @k2
// CHECK-NOT: arith.divui
// CHECK-NOT: arith.remui
// CHECK: scf.for %[[I:[^ ]*]] = %{{.*}} to
// CHECK-NEXT: llvm.getelementptr inbounds %{{.*}}[%[[I]]]
// CHECK: llvm.getelementptr inbounds %{{.*}}[%[[I]]]
// CHECK-NEXT: llvm.store
// CHECK: llvm.return

// The loop over a concatenated dimension is cut where an operand ends: each piece reads one operand, without a selection.
func.func @concat(%a: tensor<64x16xf32>, %b: tensor<64x8xf32>, %c: tensor<64x40xf32>) -> tensor<64x64xf32> {
  %r = kernel.dispatch pointwise "concat" (%a, %b, %c) : (tensor<64x16xf32>, tensor<64x8xf32>, tensor<64x40xf32>) -> (tensor<64x64xf32>) {
  ^bb0(%x: tensor<64x16xf32>, %y: tensor<64x8xf32>, %z: tensor<64x40xf32>):
    %0 = graph.concat %x, %y, %z {axis = 1 : i64} : (tensor<64x16xf32>, tensor<64x8xf32>, tensor<64x40xf32>) -> tensor<64x64xf32>
    kernel.yield %0 : tensor<64x64xf32>
  }
  return %r : tensor<64x64xf32>
}
// CHECK-LABEL: llvm.func @k3
// CHECK-NOT: arith.select
// CHECK: scf.for %{{.*}} = %arg1 to %arg2
// CHECK: arith.minsi %c64_i64, %c16_i64
// CHECK: scf.for
// CHECK: llvm.load
// CHECK-NOT: llvm.load
// CHECK: llvm.store
// CHECK: arith.minsi %c64_i64, %c24_i64
// CHECK: scf.for
// CHECK: llvm.getelementptr inbounds %{{.*}}[%c-16_i64]
// CHECK-NEXT: llvm.load
// CHECK-NOT: llvm.load
// CHECK: llvm.store
// CHECK: arith.minsi %c64_i64, %c64_i64
// CHECK: scf.for
// CHECK: llvm.getelementptr inbounds %{{.*}}[%c-24_i64]
// CHECK-NEXT: llvm.load
// CHECK-NOT: llvm.load
// CHECK: llvm.store
// CHECK-NOT: scf.for
// CHECK: llvm.return

// Four neighbours share the words of one Philox block, so that an iteration takes ten rounds and not forty.
func.func @dropout(%x: tensor<4096xf32>, %s: tensor<i64>) -> tensor<4096xf32> {
  %r = kernel.dispatch pointwise "dropout" (%x, %s) : (tensor<4096xf32>, tensor<i64>) -> (tensor<4096xf32>) {
  ^bb0(%a: tensor<4096xf32>, %b: tensor<i64>):
    %0 = graph.dropout %a, %b, %b {ratio = 0.5 : f64, salt = 3 : i64} : (tensor<4096xf32>, tensor<i64>, tensor<i64>) -> tensor<4096xf32>
    kernel.yield %0 : tensor<4096xf32>
  }
  return %r : tensor<4096xf32>
}
// CHECK-LABEL: llvm.func @k4
// CHECK: scf.for
// CHECK-COUNT-20: arith.muli %{{[^ ]+}}, %{{[^ ]+}} : i64
// CHECK-NOT: arith.muli %{{[^ ]+}}, %{{[^ ]+}} : i64
// CHECK-COUNT-4: llvm.store
// CHECK: llvm.return

// The number of an element is no element, so that the loop knows its extent: it goes over slices of 1024 elements.
func.func @counted() -> tensor<120000xf32> {
  %r = kernel.dispatch pointwise "counted" () : () -> (tensor<120000xf32>) {
    %0 = graph.iota {axis = 0 : i64} : tensor<120000xi64>
    %1 = graph.cast %0 : tensor<120000xi64> to tensor<120000xf32>
    kernel.yield %1 : tensor<120000xf32>
  }
  return %r : tensor<120000xf32>
}
// CHECK: %[[LOW:.*]] = arith.muli %arg1, %c1024_i64
// CHECK: %[[END:.*]] = arith.muli %arg2, %c1024_i64
// CHECK: %[[HIGH:.*]] = arith.minsi %[[END]], %c120000_i64
// CHECK: scf.for %{{.*}} = %[[LOW]] to %[[HIGH]]
