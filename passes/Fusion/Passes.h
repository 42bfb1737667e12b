//===- Passes.h - fusion passes -------------------------------------------===//
#ifndef MPC_PASSES_FUSION_PASSES_H
#define MPC_PASSES_FUSION_PASSES_H
#include "dialects/Kernel/IR/Kernel.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mpc::fusion {

/// What a launch computes behind a matrix product or convolution.
enum class Epilogues {
  Bias, ///< what libraries do: a bias per column. (Their relu gives 0 for NaN, by the CPU's maximum, where ours gives NaN.)
  Pointwise ///< any arithmetic on the elements of the result, with other tensors as operands: what generated kernels do
};

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Fusion/Passes.h.inc"
} // namespace mpc::fusion
#endif
