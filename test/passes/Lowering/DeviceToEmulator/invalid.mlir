// RUN: mpc-opt --mpc-device-to-emulator --split-input-file --verify-diagnostics %s

// expected-error@+1 {{has 48 : i32 threads: a block has a multiple of 32 of them, at most 1024}}
llvm.func @threads() attributes {kernel.threads = 48 : i32} {
  llvm.return
}

// -----

// expected-error@+1 {{has a parameter of type 'i32': the parameters of a kernel are buffers, !llvm.ptr<1>}}
llvm.func @scalar(%n: i32) attributes {kernel.threads = 32 : i32} {
  llvm.return
}

// -----

llvm.func @assembly() attributes {kernel.threads = 32 : i32} {
  // expected-error@+2 {{'llvm.inline_asm' has no emulated form}}
  // expected-note@+1 {{hint: say it with an op of dialects/Kernel/IR/DeviceOps.td}}
  llvm.inline_asm has_side_effects "bar.sync 0;", "" : () -> ()
  llvm.return
}

// -----

llvm.func @generic(%x: !llvm.ptr<1>) attributes {kernel.threads = 32 : i32} {
  // expected-error@+2 {{generic pointers are not emulated}}
  // expected-note@+1 {{hint: keep the address space of the pointer}}
  %p = llvm.addrspacecast %x : !llvm.ptr<1> to !llvm.ptr
  llvm.return
}

// -----

llvm.func @copy(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>) attributes {kernel.threads = 32 : i32} {
  %n = llvm.mlir.constant(64 : i64) : i64
  // expected-error@+2 {{'llvm.intr.memcpy' on device memory has no emulated form}}
  // expected-note@+1 {{hint: use loads, stores, atomics}}
  "llvm.intr.memcpy"(%x, %y, %n) <{isVolatile = false}> : (!llvm.ptr<1>, !llvm.ptr<1>, i64) -> ()
  llvm.return
}
