// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Record layouts: PKWARE APPNOTE.TXT 6.3.10, sections 4.3 (records) and 4.5.3 (zip64 extra field).

#include "runtime/core/data/Npz.h"

#include "runtime/core/data/Inflate.h"
#include "runtime/core/data/Npy.h"
#include "runtime/support/Checksum.h"
#include "runtime/support/Error.h"

#include <algorithm>
#include <cstring>

namespace mpc::rt {

namespace {
constexpr uint32_t kLocalHeader = 0x04034b50, kCentralHeader = 0x02014b50, kEnd = 0x06054b50;
constexpr uint32_t kEnd64 = 0x06064b50, kEnd64Locator = 0x07064b50;
constexpr char kAgain[] = "copy the file or write it with numpy.savez again";

template <typename T>
T load(std::string_view bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

/// Builds a little-endian record.
struct Record {
  std::string bytes;
  template <typename T>
  Record &add(T value) {
    bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
    return *this;
  }
  Record &u16(uint16_t value) { return add(value); }
  Record &u32(uint64_t value) { return add(uint32_t(value > 0xffffffff ? 0xffffffff : value)); }
  Record &u64(uint64_t value) { return add(value); }
};
} // namespace

bool NpzReader::isZip(std::string_view bytes) {
  return bytes.size() >= 4 && (load<uint32_t>(bytes, 0) == kLocalHeader || load<uint32_t>(bytes, 0) == kEnd);
}

void NpzReader::damaged(const std::string &what) const { fail(path_, concat("damaged .npz archive: ", what), kAgain); }

NpzReader::NpzReader(const std::string &path) : path_(path), file_(MappedFile::open(path)) {
  std::string_view bytes = file_->bytes();
  if (!isZip(bytes))
    fail(path, bytes.empty() ? "the file is empty" : "is no .npz archive", "write it with numpy.savez");
  // The end record stands in the last 64 KiB of the file; only a comment may follow it.
  size_t end = bytes.npos;
  for (size_t at = bytes.size() < 22 ? 0 : bytes.size() - 21, tries = 0; at-- > 0 && tries < 65557; ++tries)
    if (load<uint32_t>(bytes, at) == kEnd) {
      end = at;
      break;
    }
  if (end == bytes.npos)
    damaged("it has no directory; the file is truncated");
  uint64_t count = load<uint16_t>(bytes, end + 10), size = load<uint32_t>(bytes, end + 12),
           offset = load<uint32_t>(bytes, end + 16);
  if (end >= 20 && load<uint32_t>(bytes, end - 20) == kEnd64Locator) {
    uint64_t at = load<uint64_t>(bytes, end - 20 + 8);
    if (bytes.size() < 56 || at > bytes.size() - 56 || load<uint32_t>(bytes, at) != kEnd64)
      damaged("its zip64 directory is missing");
    count = load<uint64_t>(bytes, at + 32);
    size = load<uint64_t>(bytes, at + 40);
    offset = load<uint64_t>(bytes, at + 48);
  }
  if (offset > bytes.size() || size > bytes.size() - offset)
    damaged("its directory lies outside the file");
  std::string_view directory = bytes.substr(offset, size);
  for (uint64_t i = 0; i < count; ++i) {
    if (directory.size() < 46 || load<uint32_t>(directory, 0) != kCentralHeader)
      damaged("its directory is broken");
    size_t nameBytes = load<uint16_t>(directory, 28), extraBytes = load<uint16_t>(directory, 30),
           commentBytes = load<uint16_t>(directory, 32);
    if (directory.size() < 46 + nameBytes + extraBytes + commentBytes)
      damaged("its directory is broken");
    Member member = {load<uint32_t>(directory, 42), load<uint32_t>(directory, 20), load<uint32_t>(directory, 24),
                     load<uint32_t>(directory, 16), load<uint16_t>(directory, 10), load<uint16_t>(directory, 8)};
    std::string name(directory.substr(46, nameBytes));
    std::string_view extra = directory.substr(46 + nameBytes, extraBytes);
    while (extra.size() >= 4) {
      size_t length = load<uint16_t>(extra, 2);
      if (extra.size() < 4 + length)
        break;
      if (load<uint16_t>(extra, 0) == 1) { // the zip64 field holds only the sizes that overflowed, in this order
        size_t at = 4;
        for (uint64_t *field : {&member.unpacked, &member.packed, &member.header})
          if (*field == 0xffffffff && at + 8 <= 4 + length) {
            *field = load<uint64_t>(extra, at);
            at += 8;
          }
      }
      extra.remove_prefix(4 + length);
    }
    if (name.ends_with(".npy"))
      members_[name.substr(0, name.size() - 4)] = member;
    directory.remove_prefix(46 + nameBytes + extraBytes + commentBytes);
  }
}

std::vector<std::string> NpzReader::names() const {
  std::vector<std::string> names;
  for (const auto &[name, member] : members_)
    names.push_back(name);
  return names;
}

const NpzReader::Member &NpzReader::member(const std::string &name) const {
  auto it = members_.find(name);
  if (it == members_.end())
    fail(path_, concat("has no array '", name, "'"), "give a file that has it");
  return it->second;
}

std::string NpzReader::locate(const std::string &name) const { return concat(path_, ": ", name); }

/// Returns the member's bytes as they stand in the file.
std::string_view NpzReader::packed(const Member &member, const std::string &name) const {
  std::string_view bytes = file_->bytes();
  if (member.header > bytes.size() || bytes.size() - member.header < 30 ||
      load<uint32_t>(bytes, member.header) != kLocalHeader)
    damaged(concat("array '", name, "' is missing"));
  uint64_t start =
      member.header + 30 + load<uint16_t>(bytes, member.header + 26) + load<uint16_t>(bytes, member.header + 28);
  if (start > bytes.size() || member.packed > bytes.size() - start)
    damaged(concat("array '", name, "' lies outside the file"));
  if (member.flags & 1)
    fail(locate(name), "is encrypted", kAgain);
  if (member.method != 0 && member.method != 8)
    fail(locate(name), concat("unsupported compression method ", member.method),
         "use numpy.savez or numpy.savez_compressed");
  return bytes.substr(start, member.packed);
}

/// Returns the unpacked beginning of a deflated member, which contains its header.
static std::string beginning(std::string_view packed) {
  std::string begin(kNpyHeaderBytes, '\0');
  begin.resize(Inflater(packed, Inflater::Raw).read(begin.data(), begin.size()));
  return begin;
}

Shape NpzReader::shapeOf(const std::string &name) const {
  const Member &found = member(name);
  std::string_view bytes = packed(found, name);
  return parseNpyHeader(found.method == 0 ? bytes : beginning(bytes), locate(name)).shape;
}

Array NpzReader::read(const std::string &name, const ArrayCheck &check) const {
  const Member &found = member(name);
  std::string_view bytes = packed(found, name);
  std::string where = locate(name);
  if (found.method == 0) {
    if (checksum(0, bytes.data(), bytes.size()) != found.crc)
      damaged(concat("array '", name, "' has a wrong checksum"));
    return parseNpy(bytes, file_, where, check);
  }
  std::string begin = beginning(bytes);
  if (begin.empty())
    damaged(concat("array '", name, "' cannot be unpacked"));
  NpyHeader header = parseNpyHeader(begin, where);
  if (check)
    check(header.dtype, header.shape);
  // The sizes that the archive and the header state are checked before memory is allocated for them.
  if (!Inflater::possible(bytes.size(), found.unpacked) || found.unpacked < header.bytes ||
      found.unpacked - header.bytes != header.dataBytes)
    damaged(concat("array '", name, "' has an impossible size"));
  auto unpacked = std::make_shared<std::vector<std::byte>>(found.unpacked);
  Inflater inflater(bytes, Inflater::Raw);
  std::byte more;
  if (inflater.read(unpacked->data(), unpacked->size()) != unpacked->size() || inflater.read(&more, 1) != 0 ||
      !inflater.whole() || checksum(0, unpacked->data(), unpacked->size()) != found.crc)
    damaged(concat("array '", name, "' cannot be unpacked"));
  std::string_view text(reinterpret_cast<const char *>(unpacked->data()), unpacked->size());
  return parseNpy(text, unpacked, where);
}

void NpzWriter::add(const std::string &name, const TensorView &value) {
  if (value.dtype == MPC_BF16) {
    Tensor wide(MPC_F32, value.shape);
    convert(MPC_BF16, value.data, MPC_F32, wide.bytes.data(), size_t(wide.elements()));
    return add(name, wide);
  }
  std::string header = npyHeader(value.dtype, value.shape);
  size_t dataBytes = size_t(elementsOf(value.shape)) * sizeOf(value.dtype);
  uint32_t crc = checksum(checksum(0, header.data(), header.size()), value.data, dataBytes);
  Member member = {name + ".npy", file_.position(), header.size() + dataBytes, crc};
  Record local;
  local.u32(kLocalHeader).u16(45).u16(0x800).u16(0).u16(0).u16(0x21).u32(crc).u32(0xffffffff).u32(0xffffffff);
  local.u16(uint16_t(member.name.size())).u16(20);
  local.bytes += member.name;
  local.u16(1).u16(16).u64(member.bytes).u64(member.bytes);
  file_.write(local.bytes);
  file_.write(header);
  file_.write(value.data, dataBytes);
  members_.push_back(std::move(member));
}

void NpzWriter::finish() {
  uint64_t start = file_.position();
  for (const Member &member : members_) {
    Record central;
    central.u32(kCentralHeader).u16(45).u16(45).u16(0x800).u16(0).u16(0).u16(0x21).u32(member.crc);
    central.u32(0xffffffff).u32(0xffffffff).u16(uint16_t(member.name.size())).u16(28).u16(0).u16(0).u16(0).u32(0);
    central.u32(0xffffffff);
    central.bytes += member.name;
    central.u16(1).u16(24).u64(member.bytes).u64(member.bytes).u64(member.header);
    file_.write(central.bytes);
  }
  uint64_t end = file_.position(), count = members_.size();
  uint16_t shortCount = uint16_t(count > 0xffff ? 0xffff : count);
  Record tail;
  tail.u32(kEnd64).u64(44).u16(45).u16(45).u32(0).u32(0).u64(count).u64(count).u64(end - start).u64(start);
  tail.u32(kEnd64Locator).u32(0).u64(end).u32(1);
  tail.u32(kEnd).u16(0).u16(0).u16(shortCount).u16(shortCount).u32(end - start).u32(start).u16(0);
  file_.write(tail.bytes);
  file_.commit();
}

} // namespace mpc::rt
