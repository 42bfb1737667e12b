// RUN: mpc-opt --mpc-device-to-emulator --split-input-file --verify-diagnostics %s

// expected-error@+1 {{a block has 32 to 1024 threads, a multiple of 32, not 48}}
llvm.func @threads() attributes {kernel.entry = #kernel.entry<threads = 48>} {
  llvm.return
}

// -----

// expected-error@+1 {{has a parameter of type 'i32': the parameters of a kernel are buffers, !llvm.ptr<1>}}
llvm.func @scalar(%n: i32) attributes {kernel.entry = #kernel.entry<threads = 32>} {
  llvm.return
}

// -----

llvm.func @assembly() attributes {kernel.entry = #kernel.entry<threads = 32>} {
  // expected-error@+2 {{'llvm.inline_asm' has no emulated form}}
  // expected-note@+1 {{hint: say it with an op of dialects/Kernel/IR/DeviceOps.td}}
  llvm.inline_asm has_side_effects "bar.sync 0;", "" : () -> ()
  llvm.return
}

// -----

llvm.func @generic(%x: !llvm.ptr<1>) attributes {kernel.entry = #kernel.entry<threads = 32>} {
  // expected-error@+2 {{generic pointers are not emulated}}
  // expected-note@+1 {{hint: keep the address space of the pointer}}
  %p = llvm.addrspacecast %x : !llvm.ptr<1> to !llvm.ptr
  llvm.return
}

// -----

llvm.func @copy(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>) attributes {kernel.entry = #kernel.entry<threads = 32>} {
  %n = llvm.mlir.constant(64 : i64) : i64
  // expected-error@+2 {{'llvm.intr.memcpy' on device memory has no emulated form}}
  // expected-note@+1 {{hint: use loads, stores, atomics}}
  "llvm.intr.memcpy"(%x, %y, %n) <{isVolatile = false}> : (!llvm.ptr<1>, !llvm.ptr<1>, i64) -> ()
  llvm.return
}

// -----

llvm.func @sums(%x: !llvm.ptr<1>) attributes {kernel.entry = #kernel.entry<threads = 128>} {
  %s = kernel.shared 2048
  %z = llvm.mlir.constant(0.0 : f32) : f32
  %d:4 = kernel.wgmma f16 %s[0] <none leading 128 stride 256 transposed false>, %s[0] <none leading 128 stride 256 transposed false> (%z, %z, %z, %z) : f32, f32, f32, f32
  %e:4 = kernel.wgmma_wait 1 (%d#0, %d#1, %d#2, %d#3) : f32, f32, f32, f32
  // expected-error@+2 {{'llvm.store' uses a sum of wgmma that is still under way}}
  // expected-note@+1 {{hint: use what a kernel.wgmma_wait 0 gives}}
  llvm.store %e#1, %x : f32, !llvm.ptr<1>
  llvm.return
}

// -----

llvm.func @carriedSums(%x: !llvm.ptr<1>) attributes {kernel.entry = #kernel.entry<threads = 128>} {
  %s = kernel.shared 2048
  %z = llvm.mlir.constant(0.0 : f32) : f32
  %lo = arith.constant 0 : index
  %hi = arith.constant 4 : index
  %one = arith.constant 1 : index
  %r:4 = scf.for %i = %lo to %hi step %one iter_args(%a = %z, %b = %z, %c = %z, %d = %z) -> (f32, f32, f32, f32) {
    %e:4 = kernel.wgmma f16 %s[0] <none leading 128 stride 256 transposed false>, %s[0] <none leading 128 stride 256 transposed false> (%a, %b, %c, %d) : f32, f32, f32, f32
    scf.yield %e#0, %e#1, %e#2, %e#3 : f32, f32, f32, f32
  }
  // expected-error@+2 {{'llvm.fadd' uses a sum of wgmma that is still under way}}
  // expected-note@+1 {{hint: use what a kernel.wgmma_wait 0 gives}}
  %sum = llvm.fadd %r#2, %z : f32
  llvm.return
}

// -----

// expected-error@+1 {{has clusters of 16 blocks: 1 to 8}}
llvm.func @cluster() attributes {kernel.entry = #kernel.entry<threads = 32, cluster = 16>} {
  llvm.return
}

// -----

// expected-error@+1 {{is not a kernel: it has no body, or returns a value}}
llvm.func @declaration() attributes {kernel.entry = #kernel.entry<threads = 32>}

// -----

// expected-error@+1 {{is not a kernel: it has no body, or returns a value}}
llvm.func @value(%x: !llvm.ptr<1>) -> i32 attributes {kernel.entry = #kernel.entry<threads = 32>} {
  %t = kernel.thread_id
  llvm.return %t : i32
}

// -----

// expected-error@+1 {{has a parameter of type '!llvm.ptr<3>': the parameters of a kernel are buffers, !llvm.ptr<1>}}
llvm.func @shared(%s: !llvm.ptr<3>) attributes {kernel.entry = #kernel.entry<threads = 32>} {
  llvm.return
}

// -----

// Conversions of 8-bit floats become arithmetic before this pass.
llvm.func @encode(%x: !llvm.ptr<1>) attributes {kernel.entry = #kernel.entry<threads = 32>} {
  %f = llvm.mlir.constant(1.0 : f32) : f32
  // expected-error@+2 {{'kernel.encode_f8' has no emulated form}}
  // expected-note@+1 {{hint: add it to runtime/abi/mpc/emulator.h and passes/Lowering/DeviceToEmulator}}
  %c = kernel.encode_f8 %f to f8E4M3FN
  llvm.store %c, %x : i8, !llvm.ptr<1>
  llvm.return
}

// -----

llvm.func @register(%x: !llvm.ptr<1>) attributes {kernel.entry = #kernel.entry<threads = 32>} {
  // expected-error@+2 {{'nvvm.read.ptx.sreg.tid.x' has no emulated form}}
  // expected-note@+1 {{hint: say it with an op of dialects/Kernel/IR/DeviceOps.td}}
  %t = nvvm.read.ptx.sreg.tid.x : i32
  llvm.store %t, %x : i32, !llvm.ptr<1>
  llvm.return
}
