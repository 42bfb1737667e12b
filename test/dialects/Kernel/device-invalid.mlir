// RUN: mpc-opt %s --split-input-file --verify-diagnostics

llvm.func @copy(%x: !llvm.ptr<1>, %s: !llvm.ptr<3>) {
  // expected-error @+1 {{copies 4, 8 or 16 bytes, not 12}}
  kernel.copy_async %s, %x, 12
  llvm.return
}

// -----
llvm.func @load(%s: !llvm.ptr<3>) {
  // expected-error @+1 {{loads 1, 2 or 4 matrices, not 3}}
  %m:3 = kernel.load_matrix %s : i32, i32, i32
  llvm.return
}

// -----
llvm.func @mma(%r: i32, %z: f32) {
  // expected-error @+1 {{has no form with k = 8 for bf16}}
  %d:4 = kernel.mma bf16 8 (%r, %r) (%r) (%z, %z, %z, %z)
  llvm.return
}

// -----
llvm.func @registers(%r: i32, %z: f32) {
  // expected-error @+1 {{takes 4, 2 and 4 registers}}
  %d:4 = kernel.mma f16 16 (%r, %r) (%r) (%z, %z, %z, %z)
  llvm.return
}
