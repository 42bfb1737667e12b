//===- Mma.h - sums of products by the tensor cores ---------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_LOWERING_HEROTOGPU_MMA_H
#define MPC_LOWERING_HEROTOGPU_MMA_H
#include "passes/Lowering/HeroToGpu/MainKernel.h"

namespace mpc::hero {

/// Emits a kernel with a block for each work item; operands are f16 or bf16. The sink gets drainNeighbours sums at
/// once. It needs no tensor maps.
llvm::SmallVector<kernel::TensorMapAttr> emitMma(const MainKernel &main);

} // namespace mpc::hero
#endif
