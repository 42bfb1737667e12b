// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sources: PTX ISA, "Tensors": tiled mode, im2col mode, swizzling modes; CUDA driver API, cuTensorMapEncodeTiled
// and cuTensorMapEncodeIm2col.
#include "runtime/emulator/TensorMap.h"

#include <algorithm>
#include <cstring>

namespace mpc::rt::emulator {

/// Returns the number of elements of a box along a tiled dimension.
static int64_t extentOf(const TensorMap &map, uint32_t d) { return (map.box[d] + map.steps[d] - 1) / map.steps[d]; }

uint32_t TensorMap::boxBytes() const {
  int64_t rows = pixels;
  if (pixels == 0) {
    rows = 1;
    for (uint32_t d = 1; d < rank; ++d)
      rows *= extentOf(*this, d);
  }
  return uint32_t(rows * rowBytes());
}

int64_t TensorMap::tensorBytes() const {
  int64_t last = elementBytes;
  for (uint32_t d = 0; d < rank; ++d)
    last += (sizes[d] - 1) * strides[d];
  return last;
}

/// Calls what(row, offset of the row's channel 0 in the tensor, or -1 if the row lies outside) for the
/// rows of a box.
template <typename What>
static void forRows(const TensorMap &map, const BoxPosition &position, What what) {
  int64_t at[TensorMap::maxRank], count[TensorMap::maxRank] = {};
  std::copy(position.coordinates, position.coordinates + map.rank, at);
  uint32_t rows = map.boxBytes() / map.rowBytes();
  for (uint32_t row = 0; row < rows; ++row) {
    int64_t offset = 0;
    for (uint32_t d = 1; d < map.rank; ++d) {
      int64_t coordinate = at[d] + position.offsets[d];
      if (coordinate < 0 || coordinate >= map.sizes[d])
        offset = -1;
      else if (offset >= 0)
        offset += coordinate * map.strides[d];
    }
    what(row, offset);
    // Goes to the next row of the box, or in im2col mode to the next position; the last dimension of positions,
    // N, has no bounds.
    for (uint32_t d = 1; d < map.rank; ++d) {
      at[d] += map.steps[d];
      if (map.pixels == 0) {
        if (++count[d] < extentOf(map, d))
          break;
        count[d] = 0, at[d] = position.coordinates[d];
      } else {
        if (d + 1 == map.rank || at[d] < map.sizes[d] + map.upper[d])
          break;
        at[d] = map.lower[d];
      }
    }
  }
}

/// Calls what(place in shared memory, byte of the row) for the chunks of 16 bytes of a row.
template <typename What>
static void forChunks(const TensorMap &map, uint32_t place, uint32_t row, What what) {
  uint32_t mask = (1u << map.swizzle) - 1;
  for (uint32_t byte = 0; byte < map.rowBytes(); byte += 16) {
    uint32_t to = place + row * map.rowBytes() + byte;
    what(to ^ (to >> 7 & mask) << 4, byte);
  }
}

/// The range of bytes of a row that lie inside the tensor: [begin, end).
struct Inside {
  int64_t begin, end;
  Inside(const TensorMap &map, int64_t first)
      : begin(std::clamp<int64_t>(-first, 0, map.box[0]) * map.elementBytes),
        end(std::clamp<int64_t>(map.sizes[0] - first, 0, map.box[0]) * map.elementBytes) {}
};

constexpr uint32_t kMaxRowBytes = 256 * 8;

void loadBox(const TensorMap &map, const BoxPosition &position, const char *global, char *shared, uint32_t place) {
  int64_t first = position.coordinates[0];
  Inside inside(map, first);
  forRows(map, position, [&](uint32_t row, int64_t offset) {
    alignas(16) char line[kMaxRowBytes];
    std::memset(line, 0, map.rowBytes());
    if (offset >= 0 && inside.begin < inside.end)
      std::memcpy(line + inside.begin, global + offset + first * map.elementBytes + inside.begin,
                  size_t(inside.end - inside.begin));
    forChunks(map, place, row, [&](uint32_t to, uint32_t byte) { std::memcpy(shared + to, line + byte, 16); });
  });
}

void storeBox(const TensorMap &map, const BoxPosition &position, char *global, const char *shared, uint32_t place) {
  int64_t first = position.coordinates[0];
  Inside inside(map, first);
  forRows(map, position, [&](uint32_t row, int64_t offset) {
    if (offset < 0 || inside.begin >= inside.end)
      return;
    alignas(16) char line[kMaxRowBytes];
    forChunks(map, place, row, [&](uint32_t from, uint32_t byte) { std::memcpy(line + byte, shared + from, 16); });
    std::memcpy(global + offset + first * map.elementBytes + inside.begin, line + inside.begin,
                size_t(inside.end - inside.begin));
  });
}

} // namespace mpc::rt::emulator
