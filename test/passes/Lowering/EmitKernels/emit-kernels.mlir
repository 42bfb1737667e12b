// RUN: mpc-opt %s --mpc-plan-loops --mpc-emit-kernels | FileCheck %s --check-prefixes=CHECK,HOST
// RUN: mpc-opt %s --mpc-set-target=name=sm_80 --mpc-plan-loops --mpc-emit-kernels | FileCheck %s --check-prefixes=CHECK,GPU
// RUN: mpc-opt %s --mpc-plan-loops --mpc-emit-kernels=units=2 | FileCheck %s --check-prefix=UNITS
// RUN: mpc-opt %s --mpc-plan-loops --mpc-emit-kernels --mpc-emit-kernels | FileCheck %s --check-prefixes=CHECK,HOST

// Dispatches with equal bodies share a kernel: names, places and what a result may reuse do not count. What is written in place does, and so does a constant.
// CHECK-LABEL: func.func @equal
// HOST: kernel.dispatch pointwise "one"{{.*}}launches = [#kernel.launch<@kernels0::@k0 grid = 100, 1, 1
// GPU: kernel.dispatch pointwise "one"{{.*}}launches = [#kernel.launch<@kernels0::@k0 grid = 1, 1, 1
// HOST: kernel.dispatch pointwise "two"{{.*}}launches = [#kernel.launch<@kernels0::@k0 grid = 100, 1, 1
// GPU: kernel.dispatch pointwise "two"{{.*}}launches = [#kernel.launch<@kernels0::@k0 grid = 1, 1, 1
// HOST: kernel.dispatch pointwise "in place"{{.*}}launches = [#kernel.launch<@kernels0::@k1 grid = 100, 1, 1
// GPU: kernel.dispatch pointwise "in place"{{.*}}launches = [#kernel.launch<@kernels0::@k1 grid = 1, 1, 1
// HOST: kernel.dispatch pointwise "clip 1"{{.*}}launches = [#kernel.launch<@kernels0::@k2 grid = 100, 1, 1
// GPU: kernel.dispatch pointwise "clip 1"{{.*}}launches = [#kernel.launch<@kernels0::@k2 grid = 1, 1, 1
// HOST: kernel.dispatch pointwise "clip 2"{{.*}}launches = [#kernel.launch<@kernels0::@k3 grid = 100, 1, 1
// GPU: kernel.dispatch pointwise "clip 2"{{.*}}launches = [#kernel.launch<@kernels0::@k3 grid = 1, 1, 1
func.func @equal(%x: tensor<100xf32>) -> tensor<100xf32> {
  %0 = kernel.dispatch pointwise "one" (%x) {may_reuse = [array<i64: 0>]} : (tensor<100xf32>) -> tensor<100xf32> {
  ^bb0(%a: tensor<100xf32>):
    %e = graph.exp %a : tensor<100xf32>
    kernel.yield %e : tensor<100xf32>
  }
  %1 = kernel.dispatch pointwise "two" (%0) {args = array<i64: 0, 512>} : (tensor<100xf32>) -> tensor<100xf32> {
  ^bb0(%a: tensor<100xf32>):
    %e = graph.exp %a : tensor<100xf32>
    kernel.yield %e : tensor<100xf32>
  }
  %2 = kernel.dispatch pointwise "in place" (%1) {in_place = array<i64: 0>} : (tensor<100xf32>) -> tensor<100xf32> {
  ^bb0(%a: tensor<100xf32>):
    %e = graph.exp %a : tensor<100xf32>
    kernel.yield %e : tensor<100xf32>
  }
  %3 = kernel.dispatch pointwise "clip 1" (%2) : (tensor<100xf32>) -> tensor<100xf32> {
  ^bb0(%a: tensor<100xf32>):
    %e = graph.clip %a {min = 0.0 : f64, max = 1.0 : f64} : tensor<100xf32>
    kernel.yield %e : tensor<100xf32>
  }
  %4 = kernel.dispatch pointwise "clip 2" (%3) : (tensor<100xf32>) -> tensor<100xf32> {
  ^bb0(%a: tensor<100xf32>):
    %e = graph.clip %a {min = 0.0 : f64, max = 2.0 : f64} : tensor<100xf32>
    kernel.yield %e : tensor<100xf32>
  }
  return %4 : tensor<100xf32>
}

// A dispatch that computes no element launches nothing. On the host a provider computes a product; on a GPU it is a kernel as others are.
// CHECK-LABEL: func.func @without
// CHECK: kernel.dispatch pointwise "nothing"(%arg0) : (tensor<0xf32>)
// HOST: kernel.dispatch contraction "product"(%arg1) {schedule
// GPU: kernel.dispatch contraction "product"(%arg1) {launches = [#kernel.launch<@kernels0::@k4 grid = 1, 1, 1 args = 0, 1>],
func.func @without(%x: tensor<0xf32>, %y: tensor<8x8xf32>) -> (tensor<0xf32>, tensor<8x8xf32>) {
  %0 = kernel.dispatch pointwise "nothing" (%x) : (tensor<0xf32>) -> tensor<0xf32> {
  ^bb0(%a: tensor<0xf32>):
    %e = graph.exp %a : tensor<0xf32>
    kernel.yield %e : tensor<0xf32>
  }
  %1 = kernel.dispatch contraction "product" (%y) {schedule = #kernel.contraction<simt 32x32x16 stages=2>} : (tensor<8x8xf32>) -> tensor<8x8xf32> {
  ^bb0(%a: tensor<8x8xf32>):
    %e = graph.matmul %a, %a : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    kernel.yield %e : tensor<8x8xf32>
  }
  return %0, %1 : tensor<0xf32>, tensor<8x8xf32>
}

// Kernels of the host take a list of buffers and the slice of the grid; those of a GPU take a pointer for each input and result.
// CHECK: module @kernels0
// HOST-COUNT-4: llvm.func @k{{[0-3]}}(%arg0: !llvm.ptr, %arg1: i64, %arg2: i64) attributes {no_unwind}
// GPU-COUNT-5: llvm.func @k{{[0-4]}}(%arg0: !llvm.ptr<1> {{{.*}}}, %arg1: !llvm.ptr<1> {{{.*}}}) attributes {{.*}}kernel.entry = #kernel.entry<threads = {{[0-9]+}}
// CHECK-NOT: llvm.func
// CHECK-NOT: module

// The kernels are dealt out to the modules in turns.
// UNITS: kernel.dispatch pointwise "in place"{{.*}}#kernel.launch<@kernels1::@k1
// UNITS: kernel.dispatch pointwise "clip 1"{{.*}}#kernel.launch<@kernels0::@k2
// UNITS: module @kernels0
// UNITS: llvm.func @k0(
// UNITS: llvm.func @k2(
// UNITS: module @kernels1
// UNITS: llvm.func @k1(
// UNITS: llvm.func @k3(
// UNITS-NOT: module
