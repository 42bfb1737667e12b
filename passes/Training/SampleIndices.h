//===- SampleIndices.h - indices that stay within their sample -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PASSES_TRAINING_SAMPLEINDICES_H
#define MPC_PASSES_TRAINING_SAMPLEINDICES_H
#include "mlir/IR/Value.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <optional>

namespace mpc::training {

/// Returns the dimension of `indices` whose index i names elements of sample i alone, of a row in which element e
/// belongs to sample e / inner % samples; nullopt where none is known. Importers write such indices for GatherND,
/// GatherElements and others: i * inner + j with j in [0, inner). `follows(term, dim)` says whether sample i alone
/// decides a term of the sum at index i of its dimension. `below(argument)` returns n where the values of an argument
/// are checked to lie in [0, n).
std::optional<int64_t> ownIndicesDim(mlir::Value indices, int64_t samples, int64_t inner,
                                     llvm::function_ref<bool(mlir::Value term, int64_t dim)> follows,
                                     llvm::function_ref<std::optional<int64_t>(mlir::Value argument)> below);

} // namespace mpc::training
#endif
