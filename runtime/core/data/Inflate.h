// Deflated data, unpacked piece by piece: what the first bytes say is checked before the rest takes memory.
#pragma once

#include <cstddef>
#include <string_view>
#include <zlib.h>

namespace mpc::rt {

class Inflater {
public:
  enum Form { Raw, Gzip }; // Gzip: of all members of a file
  /// Throws std::bad_alloc.
  Inflater(std::string_view packed, Form form);
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater &) = delete;
  Inflater &operator=(const Inflater &) = delete;

  /// Fills `out`, as far as the data goes; returns how many bytes it has.
  size_t read(void *out, size_t bytes);
  /// What ended the data, once `read` has returned less than it was asked for.
  bool whole() const { return status_ == Z_STREAM_END; }
  bool truncated() const { return status_ == Z_OK || status_ == Z_BUF_ERROR; }

  /// Whether so many packed bytes can hold so many unpacked ones: deflate packs at most 1032 into one.
  static bool possible(size_t packed, size_t unpacked) { return unpacked / 1032 <= packed + 64; }

private:
  void feed();
  z_stream stream_ = {};
  std::string_view left_; // of the packed bytes
  Form form_;
  int status_ = Z_OK;
};

} // namespace mpc::rt
