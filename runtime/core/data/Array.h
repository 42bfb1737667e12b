// An array read from a data file: kept in the file's element type, often still in the file's pages.
#pragma once

#include "runtime/core/Tensor.h"

#include <memory>
#include <string>

namespace mpc::rt {

/// A file mapped read-only. Throws Error when it cannot be opened.
class MappedFile {
public:
  static std::shared_ptr<const MappedFile> open(const std::string &path);
  ~MappedFile();
  std::string_view bytes() const { return {static_cast<const char *>(data_), size_}; }

private:
  MappedFile() = default;
  void *data_ = nullptr;
  size_t size_ = 0;
};

/// Row-major elements, not necessarily aligned, alive as long as `owner` is.
struct Array {
  mpc_dtype dtype = MPC_F32;
  Shape shape;
  const std::byte *data = nullptr;
  std::shared_ptr<const void> owner;

  int64_t elements() const { return elementsOf(shape); }
  TensorView view() const { return {dtype, shape, data}; }
};

/// Reads a file that holds one array: .npy, IDX or IDX.gz, by its first bytes. Throws Error located at
/// `path`.
Array readArrayFile(const std::string &path);

} // namespace mpc::rt
