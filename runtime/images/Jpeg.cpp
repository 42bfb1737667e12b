// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// libjpeg reports an error by a function that must not return, and C code lies between the report and our caller. So
// the report jumps (longjmp) over frames that have nothing to destroy, and Error is thrown behind the jump.
#include "runtime/images/Jpeg.h"

#include "runtime/support/Error.h"
#include "runtime/support/FunctionRef.h"

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstring>

// libjpeg's headers need <cstdio>, and each other in this order.
#include <jpeglib.h>
// (The numbers of messages depend on the version.)
#include <jerror.h>

namespace mpc::images {

using rt::concat;
using rt::fail;

namespace {
/// A progressive file may have any number of scans, each of which costs a pass over the whole picture. Encoders write
/// about 10, and a file of one scan for each coefficient has fewer than this.
constexpr int kMostScans = 200;

/// libjpeg goes on after these warnings with pixels that are made up. The others concern the form of a file only.
bool losesPixels(int code) {
  return code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE ||
         code == JWRN_ARITH_BAD_CODE || code == JWRN_MUST_RESYNC || code == JWRN_BOGUS_PROGRESSION;
}

/// Where libjpeg's errors arrive.
struct Errors {
  jpeg_error_mgr manager; // the first member, so that its address is that of the whole
  jmp_buf jump;
  int code;
  char text[JMSG_LENGTH_MAX];
};

[[noreturn]] void jumpOut(j_common_ptr common) {
  auto *errors = reinterpret_cast<Errors *>(common->err);
  errors->code = common->err->msg_code;
  common->err->format_message(common, errors->text);
  std::longjmp(errors->jump, 1);
}

void takeMessage(j_common_ptr common, int level) {
  if (level < 0 && losesPixels(common->err->msg_code))
    jumpOut(common);
}

void limitScans(j_common_ptr common) {
  if (reinterpret_cast<j_decompress_ptr>(common)->input_scan_number <= kMostScans)
    return;
  auto *errors = reinterpret_cast<Errors *>(common->err);
  errors->code = 0;
  std::snprintf(errors->text, sizeof errors->text, "it has more than %d scans", kMostScans);
  std::longjmp(errors->jump, 1);
}
} // namespace

struct JpegDecoder::State {
  jpeg_decompress_struct info = {};
  Errors errors;
  jpeg_progress_mgr progress;
  const uint8_t *data = nullptr;
  size_t bytes = 0;
  bool opened = false; // whether the header was read and nothing behind it

