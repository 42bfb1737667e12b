// RUN: mpc-ptx %s --arch=sm_90a | FileCheck %s
// RUN: %if ptxas %{ mpc-ptx %s --arch=sm_90a --emit=none --ptxas 2>&1 | FileCheck %s --check-prefix=PTXAS %}
// RUN: mpc-ptx %s --arch=sm_90a --emit=llvm-opt | FileCheck %s --check-prefix=LLVM

// A producer loads two operands by the tensor memory accelerator and a consumer multiplies them; then the accelerator stores the block's shared memory. ptxas
// keeps the wgmmas asynchronous (otherwise it would print C7510 or the like) and accepts the register counts.
// PTXAS: product: {{[0-9]+}} registers, 0 stack, 0 spill stores, 0 spill loads, 0 shared, 65600 dynamic shared
// PTXAS-NOT: C75
// PTXAS: cluster: {{[0-9]+}} registers, 0 stack

#a = #kernel.matrix_layout<b128 leading 16 stride 1024 transposed false>
#b = #kernel.matrix_layout<b128 leading 8192 stride 1024 transposed true>

// Instructions that are written as text need all threads of a warp.
// LLVM: asm sideeffect "{{.*}}wgmma.mma_async{{.*}} #[[TEXT:[0-9]+]]
// LLVM: attributes #[[TEXT]] = { {{.*}}convergent

