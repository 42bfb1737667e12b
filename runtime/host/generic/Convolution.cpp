//===- Convolution.cpp - Forward convolutions and input gradients ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Both are products over windows (Window.h): the rows are result positions, the depth is taps × source channels,
// and the columns are result channels. Weights are first widened and packed into panels, at most about 4 MB of
// columns at a time. Then one of two methods runs, chosen per window:
//
//   direct   A task widens the source rows that some result rows need, once, with their padding, into a slab.
//            The register tile then walks the slab itself, one run per kernel row, so no window is ever
//            copied out. This method serves maps wide enough to fill a tile within a row.
//   gathered Windows are copied out block by block (im2col of 192 rows × 256 depth) under a blocked product.
//            This method serves narrow maps (tiles cross rows and images) and 1x1 kernels (where there is
//            nothing to copy).
//
//===----------------------------------------------------------------------===//
#include "BlockedProduct.h"
#include "Window.h"

namespace mpc::generic {
namespace {

/// The part of a convolution that does not depend on the window.
struct Call {
  int32_t typeSource, typeResult;
  const void *source;
  const void *bias; // widened to T[resultChannels], or null
  const char *addend;
  char *result;
  bool relu;
};

/// Rounds acc[rows, columns] and stores it at result positions row0... of the window, channels channel0...
template <class T>
void storeRows(const Window &w, const Call &call, int64_t row0, int64_t rows, int64_t channel0, int64_t columns,
               const T *acc, int64_t ldacc) {
  const WindowDim *d = w.dim;
  const int64_t size = elementBytes(call.typeResult);
  const T *bias = call.bias ? static_cast<const T *>(call.bias) + channel0 : nullptr;
  while (rows > 0) {
    const int64_t j2 = row0 % d[2].count, j1 = row0 / d[2].count % d[1].count;
    const int64_t j0 = row0 / (d[2].count * d[1].count) % d[0].count;
    const int64_t image = row0 / (d[2].count * d[1].count * d[0].count);
    const int64_t length = std::min(rows, d[2].count - j2);
    const int64_t i0 = d[0].resultBegin + j0 * d[0].resultStep, i1 = d[1].resultBegin + j1 * d[1].resultStep;
    const int64_t i2 = d[2].resultBegin + j2 * d[2].resultStep;
    const int64_t pixel = ((image * d[0].resultExtent + i0) * d[1].resultExtent + i1) * d[2].resultExtent + i2;
    const int64_t at = (pixel * w.resultChannels + channel0) * size;
    kernels<T>().store({acc, ldacc, length, columns, call.result + at, d[2].resultStep * w.resultChannels,
                        call.typeResult, bias, call.addend ? call.addend + at : nullptr, call.relu});
    acc += length * ldacc;
    row0 += length;
    rows -= length;
  }
}

/// The weights packed for one window and the channels [first, first + columns) of each group:
/// [group][panel][depth][panelColumns].
template <class T>
struct Panels {
  const T *data;
  int64_t first, columns, depth;

  const T *at(int64_t group, int64_t column) const {
    const int64_t panel = kernels<T>().panelColumns;
    return data + (group * ceilDiv(columns, panel) * panel + column) * depth;
  }
};

template <class T>
class GatheredSource final : public BlockSource<T> {
public:
  GatheredSource(const Window &window, const Call &call, const Panels<T> &panels)
      : w(window), call(call), panels(panels), dense(w.dense()) {}

