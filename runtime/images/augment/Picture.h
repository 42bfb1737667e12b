// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pictures in memory, and what gives them.
#pragma once

#include "runtime/images/Pixels.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace mpc::images {

class BoxTable;
class Source;

/// A size in pixels.
struct PictureSize {
  int width = 0, height = 0;
  bool operator==(const PictureSize &) const = default;
};

/// Pixels that lie in somebody else's memory. Byte (x, y, channel) is at y * row + x * pixel + channel * plane, so a
/// view describes interleaved and planar pictures.
struct PictureView {
  PictureSize size;
  int channels = 0;
  ptrdiff_t row = 0, pixel = 0, plane = 0; // in bytes
  const uint8_t *pixels = nullptr;
  Coverage coverage = {};

  uint8_t at(int x, int y, int channel) const { return pixels[y * row + x * pixel + channel * plane]; }
};

/// Gives the pictures of samples to one thread: from files (FilePictures.h) or from an array (ArrayPictures.h). Errors
/// are thrown without a place: it is the sample's.
class Pictures {
public:
  virtual ~Pictures() = default;
  /// Opens the picture of a sample and returns its size. Throws Error.
  virtual PictureSize look(int64_t sample) = 0;
  /// Returns the pixels of the picture that look() opened; they are valid until the next call. The result may be
  /// smaller than the picture, but not smaller than `least` unless the picture itself is. Throws Error.
  virtual PictureView decode(int channels, PictureSize least) = 0;
  /// Returns where a sample comes from.
  virtual std::string describe(int64_t sample) const = 0;
  /// Returns the files that the pictures come from, or null where they come from an array.
  virtual const Source *source() const { return nullptr; }
  /// Returns the boxes of the samples, or null where they have none.
  virtual const BoxTable *boxes() const { return nullptr; }
};

} // namespace mpc::images
