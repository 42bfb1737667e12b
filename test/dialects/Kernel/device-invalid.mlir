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

// -----
#t = #kernel.matrix_layout<b128 leading 8192 stride 1024 transposed true>
#k = #kernel.matrix_layout<b128 leading 16 stride 1024 transposed false>
llvm.func @transposed8(%s: !llvm.ptr<3>) {
  // expected-error @+1 {{reads B transposed; 8-bit floats must have k contiguous in shared memory}}
  %d:4 = kernel.wgmma e4m3 %s[0] #k, %s[0] #t () : f32, f32, f32, f32
  llvm.return
}

// -----
#k = #kernel.matrix_layout<b128 leading 16 stride 1024 transposed false>
llvm.func @mixed(%s: !llvm.ptr<3>) {
  // expected-error @+1 {{multiplies f16 by e4m3; only e4m3 and e5m2 go together}}
  %d:4 = kernel.wgmma f16 by e4m3 %s[0] #k, %s[0] #k () : f32, f32, f32, f32
  llvm.return
}

// -----
#k = #kernel.matrix_layout<b128 leading 16 stride 1024 transposed false>
llvm.func @half8(%s: !llvm.ptr<3>) {
  // expected-error @+1 {{multiplies e5m2 by bf16; only e4m3 and e5m2 go together}}
  %d:4 = kernel.wgmma e5m2 by bf16 %s[0] #k, %s[0] #k () : f32, f32, f32, f32
  llvm.return
}

// -----
#k = #kernel.matrix_layout<b128 leading 16 stride 1024 transposed false>
llvm.func @sums(%s: !llvm.ptr<3>, %z: f32) {
  // expected-error @+1 {{gives n / 2 sums, n a multiple of 8 up to 256, and takes as many or none; there are 4 and 1}}
  %d:4 = kernel.wgmma e5m2 %s[0] #k, %s[0] #k (%z) : f32, f32, f32, f32
  llvm.return
}

// -----
llvm.func @mma8(%r: i32, %z: f32) {
  // expected-error @+1 {{has no form with k = 16 for e4m3}}
  %d:4 = kernel.mma e4m3 16 (%r, %r, %r, %r) (%r, %r) (%z, %z, %z, %z)
  llvm.return
}
