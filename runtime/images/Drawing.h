// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Draws boxes and their captions on a picture.
#pragma once

#include "runtime/images/augment/Picture.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace mpc::images {

struct Colour {
  uint8_t red, green, blue;
  bool operator==(const Colour &) const = default;
};

/// Returns the colour of a class. Twelve classes in a row have different ones.
Colour colourOf(int64_t label);

/// A picture in colours that can be drawn on.
class Canvas {
public:
  /// Copies planes of bytes [channels, height, width], of 1 or 3 channels. Small pictures become larger by a whole
  /// factor, so that captions can be read.
  Canvas(const uint8_t *planes, int channels, PictureSize size);

  /// Draws the frame of a box whose corners are in pixels of the planes. The frame lies within the box, and the box is
  /// clipped to the picture. Returns false, and draws nothing, where a corner is NaN or no part of the box is inside.
  bool frame(const float corners[4], Colour colour);
  /// Writes a caption above that box, or within it where the picture has no room above. Letters that the font lacks are
  /// question marks.
  void caption(const float corners[4], Colour colour, std::string_view text);

  int factor() const { return factor_; }
  PictureSize size() const { return size_; }
  /// Returns the rows from top to bottom, three bytes for each pixel.
  const std::vector<uint8_t> &pixels() const { return pixels_; }

private:
  /// The pixels from (left, top) up to, but not including, (right, bottom).
  struct Area {
    int left, top, right, bottom;
  };
  /// Returns the pixels of a box inside the picture; none where there are no such pixels.
  Area areaOf(const float corners[4]) const;
  void fill(Area area, Colour colour);

  int factor_;
  PictureSize size_;
  std::vector<uint8_t> pixels_;
};

} // namespace mpc::images