  BlockA<T> a(int64_t g, Range m, Range k, T *buffer) const override {
    if (dense && elementBytes(call.typeSource) == int64_t(sizeof(T)))
      return {static_cast<const T *>(call.source) + m.begin * w.sourceChannels + g * w.sourcePerGroup() + k.begin,
              w.sourceChannels, false};
    gatherRows<T>(w, call.source, call.typeSource, g, m.begin, m.size, k.begin, k.size, buffer, k.size + 16);
    return {buffer, k.size + 16, false};
  }
  BlockB<T> b(int64_t g, Range k, Range n, T *) const override {
    const int64_t panel = kernels<T>().panelColumns;
    return {panels.at(g, n.begin) + k.begin * panel, panel, panels.depth * panel};
  }
  void store(int64_t g, int64_t, Range m, Range n, const T *acc, int64_t ldacc) const override {
    storeRows(w, call, m.begin, m.size, g * w.resultPerGroup() + panels.first + n.begin, n.size, acc, ldacc);
  }

private:
  const Window &w;
  const Call &call;
  const Panels<T> &panels;
  bool dense;
};

/// The plan of the direct method for one window.
struct Slab {
  int64_t rows;          // result rows of one task
  int64_t blocks;        // tasks per plane of an image
  int64_t height, width; // size of one plane, in source pixels
  int64_t bytesPerSlot;
  bool inPlace; // the source itself serves as the slab: it needs no padding and no widening
};

template <class T>
class Convolution final : public Primitive {
public:
  Convolution(const mpc_library_desc &desc, int threads);
  void execute(void *const *buffers, void *scratch) override;

private:
  struct Phase {
    Window window;
    bool direct;
    Slab slab;
    Blocking blocks;
    std::vector<int64_t>
        rowOffset;         // panel row of each weight (channel, tap), or of each tap; negative: the weight is not used
    std::vector<Run> runs; // direct method: one per kernel row if its taps are neighbours, else one per tap
    size_t panelsAt;       // offset in elements of T
  };

  void plan(Phase &phase);
  void pack(const char *weights, T *packed, int64_t first, int64_t columns) const;
  void packPanel(const Phase &phase, const char *weights, T *to, int64_t group, int64_t first, int64_t width) const;
  void runDirect(const Phase &phase, const Call &call, const Panels<T> &panels, char *slots) const;
  void fillSlab(const Phase &phase, const Call &call, int64_t group, int64_t image, int64_t j0, int64_t j1,
                T *to) const;

