//===- Window.h - The geometry of a convolution, for gathering --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Forward convolutions and the phases of an input gradient read their source in the same way. Along each
// dimension, result position j (of `count`) and tap t read the source at
//
//     j * step + offset[t]        outside [0, sourceExtent): zero
//
// and the result lies at resultBegin + j * resultStep.
//   forward:        step = stride, offset[t] = t * dilation - pad_low, every kernel tap
//   input gradient: one phase r for each input position modulo the stride, i = r + j * stride. Input i receives
//                   dy[o] * w[t] where o * stride - pad_low + t * dilation = i, so only the taps with
//                   (r + pad_low - t * dilation) divisible by the stride take part, and for them step = 1,
//                   offset[t] = (r + pad_low - t * dilation) / stride. No zero is ever inserted or
//                   multiplied.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_RUNTIME_HOST_GENERIC_WINDOW_H
#define MPC_RUNTIME_HOST_GENERIC_WINDOW_H

#include "Primitive.h"

#include <vector>

namespace mpc::generic {

struct WindowDim {
  int64_t count, step, sourceExtent, resultBegin, resultStep, resultExtent;
  std::vector<int64_t> offset; // ascending
  std::vector<int64_t> tap;    // the kernel index of each offset
};

struct Window {
  WindowDim dim[3]; // missing spatial dimensions come first and have extent 1
  int64_t images, groups, sourceChannels, resultChannels;

  int64_t sourcePerGroup() const { return sourceChannels / groups; }
  int64_t resultPerGroup() const { return resultChannels / groups; }
  int64_t taps() const { return int64_t(dim[0].tap.size() * dim[1].tap.size() * dim[2].tap.size()); }
  /// Returns the number of result positions of all images, which are the rows of the product.
  int64_t rows() const { return images * dim[0].count * dim[1].count * dim[2].count; }
  /// Returns the length of the reduction, in the order [tap 0][tap 1][tap 2][channel of the group].
  int64_t depth() const { return taps() * sourcePerGroup(); }
  /// Returns whether the innermost taps of a position and their channels are one contiguous run of the source.
  bool contiguousLine() const;
  /// Returns whether no tap ever reads outside the source.
  bool inside() const;
  /// Returns whether row r of the gathered matrix is simply pixel r of the source.
  bool dense() const;
};

/// Returns the window of the forward pass, which is also the window through which the weight gradient reads x.
Window forwardWindow(const mpc_library_desc &);
/// Returns the windows of the input gradient's phases, in every combination, except those without result positions.
std::vector<Window> inputGradWindows(const mpc_library_desc &);

/// Writes dst[i * ld + j] = gathered matrix of `group` at row rows.begin + i, reduction index depth.begin + j.
template <class T>
void gatherRows(const Window &, const void *source, int32_t type, int64_t group, int64_t row0, int64_t rows,
                int64_t depth0, int64_t depth, T *dst, int64_t ld);

} // namespace mpc::generic

#endif
