// RUN: mpc-opt %s --mpc-set-target=name=sm_75 --mpc-emit-kernels --canonicalize --cse | FileCheck %s

// sm_75 has tensor cores and no asynchronous copies. The ring has two tiles: while the warps multiply one, the next is on its way into registers, and it is stored
// behind the products. An instruction takes 8 of k, so a fragment of 16 k takes two.
// CHECK: kernel.dispatch contraction "gemm"{{.*}}launches = [#kernel.launch<@kernels0::@k0 grid = 192, 1, 1 args = 0, 1, 2>]
// CHECK-LABEL: llvm.func @k0(
// CHECK-SAME: kernel.entry = #kernel.entry<threads = 128
// CHECK-NOT: kernel.copy_async
// CHECK: kernel.shared 16384 {alignment = 128 : i64}
// CHECK-COUNT-4: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// CHECK-COUNT-4: llvm.store {{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
// CHECK-NOT: kernel.barrier
// CHECK: scf.for {{.*}} to %c16_i32 step %c1_i32 iter_args
// CHECK-NEXT: kernel.barrier
// CHECK: scf.if
// CHECK-COUNT-4: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// CHECK-COUNT-2: kernel.load_matrix %{{[0-9]+}} : i32, i32, i32, i32
// CHECK-COUNT-2: kernel.load_matrix %{{[0-9]+}} {transpose} : i32, i32, i32, i32
// CHECK-COUNT-16: kernel.mma f16 8(%{{[^,]*}}, %{{[^,]*}}) (%{{[^,]*}}) (
// CHECK-NOT: kernel.mma
// CHECK-COUNT-2: kernel.load_matrix %{{[0-9]+}} : i32, i32, i32, i32
// CHECK-COUNT-2: kernel.load_matrix %{{[0-9]+}} {transpose} : i32, i32, i32, i32
// CHECK-COUNT-16: kernel.mma f16 8(
// CHECK-NOT: kernel.
// CHECK-COUNT-4: llvm.store {{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
// CHECK-NOT: kernel.
// CHECK: scf.yield
// CHECK: kernel.barrier
// CHECK-NOT: kernel.barrier
// CHECK-COUNT-8: llvm.store {{.*}} : vector<2xf32>, !llvm.ptr<3>
// CHECK-NEXT: kernel.warp_sync
// CHECK-COUNT-8: llvm.store {{.*}} : f16, !llvm.ptr<1>
// CHECK: llvm.return
func.func @gemm(%a: tensor<1024x512xf16>, %b: tensor<512x768xf16>) -> tensor<1024x768xf16> {
  %r = kernel.dispatch contraction "gemm" (%a, %b) {schedule = #kernel.contraction<mma 64x64x32 stages=2>} : (tensor<1024x512xf16>, tensor<512x768xf16>) -> tensor<1024x768xf16> {
  ^bb0(%0: tensor<1024x512xf16>, %1: tensor<512x768xf16>):
    %h = graph.matmul %0, %1 : (tensor<1024x512xf16>, tensor<512x768xf16>) -> tensor<1024x768xf16>
    kernel.yield %h : tensor<1024x768xf16>
  }
  return %r : tensor<1024x768xf16>
}
