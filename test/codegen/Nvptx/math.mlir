// RUN: mpc-ptx %s --arch=sm_60 | FileCheck %s
// RUN: mpc-ptx %s --arch=sm_90a | FileCheck %s

// Every function compiles to straight code without calls and without local memory; only the remainder has a loop.
// CHECK-NOT: call
// CHECK-NOT: .local
// CHECK: .entry functions(
// CHECK-NOT: bra
// CHECK: .entry doubles(
// CHECK-NOT: bra
// CHECK: .entry vectors(
// CHECK-NOT: bra
// CHECK: .entry remainders(
// CHECK: bra
// CHECK-NOT: call
llvm.func @functions(%x: f32, %y: f32, %out: !llvm.ptr<1>) attributes {kernel.entry = #kernel.entry<threads = 32>} {
  %0 = math.exp %x : f32
  %1 = math.expm1 %0 : f32
  %2 = math.log %1 : f32
  %3 = math.log1p %2 : f32
  %4 = math.sin %3 : f32
  %5 = math.cos %4 : f32
  %6 = math.tan %5 : f32
  %7 = math.asin %6 : f32
  %8 = math.acos %7 : f32
  %9 = math.atan %8 : f32
  %10 = math.sinh %9 : f32
  %11 = math.cosh %10 : f32
  %12 = math.tanh %11 : f32
  %13 = math.asinh %12 : f32
  %14 = math.acosh %13 : f32
  %15 = math.atanh %14 : f32
  %16 = math.erf %15 : f32
  %17 = math.erfc %16 : f32
  %18 = math.powf %17, %y : f32
  %19 = math.sqrt %18 : f32
  %20 = math.floor %19 : f32
  %21 = math.ceil %20 : f32
  %22 = math.roundeven %21 : f32
  %23 = math.absf %22 : f32
  %24 = math.copysign %23, %y : f32
  llvm.store %24, %out : f32, !llvm.ptr<1>
  llvm.return
}
llvm.func @doubles(%x: f64, %y: f64, %out: !llvm.ptr<1>) attributes {kernel.entry = #kernel.entry<threads = 32>} {
  %0 = math.exp %x : f64
  %1 = math.expm1 %0 : f64
  %2 = math.log %1 : f64
  %3 = math.log1p %2 : f64
  %4 = math.sin %3 : f64
  %5 = math.cos %4 : f64
  %6 = math.tan %5 : f64
  %7 = math.asin %6 : f64
  %8 = math.acos %7 : f64
  %9 = math.atan %8 : f64
  %10 = math.sinh %9 : f64
  %11 = math.cosh %10 : f64
  %12 = math.tanh %11 : f64
  %13 = math.asinh %12 : f64
  %14 = math.acosh %13 : f64
  %15 = math.atanh %14 : f64
  %16 = math.erf %15 : f64
  %17 = math.erfc %16 : f64
  %18 = math.powf %17, %y : f64
  %19 = math.roundeven %18 : f64
  llvm.store %19, %out : f64, !llvm.ptr<1>
  llvm.return
}
llvm.func @vectors(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {kernel.entry = #kernel.entry<threads = 32>} {
  %x = llvm.load %in {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
  %0 = math.exp %x : vector<4xf32>
  %1 = math.powf %0, %x : vector<4xf32>
  llvm.store %1, %out {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
  llvm.return
}
llvm.func @remainders(%x: f32, %y: f32, %v: f64, %w: f64, %out: !llvm.ptr<1>) attributes {kernel.entry = #kernel.entry<threads = 32>} {
  %0 = arith.remf %x, %y : f32
  %1 = arith.remf %v, %w : f64
  llvm.store volatile %0, %out : f32, !llvm.ptr<1>
  llvm.store volatile %1, %out : f64, !llvm.ptr<1>
  llvm.return
}
