// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Takes pictures from files.
#pragma once

#include "runtime/images/Reader.h"
#include "runtime/images/augment/Picture.h"

namespace mpc::images {

class FilePictures final : public Pictures {
public:
  explicit FilePictures(const Source &source) : source_(source), reader_(source) {}

  PictureSize look(int64_t sample) override {
    const mpc_picture_size size = reader_.look(sample);
    return {size.width, size.height};
  }
  PictureView decode(int channels, PictureSize least) override {
    const mpc_picture picture = reader_.decode(channels, least.width, least.height);
    return {{picture.width, picture.height},
            channels,
            ptrdiff_t(picture.row_bytes),
            channels,
            1,
            picture.pixels,
            reader_.coverage()};
  }
  std::string describe(int64_t sample) const override { return source_.describe(sample); }
  const Source *source() const override { return &source_; }
  const BoxTable *boxes() const override { return source_.boxes(); }

private:
  const Source &source_;
  Reader reader_;
};

} // namespace mpc::images
