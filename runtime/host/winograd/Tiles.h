//===- Tiles.h - The tiles of a convolution -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A convolution is computed as a sum of parts, which are correlations of 3x3 taps without strides. Five taps along a
// dimension are parts of three and two taps, and the taps that a part lacks are zeros.
//
// With a stride of 2, the even taps read every second pixel and the odd taps read the others, so they are different
// parts. In the input gradient it is the results that fall into classes: every second result gets even taps only. There
// each class is a pass with parts of its own.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_RUNTIME_HOST_WINOGRAD_TILES_H
#define MPC_RUNTIME_HOST_WINOGRAD_TILES_H

#include "Primitive.h"
#include "Transforms.h"

#include <array>
#include <vector>

namespace mpc::winograd {

/// A batch of maps, stored as [N, extent 0, extent 1, channels]. No window reads pixels from `end` on.
struct Maps {
  int64_t extent[2], channels, end[2];
};

/// A pixel of one image.
struct Place {
  int64_t image, row, column;
};

/// A correlation of at most 3x3 taps.
struct Part {
  int64_t first[2];                             ///< the pixel of the source that the first result's first tap reads
  std::array<int64_t, tileTaps * tileTaps> tap; ///< the number of each tap among the weights', -1: it is zero
};

/// Some of the results: those at first + i * resultStep, with i < count, along each dimension.
struct Pass {
  int64_t first[2], count[2];
  std::vector<Part> parts;

  int64_t along(int dim) const { return generic::ceilDiv(count[dim], tileResults); }
  /// Returns the number of tiles of 4x4 results of an image.
  int64_t tiles() const { return along(0) * along(1); }
  /// Returns the number of a tile's first result, counted in results of this pass.
  Place place(int64_t tile) const {
    return {tile / tiles(), tile / along(1) % along(0) * tileResults, tile % along(1) * tileResults};
  }
};

/// A convolution or its input gradient.
struct Tiling {
  Maps source, result;
  int64_t images, sourceStep, resultStep; ///< the steps between the pixels of neighbouring results
  std::vector<Pass> passes;

  /// Writes the addresses of the 6x6 pixels of the source that `part` reads for a tile; `zeros` for those outside.
  void address(const Part &part, Place tile, const void *source, int32_t type, const void *zeros,
               const void **pixels) const;
};

/// Returns the tiling of a forward pass, in one pass. The weight gradient has the same tiles.
Tiling forwardTiling(const mpc_library_desc &);
/// Returns the tiling of an input gradient, whose source is the result's gradient.
Tiling inputGradTiling(const mpc_library_desc &);

/// Writes the addresses of size x size pixels, with steps between them, from `from` on, and `zeros` for those that no
/// window reads. (A tile reads more than its windows do, and a NaN there must not matter.)
void addressPixels(const Maps &maps, const void *data, int32_t type, Place from, int64_t step, int size,
                   const void *zeros, const void **pixels);

/// Returns the distance of rows of so many elements that keeps them from sharing a few sets of the caches.
inline int64_t rowStep(int64_t elements) { return generic::roundUp(elements, 16) + 16; }

/// Make a forward pass or an input gradient, and a weight gradient.
std::unique_ptr<generic::Primitive> makeConvolution(const mpc_library_desc &, int threads);
std::unique_ptr<generic::Primitive> makeWeightGrad(const mpc_library_desc &, int threads);

} // namespace mpc::winograd

#endif
