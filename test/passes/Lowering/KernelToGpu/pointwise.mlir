// RUN: mpc-opt %s --mpc-set-target=name=sm_80 --mpc-plan-loops --mpc-emit-kernels --canonicalize --cse | FileCheck %s

// CHECK: kernel.dispatch pointwise "dropout"{{.*}}launches = [#kernel.launch<@kernels0::@k0 grid = 4, 1, 1 args = 0, 1, 2>]
// CHECK: kernel.dispatch pointwise "gather"{{.*}}launches = [#kernel.launch<@kernels0::@k1 grid = 1, 1, 1 args = 0, 1, 2>]
// CHECK: kernel.dispatch pointwise "pool"{{.*}}launches = [#kernel.launch<@kernels0::@k2 grid = 64, 1, 1 args = 0, 1>]
// CHECK: kernel.dispatch pointwise "update"{{.*}}launches = [#kernel.launch<@kernels0::@k3 grid = 4, 1, 1 args = 0, 1, 2>]

// The four neighbours of a thread share the words of one Philox block: ten rounds of two products, and not forty.
// CHECK-LABEL: llvm.func @k0(
// CHECK-SAME: kernel.entry = #kernel.entry<threads = 256
// CHECK-NOT: scf
// CHECK-COUNT-20: arith.muli %{{[^ ]+}}, %{{[^ ]+}} : i64
// CHECK-NOT: arith.muli %{{[^ ]+}}, %{{[^ ]+}} : i64
// CHECK-COUNT-4: arith.mulf
// CHECK-COUNT-4: llvm.store {{.*}} : f32, !llvm.ptr<1>
// CHECK-NOT: llvm.store
// CHECK: llvm.return
func.func @dropout(%x: tensor<4096xf32>, %s: tensor<i64>) -> tensor<4096xf32> {
  %r = kernel.dispatch pointwise "dropout" (%x, %s) : (tensor<4096xf32>, tensor<i64>) -> (tensor<4096xf32>) {
  ^bb0(%a: tensor<4096xf32>, %b: tensor<i64>):
    %0 = graph.dropout %a, %b, %b {ratio = 0.5 : f64, salt = 3 : i64} : (tensor<4096xf32>, tensor<i64>, tensor<i64>) -> tensor<4096xf32>
    kernel.yield %0 : tensor<4096xf32>
  }
  return %r : tensor<4096xf32>
}

// Eight neighbours of a row have one index, which is read once.
// CHECK-LABEL: llvm.func @k1(
// CHECK: llvm.load {{.*}} : !llvm.ptr<1> -> i64
// CHECK-NOT: -> i64
// CHECK-COUNT-8: llvm.load {{.*}} : !llvm.ptr<1> -> f16
// CHECK-COUNT-8: llvm.store {{.*}} : f16, !llvm.ptr<1>
// CHECK: llvm.return
func.func @gather(%t: tensor<1000x64xf16>, %i: tensor<32xi64>) -> tensor<32x64xf16> {
  %r = kernel.dispatch pointwise "gather" (%t, %i) : (tensor<1000x64xf16>, tensor<32xi64>) -> (tensor<32x64xf16>) {
  ^bb0(%a: tensor<1000x64xf16>, %b: tensor<32xi64>):
    %0 = graph.gather %a, %b {axis = 0 : i64} : (tensor<1000x64xf16>, tensor<32xi64>) -> tensor<32x64xf16>
    kernel.yield %0 : tensor<32x64xf16>
  }
  return %r : tensor<32x64xf16>
}

// A window without padding is unrolled: four loads a result, none of them guarded, and all eight results before the first store.
// CHECK-LABEL: llvm.func @k2(
// CHECK-NOT: scf
// CHECK-COUNT-32: llvm.load {{.*}} : !llvm.ptr<1> -> f16
// CHECK-NOT: llvm.load
// CHECK-COUNT-8: llvm.store {{.*}} : f16, !llvm.ptr<1>
// CHECK: llvm.return
func.func @pool(%x: tensor<8x32x32x64xf16>) -> tensor<8x16x16x64xf16> {
  %r = kernel.dispatch pointwise "pool" (%x) : (tensor<8x32x32x64xf16>) -> (tensor<8x16x16x64xf16>) {
  ^bb0(%a: tensor<8x32x32x64xf16>):
    %0 = graph.avg_pool %a {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, layout = #graph<layout channels_last>} : (tensor<8x32x32x64xf16>) -> tensor<8x16x16x64xf16>
    kernel.yield %0 : tensor<8x16x16x64xf16>
  }
  return %r : tensor<8x16x16x64xf16>
}

// A result in place is written through the pointer of its input, which is no longer read-only; only the other input is.
// CHECK-LABEL: llvm.func @k3(
// CHECK-SAME: %[[W:arg0]]: !llvm.ptr<1> {llvm.align = 64 : i64, llvm.noalias}, %arg1: !llvm.ptr<1> {llvm.align = 64 : i64, llvm.noalias, llvm.readonly}
// CHECK: %[[AT:.*]] = llvm.getelementptr inbounds %[[W]][
// CHECK: llvm.load %[[AT]]
// CHECK-COUNT-4: arith.subf
// CHECK: llvm.store %{{.*}}, %[[AT]]
// CHECK: llvm.return
func.func @update(%w: tensor<4000xf32>, %g: tensor<4000xf32>) -> tensor<4000xf32> {
  %r = kernel.dispatch pointwise "update" (%w, %g) {in_place = array<i64: 0>} : (tensor<4000xf32>, tensor<4000xf32>) -> (tensor<4000xf32>) {
  ^bb0(%a: tensor<4000xf32>, %b: tensor<4000xf32>):
    %0 = graph.sub %a, %b : (tensor<4000xf32>, tensor<4000xf32>) -> tensor<4000xf32>
    kernel.yield %0 : tensor<4000xf32>
  }
  return %r : tensor<4000xf32>
}

// A thread stores its four neighbours of one part, then those of the next, each with one access of 16 bytes in the end.
// CHECK-LABEL: llvm.func @k4(
// CHECK-COUNT-12: llvm.store {{.*}} : f32, !llvm.ptr<1>
// CHECK-NOT: llvm.store
// CHECK: llvm.return
func.func @parts(%x: tensor<32x512xf32>, %y: tensor<32x512xf32>) -> (tensor<32x1024xf32>, tensor<32x512xf32>) {
  %0:2 = kernel.dispatch pointwise "parts" (%x, %y) : (tensor<32x512xf32>, tensor<32x512xf32>) -> (tensor<32x1024xf32>, tensor<32x512xf32>) {
  ^bb0(%a: tensor<32x512xf32>, %b: tensor<32x512xf32>):
    %1 = graph.mul %a, %b : (tensor<32x512xf32>, tensor<32x512xf32>) -> tensor<32x512xf32>
    %2 = graph.sub %a, %b : (tensor<32x512xf32>, tensor<32x512xf32>) -> tensor<32x512xf32>
    %3 = graph.concat %1, %2 {axis = 1 : i64} : (tensor<32x512xf32>, tensor<32x512xf32>) -> tensor<32x1024xf32>
    kernel.yield %3, %1 : tensor<32x1024xf32>, tensor<32x512xf32>
  }
  return %0#0, %0#1 : tensor<32x1024xf32>, tensor<32x512xf32>
}