  mpc_library_desc desc;
  std::vector<Phase> phases;
  int threads;
  int64_t superColumns; // result channels per group that are packed at one time
  size_t biasAt, panelsAt, slotsAt;
};

constexpr int64_t packedBytes = 4 << 20;

template <class T>
Convolution<T>::Convolution(const mpc_library_desc &desc, int threads) : desc(desc), threads(threads) {
  const int64_t panel = kernels<T>().panelColumns;
  if (desc.op == MPC_CONV_FORWARD)
    phases.push_back({forwardWindow(desc), {}, {}, {}, {}, {}, {}});
  else
    for (Window &window : inputGradWindows(desc))
      phases.push_back({std::move(window), {}, {}, {}, {}, {}, {}});

  const int64_t perGroup = (desc.op == MPC_CONV_FORWARD ? desc.O : desc.C) / desc.groups;
  int64_t depth = 0;
  for (const Phase &phase : phases)
    depth += phase.window.depth();
  const int64_t perColumn = std::max<int64_t>(1, desc.groups * depth * int64_t(sizeof(T)));
  superColumns = std::min(roundUp(perGroup, panel), std::max(panel, packedBytes / perColumn / panel * panel));

  biasAt = this->scratch.add(desc.has_bias ? size_t(perGroup * desc.groups) * sizeof(T) : 0);
  int64_t elements = 0, slotBytes = 0;
  for (Phase &phase : phases) {
    phase.panelsAt = size_t(elements);
    elements += desc.groups * phase.window.depth() * superColumns;
    plan(phase);
    slotBytes = std::max(slotBytes, phase.direct ? phase.slab.bytesPerSlot
                                                 : blockedScratchElements<T>(phase.blocks) * int64_t(sizeof(T)));
  }
  panelsAt = this->scratch.add(size_t(elements) * sizeof(T));
  slotsAt = this->scratch.add(size_t(slotBytes * threads));
}

template <class T>
void Convolution<T>::plan(Phase &phase) {
  const Window &w = phase.window;
  const int64_t panel = kernels<T>().panelColumns, tile = kernels<T>().tileRows;
  phase.blocks = chooseBlocking<T>(w.groups, w.rows(), std::min(w.resultPerGroup(), superColumns), w.depth(), threads);
  const int64_t channels = w.sourcePerGroup();
  if (desc.op == MPC_CONV_FORWARD) {
    for (int64_t q = 0; q < w.depth(); ++q)
      phase.rowOffset.push_back((q % w.taps() * channels + q / w.taps()) * panel);
  } else { // the phase uses only its own taps
    const int64_t extent1 = desc.spatial >= 2 ? desc.kernel[desc.spatial - 2] : 1;
    const int64_t extent2 = desc.kernel[desc.spatial - 1], extent0 = desc.spatial == 3 ? desc.kernel[0] : 1;
    phase.rowOffset.assign(size_t(extent0 * extent1 * extent2), -1);
    int64_t row = 0;
    for (int64_t t0 : w.dim[0].tap)
      for (int64_t t1 : w.dim[1].tap)
        for (int64_t t2 : w.dim[2].tap)
          phase.rowOffset[size_t((t0 * extent1 + t1) * extent2 + t2)] = row++ * channels * panel;
  }

  const WindowDim &columns = w.dim[2], &rows = w.dim[1];
  const int64_t tiles = ceilDiv(columns.count, tile);
  // A tile filled to less than two thirds leaves the multipliers waiting for operands.
  phase.direct = w.taps() > 1 && columns.count * 3 >= tiles * tile * 2;
  if (!phase.direct)
    return;
  Slab &slab = phase.slab;
  slab.inPlace = w.inside() && w.groups == 1 && elementBytes(desc.type_a) == int64_t(sizeof(T));
  slab.width = (columns.count - 1) * columns.step + columns.offset.back() - columns.offset.front() + 1;
  const int64_t span = rows.offset.back() - rows.offset.front() + 1;
  const int64_t rowBytes = slab.width * int64_t(w.dim[0].tap.size()) * w.sourcePerGroup() * int64_t(sizeof(T));
  // With about 192 positions per task, fetching the panels from L2 costs little per position; a slab of 384 KB leaves
  // room in L2 for a panel.
  slab.rows = std::clamp<int64_t>(192 / columns.count, 1, rows.count);
  slab.rows = std::max<int64_t>(1, std::min(slab.rows, ((384 << 10) / rowBytes - span) / rows.step));
  while (slab.rows > 1 && w.groups * w.images * w.dim[0].count * ceilDiv(rows.count, slab.rows) < 4 * int64_t(threads))
    slab.rows = ceilDiv(slab.rows, 2);
  slab.blocks = ceilDiv(rows.count, slab.rows);
  slab.height = (slab.rows - 1) * rows.step + span;
  const int64_t slabBytes = slab.inPlace ? 0 : roundUp(slab.height * rowBytes, 64);
  const bool merged = w.contiguousLine();
  const int64_t height = slab.inPlace ? rows.sourceExtent : slab.height;
  const int64_t width = slab.inPlace ? columns.sourceExtent : slab.width;
  int64_t b = 0;
  for (size_t t0 = 0; t0 < w.dim[0].tap.size(); ++t0)
    for (int64_t offset1 : rows.offset)
      for (size_t t2 = 0; t2 < (merged ? 1 : columns.tap.size()); ++t2) {
        const int64_t plane = slab.inPlace ? w.dim[0].offset[t0] - w.dim[0].offset[0] : int64_t(t0);
        const int64_t row = plane * height + offset1 - rows.offset[0];
        phase.runs.push_back({(row * width + columns.offset[t2] - columns.offset[0]) * channels, b});
        b += (merged ? int64_t(columns.tap.size()) : 1) * channels * panel;
      }
  slab.bytesPerSlot = slabBytes + roundUp(columns.count * panel, 16) * int64_t(sizeof(T));
}

template <class T>
void Convolution<T>::packPanel(const Phase &phase, const char *weights, T *to, int64_t group, int64_t first,
                               int64_t width) const {
  const Kernels<T> &isa = kernels<T>();
  const Window &w = phase.window;
  const int64_t size = elementBytes(desc.type_b), panel = isa.panelColumns;
  int64_t kernelTaps = 1;
  for (int i = 0; i < desc.spatial; ++i)
    kernelTaps *= desc.kernel[i];
  const int64_t total = desc.O * (desc.C / desc.groups) * kernelTaps;
  if (desc.op == MPC_CONV_FORWARD) { // pack w[o][c, tap] as [tap, c][o]
    const int64_t length = w.depth(), at = (group * w.resultPerGroup() + first) * length;
    isa.packTransposed(
        {to, phase.rowOffset.data(), 0, weights + at * size, desc.type_b, length, width, panel, length, total - at});
    return;
  }
  // Pack w[o][c, tap] as [tap of the phase, o][c].
  const int64_t outputs = w.sourcePerGroup(), inputs = w.resultPerGroup();
  if (kernelTaps == 1) { // the weights are rows already
    const char *from = weights + (group * outputs * inputs + first) * size;
    if (phase.rowOffset[0] >= 0)
      isa.packRows({to, panel, from, desc.type_b, inputs, outputs, width, panel});
    return;
  }
  for (int64_t o = 0; o < outputs; ++o) {
    const int64_t at = ((group * outputs + o) * inputs + first) * kernelTaps;
    isa.packTransposed({to + o * panel, phase.rowOffset.data(), 0, weights + at * size, desc.type_b, kernelTaps, width,
                        panel, kernelTaps, total - at});
  }
}

template <class T>
void Convolution<T>::pack(const char *weights, T *packed, int64_t first, int64_t columns) const {
  const int64_t panel = kernels<T>().panelColumns, panels = ceilDiv(columns, panel);
  const int64_t perPhase = desc.groups * panels;
  forEachTask(threads, perPhase * int64_t(phases.size()), [&](int, int64_t task) {
    const Phase &phase = phases[size_t(task / perPhase)];
    const int64_t group = task % perPhase / panels, column = task % panels * panel;
    T *to = packed + phase.panelsAt + (group * panels * panel + column) * phase.window.depth();
    packPanel(phase, weights, to, group, first + column, std::min(panel, columns - column));
  });
}

template <class T>
void Convolution<T>::fillSlab(const Phase &phase, const Call &call, int64_t group, int64_t image, int64_t j0,
                              int64_t j1, T *to) const {
  const Kernels<T> &isa = kernels<T>();
  const Window &w = phase.window;
  const WindowDim *d = w.dim;
  const int64_t channels = w.sourcePerGroup(), size = elementBytes(call.typeSource),
                pixelBytes = w.sourceChannels * size;
  const int64_t first = d[2].offset.front();
  const int64_t low = std::clamp<int64_t>(-first, 0, phase.slab.width);
  const int64_t high = std::clamp<int64_t>(d[2].sourceExtent - first, low, phase.slab.width);
  for (int64_t offset0 : d[0].offset)
    for (int64_t row = 0; row < phase.slab.height; ++row, to += phase.slab.width * channels) {
      const int64_t i0 = j0 * d[0].step + offset0, i1 = j1 * d[1].step + d[1].offset.front() + row;
      if (i0 < 0 || i0 >= d[0].sourceExtent || i1 < 0 || i1 >= d[1].sourceExtent) {
        std::fill(to, to + phase.slab.width * channels, T(0));
        continue;
      }
      const int64_t pixel =
          ((image * d[0].sourceExtent + i0) * d[1].sourceExtent + i1) * d[2].sourceExtent + first + low;
      const char *from = static_cast<const char *>(call.source) + pixel * pixelBytes + group * channels * size;
      std::fill(to, to + low * channels, T(0));
      if (w.groups == 1)
        isa.packRows(
            {to + low * channels, 0, from, call.typeSource, 0, 1, (high - low) * channels, (high - low) * channels});
      else
        isa.packRows(
            {to + low * channels, channels, from, call.typeSource, w.sourceChannels, high - low, channels, channels});
      std::fill(to + high * channels, to + phase.slab.width * channels, T(0));
    }
}

template <class T>
void Convolution<T>::runDirect(const Phase &phase, const Call &call, const Panels<T> &panels, char *slots) const {
  const Kernels<T> &isa = kernels<T>();
  const Window &w = phase.window;
  const WindowDim *d = w.dim;
  const Slab &slab = phase.slab;
  const int64_t panel = isa.panelColumns, channels = w.sourcePerGroup();
  const int64_t height = slab.inPlace ? d[1].sourceExtent : slab.height;
  const int64_t width = slab.inPlace ? d[2].sourceExtent : slab.width;

  const int64_t length = w.depth() / int64_t(phase.runs.size());
  forEachTask(threads, w.groups * w.images * d[0].count * slab.blocks, [&](int slot, int64_t task) {
    const int64_t block = task % slab.blocks, j0 = task / slab.blocks % d[0].count;
    const int64_t image = task / (slab.blocks * d[0].count) % w.images;
    const int64_t group = task / (slab.blocks * d[0].count * w.images);
    const int64_t j1 = block * slab.rows, rows = std::min(slab.rows, d[1].count - j1);
    T *acc = reinterpret_cast<T *>(slots + slot * slab.bytesPerSlot);
    T *buffer = acc + roundUp(d[2].count * panel, 16);
    const T *base = buffer;
    if (slab.inPlace)
      base = static_cast<const T *>(call.source) +
             (((image * d[0].sourceExtent + j0 * d[0].step + d[0].offset.front()) * height + j1 * d[1].step +
               d[1].offset.front()) *
                  width +
              d[2].offset.front()) *
                 channels;
    else
      fillSlab(phase, call, group, image, j0, j1, buffer);
    for (int64_t column = 0; column < panels.columns; column += panel)
      for (int64_t row = 0; row < rows; ++row) {
        const int64_t n = std::min(panel, panels.columns - column);
        isa.multiply({d[2].count, n, base + row * d[1].step * width * channels, d[2].step * channels, false,
                      panels.at(group, column), panel, 0, phase.runs.data(), int64_t(phase.runs.size()), length, acc,
                      panel, false});
        storeRows(w, call, ((image * d[0].count + j0) * d[1].count + j1 + row) * d[2].count, d[2].count,
                  group * w.resultPerGroup() + panels.first + column, n, acc, panel);
      }
  });
}

template <class T>
void Convolution<T>::execute(void *const *buffers, void *scratch) {
  char *base = static_cast<char *>(scratch);
  const bool forward = desc.op == MPC_CONV_FORWARD;
  const int64_t perGroup = (forward ? desc.O : desc.C) / desc.groups;
  Call call{desc.type_a, desc.type_out, buffers[0], nullptr, nullptr, nullptr, desc.activation == MPC_ACT_RELU};
  int next = 2;
  if (desc.has_bias) {
    widenBias(reinterpret_cast<T *>(base + biasAt), buffers[next++], desc.type_bias, perGroup * desc.groups);
    call.bias = base + biasAt;
  }
  if (desc.has_addend)
    call.addend = static_cast<const char *>(buffers[next++]);
  call.result = static_cast<char *>(buffers[next]);

  T *packed = reinterpret_cast<T *>(base + panelsAt);
  for (int64_t first = 0; first < perGroup; first += superColumns) {
    const int64_t columns = std::min(superColumns, perGroup - first);
    pack(static_cast<const char *>(buffers[1]), packed, first, columns);
    for (const Phase &phase : phases) {
      const Panels<T> panels{packed + phase.panelsAt, first, columns, phase.window.depth()};
      if (phase.direct) {
        runDirect(phase, call, panels, base + slotsAt);
        continue;
      }
      Blocking blocks = phase.blocks;
      blocks.n = columns;
      runBlocked<T>(blocks, GatheredSource<T>(phase.window, call, panels), threads,
                    reinterpret_cast<T *>(base + slotsAt));
    }
  }
}

} // namespace

template <class T>
std::unique_ptr<Primitive> makeConvolution(const mpc_library_desc &desc, int threads) {
  return std::make_unique<Convolution<T>>(desc, threads);
}
template std::unique_ptr<Primitive> makeConvolution<float>(const mpc_library_desc &, int);
template std::unique_ptr<Primitive> makeConvolution<double>(const mpc_library_desc &, int);

} // namespace mpc::generic
