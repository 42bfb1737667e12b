// The safetensors format: u64 header length, JSON header (name -> dtype, shape, data_offsets), data.
#pragma once

#include "runtime/core/data/Array.h"

#include <functional>
#include <map>

namespace mpc::rt {

class SafetensorsReader {
public:
  /// Reads and checks the header: known types, offsets that tile the data, sizes that agree with the shapes,
  /// a file that is neither longer nor shorter. Throws Error located at `path`.
  explicit SafetensorsReader(const std::string &path);

  const std::string &path() const { return path_; }
  const std::map<std::string, Array> &tensors() const { return tensors_; }
  /// The string under `key` in __metadata__, or "".
  std::string metadata(const std::string &key) const;
  /// Compares header and data with their checksums, where the metadata has them. `required`: it must. Throws
  /// Error.
  void verify(bool required) const;
  /// What follows the header: all tensors.
  std::string_view data() const { return data_; }

private:
  std::string path_;
  std::map<std::string, Array> tensors_;
  std::map<std::string, std::string> metadata_;
  std::string_view data_;
  std::string headerChecksum_; // as the metadata should have it
};

/// A tensor to be written; its bytes are asked for when they are needed, twice.
struct TensorToWrite {
  std::string name;
  mpc_dtype dtype;
  Shape shape;
  std::function<Tensor()> read;
};

/// Writes a file through AtomicFile. The crc32 of the data goes into the metadata as "data_crc32", 8 hex
/// digits, that of what the header says, however it is written, as "header_crc32": of every key and value but
/// itself, each ended by a zero byte, those of the metadata first, the tensors' values as JSON without
/// spaces, all in the order of the keys.
void writeSafetensors(const std::string &path, const std::vector<TensorToWrite> &tensors,
                      std::map<std::string, std::string> metadata);

} // namespace mpc::rt
