// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Unpacks deflated data piece by piece, so that a reader can check the first bytes before the rest takes memory.
#pragma once

#include <cstddef>
#include <string_view>
#include <zlib.h>

namespace mpc::rt {

class Inflater {
public:
  enum Form { Raw, Gzip }; // Gzip unpacks all members of a file
  /// Throws std::bad_alloc.
  Inflater(std::string_view packed, Form form);
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater &) = delete;
  Inflater &operator=(const Inflater &) = delete;

  /// Fills `out`, as far as the data goes; returns the number of bytes written.
  size_t read(void *out, size_t bytes);
  /// Tell why the data ended, once `read` has returned less than it was asked for.
  bool whole() const { return status_ == Z_STREAM_END; }
  bool truncated() const { return status_ == Z_OK || status_ == Z_BUF_ERROR; }

  /// Returns whether so many packed bytes can hold so many unpacked ones: deflate packs at most 1032 bytes into one.
  static bool possible(size_t packed, size_t unpacked) { return unpacked / 1032 <= packed + 64; }

private:
  void feed();
  z_stream stream_ = {};
  std::string_view left_; // the packed bytes not yet given to zlib
  Form form_;
  int status_ = Z_OK;
};

} // namespace mpc::rt
