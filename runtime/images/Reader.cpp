// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/images/Reader.h"

#include "runtime/images/Kind.h"
#include "runtime/support/Error.h"

#include <algorithm>

namespace mpc::images {

using rt::concat;
using rt::fail;

/// The most bytes of a picture's file.
static constexpr int64_t kMostFileBytes = int64_t(256) << 20;

static void checkBytes(int64_t bytes) {
  if (bytes > kMostFileBytes)
    fail("", concat("has ", rt::bytesText(bytes), "; at most ", rt::bytesText(kMostFileBytes), " are read"),
         "make it smaller, or remove it");
}

const File &Reader::archive(int32_t index) {
  for (const OpenArchive &open : open_)
    if (open.index == index)
      return open.file;
  const Archive &archive = source_.archive(index);
  File file(archive.path);
  if (file.size() != archive.bytes || file.modified() != archive.modified)
    fail(archive.path, "was changed while the program ran", "leave the files alone while the program runs");
  OpenArchive &open = open_[next_];
  next_ = (next_ + 1) % kOpenArchives;
  open.file = std::move(file);
  open.index = index;
  return open.file;
}

mpc_picture_size Reader::look(int64_t sample) {
  ready_ = false;
  sample_ = sample;
  const Source::Sample &at = source_.sample(sample);
  size_t bytes;
  if (at.archive < 0) {
    File file(source_.path(at));
    checkBytes(file.size());
    bytes = size_t(file.size());
    file.read(0, file_.take(bytes), bytes);
  } else {
    checkBytes(at.bytes);
    bytes = size_t(at.bytes);
    archive(at.archive).read(at.offset, file_.take(bytes), bytes);
  }
  return lookAt(file_.data(), bytes);
}

mpc_picture_size Reader::lookAt(const uint8_t *data, size_t bytes) {
  ready_ = false;
  const char *name = nullptr;
  Kind kind = kindOf(data, bytes, name);
  if (kind == Kind::Other)
    fail("", concat("is ", name, ", not a JPEG or PNG picture"), "convert it to JPEG or PNG, or remove it");
  isPng_ = kind == Kind::Png;
  header_ = isPng_ ? png_.open(data, bytes) : jpeg_.open(data, bytes);
  ready_ = true;
  if (header_.sideways())
    return {header_.height, header_.width};
  return {header_.width, header_.height};
}

mpc_picture Reader::decode(int channels, int32_t leastWidth, int32_t leastHeight) {
  if (!ready_ || (channels != 1 && channels != 3))
    fail("", "is not open, or is asked for with other channels than 1 or 3",
         "this is a defect of mpc; please report it");
  Header header = header_;
  if (header.sideways())
    std::swap(leastWidth, leastHeight);
  if (isPng_)
    png_.decode(channels, pixels_);
  else
    jpeg_.decode(channels, leastWidth, leastHeight, header, pixels_);
  const uint8_t *pixels = pixels_.data();
  if (header.orientation != 1) {
    uint8_t *turned = turned_.take(size_t(header.width) * size_t(header.height) * size_t(channels));
    orient(pixels, header.width, header.height, channels, header.orientation, turned);
    pixels = turned;
  }
  int32_t width = header_.width, height = header_.height;
  if (header.sideways()) {
    std::swap(header.width, header.height);
    std::swap(width, height);
  }
  // The last pixel of a row or column covers less where the reduction does not divide the size.
  coverage_ = {header.reduction, header.endsOnTheLeft() ? width - header.width * header.reduction : 0,
               header.endsOnTheTop() ? height - header.height * header.reduction : 0};
  return {header.width, header.height, channels, int64_t(header.width) * channels, pixels};
}

} // namespace mpc::images
