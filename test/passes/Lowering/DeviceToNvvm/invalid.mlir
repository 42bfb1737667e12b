// RUN: mpc-opt %s --mpc-device-to-nvvm=arch=sm_75 --split-input-file --verify-diagnostics
// RUN: not mpc-opt %s --mpc-device-to-nvvm=arch=sm_61 2>&1 | FileCheck %s
// CHECK: unknown architecture 'sm_61'; known are sm_60, sm_70, sm_75, sm_80, sm_86, sm_89, sm_90a

llvm.func @copies(%in: !llvm.ptr<1>) attributes {kernel.threads = 64 : i32} {
  %a = kernel.shared 4096
  // expected-error @+2 {{'kernel.copy_async' op is an instruction of sm_80 and later, and this kernel is for sm_75}}
  // expected-note @+1 {{hint: emitters ask the architecture's row}}
  kernel.copy_async %a, %in, 16
  llvm.return
}

// -----

llvm.func @bf16(%a: i32, %f: f32) attributes {kernel.threads = 64 : i32} {
  // expected-error @+2 {{'kernel.mma' op is an instruction of sm_80 and later}}
  // expected-note @+1 {{hint}}
  %d:4 = kernel.mma bf16 16 (%a, %a, %a, %a) (%a, %a) (%f, %f, %f, %f)
  llvm.return
}

// -----

// expected-error @+2 {{kernel 'much' needs 70000 bytes of shared memory, a block of sm_75 has 65536}}
// expected-note @+1 {{hint: take smaller tiles or fewer stages}}
llvm.func @much() attributes {kernel.threads = 64 : i32} {
  %a = kernel.shared 70000
  llvm.return
}

// -----

llvm.func @hopper(%f: f32) attributes {kernel.threads = 128 : i32} {
  %a = kernel.shared 8
  // expected-error @+2 {{'kernel.mbarrier_init' op is an instruction of sm_90a and later, and this kernel is for sm_75}}
  // expected-note @+1 {{hint: emitters ask the architecture's row}}
  kernel.mbarrier_init %a, 1
  llvm.return
}

// -----

llvm.func @groups() attributes {kernel.threads = 32 : i32} {
  // expected-error @+2 {{'kernel.copy_async_commit' op is an instruction of sm_80 and later, and this kernel is for sm_75}}
  // expected-note @+1 {{hint: emitters ask the architecture's row}}
  kernel.copy_async_commit
  // expected-error @+2 {{'kernel.copy_async_wait' op is an instruction of sm_80 and later, and this kernel is for sm_75}}
  // expected-note @+1 {{hint: emitters ask the architecture's row}}
  kernel.copy_async_wait 0
  llvm.return
}

// -----

// A launch is no op of a kernel.
llvm.func @nested() attributes {kernel.threads = 32 : i32} {
  // expected-error @+2 {{'kernel.dispatch' op has no PTX form}}
  // expected-note @+1 {{hint: give it one in passes/Lowering/DeviceToNvvm}}
  kernel.dispatch "d" () : () -> () {
    // expected-error @+2 {{'kernel.yield' op has no PTX form}}
    // expected-note @+1 {{hint: give it one in passes/Lowering/DeviceToNvvm}}
    "kernel.yield"() : () -> ()
  }
  llvm.return
}
