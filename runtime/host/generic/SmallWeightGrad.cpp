//===- SmallWeightGrad.cpp - Weight gradients with one input channel ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With one channel per group (a first layer on grey images, a convolution of a few groups) a kernel line is only a
// few elements long, and a register tile over it would wait for its own sums. Here all taps are the columns
// of one panel: the windows of about 256 positions are copied out, line by line, and
//
//     dw[o, tap] = sum over positions p of dy[p, o] * window[p, tap]
//
// is a product with dy as its column-major A. The shape alone determines the pieces of the sum, which
// are added in order.
//
//===----------------------------------------------------------------------===//
#include "Parallel.h"
#include "Window.h"

#include <algorithm>

namespace mpc::generic {
namespace {

constexpr int64_t longestLine = 8; // elements that packWindows copies per line

template <class T>
class SmallWeightGrad final : public Primitive {
public:
  SmallWeightGrad(const mpc_library_desc &desc, int threads)
      : desc(desc), window(forwardWindow(desc)), threads(threads) {
    const WindowDim *d = window.dim;
    const int64_t panel = kernels<T>().panelColumns, size = int64_t(sizeof(T)), outputs = window.resultPerGroup();
    line = int64_t(d[2].tap.size());
    rowWidth = (d[2].count - 1) * d[2].step + line;
    rowsTotal = window.images * d[0].count * d[1].count;
    rowsPerStep = std::clamp<int64_t>(256 / d[2].count, 1, rowsTotal);
    sumsPerPiece = desc.O * panel;
    // The shape alone determines the pieces: about 16 tasks, 2 MB of sums.
    pieces = std::min({ceilDiv(16, desc.groups), ceilDiv(rowsTotal, rowsPerStep),
                       std::max<int64_t>(1, (2 << 20) / (sumsPerPiece * size))});
    rowsPerPiece = roundUp(ceilDiv(rowsTotal, pieces), rowsPerStep);
    pieces = ceilDiv(rowsTotal, rowsPerPiece);
    const int64_t positions = rowsPerStep * d[2].count;
    slabAt = roundUp(positions * panel + longestLine, 16);
    dyAt = slabAt + roundUp(rowsPerStep * rowWidth + longestLine, 16);
    slotElements = dyAt + roundUp(positions * outputs, 16);
    sumsAt = this->scratch.add(size_t(pieces * sumsPerPiece * size));
    slotsAt = this->scratch.add(size_t(slotElements * size * threads));
  }

  void execute(void *const *buffers, void *scratch) override;

private:
  void copyWindows(const char *x, int64_t group, int64_t row, int64_t rows, T *windows, T *slab) const;

