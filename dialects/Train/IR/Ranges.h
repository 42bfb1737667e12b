//===- Ranges.h - which integers a data input may hold ---------------------------===//
#ifndef MPC_TRAIN_IR_RANGES_H
#define MPC_TRAIN_IR_RANGES_H
#include "mlir/IR/OperationSupport.h"
#include <optional>

namespace mpc::train {

/// i64, on an argument with kLabelsBelowAttr: the one label outside the bound that is allowed, because the
/// loss ignores it.
inline constexpr llvm::StringLiteral kLabelsIgnoreAttr = "train.labels_ignore";

/// Dictionary, on an argument that holds labels: {name, shape, axis[, assumed]}, the output whose classes lie along
/// `axis`, for messages about data that do not fit. `assumed`: the user named no loss.
inline constexpr llvm::StringLiteral kLabelsOfAttr = "train.labels_of";

/// i64, on an argument: values are in [-n, n), indices of n elements.
inline constexpr llvm::StringLiteral kIndicesBelowAttr = "train.indices_below";

/// Dictionaries, on an argument: labels and indices that are a part of it. `from` and `to`, i64 arrays: the
/// part [from, to) of a sample, without the batch's dimension; with the attributes above for that part.
inline constexpr llvm::StringLiteral kPartsAttr = "train.parts";

/// Declares in an argument's attributes that its values are labels in [0, classes), or `ignored`. What an
/// earlier use of the argument declared keeps its force: values must suit all uses.
void boundLabels(mlir::NamedAttrList &argument, mlir::MLIRContext *context, int64_t classes,
                 std::optional<int64_t> ignored);

/// The same for indices of a dimension, in [-extent, extent).
void boundIndices(mlir::NamedAttrList &argument, mlir::MLIRContext *context, int64_t extent);

/// Declares for the part [from, to) of each sample what `bound`, one of the above, declares for an argument.
/// Other parts may hold anything.
void boundPart(mlir::NamedAttrList &argument, mlir::MLIRContext *context, llvm::ArrayRef<int64_t> from,
               llvm::ArrayRef<int64_t> to, llvm::function_ref<void(mlir::NamedAttrList &)> bound);

} // namespace mpc::train
#endif
