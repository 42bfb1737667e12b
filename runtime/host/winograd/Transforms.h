//===- Transforms.h - Winograd's transformations --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// F(4x4, 3x3) computes 4x4 results of a 3x3 correlation from 6x6 inputs with 36 products instead of 144 (Lavin and
// Gray, Fast Algorithms for Convolutional Neural Networks, 2016, section 4.1):
//
//     y = A^T [(G w G^T) * (B^T x B)] A            * multiplies element by element
//     dw = G^T [(A dy A^T) * (B^T x B)] G          the derivative of the same formula
//
// The matrices interpolate at 0, +-5/8, +-3/2 and infinity. The errors of f32 there are half of those at the paper's
// points 0, +-1, +-2.
//
// An element of the 6x6 products is called a frequency. Arrays of them are [36][...]; `step` is the distance between
// two frequencies, in elements. The vectors run over channels.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_RUNTIME_HOST_WINOGRAD_TRANSFORMS_H
#define MPC_RUNTIME_HOST_WINOGRAD_TRANSFORMS_H

#include <cstdint>

namespace mpc::winograd {

constexpr int tileResults = 4; ///< results of a tile along one dimension
constexpr int tileInputs = 6;  ///< inputs of a tile along one dimension
constexpr int frequencies = tileInputs * tileInputs;
constexpr int tileTaps = 3; ///< taps along one dimension

/// Widens pixels of `channels` elements, at least one vector, and transforms them.
struct Pixels {
  const void *const *pixels; ///< 6x6 of the input or 4x4 of the result's gradient, row by row
  int32_t type;              ///< mpc_dtype of the elements
  int64_t channels;
  float *to;
  int64_t step;
};

/// Transforms weights: that of column i for tap t lies at taps[t][i].
struct Weights {
  const float *const *taps; ///< 3x3, row by row
  int64_t columns;          ///< a multiple of the vector length
  float *to;
  int64_t step;
};

/// Transforms products to the results of a tile: out = round(activation(y + bias + addend)). Products and biases up to
/// the next whole vector must be readable.
struct Results {
  const float *from;
  int64_t step, channels;
  void *out;             ///< the tile's first pixel
  int32_t type;          ///< mpc_dtype of out and addend
  int64_t rows, columns; ///< the results that exist, at most 4x4
  int64_t rowStep, columnStep;
  const float *bias;  ///< [channels] or null
  const void *addend; ///< as out; it may be out; or null
  bool relu;
};

/// Transforms products to gradients of weights: to[tap * ld + channel].
struct WeightGrads {
  const float *from;
  int64_t step, channels; ///< channels: at least one vector
  float *to;
  int64_t ld;
};

struct Transforms {
  void (*input)(const Pixels &);
  void (*outputGrad)(const Pixels &);
  void (*weights)(const Weights &);
  void (*results)(const Results &);
  void (*weightGrads)(const WeightGrads &);
};

/// Returns the transformations for the instruction set that the generic kernels use.
const Transforms &transforms();

} // namespace mpc::winograd

#endif
