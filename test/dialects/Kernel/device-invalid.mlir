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

// -----
llvm.func @store(%s: !llvm.ptr<3>, %r: i32) {
  // expected-error @+1 {{stores 1, 2 or 4 matrices, not 3}}
  kernel.store_matrix %s, %r, %r, %r
  llvm.return
}

// -----
llvm.func @registers_few() {
  // expected-error @+1 {{takes 24 to 240 registers, a multiple of 8, not 16}}
  kernel.set_registers 16
  llvm.return
}

// -----
llvm.func @registers_odd() {
  // expected-error @+1 {{takes 24 to 240 registers, a multiple of 8, not 100}}
  kernel.set_registers 100 increase
  llvm.return
}

// -----
llvm.func @wait(%z: f32) {
  // expected-error @+1 {{passes through as many sums as it gets}}
  %d:2 = kernel.wgmma_wait 0 (%z) : f32, f32
  llvm.return
}

// -----
#k = #kernel.matrix_layout<b128 leading 16 stride 1024 transposed false>
llvm.func @tf32(%s: !llvm.ptr<3>) {
  // expected-error @+1 {{is of f16, bf16, e4m3 or e5m2}}
  %d:4 = kernel.wgmma tf32 %s[0] #k, %s[0] #k () : f32, f32, f32, f32
  llvm.return
}

// -----
#t = #kernel.matrix_layout<b128 leading 8192 stride 1024 transposed true>
#k = #kernel.matrix_layout<b128 leading 16 stride 1024 transposed false>
llvm.func @transposed8_a(%s: !llvm.ptr<3>) {
  // expected-error @+1 {{reads A transposed; 8-bit floats must have k contiguous in shared memory}}
  %d:4 = kernel.wgmma e5m2 by e4m3 %s[0] #t, %s[0] #k () : f32, f32, f32, f32
  llvm.return
}

// -----
#k = #kernel.matrix_layout<b128 leading 16 stride 1024 transposed false>
llvm.func @columns(%s: !llvm.ptr<3>) {
  // expected-error @+1 {{gives n / 2 sums, n a multiple of 8 up to 256, and takes as many or none; there are 3 and 0}}
  %d:3 = kernel.wgmma f16 %s[0] #k, %s[0] #k () : f32, f32, f32
  llvm.return
}

// -----
#k = #kernel.matrix_layout<b128 leading 16 stride 1024 transposed false>
llvm.func @registers(%s: !llvm.ptr<3>, %r: i32) {
  // expected-error @+1 {{takes A from shared memory, with an offset and a layout, or from 4 registers}}
  %d:4 = kernel.wgmma f16 registers(%r, %r), %s[0] #k () : f32, f32, f32, f32
  llvm.return
}

// -----
#k = #kernel.matrix_layout<b128 leading 16 stride 1024 transposed false>
llvm.func @both(%s: !llvm.ptr<3>, %r: i32) {
  // expected-error @+1 {{takes A from shared memory, with an offset and a layout, or from 4 registers}}
  %d:4 = kernel.wgmma f16 %s[0] #k registers(%r, %r, %r, %r), %s[0] #k () : f32, f32, f32, f32
  llvm.return
}

// -----
#k = #kernel.matrix_layout<b128 leading 16 stride 1024 transposed false>
llvm.func @registers8(%s: !llvm.ptr<3>, %r: i32) {
  // expected-error @+1 {{takes A of f16 or bf16 from registers, not e4m3}}
  %d:4 = kernel.wgmma e4m3 registers(%r, %r, %r, %r), %s[0] #k () : f32, f32, f32, f32
  llvm.return
}

// -----
// A tensor map is verified by itself.
// expected-error @+1 {{a tensor map has elements of whole bytes, not 'i4'}}
#bits = #kernel.tensor_map<0 : i4 sizes [64, 64] strides [128] box [64, 8] steps [1, 1] b128>

// -----
// expected-error @+1 {{a tensor map has elements of whole bytes, not '!llvm.ptr'}}
#pointers = #kernel.tensor_map<0 : !llvm.ptr sizes [64, 64] strides [128] box [64, 8] steps [1, 1] b128>

// -----
// expected-error @+1 {{a tensor map of 2 dimensions (1 to 5) has one stride less and as many steps}}
#strides_missing = #kernel.tensor_map<0 : f16 sizes [64, 64] box [64, 8] steps [1, 1] b128>

// -----
// expected-error @+1 {{a tensor map of 2 dimensions (1 to 5) has one stride less and as many steps}}
#steps_missing = #kernel.tensor_map<0 : f16 sizes [64, 64] strides [128] box [64, 8] steps [1] b128>

