// REQUIRES: ptxas
// RUN: mpc-ptx %s --arch=sm_75 --emit=none --ptxas | FileCheck %s --check-prefix=SM75
// RUN: mpc-ptx %s --arch=sm_80 --emit=none --ptxas --modules=3 --jobs=2 | FileCheck %s
// RUN: mpc-ptx %s --arch=sm_86 --emit=none --ptxas | FileCheck %s --check-prefix=SM75
// RUN: mpc-ptx %s --arch=sm_89 --emit=none --ptxas | FileCheck %s --check-prefix=SM75
// RUN: mpc-ptx %s --arch=sm_90a --emit=none --ptxas | FileCheck %s

// The compiler reads the report of ptxas into a table of its own. `bounded` has too few registers for its values on purpose
// (sm_75, sm_86 and sm_89 have no room for two blocks of 1024 threads, so ptxas ignores the bound).
// CHECK-DAG: simple: {{[1-9][0-9]*}} registers, 0 stack, 0 spill stores, 0 spill loads, 256 shared, 0 dynamic shared, 1 barriers
// CHECK-DAG: dynamic: {{[1-9][0-9]*}} registers, 0 stack, 0 spill stores, 0 spill loads, 0 shared, 50000 dynamic shared
// CHECK-DAG: bounded: 32 registers, {{[1-9][0-9]*}} stack, {{[1-9][0-9]*}} spill stores, {{[1-9][0-9]*}} spill loads
// SM75-DAG: simple: {{[1-9][0-9]*}} registers, 0 stack
// SM75-DAG: bounded: {{[4-9][0-9]}} registers, 0 stack, 0 spill stores
llvm.func @simple(%out: !llvm.ptr<1>) attributes {kernel.entry = #kernel.entry<threads = 64>} {
  %t = kernel.thread_id
  %s = kernel.shared 256
  %one = arith.constant 1 : i32
  %p = llvm.getelementptr inbounds %s[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  llvm.store %t, %p : i32, !llvm.ptr<3>
  kernel.barrier
  %v = llvm.load %s : !llvm.ptr<3> -> i32
  llvm.store %v, %out : i32, !llvm.ptr<1>
  llvm.return
}

llvm.func @dynamic(%out: !llvm.ptr<1>) attributes {kernel.entry = #kernel.entry<threads = 64>} {
  %s = kernel.shared 50000
  %v = llvm.load %s : !llvm.ptr<3> -> i32
  llvm.store %v, %out : i32, !llvm.ptr<1>
  llvm.return
}

llvm.func @bounded(%out: !llvm.ptr<1>) attributes {kernel.entry = #kernel.entry<threads = 1024, min_blocks = 2>} {
  %t = kernel.thread_id
  %p = llvm.getelementptr inbounds %out[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<16xf32>
  %p1 = llvm.getelementptr inbounds %p[1024] : (!llvm.ptr<1>) -> !llvm.ptr<1>, vector<16xf32>
  %p2 = llvm.getelementptr inbounds %p[2048] : (!llvm.ptr<1>) -> !llvm.ptr<1>, vector<16xf32>
  %a = llvm.load volatile %p {alignment = 16 : i64} : !llvm.ptr<1> -> vector<16xf32>
  %b = llvm.load volatile %p1 {alignment = 16 : i64} : !llvm.ptr<1> -> vector<16xf32>
  %c = llvm.load volatile %p2 {alignment = 16 : i64} : !llvm.ptr<1> -> vector<16xf32>
  kernel.barrier
  llvm.store volatile %c, %p {alignment = 16 : i64} : vector<16xf32>, !llvm.ptr<1>
  llvm.store volatile %b, %p1 {alignment = 16 : i64} : vector<16xf32>, !llvm.ptr<1>
  llvm.store volatile %a, %p2 {alignment = 16 : i64} : vector<16xf32>, !llvm.ptr<1>
  llvm.return
}
