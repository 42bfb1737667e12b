// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/images/Kind.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace mpc::images {

namespace {
/// Bytes at an offset that identify a format.
struct Magic {
  size_t offset;
  std::string_view bytes;
  const char *name;
};

using namespace std::string_view_literals;

// The first match counts, so longer ones stand before shorter ones.
constexpr Magic kMagic[] = {
    {0, "GIF8"sv, "a GIF picture"},
    {8, "WEBP"sv, "a WebP picture"},
    {0, "II*\0"sv, "a TIFF picture"},
    {0, "MM\0*"sv, "a TIFF picture"},
    {0, "II+\0"sv, "a TIFF picture"},
    {4, "ftypavif"sv, "an AVIF picture"},
    {4, "ftypavis"sv, "an AVIF picture"},
    {4, "ftyphei"sv, "a HEIC picture"},
    {4, "ftyphev"sv, "a HEIC picture"},
    {4, "ftypmif1"sv, "a HEIC picture"},
    {4, "ftypmsf1"sv, "a HEIC picture"},
    {4, "ftyp"sv, "an MP4 film"},
    {0, "\0\0\0\x0cJXL "sv, "a JPEG XL picture"},
    {0, "\xff\x0a"sv, "a JPEG XL picture"},
    {0, "\0\0\0\x0cjP  "sv, "a JPEG 2000 picture"},
    {0, "\xff\x4f\xff\x51"sv, "a JPEG 2000 picture"},
    {0, "8BPS"sv, "a Photoshop picture"},
    {0, "\0\0\1\0"sv, "an ICO picture"},
    {0, "%PDF"sv, "a PDF document"},
    {0, "\x1f\x8b"sv, "a gzip archive"},
    {0, "PK\3\4"sv, "a zip archive"},
    {0, "\xfd\x37zXZ"sv, "an xz archive"},
    {0, "\x28\xb5\x2f\xfd"sv, "a zstd archive"},
    {257, "ustar"sv, "a tar archive"},
    {0, "\x93NUMPY"sv, "a NumPy array"},
    {0, "<svg"sv, "an SVG picture"},
    {0, "<?xml"sv, "an XML document"},
    {0, "<!DOCTYPE"sv, "an HTML document"},
    {0, "<html"sv, "an HTML document"},
    {0, "version https://git-lfs"sv, "a pointer of Git LFS"},
    {0, "BM"sv, "a BMP picture"},
};

/// Returns whether the bytes may be text: no control characters but spaces and line ends.
bool isText(std::string_view head) {
  return std::all_of(head.begin(), head.end(),
                     [](char c) { return uint8_t(c) >= ' ' || c == '\n' || c == '\r' || c == '\t'; });
}
} // namespace

Kind kindOf(const uint8_t *data, size_t bytes, const char *&name) {
  std::string_view all(reinterpret_cast<const char *>(data), bytes);
  if (all.starts_with("\xff\xd8\xff"sv))
    return Kind::Jpeg;
  if (all.starts_with("\x89PNG\r\n\x1a\n"sv))
    return Kind::Png;
  name = nullptr;
  for (const Magic &magic : kMagic)
    if (!name && bytes >= magic.offset && all.substr(magic.offset).starts_with(magic.bytes))
      name = magic.name;
  if (!name)
    name = bytes == 0 ? "an empty file" : isText(all.substr(0, 64)) ? "a text" : "no picture that is known";
  return Kind::Other;
}

} // namespace mpc::images
