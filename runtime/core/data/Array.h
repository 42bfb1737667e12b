// An array read from a data file: kept in the file's element type, often still in the file's pages.
#pragma once

#include "runtime/core/Tensor.h"
#include "runtime/support/MappedFile.h"

#include <functional>
#include <memory>
#include <string>

namespace mpc::rt {

/// Row-major elements, not necessarily aligned, alive as long as `owner` is.
struct Array {
  mpc_dtype dtype = MPC_F32;
  Shape shape;
  const std::byte *data = nullptr;
  std::shared_ptr<const void> owner;

  int64_t elements() const { return elementsOf(shape); }
  TensorView view() const { return {dtype, shape, data}; }
};

/// Looks at what an array is going to be, and throws Error where nobody can use that: a reader asks before it unpacks or
/// copies anything, because a small file may unpack to more than the memory holds. Null: all is well.
using ArrayCheck = std::function<void(mpc_dtype, const Shape &)>;

/// Reads a file that holds one array: .npy, IDX or IDX.gz, by its first bytes. Throws Error located at
/// `path`.
Array readArrayFile(const std::string &path, const ArrayCheck &check = {});

} // namespace mpc::rt
