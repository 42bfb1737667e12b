// RUN: mpc-opt %s --mpc-set-target=name=sm_90a --mpc-plan-loops --mpc-emit-kernels | mpc-ptx - | FileCheck %s
// RUN: mpc-opt %s --mpc-set-target=name=sm_80 --mpc-plan-loops --mpc-emit-kernels --canonicalize --cse | FileCheck %s --check-prefix=DEVICE
// RUN: mpc-opt %s --mpc-set-target=name=sm_80 --mpc-plan-loops --mpc-emit-kernels | mpc-ptx - | FileCheck %s --check-prefix=SM80
// RUN: %if ptxas %{ mpc-opt %s --mpc-set-target=name=sm_90a --mpc-plan-loops --mpc-emit-kernels | mpc-ptx - --emit=none --ptxas 2>&1 | FileCheck %s --check-prefix=PTXAS %}

// A thread reads 16 neighbours of x in two accesses, encodes them in pairs and stores them in one; then it stores 16 neighbours of the transpose in one. A
// block handles 64 x 64 elements.
// DEVICE: kernel.dispatch transposed_copy "factor"{{.*}}grid = 2048, 1, 1 {{.*}}loops = #kernel.loops<copies 1x4096x2048 order = [0, 1 by 64, 2 by 64] parallel = 1 threads = 1x256>}
// DEVICE-LABEL: llvm.func @k0(
// DEVICE-SAME: kernel.entry = #kernel.entry<threads = 256
// DEVICE: kernel.shared 4096
// DEVICE: scf.for {{.*}} to %c256_i32 step %c256_i32
// DEVICE-COUNT-16: kernel.encode_f8
// DEVICE-NOT: kernel.encode_f8
// DEVICE-COUNT-16: llvm.store {{.*}} i8, !llvm.ptr<1>
// DEVICE-COUNT-16: llvm.store {{.*}} i8, !llvm.ptr<3>
// DEVICE-NOT: llvm.store
// DEVICE: kernel.barrier
// DEVICE: scf.for {{.*}} to %c256_i32 step %c256_i32
// DEVICE-COUNT-16: llvm.load {{.*}} !llvm.ptr<3> -> i8
// DEVICE-COUNT-16: llvm.store {{.*}} i8, !llvm.ptr<1>
// DEVICE: llvm.return
// PTXAS: k0: {{[0-9]+}} registers, 0 stack, 0 spill stores, 0 spill loads, 4096 shared
// On GPUs without instructions for it, the conversion is integer arithmetic.
// SM80: ld.global.{{.*}}v4.b32
// SM80-NOT: cvt.rn.satfinite
// SM80: st.global.v4.b32
// CHECK-LABEL: .entry k0(
// CHECK-COUNT-2: ld.global.{{.*}}v4.b32
// CHECK-NOT: ld.global
// CHECK-COUNT-8: cvt.rn.satfinite.e4m3x2.f32
// CHECK-NOT: cvt.rn.satfinite
// CHECK: st.global.v4.b32
// CHECK: bar{{.*}}sync
// CHECK: ld.shared.v4.b32
// CHECK: st.global.v4.b32
// CHECK-NOT: st.global
func.func @f(%x: tensor<4096x2048xf16>, %scale: tensor<f32>) -> (tensor<4096x2048xf8E4M3FN>, tensor<2048x4096xf8E4M3FN>) {
  %y:2 = kernel.dispatch transposed_copy "factor" (%x, %scale) : (tensor<4096x2048xf16>, tensor<f32>) -> (tensor<4096x2048xf8E4M3FN>, tensor<2048x4096xf8E4M3FN>) {
  ^bb0(%0: tensor<4096x2048xf16>, %1: tensor<f32>):
    %w = graph.cast %0 : tensor<4096x2048xf16> to tensor<4096x2048xf32>
    %s = graph.mul %w, %1 : (tensor<4096x2048xf32>, tensor<f32>) -> tensor<4096x2048xf32>
    %c = graph.cast %s : tensor<4096x2048xf32> to tensor<4096x2048xf8E4M3FN>
    %t = graph.transpose %c {permutation = array<i64: 1, 0>} : (tensor<4096x2048xf8E4M3FN>) -> tensor<2048x4096xf8E4M3FN>
    kernel.yield %c, %t : tensor<4096x2048xf8E4M3FN>, tensor<2048x4096xf8E4M3FN>
  }
  return %y#0, %y#1 : tensor<4096x2048xf8E4M3FN>, tensor<2048x4096xf8E4M3FN>
}
