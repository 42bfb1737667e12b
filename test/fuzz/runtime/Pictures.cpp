// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/fuzz/runtime/Pictures.h"

#include "runtime/support/Error.h"

#include <algorithm>

namespace mpc::rt::fuzz {

static void check(bool good, const char *what) {
  if (!good)
    finding(what);
}

bool acceptsPicture(const std::function<void()> &work) {
  return accepts([&] {
    try {
      work();
    } catch (const Error &error) {
      fail(error.where().empty() ? "input" : error.where(), error.clause(), error.hint());
    }
  });
}

/// Decodes what the reader has opened. `size`: what look() gave.
static void decode(images::Reader &reader, mpc_picture_size size, int channels, int32_t least) {
  mpc_picture picture = reader.decode(channels, least, least);
  check(picture.channels == channels, "other channels than asked for");
  check(picture.width <= size.width && picture.height <= size.height, "more pixels than the picture has");
  check(picture.width >= std::min(size.width, least) && picture.height >= std::min(size.height, least),
        "fewer pixels than asked for");
  check(picture.row_bytes >= int64_t(picture.width) * channels, "rows that overlap");
  // The sum reads each pixel, so that AddressSanitizer sees a row that ends early.
  uint64_t sum = 0;
  for (int32_t y = 0; y < picture.height; ++y)
    for (int64_t x = 0; x < int64_t(picture.width) * channels; ++x)
      sum += picture.pixels[y * picture.row_bytes + x];
  check(sum <= uint64_t(picture.height) * uint64_t(picture.width) * uint64_t(channels) * 255, "a sum beyond white");
}

void decodePicture(const uint8_t *data, size_t size) {
  // One reader goes on through all inputs, as it does through the files of a training.
  static const images::Source source("");
  static images::Reader reader(source);
  mpc_picture_size extent = {};
  if (!acceptsPicture([&] { extent = reader.lookAt(data, size); }))
    return;
  check(extent.width > 0 && extent.height > 0, "a picture without pixels");
  check(int64_t(extent.width) * extent.height <= images::kMostPixels, "a picture beyond the limit");
  if (int64_t(extent.width) * extent.height > 4000000)
    return; // takes longer than thousands of others
  bool whole = acceptsPicture([&] { decode(reader, extent, 3, INT32_MAX); });
  bool small = acceptsPicture([&] { decode(reader, extent, 1, int32_t(size % 40)); });
  check(whole == small, "a picture that is damaged at one scale alone");
}

void inspectSource(std::unique_ptr<const images::Source> source, bool read) {
  check(source->samples() > 0, "a source without samples");
  int64_t classes = int64_t(source->classes().size());
  images::Reader reader(*source);
  for (int64_t i = 0; i < source->samples(); ++i) {
    int64_t label = source->sample(i).label;
    const bool has = classes > 0 && !source->boxes(); // otherwise the classes are those of boxes
    check(has ? label >= 0 && label < classes : label == -1, "a label that is no class");
    if (source->boxes())
      for (const images::LabelledBox &box : source->boxes()->of(i))
        check(box.area() > 0 && box.label >= 0 && box.label < classes, "a box without an area or a class");
    check(!source->describe(i).empty(), "a sample without a place");
    if (read && i < 20)
      acceptsPicture([&] {
        mpc_picture_size size = reader.look(i);
        if (int64_t(size.width) * size.height <= 4000000)
          decode(reader, size, 3, 16);
      });
  }
}

} // namespace mpc::rt::fuzz
