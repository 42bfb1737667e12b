// RUN: mpc-opt %s --mpc-set-target=name=sm_80 --mpc-device-to-nvvm --canonicalize | FileCheck %s

// CHECK-LABEL: llvm.func @where
// CHECK-SAME: attributes {nvvm.kernel, nvvm.minctasm = 2 : i32, nvvm.reqntid = array<i32: 128>}
// CHECK: nvvm.read.ptx.sreg.tid.x range <i32, 0, 128> : i32
// CHECK: nvvm.read.ptx.sreg.ctaid.x range <i32, 0, 2147483647>
// CHECK: nvvm.read.ptx.sreg.ctaid.y range <i32, 0, 65535>
// CHECK: nvvm.read.ptx.sreg.ctaid.z
llvm.func @where(%out: !llvm.ptr<1>) attributes {kernel.entry = #kernel.entry<threads = 128, min_blocks = 2>} {
  %t = kernel.thread_id
  %x = kernel.block_id x
  %y = kernel.block_id y
  %z = kernel.block_id z
  llvm.store volatile %t, %out : i32, !llvm.ptr<1>
  llvm.store volatile %x, %out : i32, !llvm.ptr<1>
  llvm.store volatile %y, %out : i32, !llvm.ptr<1>
  llvm.store volatile %z, %out : i32, !llvm.ptr<1>
  llvm.return
}

// CHECK-LABEL: llvm.func @together
llvm.func @together(%out: !llvm.ptr<1>, %p: i1, %v: f32, %i: i32) attributes {kernel.entry = #kernel.entry<threads = 64>} {
  // CHECK-DAG: %[[ALL:.*]] = llvm.mlir.constant(-1 : i32)
  // CHECK-DAG: %[[C32:.*]] = llvm.mlir.constant(32 : i32)
  // CHECK-DAG: %[[C3:.*]] = llvm.mlir.constant(3 : i32)
  // CHECK-DAG: %[[C0:.*]] = llvm.mlir.constant(0 : i32)
  // CHECK-DAG: %[[C31:.*]] = llvm.mlir.constant(31 : i32)
  // CHECK: nvvm.barrier{{$}}
  kernel.barrier
  // CHECK: nvvm.barrier id = %[[C3]] number_of_threads = %[[C32]]
  kernel.barrier {id = 3 : i32, threads = 32 : i32}
  // CHECK: nvvm.bar.warp.sync %[[ALL]] : i32
  kernel.warp_sync
  // CHECK: %[[S0:.*]] = nvvm.shfl.sync bfly %[[ALL]], %{{.*}}, %{{.*}}, %[[C31]] : f32 -> f32
  %s0 = kernel.shuffle xor %v, %i : f32
  // CHECK: nvvm.shfl.sync down %[[ALL]], %[[S0]], %{{.*}}, %[[C31]] : f32 -> f32
  %s1 = kernel.shuffle down %s0, %i : f32
  // CHECK: nvvm.shfl.sync up %[[ALL]], %{{.*}}, %{{.*}}, %[[C0]] : f32 -> f32
  %s2 = kernel.shuffle up %s1, %i : f32
  // CHECK: nvvm.shfl.sync idx %[[ALL]], %{{.*}}, %{{.*}}, %[[C31]] : i32 -> i32
  %s3 = kernel.shuffle index %i, %i : i32
  // CHECK: nvvm.vote.sync any %[[ALL]], %{{.*}} -> i1
  %a = kernel.vote any %p
  // CHECK: nvvm.vote.sync all %[[ALL]], %{{.*}} -> i1
  %b = kernel.vote all %a
  llvm.store %s2, %out : f32, !llvm.ptr<1>
  llvm.store %s3, %out : i32, !llvm.ptr<1>
  llvm.store %b, %out : i1, !llvm.ptr<1>
  llvm.return
}

// CHECK-DAG: llvm.mlir.global internal @copies_shared0() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<4096 x i8>
// CHECK-DAG: llvm.mlir.global internal @copies_shared1() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<64 x i8>
// CHECK-LABEL: llvm.func @copies
llvm.func @copies(%in: !llvm.ptr<1>, %n: i32) attributes {kernel.entry = #kernel.entry<threads = 64>} {
  // CHECK-DAG: %[[A:.*]] = llvm.mlir.addressof @copies_shared0 : !llvm.ptr<3>
  // CHECK-DAG: %[[B:.*]] = llvm.mlir.addressof @copies_shared1 : !llvm.ptr<3>
  %a = kernel.shared 4096
  %b = kernel.shared 64 {alignment = 128 : i64}
  // CHECK: nvvm.cp.async.shared.global %[[A]], %{{.*}}, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
  kernel.copy_async %a, %in, 16
  // CHECK: nvvm.cp.async.shared.global %[[A]], %{{.*}}, 16, cache = cg, %{{.*}} : !llvm.ptr<3>, !llvm.ptr<1>, i32
  kernel.copy_async %a, %in, 16 valid %n
  // CHECK: nvvm.cp.async.shared.global %[[B]], %{{.*}}, 4, cache = ca, %{{.*}}
  kernel.copy_async %b, %in, 4 valid %n
  // CHECK: nvvm.cp.async.commit.group
  kernel.copy_async_commit
  // CHECK: nvvm.cp.async.wait.group 2
  kernel.copy_async_wait 2
  llvm.return
}

