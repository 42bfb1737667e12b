// RUN: mpc-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{unknown target 'sm_42'; known are host, sm_60}}
module attributes {kernel.target = #kernel.target<"sm_42">} {}

// -----

// expected-error@+1 {{kernel.target is a #kernel.target of a module}}
module attributes {kernel.target = "host"} {}

// -----

// expected-error@+1 {{kernel.target is a #kernel.target of a module}}
func.func private @f() attributes {kernel.target = #kernel.target<"host">}

// -----

module attributes {kernel.target = #kernel.target<"sm_80">} {
  // expected-error@+1 {{is for sm_90a and stands in a module for sm_80}}
  module @kernels0 attributes {kernel.target = #kernel.target<"sm_90a">} {}
}

// -----

func.func @f(%a: tensor<8x8xf16>) {
  // expected-error@+1 {{'wgmma 128x256' is no schedule of a contraction; write a mainloop (simt, mma, wgmma), its tile and fields}}
  %y = kernel.dispatch contraction "p" (%a) {schedule = #kernel.contraction<wgmma 128x256>} : (tensor<8x8xf16>) -> () {
  ^bb0(%0: tensor<8x8xf16>):
    kernel.yield
  }
  return
}

// -----

func.func @f(%a: tensor<8x8xf16>) {
  // expected-error@+1 {{'mma 16x16x16 colour=7' is no schedule of a contraction}}
  %y = kernel.dispatch contraction "p" (%a) {schedule = #kernel.contraction<mma 16x16x16 colour=7>} : (tensor<8x8xf16>) -> () {
  ^bb0(%0: tensor<8x8xf16>):
    kernel.yield
  }
  return
}

// -----

func.func @f(%a: tensor<8xf16>) -> tensor<8xf16> {
  // expected-error@+1 {{has the schedule of a contraction, but is a loop dispatch}}
  %y = kernel.dispatch pointwise "p" (%a) {schedule = #kernel.contraction<mma 16x16x16>} : (tensor<8xf16>) -> (tensor<8xf16>) {
  ^bb0(%0: tensor<8xf16>):
    kernel.yield %0 : tensor<8xf16>
  }
  return %y : tensor<8xf16>
}

// -----

func.func @f(%a: tensor<8xf16>) -> tensor<8xf16> {
  // expected-error@+1 {{may_reuse has 2 entries for 1 results}}
  %y = kernel.dispatch pointwise "p" (%a) {may_reuse = [array<i64>, array<i64>]} : (tensor<8xf16>) -> (tensor<8xf16>) {
  ^bb0(%0: tensor<8xf16>):
    kernel.yield %0 : tensor<8xf16>
  }
  return %y : tensor<8xf16>
}

// -----

func.func @f(%a: tensor<8xf16>) -> tensor<8xf16> {
  // expected-error@+1 {{may_reuse names input 1 of 1}}
  %y = kernel.dispatch pointwise "p" (%a) {may_reuse = [array<i64: 1>]} : (tensor<8xf16>) -> (tensor<8xf16>) {
  ^bb0(%0: tensor<8xf16>):
    kernel.yield %0 : tensor<8xf16>
  }
  return %y : tensor<8xf16>
}

// -----

func.func @f(%a: tensor<8xf16>) -> tensor<8xf16> {
  // expected-error@+1 {{launches @kernels0::@k0, which is no function}}
  %y = kernel.dispatch pointwise "p" (%a) {launches = [#kernel.launch<@kernels0::@k0 grid = 1>]} : (tensor<8xf16>) -> (tensor<8xf16>) {
  ^bb0(%0: tensor<8xf16>):
    kernel.yield %0 : tensor<8xf16>
  }
  return %y : tensor<8xf16>
}

// -----

func.func @f(%a: tensor<8xf16>) -> tensor<8xf16> {
  // expected-error@+1 {{a launch passes argument 2 of 2 inputs and results}}
  %y = kernel.dispatch pointwise "p" (%a) {launches = [#kernel.launch<@k0 grid = 1 args = 2>]} : (tensor<8xf16>) -> (tensor<8xf16>) {
  ^bb0(%0: tensor<8xf16>):
    kernel.yield %0 : tensor<8xf16>
  }
  return %y : tensor<8xf16>
}
llvm.func @k0(!llvm.ptr<1>)

// -----

// expected-error@+1 {{the grid has one to three extents, none of them negative}}
func.func private @f() attributes {a = #kernel.launch<@k0 grid = -1>}

// -----

// expected-error@+1 {{grain is at least 1, and args are positions or -1}}
func.func private @f() attributes {a = #kernel.launch<@k0 grid = 1 args = -2>}

// -----

// expected-error@+1 {{a block has 32 to 1024 threads, a multiple of 32, not 48}}
llvm.func @k0() attributes {kernel.entry = #kernel.entry<threads = 48>}

// -----

// expected-error@+1 {{a block has 32 to 1024 threads, a multiple of 32, not 1056}}
llvm.func @k0() attributes {kernel.entry = #kernel.entry<threads = 1056>}

// -----

// expected-error@+1 {{a cluster has 1 to 16 blocks, not 0}}
llvm.func @k0() attributes {kernel.entry = #kernel.entry<threads = 32, cluster = 0>}

// -----

// expected-error@+1 {{min_blocks is a number of blocks on a multiprocessor, at most 32, not -1}}
llvm.func @k0() attributes {kernel.entry = #kernel.entry<threads = 32, min_blocks = -1>}

// -----

// expected-error@+1 {{resident is a number of blocks on a multiprocessor, at most 32, not 33}}
llvm.func @k0() attributes {kernel.entry = #kernel.entry<threads = 32, resident = 33>}

// -----

// expected-error@+1 {{a tensor map names parameter 3 of 1}}
llvm.func @k0(!llvm.ptr<1>) attributes {kernel.entry = #kernel.entry<threads = 32, maps = [#kernel.tensor_map<3 : f16 sizes [64, 64] strides [128] box [64, 8] steps [1, 1] b128>]>}

// -----

// expected-error@+1 {{kernel.entry is a #kernel.entry of a GPU kernel, which is an llvm.func}}
func.func private @f() attributes {kernel.entry = #kernel.entry<threads = 32>}

// -----

// expected-error@+1 {{kernel.entry is a #kernel.entry of a GPU kernel, which is an llvm.func}}
llvm.func @k0() attributes {kernel.entry = 32 : i32}

// -----

// expected-error@+1 {{kernel.dynamic_shared is a positive i64 of a lowered kernel, which is an llvm.func}}
llvm.func @k0() attributes {kernel.dynamic_shared = 0 : i64}

// -----

// expected-error@+1 {{has 'kernel.threads', which the kernel dialect does not define}}
llvm.func @k0() attributes {kernel.threads = 32 : i32}

// -----

// expected-error@+1 {{kernel.plan is a #kernel.plan of a module}}
module attributes {kernel.plan = {arena_bytes = 64 : i64}} {}

// -----

// expected-error@+1 {{kernel.plan is a #kernel.plan of a module}}
func.func private @f() attributes {kernel.plan = #kernel.plan<arena_bytes = 0, state_bytes = 0, constant_bytes = 0, temporary_bytes = 0, peak_bytes = 0, saved_bytes = 0>}

// -----

// expected-error@+1 {{a memory plan has sizes in bytes, none of them negative}}
module attributes {kernel.plan = #kernel.plan<arena_bytes = 64, state_bytes = 0, constant_bytes = 0, temporary_bytes = 64, peak_bytes = 64, saved_bytes = -1>} {}

// -----

// expected-error@+1 {{peak_bytes is the sum of state_bytes, constant_bytes and temporary_bytes, 192, not 128}}
module attributes {kernel.plan = #kernel.plan<arena_bytes = 256, state_bytes = 64, constant_bytes = 64, temporary_bytes = 64, peak_bytes = 128, saved_bytes = 0>} {}

// -----

// expected-error@+1 {{the arena of 64 bytes is smaller than peak_bytes, 128}}
module attributes {kernel.plan = #kernel.plan<arena_bytes = 64, state_bytes = 64, constant_bytes = 0, temporary_bytes = 64, peak_bytes = 128, saved_bytes = 0>} {}

// -----

// expected-error@+1 {{kernel.offset is an i64 that is not negative and a multiple of 64, not 32 : i64}}
train.variable @w buffer : tensor<4xf32> = #train.fill<0.5 : f64> {kernel.offset = 32 : i64}

// -----

// expected-error@+1 {{kernel.offset is an i64 that is not negative and a multiple of 64, not 64 : i32}}
train.variable @w buffer : tensor<4xf32> = #train.fill<0.5 : f64> {kernel.offset = 64 : i32}

// -----

// expected-error@+1 {{argument 1: kernel.offset is an i64 that is not negative and a multiple of 64, not -64 : i64}}
func.func private @f(tensor<4xf32>, tensor<4xf32> {kernel.offset = -64 : i64})

// -----

// expected-error@+1 {{result 0: kernel.offset is an i64 that is not negative and a multiple of 64, not "first"}}
func.func private @f() -> (tensor<4xf32> {kernel.offset = "first"})

// -----

// expected-error@+1 {{argument 0 is no tensor and has kernel.offset}}
func.func private @f(i32 {kernel.offset = 0 : i64})

// -----

// expected-error@+1 {{has 'kernel.place', which the kernel dialect does not define}}
func.func private @f(tensor<4xf32> {kernel.place = 0 : i64})

// -----

// expected-error@+1 {{has kernel.offset, which is for variables, constants, train.all_reduce, and arguments and results of entries}}
func.func private @f() attributes {kernel.offset = 0 : i64}
