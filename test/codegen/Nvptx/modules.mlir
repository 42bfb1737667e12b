// RUN: mpc-ptx %s --modules=2 --jobs=1 > %t.1
// RUN: mpc-ptx %s --modules=2 --jobs=2 > %t.2
// RUN: cmp %t.1 %t.2
// RUN: FileCheck %s < %t.2

// Kernels are dealt to the modules in turn, each with the globals that it uses; the result does not depend on the number of threads.
// CHECK: .version
// CHECK: table
// CHECK: .entry k0(
// CHECK: .entry k2(
// CHECK: .version
// CHECK-NOT: table
// CHECK: .entry k1(
// CHECK-NOT: .entry
llvm.mlir.global private constant @table(dense<[1.0, 2.0, 3.0]> : tensor<3xf32>) : !llvm.array<3 x f32>
llvm.func @k0(%out: !llvm.ptr<1>) attributes {kernel.entry = #kernel.entry<threads = 64>} {
  %t = kernel.thread_id
  %table = llvm.mlir.addressof @table : !llvm.ptr
  %p = llvm.getelementptr inbounds %table[%t] : (!llvm.ptr, i32) -> !llvm.ptr, f32
  %v = llvm.load %p : !llvm.ptr -> f32
  llvm.store %v, %out : f32, !llvm.ptr<1>
  llvm.return
}
llvm.func @k1(%out: !llvm.ptr<1>) attributes {kernel.entry = #kernel.entry<threads = 64>} {
  llvm.return
}
llvm.func @k2(%out: !llvm.ptr<1>) attributes {kernel.entry = #kernel.entry<threads = 64>} {
  llvm.return
}
