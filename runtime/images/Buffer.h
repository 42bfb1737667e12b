// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory for files and pixels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace mpc::images {

/// Bytes that a reader uses again for each picture. They are not cleared, because whoever asks for them overwrites
/// them.
class Buffer {
public:
  Buffer() = default;
  ~Buffer() { std::free(data_); }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;

  /// Returns room for so many bytes; what was in the buffer is lost. Throws std::bad_alloc.
  uint8_t *take(size_t bytes) {
    // After one huge picture among small ones, the memory goes back.
    bool wasteful = capacity_ > kLarge && bytes < capacity_ / 8;
    if (bytes > capacity_ || wasteful) {
      std::free(data_);
      capacity_ = 0;
      data_ = static_cast<uint8_t *>(std::malloc(bytes ? bytes : 1));
      if (!data_)
        throw std::bad_alloc();
      capacity_ = bytes;
    }
    return data_;
  }
  uint8_t *data() const { return data_; }

private:
  static constexpr size_t kLarge = size_t(64) << 20;
  uint8_t *data_ = nullptr;
  size_t capacity_ = 0;
};

} // namespace mpc::images
