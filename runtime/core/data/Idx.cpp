#include "runtime/core/data/Idx.h"

#include "runtime/support/Error.h"

#include <algorithm>
#include <cstring>
#include <zlib.h>

namespace mpc::rt {

static bool isGzip(std::string_view bytes) { return bytes.size() >= 2 && bytes.starts_with("\x1f\x8b"); }

bool isIdx(std::string_view bytes) {
  return isGzip(bytes) ||
         (bytes.size() >= 4 && bytes[0] == 0 && bytes[1] == 0 && bytes[2] >= 8 && bytes[2] <= 14);
}

/// All members of a gzip file.
static std::vector<std::byte> gunzip(std::string_view bytes, const std::string &where) {
  std::vector<std::byte> out(std::max<size_t>(bytes.size() * 4, 4096));
  size_t used = 0;
  z_stream stream = {};
  if (inflateInit2(&stream, 15 + 16) != Z_OK)
    fail(where, "out of memory", "close other programs");
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(bytes.data()));
  int status = Z_OK;
  size_t left = bytes.size();
  auto feed = [&] {
    if (stream.avail_in == 0 && left > 0) {
      stream.avail_in = uInt(std::min<size_t>(left, 1u << 30));
      left -= stream.avail_in;
    }
  };
  for (feed();;) {
    if (used == out.size())
      out.resize(out.size() * 2);
    uInt room = uInt(std::min<size_t>(out.size() - used, 1u << 30));
    stream.next_out = reinterpret_cast<Bytef *>(out.data() + used);
    stream.avail_out = room;
    status = inflate(&stream, Z_NO_FLUSH);
    used += room - stream.avail_out;
    feed();
    if (status == Z_STREAM_END) {
      if (stream.avail_in == 0)
        break;
      inflateReset(&stream); // a further member
    } else if (status != Z_OK || (stream.avail_in == 0 && stream.avail_out > 0)) {
      break;
    }
  }
  inflateEnd(&stream);
  if (status != Z_STREAM_END)
    fail(where,
         status == Z_OK || status == Z_BUF_ERROR ? "the gzip data is truncated" : "the gzip data is damaged",
         "copy or download the file again");
  out.resize(used);
  return out;
}

Array parseIdx(std::string_view bytes, const std::string &where) {
  auto owned = std::make_shared<std::vector<std::byte>>();
  if (isGzip(bytes))
    *owned = gunzip(bytes, where);
  else
    owned->assign(reinterpret_cast<const std::byte *>(bytes.data()),
                  reinterpret_cast<const std::byte *>(bytes.data()) + bytes.size());
  const auto *data = reinterpret_cast<const unsigned char *>(owned->data());
  size_t size = owned->size();
  if (size < 4 || data[0] != 0 || data[1] != 0)
    fail(where, "is not in IDX format", "use .npz, .npy, or IDX files (plain or .gz)");
  Array array;
  switch (data[2]) {
  case 0x08:
    array.dtype = MPC_U8;
    break;
  case 0x09:
    array.dtype = MPC_I8;
    break;
  case 0x0B:
    array.dtype = MPC_I16;
    break;
  case 0x0C:
    array.dtype = MPC_I32;
    break;
  case 0x0D:
    array.dtype = MPC_F32;
    break;
  case 0x0E:
    array.dtype = MPC_F64;
    break;
  default:
    fail(where, concat("unknown IDX element type ", int(data[2])), "use .npz, .npy, or IDX files");
  }
  size_t rank = data[3], start = 4 + 4 * rank;
  if (size < start)
    fail(where, "the IDX header is truncated", "copy or download the file again");
  int64_t elementBytes = int64_t(sizeOf(array.dtype)), total = elementBytes;
  for (size_t i = 0; i < rank; ++i) {
    const unsigned char *p = data + 4 + 4 * i;
    array.shape.push_back(int64_t(p[0]) << 24 | int64_t(p[1]) << 16 | int64_t(p[2]) << 8 | p[3]);
    if (__builtin_mul_overflow(total, array.shape.back(), &total))
      fail(where, concat("impossible shape ", toString(array.shape)), "copy or download the file again");
  }
  if (size - start != size_t(total))
    fail(where,
         concat(size - start < size_t(total) ? "the IDX data is truncated: "
                                             : "unexpected bytes behind the IDX data: ",
                size - start, " bytes for shape ", toString(array.shape)),
         "copy or download the file again");
  array.data = owned->data() + start;
  if (elementBytes > 1)
    for (std::byte *p = owned->data() + start, *end = owned->data() + size; p != end; p += elementBytes)
      std::reverse(p, p + elementBytes);
  array.owner = owned;
  return array;
}

} // namespace mpc::rt
