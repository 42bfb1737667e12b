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

func.func @f(%a: tensor<8x8xf16>) {
  // expected-error@+1 {{'wgmma 128x256' is no schedule of a contraction; write a mainloop (simt, mma, wgmma), its tile and fields}}
  %y = kernel.dispatch "p" (%a) {library, schedule = #kernel.contraction<wgmma 128x256>} : (tensor<8x8xf16>) -> () {
  ^bb0(%0: tensor<8x8xf16>):
    kernel.yield
  }
  return
}

// -----

func.func @f(%a: tensor<8x8xf16>) {
  // expected-error@+1 {{'mma 16x16x16 colour=7' is no schedule of a contraction}}
  %y = kernel.dispatch "p" (%a) {library, schedule = #kernel.contraction<mma 16x16x16 colour=7>} : (tensor<8x8xf16>) -> () {
  ^bb0(%0: tensor<8x8xf16>):
    kernel.yield
  }
  return
}

// -----

func.func @f(%a: tensor<8xf16>) -> tensor<8xf16> {
  // expected-error@+1 {{has the schedule of a contraction, but is a loop dispatch}}
  %y = kernel.dispatch "p" (%a) {schedule = #kernel.contraction<mma 16x16x16>} : (tensor<8xf16>) -> (tensor<8xf16>) {
  ^bb0(%0: tensor<8xf16>):
    kernel.yield %0 : tensor<8xf16>
  }
  return %y : tensor<8xf16>
}

// -----

func.func @f(%a: tensor<8xf16>) -> tensor<8xf16> {
  // expected-error@+1 {{may_reuse has 2 entries for 1 results}}
  %y = kernel.dispatch "p" (%a) {may_reuse = [array<i64>, array<i64>]} : (tensor<8xf16>) -> (tensor<8xf16>) {
  ^bb0(%0: tensor<8xf16>):
    kernel.yield %0 : tensor<8xf16>
  }
  return %y : tensor<8xf16>
}

// -----

func.func @f(%a: tensor<8xf16>) -> tensor<8xf16> {
  // expected-error@+1 {{may_reuse names input 1 of 1}}
  %y = kernel.dispatch "p" (%a) {may_reuse = [array<i64: 1>]} : (tensor<8xf16>) -> (tensor<8xf16>) {
  ^bb0(%0: tensor<8xf16>):
    kernel.yield %0 : tensor<8xf16>
  }
  return %y : tensor<8xf16>
}

// -----

func.func @f(%a: tensor<8xf16>) -> tensor<8xf16> {
  // expected-error@+1 {{launches @kernels0::@k0, which is no function}}
  %y = kernel.dispatch "p" (%a) {launches = [#kernel.launch<@kernels0::@k0 grid = 1>]} : (tensor<8xf16>) -> (tensor<8xf16>) {
  ^bb0(%0: tensor<8xf16>):
    kernel.yield %0 : tensor<8xf16>
  }
  return %y : tensor<8xf16>
}

// -----

func.func @f(%a: tensor<8xf16>) -> tensor<8xf16> {
  // expected-error@+1 {{a launch passes argument 2 of 2 inputs and results}}
  %y = kernel.dispatch "p" (%a) {launches = [#kernel.launch<@k0 grid = 1 args = 2>]} : (tensor<8xf16>) -> (tensor<8xf16>) {
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

// expected-error@+1 {{kernel.threads is an i32 from 32 to 1024, a multiple of 32, not 48 : i32}}
llvm.func @k0() attributes {kernel.threads = 48 : i32}

// -----

// expected-error@+1 {{kernel.cluster is an i32 from 1 to 16, not 2 : i64}}
llvm.func @k0() attributes {kernel.cluster = 2 : i64}

// -----

// expected-error@+1 {{kernel.min_blocks is an i32 from 1 to 32, not 0 : i32}}
llvm.func @k0() attributes {kernel.min_blocks = 0 : i32}

// -----

// expected-error@+1 {{kernel.tensor_maps is an array of #kernel.tensor_map}}
llvm.func @k0() attributes {kernel.tensor_maps = 1 : i32}

// -----

// expected-error@+1 {{a tensor map names parameter 3 of 1}}
llvm.func @k0(!llvm.ptr<1>) attributes {kernel.tensor_maps = [#kernel.tensor_map<3 : f16 sizes [64, 64] strides [128] box [64, 8] steps [1, 1] b128>]}

// -----

// expected-error@+1 {{kernel.tensor_maps has #kernel.tensor_map, not 1 : i32}}
llvm.func @k0(!llvm.ptr<1>) attributes {kernel.tensor_maps = [1 : i32]}

// -----

// expected-error@+1 {{kernel.tensor_maps stands on a kernel, which is an llvm.func}}
func.func private @f() attributes {kernel.tensor_maps = []}

// -----

// expected-error@+1 {{kernel.resident is an i32 from 1 to 32, not 33 : i32}}
llvm.func @k0() attributes {kernel.resident = 33 : i32}
