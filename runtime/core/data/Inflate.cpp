// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/data/Inflate.h"

#include <algorithm>
#include <new>

namespace mpc::rt {

static constexpr size_t kPiece = size_t(1) << 30; // zlib counts in 32 bits

Inflater::Inflater(std::string_view packed, Form form) : left_(packed), form_(form) {
  if (inflateInit2(&stream_, form == Raw ? -15 : 15 + 16) != Z_OK)
    throw std::bad_alloc();
}

void Inflater::feed() {
  if (stream_.avail_in > 0 || left_.empty())
    return;
  std::string_view next = left_.substr(0, kPiece);
  stream_.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(next.data()));
  stream_.avail_in = uInt(next.size());
  left_.remove_prefix(next.size());
}

size_t Inflater::read(void *out, size_t bytes) {
  size_t done = 0;
  while (done < bytes && status_ == Z_OK) {
    feed();
    uInt room = uInt(std::min(bytes - done, kPiece)), before = stream_.avail_in;
    stream_.next_out = static_cast<Bytef *>(out) + done;
    stream_.avail_out = room;
    status_ = inflate(&stream_, Z_NO_FLUSH);
    done += room - stream_.avail_out;
    feed();
    if (status_ == Z_STREAM_END && form_ == Gzip && stream_.avail_in > 0)
      status_ = inflateReset(&stream_); // another gzip member follows
    else if (status_ == Z_OK && stream_.avail_out == room && stream_.avail_in == before)
      break; // nothing moves, so the packed bytes have ended
  }
  return done;
}

} // namespace mpc::rt
