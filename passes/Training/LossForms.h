//===- LossForms.h - the losses that a user can ask for ------------------------===//
#ifndef MPC_PASSES_TRAINING_LOSSFORMS_H
#define MPC_PASSES_TRAINING_LOSSFORMS_H
#include "passes/Training/Entries.h"

namespace mpc::training {

/// The scalar fp32 loss that `spec` (`FORM:PREDICTION:TARGET`, `output:NAME`, or "" for the first scalar
/// float output) describes, built at the end of the entry; inputs are added where needed. Fails with a
/// diagnostic.
mlir::FailureOr<mlir::Value> attachLoss(EntryBuilder &entry, llvm::StringRef spec);

/// The name of the network's output that is the loss itself, for `output:NAME` and ""; "" for the other
/// forms.
std::string lossOutput(const EntryBuilder &entry, llvm::StringRef spec);

} // namespace mpc::training
#endif
