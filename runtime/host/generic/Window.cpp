//===- Window.cpp - The geometry of a convolution, for gathering ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Window.h"

#include <algorithm>

namespace mpc::generic {

bool Window::contiguousLine() const {
  const std::vector<int64_t> &offset = dim[2].offset;
  for (size_t t = 1; t < offset.size(); ++t)
    if (offset[t] != offset[t - 1] + 1)
      return false;
  return groups == 1 || offset.size() == 1;
}

bool Window::inside() const {
  for (const WindowDim &d : dim)
    if (!d.offset.empty() && (d.offset.front() < 0 || (d.count - 1) * d.step + d.offset.back() >= d.sourceExtent))
      return false;
  return true;
}

bool Window::dense() const {
  for (const WindowDim &d : dim)
    if (d.offset.size() != 1 || d.offset[0] != 0 || d.step != 1 || d.count != d.sourceExtent)
      return false;
  return true;
}

namespace {

/// Returns the description's spatial dimension that corresponds to `dim` of a window; a negative number
/// if there is none.
int spatialOf(const mpc_library_desc &d, int dim) { return dim - (3 - d.spatial); }

WindowDim forwardDim(const mpc_library_desc &d, int at) {
  if (at < 0)
    return {1, 1, 1, 0, 1, 1, {0}, {0}};
  WindowDim dim{d.out[at], d.stride[at], d.in[at], 0, 1, d.out[at], {}, {}};
  for (int64_t t = 0; t < d.kernel[at]; ++t) {
    dim.offset.push_back(t * d.dilation[at] - d.pad_low[at]);
    dim.tap.push_back(t);
  }
  return dim;
}

WindowDim phaseDim(const mpc_library_desc &d, int at, int64_t phase) {
  if (at < 0)
    return {1, 1, 1, 0, 1, 1, {0}, {0}};
  const int64_t stride = d.stride[at];
  WindowDim dim{
      phase < d.in[at] ? ceilDiv(d.in[at] - phase, stride) : 0, 1, d.out[at], phase, stride, d.in[at], {}, {}};
  for (int64_t t = d.kernel[at] - 1; t >= 0; --t) { // descending taps have ascending offsets
    const int64_t distance = phase + d.pad_low[at] - t * d.dilation[at];
    if (distance % stride == 0) {
      dim.offset.push_back(distance / stride);
      dim.tap.push_back(t);
    }
  }
  return dim;
}

} // namespace

Window forwardWindow(const mpc_library_desc &d) {
  Window window{{}, d.N, d.groups, d.C, d.O};
  for (int i = 0; i < 3; ++i)
    window.dim[i] = forwardDim(d, spatialOf(d, i));
  return window;
}

std::vector<Window> inputGradWindows(const mpc_library_desc &d) {
  int64_t phases[3];
  for (int i = 0; i < 3; ++i)
    phases[i] = spatialOf(d, i) < 0 ? 1 : d.stride[spatialOf(d, i)];
  std::vector<Window> windows;
  for (int64_t r0 = 0; r0 < phases[0]; ++r0)
    for (int64_t r1 = 0; r1 < phases[1]; ++r1)
      for (int64_t r2 = 0; r2 < phases[2]; ++r2) {
        Window window{
            {phaseDim(d, spatialOf(d, 0), r0), phaseDim(d, spatialOf(d, 1), r1), phaseDim(d, spatialOf(d, 2), r2)},
            d.N,
            d.groups,
            d.O,
            d.C};
        if (window.rows())
          windows.push_back(std::move(window));
      }
  return windows;
}

namespace {

/// Collects the segments of one row and flushes them to the vector code.
template <class T>
class SegmentWriter {
public:
  SegmentWriter(int32_t type) : type(type) {}
  void start(T *to) { dst = to; }
  void add(const void *source, int64_t length) {
    if (length <= 0)
      return;
    if (count == capacity)
      flush();
    segments[count++] = {source, length};
    pending += length;
  }
  void flush() {
    kernels<T>().gather(dst, type, segments, count);
    dst += pending;
    count = pending = 0;
  }

private:
  static constexpr int capacity = 128;
  Segment segments[capacity];
  int64_t count = 0, pending = 0;
  T *dst = nullptr;
  int32_t type;
};

} // namespace

template <class T>
void gatherRows(const Window &w, const void *source, int32_t type, int64_t group, int64_t row0, int64_t rows,
                int64_t depth0, int64_t depth, T *dst, int64_t ld) {
  const WindowDim *dim = w.dim;
  const int64_t size = elementBytes(type), perGroup = w.sourcePerGroup();
  const int64_t innerTaps = int64_t(dim[2].tap.size()), line = innerTaps * perGroup;
  const bool contiguous = w.contiguousLine();
  const char *base = static_cast<const char *>(source) + group * perGroup * size;
  SegmentWriter<T> writer(type);
  for (int64_t row = row0; row < row0 + rows; ++row, dst += ld) {
    const int64_t j2 = row % dim[2].count, j1 = row / dim[2].count % dim[1].count;
    const int64_t j0 = row / (dim[2].count * dim[1].count) % dim[0].count;
    const int64_t image = row / (dim[2].count * dim[1].count * dim[0].count);
    writer.start(dst);
    for (int64_t k = depth0; k < depth0 + depth;) {
      const int64_t lineIndex = k / line, from = k % line, to = std::min(line, from + depth0 + depth - k);
      k += to - from;
      const int64_t t1 = lineIndex % int64_t(dim[1].tap.size()), t0 = lineIndex / int64_t(dim[1].tap.size());
      const int64_t i0 = j0 * dim[0].step + dim[0].offset[t0], i1 = j1 * dim[1].step + dim[1].offset[t1];
      if (i0 < 0 || i0 >= dim[0].sourceExtent || i1 < 0 || i1 >= dim[1].sourceExtent) {
        writer.add(nullptr, to - from);
        continue;
      }
      const int64_t rowStart = ((image * dim[0].sourceExtent + i0) * dim[1].sourceExtent + i1) * dim[2].sourceExtent;
      if (contiguous) {
        const int64_t first = j2 * dim[2].step + dim[2].offset[0];
        const int64_t low = std::clamp(-first * perGroup, from, to);
        const int64_t high = std::clamp((dim[2].sourceExtent - first) * perGroup, low, to);
        writer.add(nullptr, low - from);
        writer.add(base + ((rowStart + first) * w.sourceChannels + low) * size, high - low);
        writer.add(nullptr, to - high);
        continue;
      }
      for (int64_t e = from; e < to;) {
        const int64_t t2 = e / perGroup, channel = e % perGroup, length = std::min(perGroup - channel, to - e);
        const int64_t i2 = j2 * dim[2].step + dim[2].offset[t2];
        const bool valid = i2 >= 0 && i2 < dim[2].sourceExtent;
        writer.add(valid ? base + ((rowStart + i2) * w.sourceChannels + channel) * size : nullptr, length);
        e += length;
      }
    }
    writer.flush();
  }
}

template void gatherRows<float>(const Window &, const void *, int32_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                                float *, int64_t);
template void gatherRows<double>(const Window &, const void *, int32_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                                 double *, int64_t);

} // namespace mpc::generic
