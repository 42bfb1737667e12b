//===- Simt.h - sums of products by multiply-adds --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_LOWERING_HEROTOGPU_SIMT_H
#define MPC_LOWERING_HEROTOGPU_SIMT_H
#include "passes/Lowering/HeroToGpu/MainKernel.h"

namespace mpc::hero {

/// Emits a kernel with a block for each work item; operands are of 16, 32 or 64 bits. The sink gets 4 sums at once. It
/// needs no tensor maps.
llvm::SmallVector<kernel::TensorMapAttr> emitSimt(const MainKernel &main);

} // namespace mpc::hero
#endif
