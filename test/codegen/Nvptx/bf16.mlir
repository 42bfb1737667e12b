// RUN: mpc-ptx %s --arch=sm_80 | FileCheck %s
// RUN: mpc-ptx %s --arch=sm_90a | FileCheck %s
// RUN: mpc-ptx %s --arch=sm_75 | FileCheck %s --check-prefix=SM75

// Two neighbours that are stored together are converted by one instruction. Older GPUs add and cut.
// CHECK-LABEL: .entry pair(
// CHECK: cvt.rn.bf16x2.f32
// CHECK-NOT: cvt.rn.bf16
// CHECK: st.global.b32
// SM75-LABEL: .entry pair(
// SM75-NOT: cvt.rn.bf16
// SM75: 32767
llvm.func @pair(%in: !llvm.ptr<1> {llvm.noalias}, %out: !llvm.ptr<1> {llvm.noalias}) attributes {kernel.entry = #kernel.entry<threads = 32>} {
  %c16 = arith.constant 16 : i32
  %in1 = llvm.getelementptr inbounds %in[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
  %out1 = llvm.getelementptr inbounds %out[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i16
  %x0 = llvm.load %in {alignment = 16 : i64} : !llvm.ptr<1> -> f32
  %x1 = llvm.load %in1 {alignment = 4 : i64} : !llvm.ptr<1> -> f32
  %y0 = kernel.round_bf16 %x0
  %y1 = kernel.round_bf16 %x1
  %b0 = arith.bitcast %y0 : f32 to i32
  %b1 = arith.bitcast %y1 : f32 to i32
  %h0 = arith.shrui %b0, %c16 : i32
  %h1 = arith.shrui %b1, %c16 : i32
  %s0 = arith.trunci %h0 : i32 to i16
  %s1 = arith.trunci %h1 : i32 to i16
  llvm.store %s0, %out {alignment = 16 : i64} : i16, !llvm.ptr<1>
  llvm.store %s1, %out1 {alignment = 2 : i64} : i16, !llvm.ptr<1>
  llvm.return
}

// What is narrowed again behind the rounding is converted once, two numbers together.
// CHECK-LABEL: .entry narrowed(
// CHECK: cvt.rn.bf16x2.f32
// CHECK-NOT: cvt.
// CHECK: st.global.b32
// SM75-LABEL: .entry narrowed(
// SM75-NOT: cvt.rn.bf16
llvm.func @narrowed(%in: !llvm.ptr<1> {llvm.noalias}, %out: !llvm.ptr<1> {llvm.noalias}) attributes {kernel.entry = #kernel.entry<threads = 32>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %in1 = llvm.getelementptr inbounds %in[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
  %x0 = llvm.load %in {alignment = 16 : i64} : !llvm.ptr<1> -> f32
  %x1 = llvm.load %in1 {alignment = 4 : i64} : !llvm.ptr<1> -> f32
  %y0 = kernel.round_bf16 %x0
  %y1 = kernel.round_bf16 %x1
  %h0 = arith.truncf %y0 : f32 to bf16
  %h1 = arith.truncf %y1 : f32 to bf16
  %empty = llvm.mlir.poison : vector<2xbf16>
  %one = llvm.insertelement %h0, %empty[%c0 : i32] : vector<2xbf16>
  %both = llvm.insertelement %h1, %one[%c1 : i32] : vector<2xbf16>
  %bits = llvm.bitcast %both : vector<2xbf16> to i32
  llvm.store %bits, %out {alignment = 16 : i64} : i32, !llvm.ptr<1>
  llvm.return
}

// A constant NaN is rounded to the bits that the instruction gives, 0x7fff, on all GPUs.
// CHECK-LABEL: .entry constant(
// CHECK: st.global.b16 {{.*}}, 32767;
// SM75-LABEL: .entry constant(
// SM75: st.global.b16 {{.*}}, 32767;
llvm.func @constant(%out: !llvm.ptr<1> {llvm.noalias}) attributes {kernel.entry = #kernel.entry<threads = 32>} {
  %c16 = arith.constant 16 : i32
  %x = arith.constant 0x7fa00001 : f32
  %y = kernel.round_bf16 %x
  %bits = arith.bitcast %y : f32 to i32
  %half = arith.shrui %bits, %c16 : i32
  %short = arith.trunci %half : i32 to i16
  llvm.store %short, %out {alignment = 2 : i64} : i16, !llvm.ptr<1>
  llvm.return
}
// Two neighbours of bf16 that are loaded together become floats by a shift and a mask of their word, which is not cut into halves.
// CHECK-LABEL: .entry widened(
// CHECK: ld.global{{[.a-z]*}}.b32
// CHECK-NOT: cvt.
// CHECK-NOT: {{mov|prmt}}.b32 {
// CHECK-DAG: shl.b32 {{.*}}, 16;
// CHECK-DAG: and.b32 {{.*}}, -65536;
// CHECK: st.global.v2.b32
// SM75-LABEL: .entry widened(
// SM75-DAG: shl.b32 {{.*}}, 16;
// SM75-DAG: and.b32 {{.*}}, -65536;
llvm.func @widened(%in: !llvm.ptr<1> {llvm.noalias}, %out: !llvm.ptr<1> {llvm.noalias}) attributes {kernel.entry = #kernel.entry<threads = 32>} {
  %c16 = arith.constant 16 : i32
  %in1 = llvm.getelementptr inbounds %in[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i16
  %out1 = llvm.getelementptr inbounds %out[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
  %h0 = llvm.load %in {alignment = 16 : i64} : !llvm.ptr<1> -> i16
  %h1 = llvm.load %in1 {alignment = 2 : i64} : !llvm.ptr<1> -> i16
  %w0 = arith.extui %h0 : i16 to i32
  %w1 = arith.extui %h1 : i16 to i32
  %b0 = arith.shli %w0, %c16 : i32
  %b1 = arith.shli %w1, %c16 : i32
  %x0 = arith.bitcast %b0 : i32 to f32
  %x1 = arith.bitcast %b1 : i32 to f32
  %y0 = arith.mulf %x0, %x0 : f32
  %y1 = arith.mulf %x1, %x1 : f32
  llvm.store %y0, %out {alignment = 16 : i64} : f32, !llvm.ptr<1>
  llvm.store %y1, %out1 {alignment = 4 : i64} : f32, !llvm.ptr<1>
  llvm.return
}