// -----
// expected-error @+1 {{a tensor map of 6 dimensions (1 to 5) has one stride less and as many steps}}
#rank = #kernel.tensor_map<0 : f16 sizes [8, 8, 8, 8, 8, 8] strides [16, 128, 1024, 8192, 65536] box [8, 1, 1, 1, 1, 1] steps [1, 1, 1, 1, 1, 1] none>

// -----
// expected-error @+1 {{a tensor map's strides are multiples of 16 bytes}}
#stride = #kernel.tensor_map<0 : f16 sizes [63, 64] strides [126] box [64, 8] steps [1, 1] b128>

// -----
// expected-error @+1 {{a tensor map's steps are 1 to 8, the innermost 1}}
#innermost_step = #kernel.tensor_map<0 : f16 sizes [64, 64] strides [128] box [64, 8] steps [2, 1] b128>

// -----
// expected-error @+1 {{a tensor map's steps are 1 to 8, the innermost 1}}
#large_step = #kernel.tensor_map<0 : f16 sizes [64, 64] strides [128] box [64, 8] steps [1, 9] b128>

// -----
// expected-error @+1 {{a tensor map's box has as many dimensions as the tensor; with im2col it is the number of channels, and each spatial dimension (at least one) has bounds}}
#box_rank = #kernel.tensor_map<0 : f16 sizes [64, 64] strides [128] box [64] steps [1, 1] b128>

// -----
// expected-error @+1 {{a tensor map's box has as many dimensions as the tensor; with im2col it is the number of channels}}
#bounds = #kernel.tensor_map<0 : f16 sizes [64, 8, 8, 2] strides [128, 1024, 8192] box [64] steps [1, 1, 1, 1] b128 im2col 64 lower [0] upper [0, 0]>

// -----
// expected-error @+1 {{a tensor map's box has 1 to 256 elements a dimension, and at most 1024 pixels}}
#large_box = #kernel.tensor_map<0 : f16 sizes [64, 512] strides [128] box [64, 512] steps [1, 1] b128>

// -----
// expected-error @+1 {{a tensor map's box has 1 to 256 elements a dimension, and at most 1024 pixels}}
#pixels = #kernel.tensor_map<0 : f16 sizes [64, 8, 8, 2] strides [128, 1024, 8192] box [64] steps [1, 1, 1, 1] b128 im2col 1025 lower [0, 0] upper [0, 0]>

// -----
// expected-error @+1 {{rows of a box of 64 bytes do not go with swizzle b128}}
#narrow = #kernel.tensor_map<0 : f16 sizes [64, 64] strides [128] box [32, 8] steps [1, 1] b128>

// -----
// expected-error @+1 {{rows of a box of 8 bytes do not go with swizzle none}}
#chunk = #kernel.tensor_map<0 : f16 sizes [64, 64] strides [128] box [4, 8] steps [1, 1] none>

// -----
// Ops name the maps of their kernel.
#map = #kernel.tensor_map<0 : f16 sizes [64, 64] strides [128] box [64, 8] steps [1, 1] b128>
llvm.func @position(%x: !llvm.ptr<1>, %s: !llvm.ptr<3>, %c: i32) attributes {kernel.entry = #kernel.entry<threads = 128, maps = [#map]>} {
  // expected-error @+1 {{names tensor map 1, which the kernel does not have}}
  kernel.tensor_load %s, %s map 1 [%c, %c]
  llvm.return
}

// -----
llvm.func @no_maps(%x: !llvm.ptr<1>, %s: !llvm.ptr<3>, %c: i32) attributes {kernel.entry = #kernel.entry<threads = 128>} {
  // expected-error @+1 {{names tensor map 0, which the kernel does not have}}
  kernel.tensor_store %s map 0 [%c, %c]
  llvm.return
}

// -----
// A function without an entry is no kernel.
llvm.func @no_kernel(%x: !llvm.ptr<1>, %s: !llvm.ptr<3>, %c: i32) {
  // expected-error @+1 {{names tensor map 0, which the kernel does not have}}
  kernel.tensor_store %s map 0 [%c, %c]
  llvm.return
}

// -----
#map = #kernel.tensor_map<0 : f16 sizes [64, 64] strides [128] box [64, 8] steps [1, 1] b128>
llvm.func @coordinates(%x: !llvm.ptr<1>, %s: !llvm.ptr<3>, %c: i32) attributes {kernel.entry = #kernel.entry<threads = 128, maps = [#map]>} {
  // expected-error @+1 {{has 3 coordinates in a tensor of 2 dimensions}}
  kernel.tensor_store %s map 0 [%c, %c, %c]
  llvm.return
}

// -----
#map = #kernel.tensor_map<0 : f16 sizes [64, 64] strides [128] box [64, 8] steps [1, 1] b128>
llvm.func @offsets(%x: !llvm.ptr<1>, %s: !llvm.ptr<3>, %c: i32, %o: i16) attributes {kernel.entry = #kernel.entry<threads = 128, maps = [#map]>} {
  // expected-error @+1 {{has an offset for each spatial dimension in im2col mode, and none otherwise}}
  kernel.tensor_load %s, %s map 0 [%c, %c] im2col [%o]
  llvm.return
}

