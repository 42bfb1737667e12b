// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/images/Png.h"

#include "runtime/support/Error.h"

#include <cstring>
#include <memory>
#include <new>
#include <spng.h>
#include <zlib.h>

namespace mpc::images {

using rt::concat;
using rt::fail;

/// The most bytes that libspng keeps of chunks that are no pixels, such as colour profiles.
static constexpr size_t kMostChunkBytes = size_t(16) << 20;

/// Throws what libspng's number means.
[[noreturn]] static void refuse(int code) {
  constexpr char kAgain[] = "copy or download the file again, or remove it";
  if (code == SPNG_EMEM)
    throw std::bad_alloc();
  if (code == SPNG_IO_EOF || code == SPNG_EOF || code == SPNG_EIDAT_TOO_SHORT)
    fail("", "is a PNG picture that is cut short", kAgain);
  fail("", concat("is a damaged PNG picture: ", spng_strerror(code)), kAgain);
}

static void require(int code) {
  if (code != SPNG_OK)
    refuse(code);
}

/// Returns the orientation that the eXIf chunk states; libspng would only find one before the pixels.
static int orientationOf(const uint8_t *data, size_t bytes) {
  constexpr size_t kSignature = 8, kAround = 12; // a chunk has its length, type and checksum around its data
  auto number = [&](size_t at) {
    return uint32_t(data[at]) << 24 | uint32_t(data[at + 1]) << 16 | uint32_t(data[at + 2]) << 8 | data[at + 3];
  };
  for (size_t at = kSignature; at + kAround <= bytes;) {
    size_t length = number(at);
    if (length > bytes - at - kAround)
      break;
    const uint8_t *type = data + at + 4;
    if (std::memcmp(type, "eXIf", 4) == 0)
      return crc32(0, type, uInt(length + 4)) == number(at + 8 + length) ? exifOrientation(type + 4, length) : 1;
    at += kAround + length;
  }
  return 1;
}

PngDecoder::~PngDecoder() { spng_ctx_free(context_); }

void PngDecoder::reset() {
  spng_ctx_free(context_);
  decoded_ = false;
  context_ = spng_ctx_new(0);
  if (!context_)
    throw std::bad_alloc();
  require(spng_set_chunk_limits(context_, kMostChunkBytes, kMostChunkBytes));
  require(spng_set_png_buffer(context_, data_, bytes_));
}

Header PngDecoder::open(const uint8_t *data, size_t bytes) {
  data_ = data;
  bytes_ = bytes;
  reset();
  spng_ihdr info = {};
  require(spng_get_ihdr(context_, &info));
  checkSize(info.width, info.height);
  // Deflate makes at most 1032 bytes of one. This check comes before memory is taken for the size that the file states.
  constexpr uint64_t kMostRatio = 1032;
  constexpr int kSamples[] = {1, 0, 3, 1, 2, 0, 4}; // of a pixel, by the type of its colours
  uint64_t bits = uint64_t(info.bit_depth) * uint64_t(info.color_type < 7 ? kSamples[info.color_type] : 0);
  if (uint64_t(info.width) * info.height * bits / 8 > kMostRatio * bytes)
    fail("",
         concat("is a PNG picture that is cut short: it has ", bytes, " bytes for ", info.width, " x ", info.height,
                " pixels"),
         "copy or download the file again, or remove it");
  return {int32_t(info.width), int32_t(info.height), orientationOf(data, bytes)};
}

void PngDecoder::decode(int channels, Buffer &pixels) {
  if (decoded_)
    reset();
  decoded_ = true;
  spng_ihdr info = {};
  require(spng_get_ihdr(context_, &info));
  bool grey = channels == 1 && info.color_type == SPNG_COLOR_TYPE_GRAYSCALE && info.bit_depth <= 8;
  spng_format format = grey ? SPNG_FMT_G8 : SPNG_FMT_RGB8;
  size_t count = size_t(info.width) * info.height, bytes = count * (grey ? 1 : 3);
  uint8_t *target = pixels.take(bytes);
  require(spng_decode_image(context_, target, bytes, format, 0));
  require(spng_decode_chunks(context_)); // checks the rest, and the checksum of the last pixels
  if (channels == 1 && !grey)
    rgbToGrey(target, count);
}

uint8_t *encodePng(const mpc_picture &picture, size_t &bytes) {
  const std::unique_ptr<spng_ctx, decltype(&spng_ctx_free)> context(spng_ctx_new(SPNG_CTX_ENCODER), spng_ctx_free);
  if (!context)
    throw std::bad_alloc();
  auto require = [](int code) {
    if (code == SPNG_EMEM)
      throw std::bad_alloc();
    if (code != SPNG_OK)
      fail("", concat("cannot be made a PNG picture: ", spng_strerror(code)), "");
  };
  spng_ihdr info = {};
  info.width = uint32_t(picture.width);
  info.height = uint32_t(picture.height);
  info.bit_depth = 8;
  info.color_type = picture.channels == 1 ? SPNG_COLOR_TYPE_GRAYSCALE : SPNG_COLOR_TYPE_TRUECOLOR;
  require(spng_set_option(context.get(), SPNG_ENCODE_TO_BUFFER, 1));
  require(spng_set_ihdr(context.get(), &info));
  require(spng_encode_image(context.get(), nullptr, 0, SPNG_FMT_PNG, SPNG_ENCODE_PROGRESSIVE | SPNG_ENCODE_FINALIZE));
  const size_t rowBytes = size_t(picture.width) * size_t(picture.channels);
  for (int32_t y = 0; y < picture.height; ++y) {
    const int code = spng_encode_row(context.get(), picture.pixels + y * picture.row_bytes, rowBytes);
    if (y + 1 < picture.height || code != SPNG_EOI)
      require(code);
  }
  int code = SPNG_OK;
  void *file = spng_get_png_buffer(context.get(), &bytes, &code);
  require(code);
  return static_cast<uint8_t *>(file);
}

} // namespace mpc::images
