// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pictures that a network computes, side by side in one PNG file.
#pragma once

#include "runtime/core/Manifest.h"
#include "runtime/support/AtomicFile.h"

#include "mpc/data.h"

#include <optional>
#include <string>
#include <vector>

namespace mpc::rt {

/// The values that are black and white.
struct ValueRange {
  double low = 0, high = 1;
  /// Parses "LOW:HIGH"; returns nothing for a text that is no such pair of finite numbers, LOW below HIGH.
  static std::optional<ValueRange> parse(const std::string &text);
};

struct GridOptions {
  std::string file = {};                // the .png to write; "": none
  std::string output = {};              // the output with the pictures; "": the only one that has pictures
  std::optional<ValueRange> range = {}; // absent: the least and the largest of all values
  int64_t count = 64;                   // the most pictures
  int64_t columns = 8;
};

/// Returns the position of the output that holds the pictures: its shape is [n,c,h,w] or [n,h,w,c] with c = 1 or 3
/// (red, green, blue); where both fit, the first counts. Throws Error where there is none, or several and no name.
size_t picturesAmong(const std::vector<const Port *> &outputs, const GridOptions &options);

/// Rows of pixels from top to bottom, in each pixel `channels` bytes.
struct PictureGrid {
  int32_t width = 0, height = 0, channels = 0;
  std::vector<uint8_t> pixels;
  ValueRange range;      // the one that was used
  bool equal = false;    // all values are equal, so that only the lower bound is one of them
  int64_t nonFinite = 0; // values that are no finite numbers; they are black

  /// Puts the first pictures of a tensor side by side, 2 pixels apart. Values outside the range are black or white.
  /// Throws Error where there is no picture, or where the grid has more pixels than readers of PNG files take.
  static PictureGrid of(const Tensor &pictures, const GridOptions &options);
  /// Throws the Error that `of` would throw for pictures of this shape.
  static void check(const Shape &shape, const GridOptions &options);
  /// Writes a PNG file. Throws Error.
  void write(AtomicFile &file, const mpc_data_plugin &plugin) const;
};

} // namespace mpc::rt
