//===- Ranges.h - which integers a data input may hold ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_TRAIN_IR_RANGES_H
#define MPC_TRAIN_IR_RANGES_H
#include "mlir/IR/OperationSupport.h"
#include <optional>

namespace mpc::train {

/// This i64 attribute of an argument with kLabelsBelowAttr is the one label outside the bound that is allowed, because
/// the loss ignores it.
inline constexpr llvm::StringLiteral kLabelsIgnoreAttr = "train.labels_ignore";

/// This dictionary {name, shape, axis[, assumed]} on an argument that holds labels describes the output whose classes
/// lie along `axis`; messages about data that do not fit quote it. `assumed` is set when the user named no loss.
inline constexpr llvm::StringLiteral kLabelsOfAttr = "train.labels_of";

/// This i64 attribute n of an argument says that its values are in [-n, n), because they are indices of n elements.
inline constexpr llvm::StringLiteral kIndicesBelowAttr = "train.indices_below";

/// This i64 attribute n of an argument says that its values are in [0, n], because they are lengths.
inline constexpr llvm::StringLiteral kLengthsUpToAttr = "train.lengths_up_to";

/// This dictionary {lengths, blank, classes, frames[, input_lengths][, zero_infinity]} on an argument says that it
/// holds a row of classes for each sample, as many as the argument `lengths` says, none of them the blank. Frames must
/// be able to spell a row unless zero_infinity is set: there are `frames` of them, or as many as the argument
/// `input_lengths` says.
inline constexpr llvm::StringLiteral kSequencesAttr = "train.sequences";

/// These dictionaries on an argument describe the parts of it that hold labels and indices. `from` and `to` are i64
/// arrays and give the part [from, to) of a sample, without the batch's dimension; the other entries are the attributes
/// above for that part.
inline constexpr llvm::StringLiteral kPartsAttr = "train.parts";

/// Declares in an argument's attributes that its values are labels in [0, classes), or `ignored`.
/// Declarations of earlier uses of the argument stay in force: values must suit all uses.
void boundLabels(mlir::NamedAttrList &argument, mlir::MLIRContext *context, int64_t classes,
                 std::optional<int64_t> ignored);

/// Declares the same for indices of a dimension, which are in [-extent, extent).
void boundIndices(mlir::NamedAttrList &argument, mlir::MLIRContext *context, int64_t extent);

/// Declares the same for lengths, which are in [0, most].
void boundLengths(mlir::NamedAttrList &argument, mlir::MLIRContext *context, int64_t most);

/// Declares for the part [from, to) of each sample what `bound`, one of the above, declares for an argument.
/// Other parts may hold anything.
void boundPart(mlir::NamedAttrList &argument, mlir::MLIRContext *context, llvm::ArrayRef<int64_t> from,
               llvm::ArrayRef<int64_t> to, llvm::function_ref<void(mlir::NamedAttrList &)> bound);

} // namespace mpc::train
#endif
