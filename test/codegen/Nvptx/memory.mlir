// RUN: mpc-ptx %s --arch=sm_80 | FileCheck %s
// RUN: mpc-ptx %s --arch=sm_60 | FileCheck %s --check-prefixes=CHECK,OLD

// Accesses take 16 bytes. Loads from read-only buffers that nothing else points into bypass the L1's coherence.
// OLD: .version 6.4
// OLD: .target sm_60
// CHECK-LABEL: .entry vectors(
// CHECK: .reqntid 256
// CHECK: ld.global.nc.v4.b32
// CHECK: ld.global.nc.v4.b32 {{.*}}+16];
// CHECK: st.global.v4.b32
llvm.func @vectors(%in: !llvm.ptr<1> {llvm.noalias, llvm.readonly, llvm.align = 16 : i64}, %out: !llvm.ptr<1> {llvm.noalias, llvm.align = 16 : i64}) attributes {kernel.entry = #kernel.entry<threads = 256>} {
  %t = kernel.thread_id
  %c8 = arith.constant 8 : i32
  %e = arith.muli %t, %c8 overflow<nsw, nuw> : i32
  %w = arith.extui %e : i32 to i64
  %p = llvm.getelementptr inbounds %in[%w] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
  %q = llvm.getelementptr inbounds %p[4] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
  %v0 = llvm.load %p {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
  %v1 = llvm.load %q {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
  %s = arith.addf %v0, %v1 : vector<4xf32>
  %o = llvm.getelementptr inbounds %out[%w] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
  llvm.store %s, %o {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
  llvm.return
}

// Adjacent scalar accesses become one.
// CHECK-LABEL: .entry neighbours(
// CHECK: ld.global.v4.b32
// CHECK-NOT: ld.global
// CHECK: ret;
llvm.func @neighbours(%x: !llvm.ptr<1> {llvm.align = 16 : i64}) attributes {kernel.entry = #kernel.entry<threads = 32>} {
  %p1 = llvm.getelementptr inbounds %x[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
  %p2 = llvm.getelementptr inbounds %x[2] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
  %p3 = llvm.getelementptr inbounds %x[3] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
  %a = llvm.load %x : !llvm.ptr<1> -> f32
  %b = llvm.load %p1 : !llvm.ptr<1> -> f32
  %c = llvm.load %p2 : !llvm.ptr<1> -> f32
  %d = llvm.load %p3 : !llvm.ptr<1> -> f32
  %0 = arith.addf %a, %b : f32
  %1 = arith.addf %c, %d : f32
  %2 = arith.addf %0, %1 : f32
  llvm.store %2, %x : f32, !llvm.ptr<1>
  llvm.return
}

// 16-bit elements make 16-byte vectors, in shared memory too.
// CHECK-LABEL: .entry halves(
// CHECK: ld.global.v4.b32
// CHECK: st.shared.v4.b32
llvm.func @halves(%x: !llvm.ptr<1>) attributes {kernel.entry = #kernel.entry<threads = 32>} {
  %s = kernel.shared 1024
  %v = llvm.load %x {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xf16>
  llvm.store %v, %s {alignment = 16 : i64} : vector<8xf16>, !llvm.ptr<3>
  kernel.barrier
  %w = llvm.load %s {alignment = 16 : i64} : !llvm.ptr<3> -> vector<8xf16>
  llvm.store %w, %x {alignment = 16 : i64} : vector<8xf16>, !llvm.ptr<1>
  llvm.return
}
