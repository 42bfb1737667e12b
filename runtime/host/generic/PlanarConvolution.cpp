//===- PlanarConvolution.cpp - Convolutions with few result channels ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With six result channels, a register tile whose vectors run over channels wastes most of each vector. Here the
// vectors run over positions instead: the source rows that a task needs are widened into planes, one per
// source channel, in which the positions of all its result rows are one contiguous signal (rows follow each
// other at the plane's width; the positions between two rows are computed and discarded). Then
//
//     acc[result channel, position] = sum over (plane, tap) of w[result channel, (plane, tap)] *
//     plane[position + tap]
//
// is a product whose B has a row step of one element. The results are transposed as they are stored.
//
// This method serves unit steps: forward convolutions without stride, and every phase of an input gradient.
//
//===----------------------------------------------------------------------===//
#include "Parallel.h"
#include "Window.h"

#include <algorithm>

namespace mpc::generic {
namespace {

template <class T>
class PlanarConvolution final : public Primitive {
public:
  PlanarConvolution(const mpc_library_desc &desc, int threads);
  void execute(void *const *buffers, void *scratch) override;

private:
  struct Phase {
    Window window;
    int64_t height, width, planeStride; // size of one plane, in elements; planeStride keeps room for whole vectors
    int64_t rows, blocks;               // result rows of a task, tasks per plane of an image
    std::vector<Run> runs;
    int64_t length;   // length of a run: all innermost taps if they are neighbours
    size_t weightsAt; // offset in elements
  };

  void plan(Phase &phase);
  void packWeights(const Phase &phase, const void *weights, T *to) const;
  void fillPlanes(const Phase &phase, const char *source, int64_t group, int64_t image, int64_t j0, int64_t j1,
                  T *planes) const;

