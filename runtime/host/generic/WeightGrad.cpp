//===- WeightGrad.cpp - Weight gradients of convolutions ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes dw[o, c, tap] = sum over result positions p of x[p * stride + tap * dilation - pad, c] *
// dy[p, o], per group.
//
// For one line of the kernel (fixed outer taps) the rows (innermost tap, c) of the gradient are consecutive
// elements of an x row, so the product needs no copied windows: A is the x row itself, read column-major
// with the step of one position, and a run of the reduction is one row of positions. A task owns some lines,
// channels and outputs of the gradient and a piece of the rows; in each step it widens about 256 positions of x
// (padding the row's ends) and of dy. Rows that lie entirely in the padding are skipped.
//
// The shape alone determines the pieces of the reduction, which are added in order, so that the result does not depend
// on the number of threads. With one piece, which is the usual case if the gradient is large, a task stores its
// block of the gradient itself, and no sums of the whole gradient are kept. When the innermost taps are dilated, each
// of them is a separate line.
//
//===----------------------------------------------------------------------===//
#include "Parallel.h"
#include "Window.h"

#include <algorithm>

namespace mpc::generic {
namespace {

template <class T>
class WeightGrad final : public Primitive {
public:
  WeightGrad(const mpc_library_desc &desc, int threads);
  void execute(void *const *buffers, void *scratch) override;

private:
  /// A group of kernel taps whose gradient rows are neighbours in an x row.
  struct Line {
    int64_t offset0, offset1, offset2; // offsets of its first tap
    int64_t firstTap;
  };

  /// A part of a group's gradient: some lines, channels and outputs.
  struct Block {
    int64_t group, line, lines, channel, channels, output, outputs;
  };

  void chooseBlocks();
  void accumulate(int64_t task, const char *x, const char *dy, T *sums, char *dw, char *slot) const;
  int64_t fillRows(const Line &line, const char *x, int64_t group, int64_t channel, int64_t channels, int64_t row,
                   int64_t rows, T *slab, Run *runs) const;
  void storeBlock(const T *sums, int64_t ld, const Block &block, char *dw, T *buffer) const;

  int64_t gradRows() const { return int64_t(lines.size()) * tapsPerLine * window.sourcePerGroup(); }
  int64_t channelBlocks() const { return ceilDiv(window.sourcePerGroup(), channelBlock); }
  int64_t outputBlocks() const { return ceilDiv(window.resultPerGroup(), outputBlock); }
  int64_t lineBlocks() const { return ceilDiv(int64_t(lines.size()), lineBlock); }
  int64_t tasks() const { return window.groups * lineBlocks() * channelBlocks() * outputBlocks() * pieces; }
  /// Returns the number of elements between rows of a panel of dy.
  int64_t ldPanel() const { return packed ? desc.O : kernels<T>().panelColumns; }
  /// Returns the number of rows (line, tap, c) of a task's block.
  int64_t blockRows() const { return lineBlock * tapsPerLine * channelBlock; }
  /// Returns the number of elements of one piece's sums: [group][line, tap, c][outputs, rounded up to vectors].
  int64_t sumsPerPiece() const { return window.groups * gradRows() * ldSums; }

