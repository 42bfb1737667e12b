// RUN: mpc-opt %s | FileCheck %s

// The op has a pointer of the llvm dialect, also where no op of that dialect has been read before.
// CHECK: kernel.shared 8
%s = kernel.shared 8
