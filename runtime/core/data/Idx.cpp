// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/data/Idx.h"

#include "runtime/core/data/Inflate.h"
#include "runtime/core/data/Kinds.h"
#include "runtime/support/Error.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace mpc::rt {

static bool isGzip(std::string_view bytes) { return bytes.size() >= 2 && bytes.starts_with("\x1f\x8b"); }

bool isIdx(std::string_view bytes) {
  return isGzip(bytes) || (bytes.size() >= 4 && bytes[0] == 0 && bytes[1] == 0 && bytes[2] >= 8 && bytes[2] <= 14);
}

namespace {
/// Reads the bytes of a file, or the bytes that a gzip file unpacks to.
class Source {
public:
  Source(std::string_view bytes, const std::string &where) : bytes_(bytes), where_(where) {
    if (isGzip(bytes))
      inflater_.emplace(bytes, Inflater::Gzip);
  }
  /// Fills `out` as far as there are bytes. Throws Error if they end too early or are damaged.
  size_t read(void *out, size_t count) {
    if (inflater_) {
      size_t got = inflater_->read(out, count);
      if (got < count && !inflater_->whole())
        fail(where_, inflater_->truncated() ? "the gzip data is truncated" : "the gzip data is damaged",
             "copy or download the file again");
      return got;
    }
    count = std::min(count, bytes_.size());
    if (count > 0)
      std::memcpy(out, bytes_.data(), count);
    bytes_.remove_prefix(count);
    return count;
  }
  /// `holds` says whether there can be so many more bytes; `left` says how many there are, or 0 for gzip,
  /// which does not tell.
  bool holds(size_t count) const {
    return inflater_ ? Inflater::possible(bytes_.size(), count) : bytes_.size() >= count;
  }
  size_t left() const { return inflater_ ? 0 : bytes_.size(); }

private:
  std::string_view bytes_;
  const std::string &where_;
  std::optional<Inflater> inflater_;
};
} // namespace

Array parseIdx(std::string_view bytes, const std::string &where, const ArrayCheck &check) {
  Source source(bytes, where);
  unsigned char data[4], extent[4];
  if (source.read(data, 4) < 4 || data[0] != 0 || data[1] != 0)
    refuseData(where, bytes);
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
  for (int i = 0; i < data[3]; ++i) {
    if (source.read(extent, 4) < 4)
      fail(where, "the IDX header is truncated", "copy or download the file again");
    array.shape.push_back(int64_t(extent[0]) << 24 | int64_t(extent[1]) << 16 | int64_t(extent[2]) << 8 | extent[3]);
  }
  std::optional<int64_t> total = bytesOf(array.dtype, array.shape);
  if (!total)
    fail(where, concat("impossible shape ", toString(array.shape)), "copy or download the file again");
  if (check)
    check(array.dtype, array.shape);
  auto shorter = [&](size_t got) {
    fail(where, concat("the IDX data is truncated: ", got, " bytes for shape ", toString(array.shape)),
         "copy or download the file again");
  };
  size_t size = size_t(*total);
  if (!source.holds(size))
    shorter(source.left());
  auto owned = std::make_shared<std::vector<std::byte>>(size);
  if (size_t got = source.read(owned->data(), size); got < size)
    shorter(got);
  if (std::byte more; source.read(&more, 1) != 0)
    fail(where, concat("unexpected bytes behind the IDX data of shape ", toString(array.shape)),
         "copy or download the file again");
  array.data = owned->data();
  if (size_t elementBytes = sizeOf(array.dtype); elementBytes > 1)
    for (std::byte *p = owned->data(), *end = p + size; p != end; p += elementBytes)
      std::reverse(p, p + elementBytes);
  array.owner = owned;
  return array;
}

} // namespace mpc::rt