  mpc_library_desc desc;
  Window window;
  int threads;
  int64_t line, rowWidth, rowsTotal, rowsPerStep, rowsPerPiece, pieces, sumsPerPiece;
  int64_t slabAt, dyAt, slotElements;
  size_t sumsAt, slotsAt;
};

/// Fills windows [rows * positions, panelColumns], one kernel line after the other.
template <class T>
void SmallWeightGrad<T>::copyWindows(const char *x, int64_t group, int64_t row, int64_t rows, T *windows,
                                     T *slab) const {
  const Kernels<T> &isa = kernels<T>();
  const WindowDim *d = window.dim;
  const int64_t size = elementBytes(desc.type_a), first = d[2].offset.front();
  const int64_t low = std::clamp<int64_t>(-first, 0, rowWidth);
  const int64_t high = std::clamp<int64_t>(d[2].sourceExtent - first, low, rowWidth);
  for (int64_t offset0 : d[0].offset)
    for (int64_t offset1 : d[1].offset) {
      T *to = slab;
      for (int64_t r = row; r < row + rows; ++r, to += rowWidth) {
        const int64_t j1 = r % d[1].count, j0 = r / d[1].count % d[0].count, image = r / (d[1].count * d[0].count);
        const int64_t i0 = j0 * d[0].step + offset0, i1 = j1 * d[1].step + offset1;
        std::fill(to, to + rowWidth, T(0));
        if (i0 < 0 || i0 >= d[0].sourceExtent || i1 < 0 || i1 >= d[1].sourceExtent)
          continue;
        const int64_t pixel =
            ((image * d[0].sourceExtent + i0) * d[1].sourceExtent + i1) * d[2].sourceExtent + first + low;
        const char *from = x + (pixel * window.sourceChannels + group) * size;
        const bool whole = window.sourceChannels == 1;
        isa.packRows({to + low, 1, from, desc.type_a, window.sourceChannels, whole ? 1 : high - low,
                      whole ? high - low : 1, whole ? high - low : 1});
      }
      isa.packWindows({windows, isa.panelColumns, slab, rowWidth, rows, d[2].count, d[2].step});
      windows += line;
    }
}

template <class T>
void SmallWeightGrad<T>::execute(void *const *buffers, void *scratch) {
  const Kernels<T> &isa = kernels<T>();
  char *base = static_cast<char *>(scratch);
  T *sums = reinterpret_cast<T *>(base + sumsAt), *slots = reinterpret_cast<T *>(base + slotsAt);
  const char *dy = static_cast<const char *>(buffers[1]);
  const int64_t panel = isa.panelColumns, outputs = window.resultPerGroup(), positions = window.dim[2].count;
  const int64_t size = elementBytes(desc.type_b), taps = window.taps();
  forEachTask(threads, desc.groups * pieces, [&](int slot, int64_t task) {
    const int64_t group = task % desc.groups, piece = task / desc.groups;
    T *windows = slots + slot * slotElements, *wideDy = windows + dyAt;
    const int64_t begin = piece * rowsPerPiece, end = std::min(rowsTotal, begin + rowsPerPiece);
    for (int64_t row = begin; row < end; row += rowsPerStep) {
      const int64_t rows = std::min(rowsPerStep, end - row), count = rows * positions;
      copyWindows(static_cast<const char *>(buffers[0]), group, row, rows, windows, windows + slabAt);
      const char *from = dy + (row * positions * desc.O + group * outputs) * size;
      if (desc.groups == 1)
        isa.packRows({wideDy, 0, from, desc.type_b, 0, 1, count * outputs, count * outputs});
      else
        isa.packRows({wideDy, outputs, from, desc.type_b, desc.O, count, outputs, outputs});
      const Run run{0, 0};
      isa.multiply({outputs, taps, wideDy, outputs, true, windows, panel, 0, &run, 1, count,
                    sums + piece * sumsPerPiece + group * outputs * panel, panel, row != begin});
    }
  });
  const int64_t sizeOut = elementBytes(desc.type_out);
  for (int64_t o = 0; o < desc.O; ++o) {
    for (int64_t piece = 1; piece < pieces; ++piece)
      for (int64_t tap = 0; tap < taps; ++tap)
        sums[o * panel + tap] += sums[piece * sumsPerPiece + o * panel + tap];
    isa.narrowStrided(static_cast<char *>(buffers[2]) + o * taps * sizeOut, desc.type_out, 1, sums + o * panel, taps);
  }
}

} // namespace

template <class T>
std::unique_ptr<Primitive> makeSmallWeightGrad(const mpc_library_desc &desc, int threads) {
  int64_t taps = 1;
  for (int i = 0; i < desc.spatial; ++i)
    taps *= desc.kernel[i];
  const int last = desc.spatial - 1;
  const int64_t line = desc.kernel[last];
  if (desc.C != desc.groups || line > longestLine || (line > 1 && desc.dilation[last] != 1) ||
      taps - line + longestLine > kernels<T>().panelColumns)
    return nullptr;
  return std::make_unique<SmallWeightGrad<T>>(desc, threads);
}
template std::unique_ptr<Primitive> makeSmallWeightGrad<float>(const mpc_library_desc &, int);
template std::unique_ptr<Primitive> makeSmallWeightGrad<double>(const mpc_library_desc &, int);

} // namespace mpc::generic
