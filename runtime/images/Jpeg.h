// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Decodes JPEG by libjpeg-turbo.
#pragma once

#include "runtime/images/Buffer.h"
#include "runtime/images/Pixels.h"

#include <memory>

namespace mpc::images {

/// A decoder, which is used for one file after another. Errors are thrown without a place.
class JpegDecoder {
public:
  JpegDecoder();
  ~JpegDecoder();
  JpegDecoder(const JpegDecoder &) = delete;
  JpegDecoder &operator=(const JpegDecoder &) = delete;

  /// Reads the header. The bytes must stay where they are until the picture is decoded. Throws Error if the file is
  /// damaged or of a kind that is not read.
  Header open(const uint8_t *data, size_t bytes);
  /// Decodes the file that was opened last, at the smallest scale (1/8, 1/4, 1/2 or 1) that has at least so many pixels
  /// in each direction, or as many as the picture itself. Writes the picture's size at this scale, and how many pixels
  /// one covers, into `header`, and the pixels [height, width, channels], not yet turned, into `pixels`. Throws Error
  /// if the data are damaged or cut short.
  void decode(int channels, int32_t leastWidth, int32_t leastHeight, Header &header, Buffer &pixels);

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace mpc::images
