//===- Passes.h - fusion passes -------------------------------------------===//
#ifndef MPC_PASSES_FUSION_PASSES_H
#define MPC_PASSES_FUSION_PASSES_H
#include "dialects/Kernel/IR/Kernel.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mpc::fusion {

/// What a launch computes behind a matrix product or convolution.
enum class Epilogues {
  BiasRelu, ///< what libraries do: a bias per column, then relu
  Pointwise ///< any arithmetic on the elements of the result, with other tensors as operands: what generated kernels do
};

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Fusion/Passes.h.inc"
} // namespace mpc::fusion
#endif
