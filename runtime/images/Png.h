// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Decodes and encodes PNG by libspng.
#pragma once

#include "runtime/images/Buffer.h"
#include "runtime/images/Pixels.h"

#include "mpc/data.h"

struct spng_ctx;

namespace mpc::images {

/// A decoder, which is used for one file after another. Errors are thrown without a place.
class PngDecoder {
public:
  PngDecoder() = default;
  ~PngDecoder();
  PngDecoder(const PngDecoder &) = delete;
  PngDecoder &operator=(const PngDecoder &) = delete;

  /// Reads the header. The bytes must stay where they are until the picture is decoded. Throws Error if the file is
  /// damaged.
  Header open(const uint8_t *data, size_t bytes);
  /// Decodes the file that was opened last. Writes [height, width, channels], not yet turned, into `pixels`. Alpha is
  /// dropped, and of 16 bits the upper 8 are taken. Throws Error if the data are damaged or cut short.
  void decode(int channels, Buffer &pixels);

private:
  void reset();
  spng_ctx *context_ = nullptr;
  const uint8_t *data_ = nullptr;
  size_t bytes_ = 0;
  bool decoded_ = false;
};

/// Makes a file of a picture of 1 or 3 channels, in memory that the caller frees by free(). Throws Error.
uint8_t *encodePng(const mpc_picture &picture, size_t &bytes);

} // namespace mpc::images
