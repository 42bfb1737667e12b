// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// NumPy's .npz format: a zip archive of .npy members, stored or deflated, with zip64 where sizes need it.
#pragma once

#include "runtime/core/data/Array.h"
#include "runtime/support/AtomicFile.h"

#include <map>

namespace mpc::rt {

class NpzReader {
public:
  /// Reads the archive's directory. Throws Error located at `path`.
  explicit NpzReader(const std::string &path);
  static bool isZip(std::string_view bytes);

  std::vector<std::string> names() const;
  bool contains(const std::string &name) const { return members_.count(name) != 0; }
  /// Returns the array of that name after verifying its checksum. Throws Error located at "path: name".
  Array read(const std::string &name, const ArrayCheck &check = {}) const;
  /// Returns the array's shape; this takes little time and memory.
  Shape shapeOf(const std::string &name) const;

private:
  struct Member {
    uint64_t header, packed, unpacked;
    uint32_t crc;
    uint16_t method, flags;
  };
  [[noreturn]] void damaged(const std::string &what) const;
  const Member &member(const std::string &name) const;
  std::string_view packed(const Member &member, const std::string &name) const;
  std::string locate(const std::string &name) const;

  std::string path_;
  std::shared_ptr<const MappedFile> file_;
  std::map<std::string, Member> members_;
};

/// Writes an archive of stored members through an AtomicFile: nothing appears before finish().
class NpzWriter {
public:
  explicit NpzWriter(const std::string &path) : file_(path) {}
  /// bf16, which NumPy lacks, is written as f32. Throws Error.
  void add(const std::string &name, const TensorView &value);
  void finish();

private:
  struct Member {
    std::string name;
    uint64_t header, bytes;
    uint32_t crc;
  };
  AtomicFile file_;
  std::vector<Member> members_;
};

} // namespace mpc::rt