// CHECK-LABEL: .entry product(
// CHECK: .param .u64 .ptr .global
// CHECK: .param .align 64 .b8 product_param_3[128]
// CHECK: .param .align 64 .b8 product_param_4[128]
// CHECK: mbarrier.init.shared::cta.b64 [{{%r[0-9]+}}], 1;
// CHECK: mbarrier.init.shared::cta.b64 [{{%r[0-9]+}}], 4;
// CHECK: fence.mbarrier_init.release.cluster;
// CHECK: prefetch.tensormap [{{%rd[0-9]+}}];
// CHECK: bar.sync 0;
// CHECK: setmaxnreg.dec.sync.aligned.u32 40;
// CHECK: mbarrier.try_wait.parity.shared::cta.b64 done, [{{%r[0-9]+}}], {{%r[0-9]+}};
// CHECK: mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [{{%r[0-9]+}}], 18432;
// CHECK: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [{{%rd[0-9]+}}], [{{%rd[0-9]+}}, {{.}}{{%r[0-9]+}}, {{%r[0-9]+}}{{.}}], [
// CHECK: setmaxnreg.inc.sync.aligned.u32 232;
// CHECK: wgmma.fence.sync.aligned;
// CHECK: wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {{.*}}, add, 1, 1, 0, 1;
// CHECK: wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {{.*}}, add, 1, 1, 0, 1;
// CHECK: wgmma.commit_group.sync.aligned;
// CHECK: wgmma.wait_group.sync.aligned 1;
// CHECK: mbarrier.arrive.release.cta.shared::cta.b64 _, [{{%r[0-9]+}}];
// CHECK: wgmma.wait_group.sync.aligned 0;
// CHECK: stmatrix.sync.aligned.m8n8.x2.shared.b16
// CHECK: fence.proxy.async.shared::cta;
// CHECK: cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [{{%rd[0-9]+}}, {{.}}{{%r[0-9]+}}, {{%r[0-9]+}}{{.}}], [
// CHECK: cp.async.bulk.commit_group;
// CHECK: cp.async.bulk.wait_group.read 0;
llvm.func @product(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>, %tiles: i32) attributes {kernel.entry = #kernel.entry<threads = 256, min_blocks = 1,
    maps = [#kernel.tensor_map<0 : f16 sizes [1024, 512] strides [2048] box [64, 128] steps [1, 1] b128>,
                          #kernel.tensor_map<1 : f16 sizes [64, 512] strides [128] box [64, 64] steps [1, 1] none>]>} {
  %ring = kernel.shared 65536 {alignment = 1024 : i64}
  %full = kernel.shared 64
  %empty = llvm.getelementptr %full[32] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  %t = kernel.thread_id
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c32 = arith.constant 32 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %first = arith.cmpi eq, %t, %c0 : i32
  scf.if %first {
    kernel.mbarrier_init %full, 1
    kernel.mbarrier_init %empty, 4
    kernel.mbarrier_fence
    kernel.tensor_prefetch 0
  }
  kernel.barrier
  %producer = arith.cmpi ult, %t, %c128 : i32
  scf.if %producer {
    kernel.set_registers 40
    scf.if %first {
      scf.for %i = %c0 to %tiles step %c1 : i32 {
        %p = arith.xori %i, %c1 : i32
        %q = arith.andi %p, %c1 : i32
        kernel.mbarrier_wait %empty, %q
        kernel.mbarrier_expect %full, 18432
        %k = arith.muli %i, %c64 : i32
        kernel.tensor_load %ring, %full map 0 [%k, %c0]
      }
    }
  } else {
    kernel.set_registers 232 {increase}
    %zero = arith.constant 0.0 : f32
    %sums:8 = scf.for %i = %c0 to %tiles step %c1
        iter_args(%a0 = %zero, %a1 = %zero, %a2 = %zero, %a3 = %zero, %a4 = %zero, %a5 = %zero, %a6 = %zero, %a7 = %zero) -> (f32, f32, f32, f32, f32, f32, f32, f32) : i32 {
      %q = arith.andi %i, %c1 : i32
      kernel.mbarrier_wait %full, %q
      kernel.wgmma_fence
      %x:8 = kernel.wgmma f16 %ring[0] #a, %ring[16384] #b (%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7) : f32, f32, f32, f32, f32, f32, f32, f32
      %y:8 = kernel.wgmma f16 %ring[32] #a, %ring[18432] #b (%x#0, %x#1, %x#2, %x#3, %x#4, %x#5, %x#6, %x#7) : f32, f32, f32, f32, f32, f32, f32, f32
      kernel.wgmma_commit
      %w:8 = kernel.wgmma_wait 1 (%y#0, %y#1, %y#2, %y#3, %y#4, %y#5, %y#6, %y#7) : f32, f32, f32, f32, f32, f32, f32, f32
      %lane = arith.remui %t, %c32 : i32
      %lead = arith.cmpi eq, %lane, %c0 : i32
      scf.if %lead {
        kernel.mbarrier_arrive %empty
      }
      scf.yield %w#0, %w#1, %w#2, %w#3, %w#4, %w#5, %w#6, %w#7 : f32, f32, f32, f32, f32, f32, f32, f32
    }
    %done:8 = kernel.wgmma_wait 0 (%sums#0, %sums#1, %sums#2, %sums#3, %sums#4, %sums#5, %sums#6, %sums#7) : f32, f32, f32, f32, f32, f32, f32, f32
    %r0 = arith.bitcast %done#0 : f32 to i32
    %r7 = arith.bitcast %done#7 : f32 to i32
    kernel.store_matrix %ring, %r0, %r7
    kernel.async_fence
    kernel.barrier {id = 1 : i32, threads = 128 : i32}
    %leader = arith.cmpi eq, %t, %c128 : i32
    scf.if %leader {
      kernel.tensor_store %ring map 1 [%c0, %tiles]
      kernel.tensor_store_commit
      kernel.tensor_store_wait 0 read
    }
  }
  llvm.return
}

// CHECK-LABEL: .entry cluster(
// CHECK: .explicitcluster
// CHECK: .reqnctapercluster 2
// CHECK: cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster [{{%rd[0-9]+}}], [{{.*}}], [{{.*}}], {{.*}}, {{%rs[0-9]+}};
// CHECK: mapa.shared::cluster.u32 remote, {{%r[0-9]+}}, {{%r[0-9]+}};
// CHECK: mbarrier.arrive.release.cta.shared::cluster.b64 _, [remote];
// CHECK: barrier.cluster.arrive.aligned;
// CHECK: barrier.cluster.wait.aligned;
llvm.func @cluster(%in: !llvm.ptr<1>) attributes {kernel.entry = #kernel.entry<threads = 128, cluster = 2,
    maps = [#kernel.tensor_map<0 : bf16 sizes [64, 28, 28, 32] strides [128, 3584, 100352] box [64] steps [1, 1, 1, 1] b128 im2col 128 lower [-1, -1] upper [-1, -1]>]>} {
  %tile = kernel.shared 16384 {alignment = 1024 : i64}
  %full = kernel.shared 8
  %rank = kernel.cluster_rank
  %t = kernel.thread_id
  %c0 = arith.constant 0 : i32
  %tap = arith.constant 2 : i16
  %both = arith.constant 3 : i16
  %first = arith.cmpi eq, %t, %c0 : i32
  scf.if %first {
    kernel.tensor_load %tile, %full map 0 [%c0, %c0, %c0, %rank] im2col [%tap, %tap] blocks %both
    kernel.mbarrier_arrive %full block %rank
  }
  kernel.cluster_barrier
  llvm.return
}

// A stands in registers. What is written to them, and to the sums, stays in front of the fence.
// PTXAS: registers: {{[0-9]+}} registers, 0 stack
// PTXAS-NOT: C75
// CHECK-LABEL: .entry registers(
// CHECK: mul.rn.f32
// CHECK: wgmma.fence.sync.aligned;
// CHECK-NOT: {{(mul|cvt).rn}}
// CHECK: wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {{[{].*[}]}}, {[[A:%r[0-9]+,%r[0-9]+,%r[0-9]+,%r[0-9]+]]}, %rd{{[0-9]+}}, add, 1, 1, 1;
// CHECK: wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {{[{].*[}]}}, {[[A]]}, %rd{{[0-9]+}}, add, 1, 1, 1;
// CHECK: wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {{[{].*[}]}}, {[[A]]}, %rd{{[0-9]+}}, add, 1, 1, 1;
// CHECK: wgmma.commit_group.sync.aligned;
llvm.func @registers(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {kernel.entry = #kernel.entry<threads = 128>} {
  %tile = kernel.shared 4096 {alignment = 1024 : i64}
  %t = kernel.thread_id
  %line = llvm.getelementptr %tile[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<8xi32>
  %from = llvm.getelementptr %in[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xf32>
  %x = llvm.load %from : !llvm.ptr<1> -> vector<4xf32>
  llvm.store %x, %line : vector<4xf32>, !llvm.ptr<3>
  %half = llvm.fptrunc %x : vector<4xf32> to vector<4xbf16>
  %pair = llvm.bitcast %half : vector<4xbf16> to vector<2xi32>
  %c0 = llvm.mlir.constant(0 : i32) : i32
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %a0 = llvm.extractelement %pair[%c0 : i32] : vector<2xi32>
  %a1 = llvm.extractelement %pair[%c1 : i32] : vector<2xi32>
  %x0 = llvm.extractelement %x[%c0 : i32] : vector<4xf32>
  %x1 = llvm.extractelement %x[%c1 : i32] : vector<4xf32>
  %z = llvm.fmul %x0, %x1 : f32
  kernel.async_fence
  kernel.barrier
  kernel.wgmma_fence
  %d:4 = kernel.wgmma bf16 registers(%a0, %a1, %a0, %a1), %tile[0] #b (%z, %z, %z, %z) : f32, f32, f32, f32
  %e:4 = kernel.wgmma bf16 registers(%a0, %a1, %a0, %a1), %tile[2048] #b (%d#0, %d#1, %d#2, %d#3) : f32, f32, f32, f32
  %g:4 = kernel.wgmma bf16 registers(%a0, %a1, %a0, %a1), %tile[0] #b () : f32, f32, f32, f32
  kernel.wgmma_commit
  %f:8 = kernel.wgmma_wait 0 (%e#0, %e#1, %e#2, %e#3, %g#0, %g#1, %g#2, %g#3) : f32, f32, f32, f32, f32, f32, f32, f32
  %to = llvm.getelementptr %out[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %sum = llvm.fadd %f#1, %f#6 : f32
  llvm.store %sum, %to : f32, !llvm.ptr<1>
  llvm.return
}
