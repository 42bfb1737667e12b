//===- SharedMemory.cpp - how a block's shared memory is divided -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Kernel/IR/SharedMemory.h"
#include "llvm/Support/MathExtras.h"

using namespace mpc::kernel;

SharedMemory::SharedMemory(mlir::Operation *kernel) {
  kernel->walk([&](SharedOp piece) { add(piece); });
}

int64_t SharedMemory::add(SharedOp piece) {
  int64_t offset = llvm::alignTo(bytes, piece.getAlignment());
  bytes = offset + piece.getBytes();
  alignment = std::max<int64_t>(alignment, piece.getAlignment());
  return offset;
}
