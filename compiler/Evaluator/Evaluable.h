//===- Evaluable.h - interface of ops that the evaluator can run --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_EVALUATOR_EVALUABLE_H
#define MPC_EVALUATOR_EVALUABLE_H
#include "compiler/Evaluator/HostTensor.h"
#include "mlir/IR/OpDefinition.h"

namespace mpc {

enum class EvalMode {
  /// Float types are real numbers: values are float64, without rounding.
  Exact,
  /// Each result is rounded once to its element type.
  Rounded,
};

/// One evaluation of one op.
struct Evaluation {
  llvm::ArrayRef<HostTensor> operands;
  llvm::MutableArrayRef<HostTensor> results;
  EvalMode mode;
};

} // namespace mpc

#include "compiler/Evaluator/Evaluable.h.inc"
#endif
