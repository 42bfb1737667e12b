// RUN: mpc-opt --mpc-device-to-emulator %s | FileCheck %s

// CHECK-LABEL: llvm.func @barriers(
// CHECK: llvm.call @mpc_emu_mbarrier_init(%[[THREAD:[^,]*]], %{{.*}}, %{{.*}}, %{{.*}}) : (!llvm.ptr, !llvm.ptr, i32, i32) -> ()
// CHECK: llvm.call @mpc_emu_mbarrier_fence(%[[THREAD]])
// CHECK: llvm.call @mpc_emu_set_registers(
// CHECK: llvm.call @mpc_emu_mbarrier_expect(
// CHECK: llvm.call @mpc_emu_mbarrier_arrive(
// CHECK: llvm.call @mpc_emu_mbarrier_wait(
// CHECK: llvm.call @mpc_emu_async_fence(
// Granule 8; 384 threads start with 168 registers each.
// CHECK: llvm.mlir.global external constant @barriers.about("mpc-emulated 1\0Athreads 384\0Abuffers 0\0Agranule 8\0Ashared 8 8\0Aasynchronous 168\0Asite
llvm.func @barriers() attributes {kernel.threads = 384 : i32} {
  %bar = kernel.shared 8 {alignment = 8 : i64}
  %parity = llvm.mlir.constant(0 : i32) : i32
  kernel.mbarrier_init %bar, 2
  kernel.mbarrier_fence
  kernel.set_registers 160
  kernel.mbarrier_expect %bar, 4096
  kernel.mbarrier_arrive %bar
  kernel.mbarrier_wait %bar, %parity
  kernel.async_fence
  llvm.return
}

// Products that hand on their sums share an array.
// CHECK-LABEL: llvm.func @products(
// CHECK: %[[SUMS:.*]] = llvm.alloca %{{.*}} x f32 : (i32) -> !llvm.ptr
// CHECK-NOT: llvm.alloca
// CHECK: llvm.call @mpc_emu_wgmma_fence(
// CHECK: llvm.store %{{.*}}, %{{.*}} : f32, !llvm.ptr
// b128 is 3, with transposed 259; 4 sums, so 8 columns.
// CHECK: llvm.mlir.constant(32 : i32)
// CHECK: llvm.mlir.constant(3 : i32)
// CHECK: llvm.mlir.constant(259 : i32)
// CHECK: llvm.mlir.constant(4096 : i32)
// CHECK: llvm.mlir.constant(8 : i32)
// CHECK: llvm.call @mpc_emu_wgmma({{.*}}, %[[SUMS]], %{{.*}})
// CHECK: llvm.load %{{.*}} : !llvm.ptr -> f32
// CHECK: llvm.call @mpc_emu_wgmma({{.*}}, %[[SUMS]], %{{.*}})
// CHECK: llvm.call @mpc_emu_wgmma_commit(
// CHECK: llvm.call @mpc_emu_wgmma_wait(
llvm.func @products(%x: !llvm.ptr<1>) attributes {kernel.threads = 128 : i32} {
  %s = kernel.shared 8192 {alignment = 1024 : i64}
  %z = llvm.mlir.constant(0.0 : f32) : f32
  kernel.wgmma_fence
  %d:4 = kernel.wgmma bf16 %s[32] <b128 leading 0 stride 1024 transposed false>, %s[0] <b128 leading 4096 stride 1024 transposed true> (%z, %z, %z, %z) : f32, f32, f32, f32
  %e:4 = kernel.wgmma bf16 %s[32] <b128 leading 0 stride 1024 transposed false>, %s[0] <b128 leading 4096 stride 1024 transposed true> (%d#0, %d#1, %d#2, %d#3) : f32, f32, f32, f32
  kernel.wgmma_commit
  %f:4 = kernel.wgmma_wait 0 (%e#0, %e#1, %e#2, %e#3) : f32, f32, f32, f32
  llvm.store %f#3, %x : f32, !llvm.ptr<1>
  llvm.return
}
