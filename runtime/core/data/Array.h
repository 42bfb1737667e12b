// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An array read from a data file. It keeps the file's element type and often still lies in the file's pages.
#pragma once

#include "runtime/core/Tensor.h"
#include "runtime/support/MappedFile.h"

#include <functional>
#include <memory>
#include <string>

namespace mpc::rt {

/// Row-major elements, not necessarily aligned, which live as long as `owner` does.
struct Array {
  mpc_dtype dtype = MPC_F32;
  Shape shape;
  const std::byte *data = nullptr;
  std::shared_ptr<const void> owner;

  int64_t elements() const { return elementsOf(shape); }
  TensorView view() const { return {dtype, shape, data}; }
};

/// Is told an array's type and shape, and throws Error when nobody can use such an array. A reader calls it before it
/// unpacks or copies anything, because a small file may unpack to more than the memory holds. Null accepts every array.
using ArrayCheck = std::function<void(mpc_dtype, const Shape &)>;

/// Reads a file that holds one array: .npy, IDX or IDX.gz, which it tells apart by their first bytes. Throws Error
/// located at `path`.
Array readArrayFile(const std::string &path, const ArrayCheck &check = {});

} // namespace mpc::rt
