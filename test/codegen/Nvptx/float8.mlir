// RUN: mpc-ptx %s --arch=sm_90a | FileCheck %s
// RUN: mpc-opt %s --mpc-set-target=name=sm_90a --mpc-device-to-nvvm | FileCheck %s --check-prefix=NVVM
// RUN: %if ptxas %{ mpc-ptx %s --arch=sm_90a --emit=none --ptxas 2>&1 | FileCheck %s --check-prefix=PTXAS %}

// In products of 8-bit floats, 32 bytes of k are 32 elements, and no operand can be transposed. The first product starts without sums.
// PTXAS: product: {{[0-9]+}} registers, 0 stack, 0 spill stores, 0 spill loads
// PTXAS-NOT: C75
// PTXAS-NOT: warning

#k = #kernel.matrix_layout<b128 leading 16 stride 1024 transposed false>

// CHECK-LABEL: .entry product(
// CHECK: setp.ne.u32 add, 0, 0;
// CHECK-NEXT: wgmma.mma_async.sync.aligned.m64n8k32.f32.e5m2.e4m3 {%r1,%r2,%r3,%r4}, %rd{{[0-9]+}}, %rd{{[0-9]+}}, add, 1, 1;
// CHECK: setp.eq.u32 add, 0, 0;
// CHECK-NEXT: wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3 {{.*}}, add, 1, 1;
llvm.func @product(%out: !llvm.ptr<1>) attributes {kernel.entry = #kernel.entry<threads = 128>} {
  %t = kernel.thread_id
  %s = kernel.shared 16384 {alignment = 1024 : i64}
  %v = llvm.mlir.zero : vector<4xi32>
  %p = llvm.getelementptr %s[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<4xi32>
  llvm.store %v, %p : vector<4xi32>, !llvm.ptr<3>
  kernel.async_fence
  kernel.barrier
  kernel.wgmma_fence
  %d:4 = kernel.wgmma e5m2 by e4m3 %s[0] #k, %s[8192] #k () : f32, f32, f32, f32
  %e:4 = kernel.wgmma e4m3 %s[32] #k, %s[8224] #k (%d#0, %d#1, %d#2, %d#3) : f32, f32, f32, f32
  kernel.wgmma_commit
  %f:4 = kernel.wgmma_wait 0 (%e#0, %e#1, %e#2, %e#3) : f32, f32, f32, f32
  %a = llvm.fadd %f#0, %f#1 : f32
  %b = llvm.fadd %f#2, %f#3 : f32
  %c = llvm.fadd %a, %b : f32
  %q = llvm.getelementptr %out[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  llvm.store %c, %q : f32, !llvm.ptr<1>
  llvm.return
}

// Neighbours are encoded in pairs, the later one in the upper half. A code that is used before its neighbour is encoded alone.
// CHECK-LABEL: .entry convert(
// CHECK: cvt.rn.satfinite.e4m3x2.f32
// CHECK-NOT: cvt.rn.satfinite.e4m3x2.f32
// CHECK: cvt.rn.satfinite.e5m2x2.f32
// CHECK: cvt.rn.f16x2.e4m3x2
// NVVM-LABEL: @convert
// NVVM: nvvm.convert.f32x2.to.f8x2 %{{.*}}, %{{.*}} {rnd = #nvvm.fp_rnd_mode<rn>, sat = #nvvm.sat_mode<satfinite>} : i16(f8E4M3FN)
llvm.func @convert(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {kernel.entry = #kernel.entry<threads = 32>} {
  %x = llvm.load %in : !llvm.ptr<1> -> f32
  %p = llvm.getelementptr %in[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
  %y = llvm.load %p : !llvm.ptr<1> -> f32
  %cx = kernel.encode_f8 %x to f8E4M3FN
  %cy = kernel.encode_f8 %y to f8E4M3FN
  %cz = kernel.encode_f8 %y to f8E5M2
  %q = llvm.getelementptr %out[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
  %r = llvm.getelementptr %out[2] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
  %s = llvm.getelementptr %out[4] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
  llvm.store %cx, %out : i8, !llvm.ptr<1>
  llvm.store %cy, %q : i8, !llvm.ptr<1>
  llvm.store %cz, %r : i8, !llvm.ptr<1>
  %back = llvm.load %in : !llvm.ptr<1> -> i8
  %w = kernel.decode_f8 %back from f8E4M3FN
  llvm.store %w, %s : f32, !llvm.ptr<1>
  llvm.return
}
