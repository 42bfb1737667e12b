// RUN: mpc-opt %s --mpc-set-target=name=sm_75 --mpc-device-to-nvvm --split-input-file --verify-diagnostics
// RUN: not mpc-opt %s --mpc-device-to-nvvm --split-input-file 2>&1 | FileCheck %s
// RUN: not mpc-opt %s --mpc-set-target=name=host --mpc-device-to-nvvm --split-input-file 2>&1 | FileCheck %s
// CHECK: error: these kernels are for no GPU: their module has no kernel.target, or that of the host
// CHECK: note: hint: set one first, as mpc-set-target=name=sm_80 does

llvm.func @copies(%in: !llvm.ptr<1>) attributes {kernel.entry = #kernel.entry<threads = 64>} {
  %a = kernel.shared 4096
  // expected-error @+2 {{'kernel.copy_async' op is an instruction of sm_80, sm_86, sm_89, sm_90a, and this kernel is for sm_75}}
  // expected-note @+1 {{hint: emitters ask the architecture's row}}
  kernel.copy_async %a, %in, 16
  llvm.return
}

// -----

llvm.func @bf16(%a: i32, %f: f32) attributes {kernel.entry = #kernel.entry<threads = 64>} {
  // expected-error @+2 {{'kernel.mma' op is an instruction of sm_80, sm_86, sm_89, sm_90a}}
  // expected-note @+1 {{hint}}
  %d:4 = kernel.mma bf16 16 (%a, %a, %a, %a) (%a, %a) (%f, %f, %f, %f)
  llvm.return
}

// -----

// expected-error @+2 {{kernel 'much' needs 70000 bytes of shared memory, a block of sm_75 has 65536}}
// expected-note @+1 {{hint: take smaller tiles or fewer stages}}
llvm.func @much() attributes {kernel.entry = #kernel.entry<threads = 64>} {
  %a = kernel.shared 70000
  llvm.return
}

// -----

llvm.func @hopper(%f: f32) attributes {kernel.entry = #kernel.entry<threads = 128>} {
  %a = kernel.shared 8
  // expected-error @+2 {{'kernel.mbarrier_init' op is an instruction of sm_90a, and this kernel is for sm_75}}
  // expected-note @+1 {{hint: emitters ask the architecture's row}}
  kernel.mbarrier_init %a, 1
  llvm.return
}

// -----

llvm.func @groups() attributes {kernel.entry = #kernel.entry<threads = 32>} {
  // expected-error @+2 {{'kernel.copy_async_commit' op is an instruction of sm_80, sm_86, sm_89, sm_90a, and this kernel is for sm_75}}
  // expected-note @+1 {{hint: emitters ask the architecture's row}}
  kernel.copy_async_commit
  // expected-error @+2 {{'kernel.copy_async_wait' op is an instruction of sm_80, sm_86, sm_89, sm_90a, and this kernel is for sm_75}}
  // expected-note @+1 {{hint: emitters ask the architecture's row}}
  kernel.copy_async_wait 0
  llvm.return
}

// -----

// A launch is no op of a kernel.
llvm.func @nested() attributes {kernel.entry = #kernel.entry<threads = 32>} {
  // expected-error @+2 {{'kernel.dispatch' op has no PTX form}}
  // expected-note @+1 {{hint: give it one in passes/Lowering/DeviceToNvvm}}
  kernel.dispatch pointwise "d" () : () -> () {
    // expected-error @+2 {{'kernel.yield' op has no PTX form}}
    // expected-note @+1 {{hint: give it one in passes/Lowering/DeviceToNvvm}}
    "kernel.yield"() : () -> ()
  }
  llvm.return
}

// -----

// expected-error @+1 {{is not a kernel: it has no body, or returns a value}}
llvm.func @outside(!llvm.ptr<1>) attributes {kernel.entry = #kernel.entry<threads = 32, maps = [#kernel.tensor_map<0 : f16 sizes [64, 64] strides [128] box [64, 8] steps [1, 1] b128>]>}
