// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The format: POSIX.1-2017, pax, "ustar Interchange Format" and "pax Header Block"; GNU tar's manual, "Basic Tar
// Format".
#include "runtime/images/Tar.h"

#include "runtime/support/Error.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace mpc::images {

using rt::concat;
using rt::fail;

namespace {
constexpr int64_t kBlock = 512;
/// Long names and pax records have less than this.
constexpr int64_t kMostExtension = int64_t(1) << 20;
constexpr char kAgain[] = "copy or download the archive again, or pack it again";

/// A header as it lies in the archive.
struct Block {
  uint8_t bytes[kBlock];

  /// Returns a field without what follows its first zero byte.
  std::string_view text(size_t at, size_t length) const {
    const char *begin = reinterpret_cast<const char *>(bytes) + at;
    return {begin, strnlen(begin, length)};
  }
  /// Returns a number in octal digits or, where the first bit is set, in binary; -1 if it is neither, negative, or
  /// beyond 62 bits.
  int64_t number(size_t at, size_t length) const {
    int64_t value = 0;
    if (bytes[at] & 0x80) {
      if (bytes[at] != 0x80) // the sign of a negative number, or a number that no size has
        return -1;
      for (size_t i = 1; i < length; ++i) {
        if (value >> 54)
          return -1;
        value = value << 8 | bytes[at + i];
      }
      return value;
    }
    std::string_view digits = text(at, length);
    digits.remove_prefix(std::min(digits.find_first_not_of(' '), digits.size()));
    digits = digits.substr(0, digits.find_last_not_of(' ') + 1);
    for (char digit : digits) {
      if (digit < '0' || digit > '7')
        return -1;
      value = value << 3 | (digit - '0');
    }
    return value;
  }
  bool isZero() const {
    return std::all_of(bytes, bytes + kBlock, [](uint8_t byte) { return byte == 0; });
  }
  /// Returns whether the checksum is right. Old programs added signed characters.
  bool isIntact() const {
    int64_t sum = 0, signedSum = 0;
    for (size_t i = 0; i < size_t(kBlock); ++i) {
      uint8_t byte = i >= 148 && i < 156 ? ' ' : bytes[i];
      sum += byte;
      signedSum += int8_t(byte);
    }
    int64_t stated = number(148, 8);
    return stated == sum || stated == signedSum;
  }
  std::string name() const {
    std::string_view name = text(0, 100), prefix = text(345, 155);
    bool posix = std::memcmp(bytes + 257, "ustar", 6) == 0; // GNU's form has other fields in the prefix's place
    return posix && !prefix.empty() ? concat(prefix, "/", name) : std::string(name);
  }
};

/// Returns what a member is that is no regular file, or null.
const char *notFile(char type) {
  switch (type) {
  case '1':
  case '2':
    return "a link";
  case '3':
  case '4':
    return "a device";
  case '5':
    return "a folder";
  case '6':
    return "a pipe";
  case '0':
  case '7':
  case '\0':
    return nullptr;
  default:
    return "of a kind that is not known";
  }
}
} // namespace

/// What earlier headers say of the next member.
struct TarReader::Extended {
  std::optional<std::string> name;
  std::optional<int64_t> bytes;
  bool sparse = false;
};

bool TarReader::recognizes(const uint8_t *data, size_t bytes) {
  Block block;
  if (bytes < sizeof block.bytes)
    return false;
  std::memcpy(block.bytes, data, sizeof block.bytes);
  return !block.isZero() && block.isIntact();
}

void TarReader::refuse(const std::string &member, const char *what) const {
  fail(member.empty() ? path_ : concat(path_, ": ", member), what, kAgain);
}

std::string TarReader::extension(int64_t bytes) {
  if (bytes < 0 || bytes > kMostExtension || bytes > file_.size() - at_)
    refuse("", "has a header whose length is not possible");
  std::string data(size_t(bytes), '\0');
  file_.read(at_, data.data(), data.size());
  at_ += (bytes + kBlock - 1) / kBlock * kBlock;
  return data;
}

/// Reads "LENGTH KEY=VALUE\n" again and again.
void TarReader::readRecords(std::string_view records, bool global, Extended &extended) {
  constexpr char kBad[] = "has a pax header that is damaged";
  auto decimal = [&](std::string_view digits) {
    int64_t value = 0;
    if (digits.empty() || digits.size() > 18)
      refuse("", kBad);
    for (char digit : digits) {
      if (digit < '0' || digit > '9')
        refuse("", kBad);
      value = value * 10 + (digit - '0');
    }
    return value;
  };
  while (!records.empty() && records[0] != '\0') {
    size_t space = records.find(' ');
    if (space == records.npos)
      refuse("", kBad);
    int64_t length = decimal(records.substr(0, space));
    if (length <= int64_t(space) + 1 || length > int64_t(records.size()) || records[size_t(length) - 1] != '\n')
      refuse("", kBad);
    std::string_view record = records.substr(space + 1, size_t(length) - space - 2);
    records.remove_prefix(size_t(length));
    size_t equals = record.find('=');
    if (equals == record.npos)
      refuse("", kBad);
    std::string_view key = record.substr(0, equals), value = record.substr(equals + 1);
    if (global && (key == "path" || key == "size"))
      refuse("", "has one name or size for all members");
    if (key == "path") {
      if (value.find('\0') != value.npos)
        refuse("", kBad);
      extended.name = value;
    } else if (key == "size") {
      extended.bytes = decimal(value);
    } else if (key.starts_with("GNU.sparse.")) {
      extended.sparse = true;
    }
  }
}

bool TarReader::next(TarMember &member) {
  Extended extended;
  while (true) {
    Block block;
    if (file_.size() - at_ < kBlock)
      refuse("", "is cut short: it ends without the mark of an archive's end");
    file_.read(at_, block.bytes, sizeof block.bytes);
    if (block.isZero())
      return false;
    if (!block.isIntact())
      fail(path_, concat("has no header at byte ", at_, ", or one that is damaged"), kAgain);
    at_ += kBlock;
    int64_t bytes = block.number(124, 12);
    char type = char(block.bytes[156]);
    if (type == 'L') {
      std::string name = extension(bytes);
      extended.name = name.substr(0, name.find('\0'));
    } else if (type == 'K') {
      extension(bytes); // where a link leads
    } else if (type == 'x' || type == 'g') {
      readRecords(extension(bytes), type == 'g', extended);
    } else {
      member.name = extended.name ? std::move(*extended.name) : block.name();
      member.notFile = notFile(type);
      if (!member.notFile && member.name.ends_with('/')) // how the oldest form writes folders
        member.notFile = "a folder";
      if (extended.sparse || type == 'S')
        refuse(member.name, "is a sparse file, which is not read");
      if (type == 'M')
        refuse(member.name, "is the rest of a file that begins in another archive");
      bytes = extended.bytes.value_or(bytes);
      if (type >= '1' && type <= '6') // these have no data, whatever the size says
        bytes = 0;
      if (bytes < 0)
        refuse(member.name, "has a size that is not possible");
      if (bytes > file_.size() - at_)
        refuse(member.name, "is cut short: it ends behind the archive's end");
      member.offset = at_;
      member.bytes = bytes;
      at_ += (bytes + kBlock - 1) / kBlock * kBlock;
      return true;
    }
  }
}

} // namespace mpc::images
