// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Takes pictures from an array of bytes [samples, channels, height, width].
#pragma once

#include "mpc/data.h"
#include "runtime/images/augment/Picture.h"
#include "runtime/support/Error.h"

namespace mpc::images {

class ArrayPictures final : public Pictures {
public:
  explicit ArrayPictures(const mpc_picture_array &array) : array_(array) {}

  PictureSize look(int64_t sample) override {
    sample_ = sample;
    return {array_.width, array_.height};
  }
  PictureView decode(int, PictureSize) override {
    const ptrdiff_t plane = ptrdiff_t(array_.width) * array_.height;
    return {{array_.width, array_.height},
            array_.channels,
            array_.width,
            1,
            plane,
            array_.pixels + sample_ * plane * array_.channels};
  }
  std::string describe(int64_t sample) const override { return rt::concat(array_.name, ": sample ", sample); }

private:
  mpc_picture_array array_;
  int64_t sample_ = 0;
};

} // namespace mpc::images
