// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The safetensors format: u64 header length, JSON header (name -> dtype, shape, data_offsets), data.
#pragma once

#include "runtime/core/data/Array.h"

#include <functional>
#include <map>

namespace mpc::rt {

class SafetensorsReader {
public:
  /// Reads and checks the header: types must be known, offsets must tile the data, sizes must agree with the shapes,
  /// and the file may be neither longer nor shorter. Throws Error located at `path`.
  explicit SafetensorsReader(const std::string &path);

  const std::string &path() const { return path_; }
  const std::map<std::string, Array> &tensors() const { return tensors_; }
  /// Returns the string under `key` in __metadata__, or "".
  std::string metadata(const std::string &key) const;
  /// Compares header and data with their checksums, if the metadata has them. `required`: it must have
  /// them. Throws Error.
  void verify(bool required) const;
  /// Returns the bytes after the header: all tensors.
  std::string_view data() const { return data_; }

private:
  std::string path_;
  std::map<std::string, Array> tensors_;
  std::map<std::string, std::string> metadata_;
  std::string_view data_;
  std::string headerChecksum_; // the value that the metadata should have
};

/// A tensor to be written; its bytes are read twice, each time when they are needed.
struct TensorToWrite {
  std::string name;
  mpc_dtype dtype;
  Shape shape;
  std::function<Tensor()> read;
};

/// Writes a file through AtomicFile. Throws Error, also for a tensor called "__metadata__". The metadata gets the crc32
/// of the data as "data_crc32", 8 hex digits, and a crc32 of the header's content as "header_crc32", which does not
/// depend on how the header is written: it covers every key and value except itself, each ended by a zero byte, first
/// those of the metadata, then the tensors, whose values are JSON without spaces, all in the order of the keys.
void writeSafetensors(const std::string &path, const std::vector<TensorToWrite> &tensors,
                      std::map<std::string, std::string> metadata);

} // namespace mpc::rt
