// The line that says `many` becomes 256.
// RUN: sed '/many/{h;G;h;G;h;G;h;G;h;G;h;G;h;G;h;G;}' %s > %t.mlir
// RUN: sed '/one more/d' %t.mlir | mpc-opt --mpc-device-to-emulator | FileCheck %s --check-prefix=MOST
// RUN: not mpc-opt --mpc-device-to-emulator %t.mlir 2>&1 | FileCheck %s

// MOST: llvm.mlir.global {{.*}} @k.about("mpc-emulated 1
// MOST-SAME: shared 16 16
// CHECK: error: 'kernel.shared' op exceeds the limit of 256 shared allocations
// CHECK-NEXT: kernel.shared 32 {{.*}}one more
// CHECK-NOT: error
llvm.func @k() attributes {kernel.entry = #kernel.entry<threads = 32>} {
  kernel.shared 16 // many
  kernel.shared 32 // one more
  llvm.return
}
