//===- Form.h - which code computes a dispatch ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_KERNEL_ANALYSIS_FORM_H
#define MPC_KERNEL_ANALYSIS_FORM_H
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Kernel/IR/Kernel.h"
#include <optional>

namespace mpc::kernel {

/// The results of a dispatch as values and transposes of matrices, which all have one shape before they are transposed.
struct TransposedCopy {
  llvm::ArrayRef<int64_t> shape; ///< of the values; the last two dimensions are the rows and columns of the matrices
  bool hasValues = false;        ///< whether some result is not transposed
  bool hasOnlyBytes = true;      ///< whether the elements of all results have one byte
  int64_t tileBytes = 0;         ///< of the transposes' tiles, which a block has in shared memory

  /// Returns nullopt where the results are something else.
  static std::optional<TransposedCopy> of(DispatchOp dispatch);
  /// Returns the op that transposes a result; null where the result is stored as it is.
  static graph::TransposeOp transposeOf(mlir::Value yielded);
  /// Returns the type of a block's tile of a transposed result, row after row in one dimension.
  static mlir::RankedTensorType tileOf(mlir::Value yielded);

  bool fits(const GpuArch &gpu) const { return tileBytes <= gpu.sharedBytesPerBlock; }
  /// For transposes alone the loops' tiles of 32 x 32 (passes/Lowering/KernelToGpu) are as good, unless elements have
  /// one byte: storing single elements is then far from what an access can move.
  bool pays() const { return hasValues || hasOnlyBytes; }
};

/// Returns the form that the body of a dispatch has on the target of the module around it; the form that the dispatch
/// states is not read. A dispatch whose results are all empty walks over nothing and is pointwise, unless it has a
/// product. Fails with a located error where no one loop nest computes the body: its reductions are over different
/// dimensions, its results are of different sizes, or a scatter is not its only result.
mlir::FailureOr<Form> formOf(DispatchOp dispatch);

/// Holds the form that a dispatch states against its body, which is valid. Fails with a located error. Where formOf
/// gives a transposed copy, pointwise is right as well: tiles are a choice.
mlir::LogicalResult verifyForm(DispatchOp dispatch);

/// Creates a loop dispatch of these inputs; `body` makes its ops from the arguments that stand for them and returns its
/// results. The form follows from the body. Fails with a located error where the dispatch is not valid.
mlir::FailureOr<DispatchOp>
createLoops(mlir::OpBuilder &b, mlir::Location loc, llvm::StringRef name, mlir::ValueRange inputs,
            llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::OpBuilder &, mlir::ValueRange)> body);

} // namespace mpc::kernel
#endif
