//===- Blocks.cpp - the sizes of blocks as text ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Kernel/Target/Blocks.h"
#include "llvm/Support/FormatVariadic.h"

std::string mpc::blockSizes() {
  return llvm::formatv("{0} to {1} threads, a multiple of {0}", warpThreads, mostBlockThreads);
}
