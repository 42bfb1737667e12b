//===- PassRun.h - a training program through passes and the evaluator -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_TEST_PASSES_NUMERIC_PASSRUN_H
#define MPC_TEST_PASSES_NUMERIC_PASSRUN_H
#include "compiler/Evaluator/Evaluator.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include <memory>

namespace mpc::test {

/// Runs a module in MLIR text that a pass pipeline has lowered.
class PassRun {
public:
  /// `passes` is the textual pipeline inside the module. Fails the test when something does not parse or verify.
  PassRun(llvm::StringRef ir, llvm::StringRef passes, EvalMode mode = EvalMode::Rounded);

  /// Runs @main on one f32 input, which has the type of its first argument; returns the loss.
  double step(std::vector<double> input);
  /// Returns the elements of a variable.
  std::vector<double> &operator[](llvm::StringRef variable) { return evaluator->variable(variable).values; }
  /// Returns all variables but those of the scaler, by name.
  std::vector<std::pair<std::string, std::vector<double>>> stateWithoutScaler();

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::unique_ptr<Evaluator> evaluator;
};

/// Returns a step that trains @w : tensor<2xf32> from [1, -2] with loss sum(w * x), so that the gradient is
/// x. `attributes` are all attributes of the step except `parameters`.
std::string linearStep(llvm::StringRef attributes);

} // namespace mpc::test
#endif
