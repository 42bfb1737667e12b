// RUN: mpc-opt %s | mpc-opt | FileCheck %s

// CHECK-LABEL: llvm.func @kernel
llvm.func @kernel(%x: !llvm.ptr<1>, %p: i1) attributes {kernel.entry = #kernel.entry<threads = 128>} {
  // CHECK: kernel.thread_id
  %t = kernel.thread_id
  // CHECK: kernel.block_id y
  %b = kernel.block_id y
  // CHECK: kernel.shared 4096
  %s = kernel.shared 4096
  // CHECK: kernel.copy_async %{{.*}}, %{{.*}}, 16 valid %{{.*}}
  kernel.copy_async %s, %x, 16 valid %t
  kernel.copy_async_commit
  kernel.copy_async_wait 0
  // CHECK: kernel.barrier{{$}}
  kernel.barrier
  // CHECK: kernel.barrier {id = 1 : i32, threads = 64 : i32}
  kernel.barrier {id = 1 : i32, threads = 64 : i32}
  // CHECK: kernel.load_matrix %{{.*}} {transpose} : i32, i32
  %m:2 = kernel.load_matrix %s {transpose} : i32, i32
  %z = llvm.mlir.constant(0.0 : f32) : f32
  // CHECK: kernel.mma f16 8(%{{.*}}) (%{{.*}}) (%{{.*}})
  %d:4 = kernel.mma f16 8 (%m#0, %m#1) (%m#0) (%z, %z, %z, %z)
  // CHECK: kernel.shuffle xor
  %v = kernel.shuffle xor %d#0, %t : f32
  %a = kernel.vote any %p
  // CHECK: kernel.approx exp2
  %e = kernel.approx exp2 %v
  // CHECK: kernel.round_bf16 %{{.*}}
  %r = kernel.round_bf16 %v
  // CHECK: %[[C:.*]] = kernel.encode_f8 %{{.*}} to f8E4M3FN
  %c = kernel.encode_f8 %v to f8E4M3FN
  // CHECK: kernel.decode_f8 %[[C]] from f8E5M2
  %w = kernel.decode_f8 %c from f8E5M2
  // CHECK: kernel.wgmma e5m2 by e4m3 %{{.*}}[32] <b128 leading 16 stride 1024 transposed false>, %{{.*}}[0] <b128 leading 16 stride 1024 transposed false>() : f32, f32, f32, f32
  %g:4 = kernel.wgmma e5m2 by e4m3 %s[32] <b128 leading 16 stride 1024 transposed false>, %s[0] <b128 leading 16 stride 1024 transposed false> () : f32, f32, f32, f32
  kernel.warp_sync
  llvm.return
}