  /// Runs calls of libjpeg. `work` and what it calls must have no object with a destructor. Returns whether they
  /// succeeded.
  bool run(rt::FunctionRef<void()> work) {
    if (setjmp(errors.jump) != 0)
      return false;
    work();
    return true;
  }
  /// Throws Error for what libjpeg has reported.
  [[noreturn]] void refuse() {
    opened = false;
    jpeg_abort_decompress(&info);
    if (errors.code == JERR_OUT_OF_MEMORY)
      throw std::bad_alloc();
    if (errors.code == JWRN_JPEG_EOF || errors.code == JWRN_HIT_MARKER || errors.code == JERR_INPUT_EOF ||
        errors.code == JERR_INPUT_EMPTY)
      fail("", "is a JPEG picture that is cut short", "copy or download the file again, or remove it");
    fail("", concat("is no JPEG picture that can be read: ", static_cast<const char *>(errors.text)),
         "write it again as a JPEG or PNG file, or remove it");
  }
  void readHeader() {
    if (!run([this] {
          create();
          jpeg_mem_src(&info, data, static_cast<unsigned long>(bytes));
          jpeg_read_header(&info, TRUE);
        }))
      refuse();
    opened = true;
  }
  /// Begins anew. Between two pictures libjpeg would keep the tables of the first one, and read with them a second one
  /// that has lost its own.
  void create() {
    jpeg_destroy_decompress(&info);
    jpeg_create_decompress(&info);
    jpeg_save_markers(&info, JPEG_APP0 + 1, 0xffff);
    info.progress = &progress;
  }
  /// Returns the orientation of the first EXIF block.
  int orientation() const {
    constexpr char kExif[] = "Exif\0"; // with the second zero byte that ends the string
    for (jpeg_saved_marker_ptr marker = info.marker_list; marker; marker = marker->next)
      if (marker->marker == JPEG_APP0 + 1 && marker->data_length >= sizeof kExif &&
          std::memcmp(marker->data, kExif, sizeof kExif) == 0)
        return exifOrientation(marker->data + sizeof kExif, marker->data_length - sizeof kExif);
    return 1;
  }
};

JpegDecoder::JpegDecoder() : state_(std::make_unique<State>()) {
  State &s = *state_;
  s.info.err = jpeg_std_error(&s.errors.manager);
  s.errors.manager.error_exit = jumpOut;
  s.errors.manager.emit_message = takeMessage;
  s.progress = {};
  s.progress.progress_monitor = limitScans;
}

JpegDecoder::~JpegDecoder() { jpeg_destroy_decompress(&state_->info); }

Header JpegDecoder::open(const uint8_t *data, size_t bytes) {
  State &s = *state_;
  s.data = data;
  s.bytes = bytes;
  s.readHeader();
  checkSize(s.info.image_width, s.info.image_height);
  // Nobody writes arithmetic coding, in which a small file can hold a picture of any size.
  if (s.info.arith_code)
    fail("", "is a JPEG picture in arithmetic coding, which is not read",
         "write it again as a usual JPEG or PNG file, or remove it");
  // The cheapest file has a bit for each block of 8 x 8 coefficients and two channels of half the blocks. This check
  // comes before libjpeg takes memory for the size that the file states.
  int64_t blocks = ((int64_t(s.info.image_width) + 7) / 8) * ((int64_t(s.info.image_height) + 7) / 8);
  if (int64_t(bytes) * 8 < blocks / 2)
    fail("",
         concat("is a JPEG picture that is cut short: it has ", bytes, " bytes for ", s.info.image_width, " x ",
                s.info.image_height, " pixels"),
         "copy or download the file again, or remove it");
  return {int32_t(s.info.image_width), int32_t(s.info.image_height), s.orientation()};
}

/// Sets the colours that libjpeg gives, and returns how many bytes each pixel has.
static int chooseColours(jpeg_decompress_struct &info, int channels) {
  switch (info.jpeg_color_space) {
  case JCS_GRAYSCALE:
    info.out_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    return channels;
  case JCS_RGB:
  case JCS_YCbCr:
    info.out_color_space = JCS_RGB;
    return 3;
  case JCS_CMYK:
  case JCS_YCCK:
    info.out_color_space = JCS_CMYK;
    return 4;
  default:
    fail("", concat("is a JPEG picture with ", info.num_components, " channels, whose colours are not known"),
         "write it again with grey, RGB or CMYK pixels, or remove it");
  }
}

void JpegDecoder::decode(int channels, int32_t leastWidth, int32_t leastHeight, Header &header, Buffer &pixels) {
  State &s = *state_;
  if (!s.opened)
    s.readHeader();
  jpeg_decompress_struct &info = s.info;
  int stored = chooseColours(info, channels);
  info.scale_denom = 8;
  for (info.scale_num = 1;; info.scale_num *= 2) {
    if (!s.run([&info] { jpeg_calc_output_dimensions(&info); }))
      s.refuse();
    if (info.scale_num == 8 || (int64_t(info.output_width) >= std::min(leastWidth, header.width) &&
                                int64_t(info.output_height) >= std::min(leastHeight, header.height)))
      break;
  }
  size_t row = size_t(info.output_width) * size_t(stored);
  uint8_t *target = pixels.take(row * info.output_height);
  s.opened = false;
  bool done = s.run([&info, target, row] {
    jpeg_start_decompress(&info);
    while (info.output_scanline < info.output_height) {
      JSAMPROW rows[16];
      JDIMENSION count = std::min<JDIMENSION>(16, info.output_height - info.output_scanline);
      for (JDIMENSION i = 0; i < count; ++i)
        rows[i] = target + (info.output_scanline + i) * row;
      jpeg_read_scanlines(&info, rows, count);
    }
    jpeg_finish_decompress(&info); // reads up to the marker of the end, which a file that is cut short lacks
  });
  if (!done)
    s.refuse();
  header.reduction = int(8 / info.scale_num);
  header.width = int32_t(info.output_width);
  header.height = int32_t(info.output_height);
  size_t count = size_t(info.output_width) * info.output_height;
  if (stored == 4)
    invertedCmykToRgb(target, count);
  if (stored >= 3 && channels == 1)
    rgbToGrey(target, count);
}

} // namespace mpc::images
