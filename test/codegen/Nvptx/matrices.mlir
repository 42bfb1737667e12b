// RUN: mpc-ptx %s --arch=sm_80 | FileCheck %s
// RUN: mpc-ptx %s --arch=sm_90a | FileCheck %s

// CHECK-LABEL: .entry pipeline(
// CHECK: .shared .align 16 .b8 pipeline_shared0[8192];
// CHECK: cp.async.cg.shared.global [{{.*}}], [{{.*}}], 16, %r
// CHECK: cp.async.ca.shared.global [{{.*}}], [{{.*}}], 4;
// CHECK: cp.async.commit_group;
// CHECK: cp.async.wait_group 	0;
// CHECK: bar.sync 	0;
// CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK: ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// CHECK: mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32
llvm.func @pipeline(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>, %valid: i32) attributes {kernel.entry = #kernel.entry<threads = 32>} {
  %s = kernel.shared 8192
  %t = kernel.thread_id
  %c16 = arith.constant 16 : i32
  %offset = arith.muli %t, %c16 : i32
  %row = llvm.getelementptr inbounds %s[%offset] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
  kernel.copy_async %row, %in, 16 valid %valid
  kernel.copy_async %row, %in, 4
  kernel.copy_async_commit
  kernel.copy_async_wait 0
  kernel.barrier
  %a:4 = kernel.load_matrix %row : i32, i32, i32, i32
  %b:2 = kernel.load_matrix %row {transpose} : i32, i32
  %zero = arith.constant 0.0 : f32
  %d:4 = kernel.mma bf16 16 (%a#0, %a#1, %a#2, %a#3) (%b#0, %b#1) (%zero, %zero, %zero, %zero)
  %e:4 = kernel.mma f16 16 (%a#0, %a#1, %a#2, %a#3) (%b#0, %b#1) (%d#0, %d#1, %d#2, %d#3)
  %f:4 = kernel.mma tf32 8 (%a#0, %a#1, %a#2, %a#3) (%b#0, %b#1) (%e#0, %e#1, %e#2, %e#3)
  llvm.store %f#0, %out : f32, !llvm.ptr<1>
  llvm.return
}
