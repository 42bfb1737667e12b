// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads and decodes pictures.
#pragma once

#include "mpc/data.h"
#include "runtime/images/File.h"
#include "runtime/images/Jpeg.h"
#include "runtime/images/Png.h"
#include "runtime/images/Source.h"

namespace mpc::images {

/// The buffers and decoders of one thread. Errors are thrown without a place: it is the sample's.
class Reader {
public:
  explicit Reader(const Source &source) : source_(source) {}

  /// Reads the sample's file and its header, and returns the size of the picture as a viewer shows it.
  mpc_picture_size look(int64_t sample);
  /// Decodes the picture that look() opened last (mpc/data.h).
  mpc_picture decode(int channels, int32_t leastWidth, int32_t leastHeight);
  /// Returns where the pixels that decode() gave lie in the picture.
  Coverage coverage() const { return coverage_; }
  /// Returns where the sample that look() opened last comes from.
  std::string describe() const { return sample_ < 0 ? "" : source_.describe(sample_); }

  /// Does what look() does with bytes that are in memory already.
  mpc_picture_size lookAt(const uint8_t *data, size_t bytes);

private:
  /// Returns the archive's file, which stays open for a while.
  const File &archive(int32_t index);

  struct OpenArchive {
    int32_t index = -1;
    File file;
  };
  static constexpr size_t kOpenArchives = 16;

  const Source &source_;
  int64_t sample_ = -1;
  OpenArchive open_[kOpenArchives];
  size_t next_ = 0; // the place in open_ that is replaced next
  JpegDecoder jpeg_;
  PngDecoder png_;
  bool isPng_ = false, ready_ = false;
  Header header_;
  Coverage coverage_;
  Buffer file_, pixels_, turned_;
};

} // namespace mpc::images
