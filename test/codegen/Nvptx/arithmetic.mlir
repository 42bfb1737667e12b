// RUN: mpc-ptx %s --arch=sm_80 | FileCheck %s
// RUN: mpc-ptx %s --arch=sm_75 | FileCheck %s --check-prefix=SM75
// RUN: mpc-ptx %s --arch=sm_60 | FileCheck %s --check-prefix=SM75

// Operations round as on the host: neither LLVM nor ptxas (.rn) contracts them, and division and root are IEEE's.
// CHECK-LABEL: .entry roundings(
// CHECK-NOT: fma
// CHECK: mul.rn.f32
// CHECK: add.rn.f32
// CHECK: div.rn.f32
// CHECK: sqrt.rn.f32
// CHECK: fma.rn.f32
llvm.func @roundings(%x: f32, %y: f32, %out: !llvm.ptr<1>) attributes {kernel.entry = #kernel.entry<threads = 32>} {
  %0 = arith.mulf %x, %y : f32
  %1 = arith.addf %0, %x : f32
  %2 = arith.divf %1, %y : f32
  %3 = math.sqrt %2 : f32
  %4 = math.fma %3, %x, %y : f32
  llvm.store %4, %out : f32, !llvm.ptr<1>
  llvm.return
}

// From sm_80 on an instruction converts to bf16, and before that integer arithmetic does.
// CHECK-LABEL: .entry conversions(
// CHECK: cvt.rn.f16.f32
// CHECK: cvt.rn.bf16.f32
// SM75-LABEL: .entry conversions(
// SM75: cvt.rn.f16.f32
// SM75-NOT: bf16
// SM75: ret;
llvm.func @conversions(%x: f32, %out: !llvm.ptr<1>) attributes {kernel.entry = #kernel.entry<threads = 32>} {
  %h = arith.truncf %x : f32 to f16
  llvm.store volatile %h, %out : f16, !llvm.ptr<1>
  %b = arith.truncf %x : f32 to bf16
  llvm.store volatile %b, %out : bf16, !llvm.ptr<1>
  llvm.return
}

// These maxima are NaN if an operand is.
// CHECK-LABEL: .entry maxima(
// CHECK: max.NaN.f32
// SM75-LABEL: .entry maxima(
// SM75: max.f32
// SM75: ret;
llvm.func @maxima(%x: f32, %y: f32, %out: !llvm.ptr<1>) attributes {kernel.entry = #kernel.entry<threads = 32>} {
  %m = arith.maximumf %x, %y : f32
  llvm.store %m, %out : f32, !llvm.ptr<1>
  llvm.return
}

// Sums keep their order, whatever flags let host loops be vectorised.
// CHECK-LABEL: .entry sums(
// CHECK: ld.param.b32 [[X:%r[0-9]+]], [sums_param_0];
// CHECK: add.rn.f32 [[S:%r[0-9]+]], [[X]], 0f4B800000;
// CHECK: add.rn.f32 %r{{[0-9]+}}, [[S]], 0fCB800000;
llvm.func @sums(%x: f32, %out: !llvm.ptr<1>) attributes {kernel.entry = #kernel.entry<threads = 32>} {
  %big = arith.constant 16777216.0 : f32
  %minus = arith.constant -16777216.0 : f32
  %0 = arith.addf %x, %big fastmath<reassoc> : f32
  %1 = arith.addf %0, %minus fastmath<reassoc,nsz> : f32
  llvm.store %1, %out : f32, !llvm.ptr<1>
  llvm.return
}
