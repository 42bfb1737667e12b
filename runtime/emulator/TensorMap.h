// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Describes tensors in global memory and the boxes of them that tensor_load and tensor_store move.
#pragma once

#include <cstdint>

namespace mpc::rt::emulator {

/// All arrays begin with the innermost dimension (dialects/Kernel/IR/HopperOps.td).
struct TensorMap {
  static constexpr uint32_t maxRank = 5;
  uint32_t buffer, elementBytes, swizzle, pixels,
      rank;                                 ///< swizzle: 0 none, 1 b32, 2 b64, 3 b128; pixels > 0: im2col
  int64_t sizes[maxRank], strides[maxRank]; ///< in elements; in bytes
  int64_t box[maxRank], steps[maxRank];
  int64_t lower[maxRank],
      upper[maxRank]; ///< bounds of the box of positions in im2col mode, at the index of their dimension

  /// Return the bytes of a row of a box, of a whole box in shared memory, and of the tensor from its first to
  /// its last element.
  uint32_t rowBytes() const { return uint32_t(box[0]) * elementBytes; }
  uint32_t boxBytes() const;
  int64_t tensorBytes() const;
};

/// The first element of a box, and in im2col mode the position in the filter.
struct BoxPosition {
  int32_t coordinates[TensorMap::maxRank];
  uint32_t offsets[TensorMap::maxRank]; ///< at the index of their dimension
};

/// loadBox copies a box from the tensor at `global` to shared memory at `place`, storeBox back. Elements outside are
/// read as zeros and never written.
void loadBox(const TensorMap &map, const BoxPosition &position, const char *global, char *shared, uint32_t place);
void storeBox(const TensorMap &map, const BoxPosition &position, char *global, const char *shared, uint32_t place);

} // namespace mpc::rt::emulator
