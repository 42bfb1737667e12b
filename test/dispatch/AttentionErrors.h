//===- AttentionErrors.h - attention in double, and how far its kernels may be from it ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_TEST_DISPATCH_ATTENTIONERRORS_H
#define MPC_TEST_DISPATCH_ATTENTIONERRORS_H
#include "compiler/Evaluator/HostTensor.h"

namespace mpc::test {

/// The results of a graph.attention or graph.attention_grad in double, by the formulas of its
/// description, and how far those of a kernel may be from them: p and ds are rounded once to the element type, as the
/// results are, and arithmetic besides is in f32.
struct AttentionNumbers {
  std::vector<std::vector<double>> results, errors; ///< one for each result of the op
};
AttentionNumbers computeAttention(mlir::Operation *op, llvm::ArrayRef<HostTensor> operands);

} // namespace mpc::test
#endif
