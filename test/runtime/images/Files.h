// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes files for the tests of the picture plugin: JPEG by libjpeg, PNG and tar byte by byte, so that they can be
// wrong.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace mpc::images::test {

/// The test picture: channel 0 grows from left to right, channel 1 from top to bottom, and the others are constant.
uint8_t gradient(int x, int y, int channel, int width, int height);

/// How a JPEG file is written.
struct Jpeg {
  int width = 33, height = 21;
  int channels = 3; ///< 1: grey; 2: of unknown colours; 3: RGB; 4: CMYK, stored inverted
  bool ycc = true;  ///< whether 3 and 4 channels become YCbCr and YCCK
  bool progressive = false, arithmetic = false;
  int bitsAtOnce = 0;    ///< not 0: each coefficient has scans of its own, with so many bits of the lowest 8
  int subsampling = 1;   ///< of the second and third channel, in each direction
  int restart = 0;       ///< the blocks between two restart marks
  std::string app1 = {}; ///< the data of a marker APP1
  std::string operator()() const;
};

/// Returns the data of a marker APP1 that states the orientation. `little`: the order of the bytes.
std::string exif(int orientation, bool little = true);
/// Returns the file without its last bytes.
std::string cut(std::string file, size_t bytes);
/// Returns the file with other bytes at an offset.
std::string with(std::string file, size_t offset, std::string_view bytes);
/// Returns where a JPEG's marker begins, of which FF and this byte are written.
size_t markerAt(const std::string &jpeg, uint8_t marker);
/// Returns a JPEG with another width and height in its frame's header.
std::string resized(std::string jpeg, int width, int height);

/// Returns a chunk of a PNG with its checksum.
std::string chunk(const std::string &type, const std::string &data);
/// Returns a zlib stream.
std::string packed(const std::string &data);

/// How a PNG file is written. The samples are `sample(x, y, channel)`.
struct Png {
  uint32_t width = 13, height = 7;
  int depth = 8, type = 2, interlace = 0;
  std::string before = {}, after = {}; ///< chunks before and behind the pixels
  std::function<uint32_t(int x, int y, int channel)> sample = [](int x, int y, int c) {
    return uint32_t(x * 31 + y * 17 + c * 71);
  };
  int channels() const;
  uint32_t at(int x, int y, int channel) const { return sample(x, y, channel) & ((1u << depth) - 1); }
  /// Returns the rows, each with its filter, before they are packed.
  std::string rows() const;
  std::string header() const;
  std::string operator()() const;
};
/// Returns a PNG file of these chunks.
std::string pngOf(const std::string &chunks);

/// How a member of a tar archive is written.
struct Member {
  std::string name, data = {};
  std::string size = {}; ///< the field as it is; empty: the data's size
  char type = '0';
  std::string magic = std::string("ustar\0"
                                  "00",
                                  8);
  std::string prefix = {}, link = {};
  int64_t checksumError = 0;
  std::string operator()() const;
};
/// Returns an archive of these members with the mark of its end.
std::string tarOf(const std::string &members);
/// Returns a pax header with one record.
std::string pax(const std::string &key, const std::string &value, char type = 'x');

} // namespace mpc::images::test
