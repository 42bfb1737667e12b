//===- Specs.h - the textual descriptions of losses, steps and optimizers -----===//
#ifndef MPC_PASSES_TRAINING_SPECS_H
#define MPC_PASSES_TRAINING_SPECS_H
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SmallVector.h"

namespace mpc::training {

/// A train.step is made of these strings, which are as the user wrote them.
struct StepSpec {
  std::string name, loss, parameters, optimizer, scaler;
};

/// Parses `NAME:loss=FORM:A:B:params=REGEX:optimizer=...` over the defaults in `base`: a segment without a
/// known `key=` belongs to the value before it, so that loss forms keep their colons.
mlir::FailureOr<StepSpec> parseStepSpec(mlir::Location loc, llvm::StringRef text, const StepSpec &base);

/// Parses `NAME,key=value,...` to {`head` = "NAME", key = value...}: numbers become f64, true and false become bool, and the rest become
/// strings; several numbers between slashes become an array (`betas=0.9/0.999`). The reader of the dictionary checks which keys exist.
mlir::FailureOr<mlir::DictionaryAttr> parseDictionary(mlir::Location loc, llvm::StringRef head,
                                                      llvm::StringRef text);

/// Parses `REGEX:lr=2,weight_decay=0` to {match = "REGEX", ...}. The last colon separates the two parts.
mlir::FailureOr<mlir::DictionaryAttr> parseGroup(mlir::Location loc, llvm::StringRef text);

} // namespace mpc::training
#endif