  mpc_library_desc desc;
  int threads;
  std::vector<Phase> phases;
  int64_t slotElements = 0, planesAt = 0;
  size_t biasAt, weightsAt, slotsAt;
};

template <class T>
PlanarConvolution<T>::PlanarConvolution(const mpc_library_desc &desc, int threads) : desc(desc), threads(threads) {
  if (desc.op == MPC_CONV_FORWARD)
    phases.push_back({forwardWindow(desc), 0, 0, 0, 0, 0, {}, 0, 0});
  else
    for (Window &window : inputGradWindows(desc))
      phases.push_back({std::move(window), 0, 0, 0, 0, 0, {}, 0, 0});
  int64_t weights = 0, planes = 0, acc = 0;
  const int64_t panel = kernels<T>().panelColumns;
  for (Phase &phase : phases) {
    plan(phase);
    phase.weightsAt = size_t(weights);
    weights += phase.window.resultChannels * phase.window.depth();
    planes =
        std::max(planes, int64_t(phase.window.dim[0].tap.size()) * phase.window.sourcePerGroup() * phase.planeStride);
    acc = std::max(acc, phase.window.resultPerGroup() * roundUp(phase.rows * phase.width, panel));
  }
  planesAt = roundUp(acc, 16);
  slotElements = planesAt + roundUp(planes + panel, 16);
  biasAt = this->scratch.add(desc.has_bias ? size_t(std::max(desc.C, desc.O)) * sizeof(T) : 0);
  weightsAt = this->scratch.add(size_t(weights) * sizeof(T));
  slotsAt = this->scratch.add(size_t(slotElements * threads) * sizeof(T));
}

template <class T>
void PlanarConvolution<T>::plan(Phase &phase) {
  const Window &w = phase.window;
  const WindowDim *d = w.dim;
  const int64_t channels = w.sourcePerGroup(), lanes = kernels<T>().panelColumns / 2;
  const int64_t span1 = d[1].offset.empty() ? 1 : d[1].offset.back() - d[1].offset.front() + 1;
  const int64_t span2 = d[2].offset.empty() ? 1 : d[2].offset.back() - d[2].offset.front() + 1;
  phase.width = d[2].count + span2 - 1;
  // A task takes about a thousand positions, and its planes at most 256 KB.
  const int64_t planeLimit =
      (256 << 10) / int64_t(sizeof(T)) / std::max<int64_t>(1, channels * int64_t(d[0].tap.size()));
  phase.rows = std::clamp<int64_t>(std::min<int64_t>(1024, planeLimit) / phase.width - span1 + 1, 1, d[1].count);
  while (phase.rows > 1 && w.groups * w.images * d[0].count * ceilDiv(d[1].count, phase.rows) < 4 * threads)
    phase.rows = ceilDiv(phase.rows, 2);
  phase.blocks = ceilDiv(d[1].count, phase.rows);
  phase.height = phase.rows + span1 - 1;
  phase.planeStride = roundUp(phase.height * phase.width + lanes, lanes);

  const size_t innerTaps = d[2].tap.size();
  const bool neighbours = innerTaps > 0 && d[2].offset.back() - d[2].offset.front() == int64_t(innerTaps) - 1;
  phase.length = neighbours ? int64_t(innerTaps) : 1;
  int64_t a = 0;
  for (size_t t0 = 0; t0 < d[0].tap.size(); ++t0)
    for (int64_t channel = 0; channel < channels; ++channel)
      for (int64_t offset1 : d[1].offset)
        for (size_t t2 = 0; t2 < innerTaps; t2 += size_t(phase.length), a += phase.length)
          phase.runs.push_back({a, (int64_t(t0) * channels + channel) * phase.planeStride +
                                       (offset1 - d[1].offset.front()) * phase.width + d[2].offset[t2] -
                                       d[2].offset.front()});
}

/// Packs w[o][c][tap] as [result channel of all groups][tap 0][source channel][tap 1][tap 2].
template <class T>
void PlanarConvolution<T>::packWeights(const Phase &phase, const void *weights, T *to) const {
  const Window &w = phase.window;
  const int64_t perOutput = desc.C / desc.groups, size = elementBytes(desc.type_b);
  const int64_t extent1 = desc.spatial >= 2 ? desc.kernel[desc.spatial - 2] : 1;
  const int64_t extent2 = desc.kernel[desc.spatial - 1], extent0 = desc.spatial == 3 ? desc.kernel[0] : 1;
  for (int64_t result = 0; result < w.resultChannels; ++result)
    for (int64_t t0 : w.dim[0].tap)
      for (int64_t source = 0; source < w.sourcePerGroup(); ++source)
        for (int64_t t1 : w.dim[1].tap)
          for (int64_t t2 : w.dim[2].tap) {
            const int64_t group = result / w.resultPerGroup(), tap = (t0 * extent1 + t1) * extent2 + t2;
            const int64_t o = desc.op == MPC_CONV_FORWARD ? result : group * w.sourcePerGroup() + source;
            const int64_t c = desc.op == MPC_CONV_FORWARD ? source : result % w.resultPerGroup();
            const char *from =
                static_cast<const char *>(weights) + ((o * perOutput + c) * extent0 * extent1 * extent2 + tap) * size;
            kernels<T>().packRows({to++, 0, from, desc.type_b, 0, 1, 1, 1});
          }
}

template <class T>
void PlanarConvolution<T>::fillPlanes(const Phase &phase, const char *source, int64_t group, int64_t image, int64_t j0,
                                      int64_t j1, T *planes) const {
  const Kernels<T> &isa = kernels<T>();
  const Window &w = phase.window;
  const WindowDim *d = w.dim;
  const int64_t channels = w.sourcePerGroup(), size = elementBytes(desc.type_a), lanes = isa.panelColumns / 2;
  const int64_t first = d[2].offset.front(), low = std::clamp<int64_t>(-first, 0, phase.width);
  const int64_t high = std::clamp<int64_t>(d[2].sourceExtent - first, low, phase.width);
  const int64_t total = w.images * d[0].sourceExtent * d[1].sourceExtent * d[2].sourceExtent * w.sourceChannels;
  const auto zero = [&](T *plane, int64_t from, int64_t to) {
    for (int64_t channel = 0; channel < channels; ++channel)
      std::fill(plane + channel * phase.planeStride + from, plane + channel * phase.planeStride + to, T(0));
  };
  // Rows are written in ascending order, because a transposition may write past its row's end, where the next row
  // then overwrites it.
  for (int64_t offset0 : d[0].offset) {
    for (int64_t row = 0; row < phase.height; ++row) {
      const int64_t i0 = j0 + offset0, i1 = j1 + d[1].offset.front() + row, at = row * phase.width;
      if (i0 < 0 || i0 >= d[0].sourceExtent || i1 < 0 || i1 >= d[1].sourceExtent) {
        zero(planes, at, at + phase.width);
        continue;
      }
      const int64_t pixel =
          ((image * d[0].sourceExtent + i0) * d[1].sourceExtent + i1) * d[2].sourceExtent + first + low;
      const int64_t element = pixel * w.sourceChannels + group * channels;
      zero(planes, at, at + low);
      if (w.sourceChannels == 1)
        isa.packRows({planes + at + low, 0, source + element * size, desc.type_a, 0, 1, high - low, high - low});
      else if (high > low)
        isa.packTransposed({planes + at + low, nullptr, phase.planeStride, source + element * size, desc.type_a,
                            w.sourceChannels, high - low, roundUp(high - low, lanes), channels, total - element});
      zero(planes, at + high, at + phase.width);
    }
    zero(planes, phase.height * phase.width, phase.planeStride);
    planes += channels * phase.planeStride;
  }
}

template <class T>
void PlanarConvolution<T>::execute(void *const *buffers, void *scratch) {
  const Kernels<T> &isa = kernels<T>();
  char *base = static_cast<char *>(scratch);
  T *bias = nullptr, *weights = reinterpret_cast<T *>(base + weightsAt), *slots = reinterpret_cast<T *>(base + slotsAt);
  int next = 2;
  if (desc.has_bias) {
    bias = reinterpret_cast<T *>(base + biasAt);
    widenBias(bias, buffers[next++], desc.type_bias, desc.op == MPC_CONV_FORWARD ? desc.O : desc.C);
  }
  const char *addend = desc.has_addend ? static_cast<const char *>(buffers[next++]) : nullptr;
  char *out = static_cast<char *>(buffers[next]);
  const int64_t size = elementBytes(desc.type_out), panel = isa.panelColumns;
  for (const Phase &phase : phases) {
    const Window &w = phase.window;
    const WindowDim *d = w.dim;
    const int64_t results = w.resultPerGroup(), depth = w.depth();
    packWeights(phase, buffers[1], weights + phase.weightsAt);
    forEachTask(threads, w.groups * w.images * d[0].count * phase.blocks, [&](int slot, int64_t task) {
      const int64_t j1 = task % phase.blocks * phase.rows, j0 = task / phase.blocks % d[0].count;
      const int64_t image = task / (phase.blocks * d[0].count) % w.images;
      const int64_t group = task / (phase.blocks * d[0].count * w.images);
      const int64_t rows = std::min(phase.rows, d[1].count - j1);
      T *acc = slots + slot * slotElements, *planes = acc + planesAt;
      const int64_t positions = (rows - 1) * phase.width + d[2].count, ldacc = roundUp(positions, panel);
      if (depth)
        fillPlanes(phase, static_cast<const char *>(buffers[0]), group, image, j0, j1, planes);
      isa.multiply({results, positions, weights + phase.weightsAt + group * results * depth, depth, false, planes, 1,
                    panel, phase.runs.data(), int64_t(phase.runs.size()), phase.length, acc, ldacc, false});
      for (int64_t row = 0; row < rows; ++row) {
        const int64_t i0 = d[0].resultBegin + j0 * d[0].resultStep,
                      i1 = d[1].resultBegin + (j1 + row) * d[1].resultStep;
        const int64_t pixel =
            ((image * d[0].resultExtent + i0) * d[1].resultExtent + i1) * d[2].resultExtent + d[2].resultBegin;
        const int64_t at = (pixel * w.resultChannels + group * results) * size;
        isa.storeTransposed({acc + row * phase.width, ldacc, d[2].count, results, out + at,
                             d[2].resultStep * w.resultChannels, desc.type_out, bias ? bias + group * results : nullptr,
                             addend ? addend + at : nullptr, desc.activation == MPC_ACT_RELU});
      }
    });
  }
}

} // namespace

template <class T>
std::unique_ptr<Primitive> makePlanarConvolution(const mpc_library_desc &desc, int threads) {
  const int64_t results = (desc.op == MPC_CONV_FORWARD ? desc.O : desc.C) / desc.groups;
  if (results * 4 > kernels<T>().panelColumns)
    return nullptr;
  int64_t last = desc.op == MPC_CONV_FORWARD ? desc.out[desc.spatial - 1] : desc.in[desc.spatial - 1];
  for (int i = 0; i < desc.spatial; ++i)
    if (desc.op == MPC_CONV_FORWARD && desc.stride[i] != 1)
      return nullptr;
  if (desc.op == MPC_CONV_INPUT_GRAD)
    last /= desc.stride[desc.spatial - 1];
  // Positions between the rows are computed too; they may be at most a third of all positions.
  const int i = desc.spatial - 1;
  if (desc.dilation[i] * (desc.kernel[i] - 1) * 2 > last)
    return nullptr;
  return std::make_unique<PlanarConvolution<T>>(desc, threads);
}
template std::unique_ptr<Primitive> makePlanarConvolution<float>(const mpc_library_desc &, int);
template std::unique_ptr<Primitive> makePlanarConvolution<double>(const mpc_library_desc &, int);

} // namespace mpc::generic