// CHECK-LABEL: llvm.func @matrices
llvm.func @matrices(%out: !llvm.ptr<1>, %f: f32) attributes {kernel.entry = #kernel.entry<threads = 32>} {
  %s = kernel.shared 2048
  // CHECK: %[[R4:.*]] = nvvm.ldmatrix %[[S:.*]] {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, num = 4 : i32, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>}
  %a:4 = kernel.load_matrix %s : i32, i32, i32, i32
  // CHECK: llvm.extractvalue %[[R4]][3]
  // CHECK: nvvm.ldmatrix %[[S]] {{{.*}}layout = #nvvm.mma_layout<col>, num = 2 : i32
  %b:2 = kernel.load_matrix %s {transpose} : i32, i32
  // CHECK: nvvm.ldmatrix %[[S]] {{{.*}}num = 1 : i32{{.*}} -> i32
  %c = kernel.load_matrix %s : i32
  // CHECK: nvvm.mma.sync A[{{.*}}] B[{{.*}}] C[{{.*}}] {{{.*}}multiplicandAPtxType = #nvvm.mma_type<bf16>{{.*}}k = 16>} : (i32, i32, f32)
  %d:4 = kernel.mma bf16 16 (%a#0, %a#1, %a#2, %a#3) (%b#0, %b#1) (%f, %f, %f, %f)
  // CHECK: nvvm.mma.sync {{.*}}k = 16>} : (vector<2xf16>, vector<2xf16>, f32)
  %e:4 = kernel.mma f16 16 (%a#0, %a#1, %a#2, %a#3) (%b#0, %b#1) (%d#0, %d#1, %d#2, %d#3)
  // CHECK: nvvm.mma.sync {{.*}}k = 8>} : (vector<2xf16>, vector<2xf16>, f32)
  %g:4 = kernel.mma f16 8 (%a#0, %a#1) (%c) (%e#0, %e#1, %e#2, %e#3)
  // CHECK: nvvm.mma.sync {{.*}}multiplicandAPtxType = #nvvm.mma_type<tf32>{{.*}}k = 8>} : (i32, i32, f32)
  %h:4 = kernel.mma tf32 8 (%a#0, %a#1, %a#2, %a#3) (%b#0, %b#1) (%g#0, %g#1, %g#2, %g#3)
  llvm.store %h#3, %out : f32, !llvm.ptr<1>
  llvm.return
}

// CHECK-LABEL: llvm.func @approximations
llvm.func @approximations(%out: !llvm.ptr<1>, %x: f32) attributes {kernel.entry = #kernel.entry<threads = 32>} {
  // CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"
  %0 = kernel.approx exp2 %x
  // CHECK: llvm.call_intrinsic "llvm.nvvm.lg2.approx.ftz.f"
  %1 = kernel.approx log2 %0
  // CHECK: llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"
  %2 = kernel.approx reciprocal %1
  // CHECK: llvm.call_intrinsic "llvm.nvvm.rsqrt.approx.ftz.f"
  %3 = kernel.approx rsqrt %2
  llvm.store %3, %out : f32, !llvm.ptr<1>
  llvm.return
}

// Above 48 KB, the pieces are parts of one array, whose size the launch gives.
// CHECK: llvm.mlir.global external @much_shared() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<0 x i8>
// CHECK-LABEL: llvm.func @much
// CHECK-SAME: kernel.dynamic_shared = 65664 : i64
llvm.func @much(%out: !llvm.ptr<1>) attributes {kernel.entry = #kernel.entry<threads = 32>} {
  // CHECK: llvm.mlir.addressof @much_shared
  %0 = kernel.shared 65500
  // CHECK: llvm.getelementptr inbounds|nuw %{{.*}}[65536]
  %1 = kernel.shared 128 {alignment = 128 : i64}
  %a = llvm.load %0 : !llvm.ptr<3> -> f32
  %b = llvm.load %1 : !llvm.ptr<3> -> f32
  llvm.store %a, %out : f32, !llvm.ptr<1>
  llvm.store %b, %out : f32, !llvm.ptr<1>
  llvm.return
}

// A function that is not a kernel is left alone.
// CHECK-LABEL: llvm.func @other
// CHECK-NOT: nvvm
// CHECK: llvm.return
llvm.func @other() {
  llvm.return
}
