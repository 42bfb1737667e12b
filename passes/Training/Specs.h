//===- Specs.h - the textual descriptions of losses, steps and optimizers -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PASSES_TRAINING_SPECS_H
#define MPC_PASSES_TRAINING_SPECS_H
#include "dialects/Train/IR/Train.h"

namespace mpc::training {

/// A train.step is made of these strings, which are as the user wrote them.
struct StepSpec {
  std::string name, loss, parameters, optimizer, scaler;
  int64_t every = 1; ///< the step runs on each batch whose number, counted from 1, is a multiple of it
};

/// Parses `NAME:loss=FORM:A:B:params=REGEX:optimizer=...:every=K` over the defaults in `base`: a segment without a
/// known `key=` belongs to the value before it, so that loss forms keep their colons.
mlir::FailureOr<StepSpec> parseStepSpec(mlir::Location loc, llvm::StringRef text, const StepSpec &base);

/// Splits `key=value` pairs, which are separated by commas. Reports, with a hint at `loc`, what is no such pair, and a
/// key that is given twice.
mlir::FailureOr<llvm::SmallVector<std::pair<llvm::StringRef, llvm::StringRef>>> parsePairs(mlir::Location loc,
                                                                                           llvm::StringRef text);

// This is the only place that reads what a user wrote about optimizers, loss scalers and parameter groups. The
// functions report mistakes with a hint at `loc` and return null then; the attributes know which keys there are and
// what their values may be.

/// Parses `NAME,hyperparameter=value,...`. A value is a number, true or false; `betas=0.9/0.999` gives beta1 and beta2.
train::OptimizerAttr parseOptimizer(mlir::Location loc, llvm::StringRef text);

/// Parses `KIND,option=value,...`.
train::ScalerAttr parseScaler(mlir::Location loc, llvm::StringRef text);

/// Parses `REGEX:lr=2,weight_decay=0` or `@norms,@biases:wd=0`, where the last colon separates the two parts.
train::GroupAttr parseGroup(mlir::Location loc, llvm::StringRef text);

} // namespace mpc::training
#endif
