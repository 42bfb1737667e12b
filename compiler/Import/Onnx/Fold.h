//===- Fold.h - data movement on host tensors --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_IMPORT_ONNX_FOLD_H
#define MPC_IMPORT_ONNX_FOLD_H
#include "compiler/Import/Onnx/Node.h"

namespace mpc::onnx_import {

/// Whether input i is known and small enough to be moved at import.
bool foldable(Node &, size_t i);
bool foldable(Entry &);

/// The most elements that a result of data movement at import has.
inline constexpr int64_t kMaxMoved = 1 << 20;

/// The caller checks the arguments.
HostTensor foldSlice(const HostTensor &, llvm::ArrayRef<int64_t> starts, llvm::ArrayRef<int64_t> sizes,
                     llvm::ArrayRef<int64_t> strides);
HostTensor foldTranspose(const HostTensor &, llvm::ArrayRef<int64_t> permutation);
HostTensor foldBroadcast(const HostTensor &, llvm::ArrayRef<int64_t> shape);
HostTensor foldConcat(llvm::ArrayRef<HostTensor>, int64_t axis);
/// The same for values; where they are not known, ops are built.
Entry reshaped(Node &, Entry &, llvm::ArrayRef<int64_t> shape);
Entry sliced(Node &, Entry &, llvm::ArrayRef<int64_t> starts, llvm::ArrayRef<int64_t> sizes,
             llvm::ArrayRef<int64_t> strides);
Entry concatenated(Node &, llvm::ArrayRef<Entry *>, int64_t axis);
/// The indices must be in range, and none of them negative.
HostTensor foldGather(const HostTensor &, llvm::ArrayRef<int64_t> indices, llvm::ArrayRef<int64_t> indexShape,
                      int64_t axis);

} // namespace mpc::onnx_import
#endif