  mpc_library_desc desc;
  Window window;
  int threads;
  std::vector<Line> lines;
  int64_t tapsPerLine, rowWidth; // rowWidth: width of a widened x row, in positions of x
  int64_t lineBlock, channelBlock, outputBlock, ldSums;
  int64_t rowsTotal, rowsPerStep, rowsPerPiece, pieces;
  bool packed; // dy serves as one panel in its own layout: there are no groups and few outputs
  size_t sumsAt, slotsAt, slotBytes;
  size_t runsInSlot, slabInSlot, panelsInSlot, sumsInSlot;
};

constexpr int64_t outputsPerStore = 16; // number of outputs that are transposed at one time

template <class T>
WeightGrad<T>::WeightGrad(const mpc_library_desc &desc, int threads)
    : desc(desc), window(forwardWindow(desc)), threads(threads) {
  const WindowDim *d = window.dim;
  const bool neighbours = d[2].tap.size() == 1 || d[2].offset[1] == d[2].offset[0] + 1;
  const int64_t perLine = neighbours ? int64_t(d[2].tap.size()) : 1;
  tapsPerLine = perLine;
  int64_t tap = 0;
  for (int64_t offset0 : d[0].offset)
    for (int64_t offset1 : d[1].offset)
      for (size_t t2 = 0; t2 < d[2].tap.size(); t2 += size_t(perLine), tap += perLine)
        lines.push_back({offset0, offset1, d[2].offset[t2], tap});
  rowWidth = (d[2].count - 1) * d[2].step + perLine;
  rowsTotal = window.images * d[0].count * d[1].count;
  const int64_t panel = kernels<T>().panelColumns, size = int64_t(sizeof(T));
  packed = window.groups == 1 && desc.O <= panel;
  chooseBlocks();

  ScratchLayout slot;
  runsInSlot = slot.add(size_t(rowsPerStep) * sizeof(Run));
  slabInSlot = slot.add(size_t(std::max(rowsPerStep * rowWidth * channelBlock,
                                        outputsPerStore * roundUp(pieces == 1 ? blockRows() : gradRows(), 16)) *
                               size));
  panelsInSlot = slot.add(size_t((rowsPerStep * d[2].count + 1) * roundUp(outputBlock, panel) * size));
  sumsInSlot = slot.add(size_t(pieces == 1 ? blockRows() * roundUp(outputBlock, panel / 2) * size : 0));
  slotBytes = slot.bytes();
  sumsAt = this->scratch.add(size_t(pieces == 1 ? 0 : pieces * sumsPerPiece() * size));
  slotsAt = this->scratch.add(slotBytes * size_t(threads));
}

/// Chooses blocks so that a task's sums (up to 320 KB) stay in L2 beside one step of x and dy.
template <class T>
void WeightGrad<T>::chooseBlocks() {
  const int64_t size = int64_t(sizeof(T)), half = kernels<T>().panelColumns / 2;
  const int64_t channels = window.sourcePerGroup(), outputs = window.resultPerGroup();
  channelBlock = std::min<int64_t>(channels, 128);
  outputBlock = std::min<int64_t>(outputs, 128);
  ldSums = roundUp(outputs, half);
  const int64_t sums = int64_t(lines.size()) * tapsPerLine * channelBlock * roundUp(outputBlock, half) * size;
  lineBlock = sums <= (320 << 10) ? int64_t(lines.size()) : 1;
  rowsPerStep = std::clamp<int64_t>(ceilDiv(256, window.dim[2].count), 1, rowsTotal);
  while (rowsPerStep > 1 && rowsPerStep * rowWidth * channelBlock * size > (512 << 10)) // happens with wide strides
    rowsPerStep = ceilDiv(rowsPerStep, 2);

  // The shape alone determines the pieces: about 16 tasks, pieces of at least 2 steps, 2 MB of sums.
  pieces = 1;
  const int64_t wanted = std::min(ceilDiv(16, tasks()), rowsTotal / (2 * rowsPerStep));
  pieces = std::max<int64_t>(1, std::min(wanted, (2 << 20) / (sumsPerPiece() * size)));
  rowsPerPiece = roundUp(ceilDiv(rowsTotal, pieces), rowsPerStep);
  pieces = ceilDiv(rowsTotal, rowsPerPiece);
}

/// Widens x's channels [channel, channel + channels) under the result rows [row, row + rows) for one line
/// into the slab. Returns the number of runs, which are the rows that lie inside x.
template <class T>
int64_t WeightGrad<T>::fillRows(const Line &line, const char *x, int64_t group, int64_t channel, int64_t channels,
                                int64_t row, int64_t rows, T *slab, Run *runs) const {
  const WindowDim *d = window.dim;
  const int64_t size = elementBytes(desc.type_a), first = line.offset2;
  const int64_t low = std::clamp<int64_t>(-first, 0, rowWidth);
  const int64_t high = std::clamp<int64_t>(d[2].sourceExtent - first, low, rowWidth);
  const bool whole = channels == window.sourceChannels;
  int64_t count = 0;
  T *to = slab;
  for (int64_t r = row; r < row + rows; ++r) {
    const int64_t j1 = r % d[1].count, j0 = r / d[1].count % d[0].count, image = r / (d[1].count * d[0].count);
    const int64_t i0 = j0 * d[0].step + line.offset0, i1 = j1 * d[1].step + line.offset1;
    if (i0 < 0 || i0 >= d[0].sourceExtent || i1 < 0 || i1 >= d[1].sourceExtent)
      continue;
    const int64_t pixel = ((image * d[0].sourceExtent + i0) * d[1].sourceExtent + i1) * d[2].sourceExtent + first + low;
    const char *from = x + (pixel * window.sourceChannels + group * window.sourcePerGroup() + channel) * size;
    const int64_t inside = high - low;
    std::fill(to, to + low * channels, T(0));
    T *body = to + low * channels;
    if (whole)
      kernels<T>().packRows({body, 0, from, desc.type_a, 0, 1, inside * channels, inside * channels});
    else
      kernels<T>().packRows({body, channels, from, desc.type_a, window.sourceChannels, inside, channels, channels});
    std::fill(to + high * channels, to + rowWidth * channels, T(0));
    runs[count++] = {to - slab, (r - row) * d[2].count * ldPanel()};
    to += rowWidth * channels;
  }
  return count;
}

template <class T>
void WeightGrad<T>::accumulate(int64_t task, const char *x, const char *dy, T *sums, char *dw, char *slot) const {
  const Kernels<T> &isa = kernels<T>();
  const int64_t panel = isa.panelColumns, size = elementBytes(desc.type_b), positions = window.dim[2].count;
  auto take = [&task](int64_t extent) {
    const int64_t index = task % extent;
    task /= extent;
    return index;
  };
  const int64_t output = take(outputBlocks()) * outputBlock, channel = take(channelBlocks()) * channelBlock;
  const int64_t line = take(lineBlocks()) * lineBlock, group = take(window.groups), piece = task;
  const int64_t outputs = std::min(outputBlock, window.resultPerGroup() - output);
  const int64_t channels = std::min(channelBlock, window.sourcePerGroup() - channel);
  Run *runs = reinterpret_cast<Run *>(slot + runsInSlot);
  T *slab = reinterpret_cast<T *>(slot + slabInSlot), *panels = reinterpret_cast<T *>(slot + panelsInSlot);
  const int64_t lineCount = std::min(lineBlock, int64_t(lines.size()) - line);
  // Row (line, tap, c) of the block lies among the sums of its piece, or in the task's own sums.
  const bool own = pieces == 1;
  const int64_t ld = own ? roundUp(outputBlock, panel / 2) : ldSums;
  const int64_t rowsPerTap = own ? channels : window.sourcePerGroup();
  T *block = own ? reinterpret_cast<T *>(slot + sumsInSlot)
                 : sums + piece * sumsPerPiece() + group * gradRows() * ldSums + output +
                       (line * tapsPerLine * rowsPerTap + channel) * ldSums;

  const int64_t begin = piece * rowsPerPiece, end = std::min(rowsTotal, begin + rowsPerPiece);
  for (int64_t row = begin; row < end; row += rowsPerStep) {
    const int64_t rows = std::min(rowsPerStep, end - row);
    if (packed) // rows of dy are rows of B; elements beyond them land in columns that nobody reads
      isa.packRows({panels, 0, dy + row * positions * desc.O * size, desc.type_b, 0, 1, rows * positions * desc.O,
                    rows * positions * desc.O});
    for (int64_t column = 0; column < outputs && !packed; column += panel) {
      const char *from = dy + (row * positions * desc.O + group * window.resultPerGroup() + output + column) * size;
      isa.packRows({panels + column * rows * positions, panel, from, desc.type_b, desc.O, rows * positions,
                    std::min(panel, outputs - column), panel});
    }
    for (int64_t l = 0; l < lineCount; ++l) {
      const int64_t runCount = fillRows(lines[size_t(line + l)], x, group, channel, channels, row, rows, slab, runs);
      // Blocks of channels leave gaps between the taps of a line; each tap is then a separate product.
      const int64_t parts = channels == window.sourcePerGroup() ? 1 : tapsPerLine;
      for (int64_t part = 0; part < parts; ++part) {
        T *c = block + (l * tapsPerLine + part) * rowsPerTap * ld;
        isa.multiply({tapsPerLine / parts * channels, outputs, slab + part * channels, window.dim[2].step * channels,
                      true, panels, ldPanel(), rows * positions * panel, runs, runCount, positions, c, ld,
                      row != begin});
      }
    }
  }
  if (own)
    storeBlock(block, ld, {group, line, lineCount, channel, channels, output, outputs}, dw, slab);
}

/// Stores a block as dw[o][c][tap]. `sums` has rows (line, tap, c) of outputs; `buffer` is [outputs][rows].
template <class T>
void WeightGrad<T>::storeBlock(const T *sums, int64_t ld, const Block &block, char *dw, T *buffer) const {
  const Kernels<T> &isa = kernels<T>();
  const int64_t rows = block.lines * tapsPerLine * block.channels, ldRows = roundUp(rows, 16);
  const int64_t channels = window.sourcePerGroup(), taps = window.taps(), size = elementBytes(desc.type_out);
  for (int64_t first = 0; first < block.outputs; first += outputsPerStore) {
    const int64_t count = std::min(outputsPerStore, block.outputs - first);
    isa.packTransposed({buffer, nullptr, ldRows, sums + first, sizeof(T) == 8 ? MPC_F64 : MPC_F32, ld, rows, ldRows,
                        count, (rows - 1) * ld + roundUp(count, isa.panelColumns / 2)});
    for (int64_t o = 0; o < count; ++o)
      for (int64_t tap = 0; tap < block.lines * tapsPerLine; ++tap) {
        const int64_t output = block.group * window.resultPerGroup() + block.output + first + o;
        const int64_t at = (output * channels + block.channel) * taps + lines[size_t(block.line)].firstTap + tap;
        isa.narrowStrided(dw + at * size, desc.type_out, taps, buffer + o * ldRows + tap * block.channels,
                          block.channels);
      }
  }
}

template <class T>
void WeightGrad<T>::execute(void *const *buffers, void *scratch) {
  char *base = static_cast<char *>(scratch), *slots = base + slotsAt;
  T *sums = reinterpret_cast<T *>(base + sumsAt);
  char *dw = static_cast<char *>(buffers[2]);
  forEachTask(threads, tasks(), [&](int slot, int64_t task) {
    accumulate(task, static_cast<const char *>(buffers[0]), static_cast<const char *>(buffers[1]), sums, dw,
               slots + size_t(slot) * slotBytes);
  });
  if (pieces == 1)
    return;
  constexpr int64_t chunk = 4096;
  const int64_t total = sumsPerPiece();
  forEachTask(threads, ceilDiv(total, chunk), [&](int, int64_t task) {
    const int64_t begin = task * chunk, end = std::min(total, begin + chunk);
    for (int64_t piece = 1; piece < pieces; ++piece)
      for (int64_t i = begin; i < end; ++i)
        sums[i] += sums[piece * total + i];
  });
  const int64_t blocks = ceilDiv(window.resultPerGroup(), outputsPerStore);
  forEachTask(threads, window.groups * blocks, [&](int slot, int64_t task) {
    const int64_t group = task / blocks, output = task % blocks * outputsPerStore;
    storeBlock(sums + group * gradRows() * ldSums + output, ldSums,
               {group, 0, int64_t(lines.size()), 0, window.sourcePerGroup(), output,
                std::min(outputsPerStore, window.resultPerGroup() - output)},
               dw, reinterpret_cast<T *>(slots + size_t(slot) * slotBytes + slabInSlot));
  });
}

} // namespace

template <class T>
std::unique_ptr<Primitive> makeWeightGrad(const mpc_library_desc &desc, int threads) {
  return std::make_unique<WeightGrad<T>>(desc, threads);
}
template std::unique_ptr<Primitive> makeWeightGrad<float>(const mpc_library_desc &, int);
template std::unique_ptr<Primitive> makeWeightGrad<double>(const mpc_library_desc &, int);

} // namespace mpc::generic
