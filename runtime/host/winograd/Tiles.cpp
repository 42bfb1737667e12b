//===- Tiles.cpp - The tiles of a convolution -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Tiles.h"

#include <algorithm>
#include <utility>

namespace mpc::winograd {
namespace {

/// The part of one dimension.
struct Line {
  int64_t first;
  std::array<int64_t, tileTaps> tap;
};

std::vector<Part> combine(const std::vector<Line> &rows, const std::vector<Line> &columns, int64_t kernelColumns) {
  std::vector<Part> parts;
  for (const Line &row : rows)
    for (const Line &column : columns) {
      Part part{{row.first, column.first}, {}};
      for (int i = 0; i < tileTaps; ++i)
        for (int j = 0; j < tileTaps; ++j)
          part.tap[size_t(i * tileTaps + j)] = row.tap[size_t(i)] < 0 || column.tap[size_t(j)] < 0
                                                   ? -1
                                                   : row.tap[size_t(i)] * kernelColumns + column.tap[size_t(j)];
      parts.push_back(part);
    }
  return parts;
}

/// Returns the parts of a forward pass: result i reads stride * i + t - pad_low, and taps t that are a stride apart
/// read neighbours of one class of pixels.
std::vector<Line> forwardLines(const mpc_library_desc &d, int dim) {
  const int64_t stride = d.stride[dim], kernel = d.kernel[dim];
  std::vector<Line> lines;
  for (int64_t phase = 0; phase < stride; ++phase)
    for (int64_t first = phase; first < kernel; first += tileTaps * stride) {
      Line line{first - d.pad_low[dim], {}};
      for (int j = 0; j < tileTaps; ++j)
        line.tap[size_t(j)] = first + j * stride < kernel ? first + j * stride : -1;
      lines.push_back(line);
    }
  return lines;
}

/// Returns the parts of an input gradient. Position i of the input gets the products of y[o] with tap t where stride *
/// o + t - pad_low = i. For the positions i = stride * m + phase - pad_low those are o = m - j with t = phase + stride
/// * j. The taps of a part are reversed, so that o ascends; `first` is the smallest m with i >= 0.
std::vector<Line> inputGradLines(const mpc_library_desc &d, int dim, int64_t phase, int64_t first) {
  const int64_t stride = d.stride[dim], kernel = d.kernel[dim];
  std::vector<Line> lines;
  for (int64_t j = 0; phase + stride * j < kernel; j += tileTaps) {
    Line line{first - j - (tileTaps - 1), {}};
    for (int i = 0; i < tileTaps; ++i) {
      const int64_t tap = phase + stride * (j + tileTaps - 1 - i);
      line.tap[size_t(i)] = tap < kernel ? tap : -1;
    }
    lines.push_back(line);
  }
  return lines;
}

/// Rounds towards positive infinity; `a` may be negative.
int64_t ceilOf(int64_t a, int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }

} // namespace

/// Returns the maps of x and of y.
static std::pair<Maps, Maps> mapsOf(const mpc_library_desc &d) {
  Maps x{{d.in[0], d.in[1]}, d.C, {}};
  for (int i = 0; i < 2; ++i)
    x.end[i] = std::min(d.in[i], (d.out[i] - 1) * d.stride[i] + d.kernel[i] - d.pad_low[i]);
  return {x, {{d.out[0], d.out[1]}, d.O, {d.out[0], d.out[1]}}};
}

Tiling forwardTiling(const mpc_library_desc &d) {
  const auto [x, y] = mapsOf(d);
  const Pass all{{0, 0}, {d.out[0], d.out[1]}, combine(forwardLines(d, 0), forwardLines(d, 1), d.kernel[1])};
  return {x, y, d.N, d.stride[0], 1, {all}};
}

Tiling inputGradTiling(const mpc_library_desc &d) {
  const auto [x, y] = mapsOf(d);
  Tiling tiling{y, x, d.N, 1, d.stride[0], {}};
  const int64_t stride = d.stride[0];
  for (int64_t phase = 0; phase < stride * stride; ++phase) {
    const int64_t phases[] = {phase / stride, phase % stride};
    Pass pass;
    std::vector<Line> lines[2];
    for (int i = 0; i < 2; ++i) {
      const int64_t first = ceilOf(d.pad_low[i] - phases[i], stride);
      pass.first[i] = stride * first + phases[i] - d.pad_low[i];
      pass.count[i] = std::max<int64_t>(0, ceilOf(d.in[i] - pass.first[i], stride));
      lines[i] = inputGradLines(d, i, phases[i], first);
    }
    pass.parts = combine(lines[0], lines[1], d.kernel[1]);
    if (pass.tiles()) // a map of one row has no results of the other class
      tiling.passes.push_back(std::move(pass));
  }
  return tiling;
}

void Tiling::address(const Part &part, Place tile, const void *data, int32_t type, const void *zeros,
                     const void **pixels) const {
  const Place from{tile.image, tile.row * sourceStep + part.first[0], tile.column * sourceStep + part.first[1]};
  addressPixels(source, data, type, from, sourceStep, tileInputs, zeros, pixels);
}

void addressPixels(const Maps &maps, const void *data, int32_t type, Place from, int64_t step, int size,
                   const void *zeros, const void **pixels) {
  const int64_t bytes = maps.channels * generic::elementBytes(type);
  for (int64_t i = from.row; i < from.row + size * step; i += step)
    for (int64_t j = from.column; j < from.column + size * step; j += step)
      *pixels++ =
          i >= 0 && i < maps.end[0] && j >= 0 && j < maps.end[1]
              ? static_cast<const char *>(data) + ((from.image * maps.extent[0] + i) * maps.extent[1] + j) * bytes
              : zeros;
}

} // namespace mpc::winograd
