// RUN: mpc-ptx %s --arch=sm_75 | FileCheck %s
// RUN: not mpc-ptx %s --arch=sm_70 2>&1 | FileCheck %s --check-prefix=SM70

// CHECK: .version 6.5
// CHECK: .target sm_75
// CHECK-LABEL: .entry k(
// CHECK: shfl.sync.bfly.b32 	%r{{[0-9]+}}, %r{{[0-9]+}}, 16, 31, -1;
// CHECK: vote.sync.any.pred
// CHECK: bar.warp.sync 	-1;
// CHECK: bar.sync 	1, 64;
// CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK: mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32
// CHECK: ex2.approx.ftz.f32
// CHECK: lg2.approx.ftz.f32
// CHECK: rcp.approx.ftz.f32
// CHECK: rsqrt.approx.ftz.f32
// SM70: error: 'kernel.load_matrix' op is an instruction of sm_75, sm_80, sm_86, sm_89, sm_90a, and this kernel is for sm_70
// SM70: error: 'kernel.mma' op is an instruction of sm_75, sm_80, sm_86, sm_89, sm_90a, and this kernel is for sm_70
llvm.func @k(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {kernel.entry = #kernel.entry<threads = 128>} {
  %s = kernel.shared 8192
  %x = llvm.load %in : !llvm.ptr<1> -> f32
  %c16 = arith.constant 16 : i32
  %y = kernel.shuffle xor %x, %c16 : f32
  %zero = arith.constant 0.0 : f32
  %negative = arith.cmpf olt, %y, %zero : f32
  %any = kernel.vote any %negative
  kernel.warp_sync
  kernel.barrier {id = 1 : i32, threads = 64 : i32}
  %a:4 = kernel.load_matrix %s : i32, i32, i32, i32
  %z = arith.select %any, %x, %y : f32
  %d:4 = kernel.mma f16 8 (%a#0, %a#1) (%a#2) (%z, %zero, %zero, %zero)
  %0 = kernel.approx exp2 %d#0
  %1 = kernel.approx log2 %0
  %2 = kernel.approx reciprocal %1
  %3 = kernel.approx rsqrt %2
  llvm.store %3, %out : f32, !llvm.ptr<1>
  llvm.return
}
