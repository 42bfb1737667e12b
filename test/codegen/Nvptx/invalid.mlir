// RUN: not mpc-ptx %s 2>&1 | FileCheck %s
// RUN: not mpc-ptx %s --arch=sm_61 2>&1 | FileCheck %s --check-prefix=ARCH

// CHECK: error: kernel 'calls' calls 'foreign', which has no code for GPUs
// ARCH: error: unknown architecture 'sm_61'; known are sm_60, sm_70, sm_75, sm_80, sm_86, sm_89, sm_90a
llvm.func @foreign(f32) -> f32
llvm.func @calls(%x: f32, %out: !llvm.ptr<1>) attributes {kernel.entry = #kernel.entry<threads = 64>} {
  %y = llvm.call @foreign(%x) : (f32) -> f32
  llvm.store %y, %out : f32, !llvm.ptr<1>
  llvm.return
}