// -----
#map = #kernel.tensor_map<0 : f16 sizes [64, 8, 8, 2] strides [128, 1024, 8192] box [64] steps [1, 1, 1, 1] b128 im2col 64 lower [0, 0] upper [0, 0]>
llvm.func @no_offsets(%x: !llvm.ptr<1>, %s: !llvm.ptr<3>, %c: i32) attributes {kernel.entry = #kernel.entry<threads = 128, maps = [#map]>} {
  // expected-error @+1 {{has an offset for each spatial dimension in im2col mode, and none otherwise}}
  kernel.tensor_load %s, %s map 0 [%c, %c, %c, %c]
  llvm.return
}

// -----

llvm.func @no_map() attributes {kernel.entry = #kernel.entry<threads = 32>} {
  // expected-error@+1 {{names tensor map 0, which the kernel does not have}}
  kernel.tensor_prefetch 0
  llvm.return
}

// -----
llvm.func @barrier_id() {
  // expected-error @+1 {{'kernel.barrier' op has id 0 to 15, not 16}}
  kernel.barrier {id = 16 : i32}
  llvm.return
}

// -----
llvm.func @barrier_negative() {
  // expected-error @+1 {{'kernel.barrier' op has id 0 to 15, not -1}}
  kernel.barrier {id = -1 : i32}
  llvm.return
}

// -----
llvm.func @barrier_threads() {
  // expected-error @+1 {{'kernel.barrier' op counts 32 to 1024 threads, a multiple of 32, not 48}}
  kernel.barrier {id = 1 : i32, threads = 48 : i32}
  llvm.return
}

// -----
llvm.func @barrier_no_threads() {
  // expected-error @+1 {{'kernel.barrier' op counts 32 to 1024 threads, a multiple of 32, not 0}}
  kernel.barrier {id = 1 : i32, threads = 0 : i32}
  llvm.return
}

// -----
llvm.func @barrier_many_threads() {
  // expected-error @+1 {{'kernel.barrier' op counts 32 to 1024 threads, a multiple of 32, not 1056}}
  kernel.barrier {id = 1 : i32, threads = 1056 : i32}
  llvm.return
}

// -----
llvm.func @barrier_negative_threads() {
  // expected-error @+1 {{'kernel.barrier' op counts 32 to 1024 threads, a multiple of 32, not -32}}
  kernel.barrier {id = 1 : i32, threads = -32 : i32}
  llvm.return
}

// -----
llvm.func @shared_nothing() {
  // expected-error @+1 {{'kernel.shared' op allocates at least one byte, not 0}}
  %s = kernel.shared 0
  llvm.return
}

// -----
llvm.func @shared_negative() {
  // expected-error @+1 {{'kernel.shared' op allocates at least one byte, not -16}}
  %s = kernel.shared -16
  llvm.return
}

// -----
llvm.func @shared_alignment() {
  // expected-error @+1 {{'kernel.shared' op is aligned to a power of two, not to 12}}
  %s = kernel.shared 16 {alignment = 12 : i64}
  llvm.return
}

// -----
llvm.func @shared_no_alignment() {
  // expected-error @+1 {{'kernel.shared' op is aligned to a power of two, not to 0}}
  %s = kernel.shared 16 {alignment = 0 : i64}
  llvm.return
}

// -----
llvm.func @init_none(%s: !llvm.ptr<3>) {
  // expected-error @+1 {{'kernel.mbarrier_init' op counts 1 to 1048575 arrivals, not 0}}
  kernel.mbarrier_init %s, 0
  llvm.return
}

// -----
llvm.func @init_negative(%s: !llvm.ptr<3>) {
  // expected-error @+1 {{'kernel.mbarrier_init' op counts 1 to 1048575 arrivals, not -1}}
  kernel.mbarrier_init %s, -1
  llvm.return
}

// -----
llvm.func @init_many(%s: !llvm.ptr<3>) {
  // expected-error @+1 {{'kernel.mbarrier_init' op counts 1 to 1048575 arrivals, not 1048576}}
  kernel.mbarrier_init %s, 1048576
  llvm.return
}

// -----
llvm.func @expect_many(%s: !llvm.ptr<3>) {
  // expected-error @+1 {{'kernel.mbarrier_expect' op expects 0 to 1048575 bytes, not 1048576}}
  kernel.mbarrier_expect %s, 1048576
  llvm.return
}

// -----
llvm.func @expect_negative(%s: !llvm.ptr<3>) {
  // expected-error @+1 {{'kernel.mbarrier_expect' op expects 0 to 1048575 bytes, not -16}}
  kernel.mbarrier_expect %s, -16
  llvm.return
}
