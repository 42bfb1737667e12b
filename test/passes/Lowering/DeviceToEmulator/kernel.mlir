// RUN: mpc-opt --mpc-device-to-emulator %s | FileCheck %s

// CHECK-DAG: llvm.func @mpc_emu_global(!llvm.ptr, !llvm.ptr, i32, i32, i32) -> !llvm.ptr
// CHECK-DAG: llvm.func @mpc_emu_barrier(!llvm.ptr, i32, i32, i32){{$}}
// CHECK-LABEL: llvm.func @kernel(
// CHECK-SAME: %[[THREAD:.*]]: !llvm.ptr, %[[BUFFERS:.*]]: !llvm.ptr) {
llvm.func @kernel(%x: !llvm.ptr<1> {llvm.noalias}, %y: !llvm.ptr<1>) attributes {kernel.entry = #kernel.entry<threads = 128>} {
  // CHECK: %[[SLOT:.*]] = llvm.getelementptr %[[BUFFERS]][0]
  // CHECK: %[[X:.*]] = llvm.load %[[SLOT]] : !llvm.ptr -> !llvm.ptr
  // CHECK: %[[PLACE:.*]] = llvm.getelementptr %[[THREAD]][0] : (!llvm.ptr) -> !llvm.ptr, i8
  // CHECK: %[[T:.*]] = llvm.load %[[PLACE]] : !llvm.ptr -> i32
  %t = kernel.thread_id
  // These are piece 0 and piece 1 of shared memory.
  // CHECK: llvm.mlir.constant(-9223370937343148032 : i64)
  // CHECK: llvm.mlir.constant(-9223089462366437376 : i64)
  %s = kernel.shared 4096
  %s1 = kernel.shared 64 {alignment = 4 : i64}
  // CHECK: %[[P:.*]] = llvm.getelementptr %[[X]][%[[T]]] : (!llvm.ptr, i32) -> !llvm.ptr, vector<4xf16>
  %p = llvm.getelementptr %x[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xf16>
  // This reads 8 bytes with alignment 2^3.
  // CHECK: %[[BYTES:.*]] = llvm.mlir.constant(8 : i32)
  // CHECK: %[[ACCESS:.*]] = llvm.mlir.constant(3 : i32)
  // CHECK: %[[SITE:.*]] = llvm.mlir.constant(0 : i32)
  // CHECK: %[[M:.*]] = llvm.call @mpc_emu_global(%[[THREAD]], %[[P]], %[[BYTES]], %[[ACCESS]], %[[SITE]])
  // CHECK: llvm.load %[[M]] : !llvm.ptr -> vector<4xf16>
  %v = llvm.load %p : !llvm.ptr<1> -> vector<4xf16>
  // This writes (1 << 8) with alignment 2^1.
  // CHECK: llvm.mlir.constant(257 : i32)
  // CHECK: %[[N:.*]] = llvm.call @mpc_emu_shared(
  // CHECK: llvm.store %{{.*}}, %[[N]] {alignment = 2 : i64} : vector<4xf16>, !llvm.ptr{{$}}
  %q = llvm.getelementptr %s[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<4xf16>
  llvm.store %v, %q {alignment = 2 : i64} : vector<4xf16>, !llvm.ptr<3>
  // CHECK: llvm.call @mpc_emu_barrier(
  kernel.barrier
  // CHECK: llvm.call @mpc_emu_load_matrix(
  // CHECK: %[[R0:.*]] = llvm.load %{{.*}} : !llvm.ptr -> i32
  // CHECK: %[[R1:.*]] = llvm.load %{{.*}} : !llvm.ptr -> i32
  %m:2 = kernel.load_matrix %s {transpose} : i32, i32
  %z = llvm.mlir.constant(0.0 : f32) : f32
  // CHECK: llvm.store %[[R0]], %{{.*}} : i32, !llvm.ptr
  // CHECK: llvm.store %[[R1]], %{{.*}} : i32, !llvm.ptr
  // CHECK: llvm.call @mpc_emu_mma(
  // CHECK: %[[D:.*]] = llvm.load %{{.*}} : !llvm.ptr -> f32
  %d:4 = kernel.mma f16 8 (%m#0, %m#1) (%m#0) (%z, %z, %z, %z)
  // CHECK: %[[BITS:.*]] = llvm.bitcast %[[D]] : f32 to i32
  // CHECK: llvm.call @mpc_emu_shuffle(%[[THREAD]], %{{.*}}, %[[BITS]], %[[T]], %{{.*}})
  %o = kernel.shuffle xor %d#0, %t : f32
  // CHECK: llvm.call @mpc_emu_approx(%{{.*}}, %{{.*}}) : (i32, f32) -> f32
  %e = kernel.approx exp2 %o
  // This reads and writes (2 << 8) with alignment 2^2.
  // CHECK: llvm.mlir.constant(514 : i32)
  // CHECK: llvm.call @mpc_emu_global(
  // CHECK: llvm.atomicrmw fadd %{{.*}}, %{{.*}} monotonic : !llvm.ptr, f32
  %a = llvm.atomicrmw fadd %y, %e monotonic : !llvm.ptr<1>, f32
  llvm.return
}
// Accesses to shared memory cover multiples of 2 bytes. Sites are numbered by location and op.
// CHECK: llvm.mlir.global external constant @kernel.about("mpc-emulated 1\0Athreads 128\0Abuffers 2\0Agranule 2\0Ashared 4096 16\0Ashared 64 4\0A
// CHECK-SAME: site {{[^\\]*}}kernel.mlir:26:8: llvm.load\0A
// CHECK-SAME: site {{[^\\]*}}: llvm.store\0A
// CHECK-SAME: site {{[^\\]*}}: kernel.barrier\0A

// CHECK: llvm.func @helper(!llvm.ptr<1>)
llvm.func @helper(!llvm.ptr<1>)
