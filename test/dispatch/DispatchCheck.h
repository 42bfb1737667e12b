//===- DispatchCheck.h - every dispatch of a module, on the evaluator's own inputs -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The evaluator, in Rounded mode, runs entries of a planned module. Each kernel.dispatch that it meets is also run as
// compiled, and its results must be within the dispatch's enclosure (Enclosure.h).
//
//===----------------------------------------------------------------------===//
#ifndef MPC_TEST_DISPATCH_DISPATCHCHECK_H
#define MPC_TEST_DISPATCH_DISPATCHCHECK_H
#include "Executor.h"
#include "compiler/Evaluator/Evaluator.h"

namespace mpc::test {

class DispatchCheck {
public:
  /// Compiles the dispatches of these entries that the executor takes.
  DispatchCheck(Executor &executor, mlir::ModuleOp module, llvm::ArrayRef<llvm::StringRef> entries);
  /// Whether a line is printed for each result that is compared.
  bool verbose = true;
  /// Whether results must equal the evaluator's.
  bool exact = false;

  /// Runs an entry by the evaluator alone, for the state that it leaves.
  void evaluate(llvm::StringRef entry, llvm::ArrayRef<HostTensor> inputs);
  /// Runs an entry and compares the results of its dispatches.
  void compare(llvm::StringRef entry, llvm::ArrayRef<HostTensor> inputs);
  /// Expects that every dispatch was compared.
  void expectAll() const;

private:
  void observe(mlir::Operation *op, llvm::ArrayRef<HostTensor> operands, llvm::ArrayRef<HostTensor> results);

  Executor &executor;
  Evaluator evaluator;
  llvm::SmallVector<kernel::DispatchOp> dispatches;
  size_t compared = 0;
};

} // namespace mpc::test
#endif
