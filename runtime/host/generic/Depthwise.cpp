//===- Depthwise.cpp - Convolutions of each channel by itself --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A depthwise convolution is a weighted sum over the taps of a window, for each channel by itself, so vectors run over
// channels. A task widens the source of some result positions and 32 channels, with its padding, into a slab once;
// then a result position reads one vector of the slab for each tap. The weight gradient reads the same slab of x and
// keeps one sum for each tap:
//
//     y[p, c]  = sum over taps t of slab[p * step + offset[t], c] * w[t, c]
//     dw[t, c] = sum over positions p of slab[p * step + offset[t], c] * dy[p, c]
//
// The shape alone determines the pieces of the last sum, which are added in order.
//
//===----------------------------------------------------------------------===//
#include "Parallel.h"
#include "Window.h"

namespace mpc::generic {
namespace {

constexpr int64_t chunk = 32;            // the channels of a task: 64 bytes in 16 bits, a line of the cache
constexpr int64_t fewestChannels = 4;    // with fewer, windows that are copied out fill vectors better
constexpr int64_t columnsPerBlock = 256; // result positions along the last dimension
constexpr int64_t slabBytes = 256 << 10; // fits the second-level cache
constexpr int64_t fewestTasks = 16;      // where the shape allows it, so that many threads have work

/// A block of result positions in one plane of an image.
struct Block {
  int64_t image, j0, j1, j2, rows, columns;
};

/// A window with its division into blocks. The slab of a block has `height` x `width` pixels for each outer tap. Where
/// a block has one row, the slab has only those rows of the source that its taps read.
struct BlockedWindow {
  Window window;
  int64_t rows = 1, columns = 1, rowBlocks = 1, columnBlocks = 1, height = 1, width = 1;
  std::vector<Run> taps; // the offset of each tap from a position in the slab, and that of its weights

  int64_t blocks() const { return window.images * window.dim[0].count * rowBlocks * columnBlocks; }
  int64_t slabElements() const { return int64_t(window.dim[0].tap.size()) * height * width * chunk; }
  Block block(int64_t index) const;
};

int64_t spanOf(const WindowDim &d) { return d.offset.empty() ? 0 : d.offset.back() - d.offset.front() + 1; }

/// `weightStride` is the distance between the weights of two taps.
BlockedWindow divide(const mpc_library_desc &desc, Window window, int64_t weightStride) {
  BlockedWindow b;
  const WindowDim *d = window.dim;
  const int64_t planes = int64_t(d[0].tap.size()), chunks = ceilDiv(desc.C, chunk);
  b.columns = std::min(d[2].count, columnsPerBlock);
  const int64_t tapRows = int64_t(d[1].tap.size());
  auto rowBytes = [&] {
    return std::max<int64_t>(1, ((b.columns - 1) * d[2].step + spanOf(d[2])) * planes * chunk * int64_t(sizeof(float)));
  };
  while (b.columns > 1 && tapRows * rowBytes() > slabBytes)
    b.columns = ceilDiv(b.columns, 2);
  b.columnBlocks = ceilDiv(d[2].count, b.columns);
  b.width = (b.columns - 1) * d[2].step + spanOf(d[2]);
  if (spanOf(d[1]) == tapRows) // rows of a dilated window share little
    b.rows = std::clamp<int64_t>((slabBytes / rowBytes() - tapRows) / d[1].step + 1, 1, d[1].count);
  while (b.rows > 1 && window.images * d[0].count * b.columnBlocks * ceilDiv(d[1].count, b.rows) * chunks < fewestTasks)
    b.rows = ceilDiv(b.rows, 2);
  b.rowBlocks = ceilDiv(d[1].count, b.rows);
  b.height = b.rows == 1 ? tapRows : (b.rows - 1) * d[1].step + tapRows;
  const int64_t extent1 = desc.spatial >= 2 ? desc.kernel[desc.spatial - 2] : 1,
                extent2 = desc.kernel[desc.spatial - 1];
  for (size_t t0 = 0; t0 < d[0].tap.size(); ++t0)
    for (size_t t1 = 0; t1 < d[1].tap.size(); ++t1)
      for (size_t t2 = 0; t2 < d[2].tap.size(); ++t2) {
        const int64_t row = int64_t(t0) * b.height + int64_t(t1);
        const int64_t tap = (d[0].tap[t0] * extent1 + d[1].tap[t1]) * extent2 + d[2].tap[t2];
        b.taps.push_back({(row * b.width + d[2].offset[t2] - d[2].offset[0]) * chunk, tap * weightStride});
      }
  b.window = std::move(window);
  return b;
}

Block BlockedWindow::block(int64_t index) const {
  const WindowDim *d = window.dim;
  const int64_t j2 = index % columnBlocks * columns, j1 = index / columnBlocks % rowBlocks * rows;
  const int64_t plane = index / (columnBlocks * rowBlocks);
  return {plane / d[0].count,
          plane % d[0].count,
          j1,
          j2,
          std::min(rows, d[1].count - j1),
          std::min(columns, d[2].count - j2)};
}

/// Returns so many channels rounded up to whole vectors.
int64_t wholeVectors(int64_t channels) { return roundUp(channels, kernels<float>().panelColumns / 2); }

/// Widens what a block reads of the source's channels [channel, channel + channels), with zeros where it reads outside.
void fillSlab(const BlockedWindow &b, const Block &block, const char *source, int32_t type, int64_t channel,
              int64_t channels, float *to) {
  const WindowDim *d = b.window.dim;
  if (b.taps.empty())
    return;
  const int64_t pixelBytes = b.window.sourceChannels * elementBytes(type), line = b.width * chunk;
  const int64_t first = block.j2 * d[2].step + d[2].offset.front();
  const int64_t low = std::clamp<int64_t>(-first, 0, b.width);
  const int64_t high = std::clamp<int64_t>(d[2].sourceExtent - first, low, b.width);
  for (int64_t offset0 : d[0].offset)
    for (int64_t row = 0; row < b.height; ++row, to += line) {
      const int64_t offset1 = b.rows == 1 ? d[1].offset[size_t(row)] : d[1].offset.front() + row;
      const int64_t i0 = block.j0 * d[0].step + offset0, i1 = block.j1 * d[1].step + offset1;
      if (i0 < 0 || i0 >= d[0].sourceExtent || i1 < 0 || i1 >= d[1].sourceExtent) {
        std::fill(to, to + line, 0.0f);
        continue;
      }
      const int64_t pixel =
          ((block.image * d[0].sourceExtent + i0) * d[1].sourceExtent + i1) * d[2].sourceExtent + first + low;
      std::fill(to, to + low * chunk, 0.0f);
      kernels<float>().packRows({to + low * chunk, chunk, source + pixel * pixelBytes + channel * elementBytes(type),
                                 type, b.window.sourceChannels, high - low, channels, wholeVectors(channels)});
      std::fill(to + high * chunk, to + line, 0.0f);
    }
}

/// Computes the forward pass, or the phases of an input gradient.
class Depthwise final : public Primitive {
public:
  Depthwise(const mpc_library_desc &desc, int threads) : desc(desc), threads(threads), stride(roundUp(desc.C, chunk)) {
    std::vector<Window> windows;
    if (desc.op == MPC_CONV_FORWARD)
      windows.push_back(forwardWindow(desc));
    else
      windows = inputGradWindows(desc);
    for (Window &window : windows) {
      phases.push_back(divide(desc, std::move(window), stride));
      slabElements = std::max(slabElements, phases.back().slabElements());
    }
    for (int i = 0; i < desc.spatial; ++i)
      taps *= desc.kernel[i];
    biasAt = scratch.add(desc.has_bias ? size_t(desc.C) * sizeof(float) : 0);
    weightsAt = scratch.add(size_t(taps * stride) * sizeof(float));
    slotsAt = scratch.add(size_t(slotElements() * threads) * sizeof(float));
  }

  void execute(void *const *buffers, void *scratch) override;
  const char *implementation() const override { return "generic depthwise"; }

private:
  int64_t slotElements() const { return slabElements + columnsPerBlock * chunk; }

  struct Call {
    const char *source, *addend;
    const float *bias;
    char *result;
  };
  void run(const BlockedWindow &phase, const Block &block, int64_t channel, const float *weights, const Call &call,
           float *slot) const;

  mpc_library_desc desc;
  int threads;
  int64_t stride, taps = 1, slabElements = 0;
  std::vector<BlockedWindow> phases;
  size_t biasAt, weightsAt, slotsAt;
};

void Depthwise::run(const BlockedWindow &phase, const Block &block, int64_t channel, const float *weights,
                    const Call &call, float *slot) const {
  const Kernels<float> &isa = kernels<float>();
  const WindowDim *d = phase.window.dim;
  const int64_t channels = std::min(chunk, desc.C - channel), size = elementBytes(desc.type_out);
  float *acc = slot, *slab = slot + columnsPerBlock * chunk;
  fillSlab(phase, block, call.source, desc.type_a, channel, channels, slab);
  for (int64_t row = 0; row < block.rows; ++row) {
    isa.depthwise({block.columns, wholeVectors(channels), slab + row * d[1].step * phase.width * chunk,
                   d[2].step * chunk, weights + channel, phase.taps.data(), int64_t(phase.taps.size()), acc, chunk});
    const int64_t i0 = d[0].resultBegin + block.j0 * d[0].resultStep;
    const int64_t i1 = d[1].resultBegin + (block.j1 + row) * d[1].resultStep;
    const int64_t i2 = d[2].resultBegin + block.j2 * d[2].resultStep;
    const int64_t pixel = ((block.image * d[0].resultExtent + i0) * d[1].resultExtent + i1) * d[2].resultExtent + i2;
    const int64_t at = (pixel * desc.C + channel) * size;
    isa.store({acc, chunk, block.columns, channels, call.result + at, d[2].resultStep * desc.C, desc.type_out,
               call.bias ? call.bias + channel : nullptr, call.addend ? call.addend + at : nullptr,
               desc.activation == MPC_ACT_RELU});
  }
}

void Depthwise::execute(void *const *buffers, void *scratch) {
  char *base = static_cast<char *>(scratch);
  float *weights = reinterpret_cast<float *>(base + weightsAt), *slots = reinterpret_cast<float *>(base + slotsAt);
  Call call{static_cast<const char *>(buffers[0]), nullptr, nullptr, nullptr};
  int next = 2;
  if (desc.has_bias) {
    float *bias = reinterpret_cast<float *>(base + biasAt);
    widenBias(bias, buffers[next++], desc.type_bias, desc.C);
    call.bias = bias;
  }
  if (desc.has_addend)
    call.addend = static_cast<const char *>(buffers[next++]);
  call.result = static_cast<char *>(buffers[next]);
  kernels<float>().packTransposed(
      {weights, nullptr, stride, buffers[1], desc.type_b, taps, desc.C, stride, taps, desc.C * taps});
  const int64_t chunks = ceilDiv(desc.C, chunk);
  for (const BlockedWindow &phase : phases)
    forEachTask(threads, phase.blocks() * chunks, [&](int slot, int64_t task) {
      run(phase, phase.block(task / chunks), task % chunks * chunk, weights, call, slots + slot * slotElements());
    });
}

class DepthwiseWeightGrad final : public Primitive {
public:
  DepthwiseWeightGrad(const mpc_library_desc &desc, int threads)
      : desc(desc), threads(threads), stride(roundUp(desc.C, chunk)), window(divide(desc, forwardWindow(desc), stride)),
        taps(window.window.taps()) {
    const int64_t sumBytes = taps * stride * int64_t(sizeof(float));
    // The shape alone determines the pieces: about 16 tasks, 2 MB of sums.
    const int64_t blocks = std::max<int64_t>(1, window.blocks());
    pieces = std::min({ceilDiv(fewestTasks, stride / chunk), blocks, std::max<int64_t>(1, (2 << 20) / sumBytes)});
    blocksPerPiece = ceilDiv(blocks, pieces);
    pieces = ceilDiv(blocks, blocksPerPiece);
    sumsAt = scratch.add(size_t(pieces * sumBytes));
    slotsAt = scratch.add(size_t(slotElements() * threads) * sizeof(float));
  }

  void execute(void *const *buffers, void *scratch) override;
  const char *implementation() const override { return "generic depthwise"; }

private:
  int64_t slotElements() const { return window.slabElements() + columnsPerBlock * chunk; }

  mpc_library_desc desc;
  int threads;
  int64_t stride;
  BlockedWindow window;
  int64_t taps, pieces, blocksPerPiece;
  size_t sumsAt, slotsAt;
};

void DepthwiseWeightGrad::execute(void *const *buffers, void *scratch) {
  const Kernels<float> &isa = kernels<float>();
  char *base = static_cast<char *>(scratch);
  float *sums = reinterpret_cast<float *>(base + sumsAt), *slots = reinterpret_cast<float *>(base + slotsAt);
  const auto *x = static_cast<const char *>(buffers[0]), *dy = static_cast<const char *>(buffers[1]);
  const WindowDim *d = window.window.dim;
  const int64_t chunks = stride / chunk, size = elementBytes(desc.type_b);
  forEachTask(threads, pieces * chunks, [&](int slot, int64_t task) {
    const int64_t channel = task % chunks * chunk, channels = std::min(chunk, desc.C - channel);
    const int64_t piece = task / chunks, begin = piece * blocksPerPiece;
    float *wideDy = slots + slot * slotElements(), *slab = wideDy + columnsPerBlock * chunk;
    float *to = sums + piece * taps * stride + channel;
    for (int64_t t = 0; t < taps; ++t)
      std::fill(to + t * stride, to + t * stride + chunk, 0.0f);
    for (int64_t b = begin; b < std::min(window.blocks(), begin + blocksPerPiece); ++b) {
      const Block block = window.block(b);
      fillSlab(window, block, x, desc.type_a, channel, channels, slab);
      for (int64_t row = 0; row < block.rows; ++row) {
        const int64_t pixel =
            ((block.image * d[0].count + block.j0) * d[1].count + block.j1 + row) * d[2].count + block.j2;
        isa.packRows({wideDy, chunk, dy + (pixel * desc.C + channel) * size, desc.type_b, desc.C, block.columns,
                      channels, wholeVectors(channels)});
        isa.depthwiseSums({block.columns, wholeVectors(channels), slab + row * d[1].step * window.width * chunk,
                           d[2].step * chunk, wideDy, chunk, window.taps.data(), taps, to});
      }
    }
  });
  for (int64_t piece = 1; piece < pieces; ++piece)
    for (int64_t i = 0; i < taps * stride; ++i)
      sums[i] += sums[piece * taps * stride + i];
  for (int64_t t = 0; t < taps; ++t)
    isa.narrowStrided(static_cast<char *>(buffers[2]) + t * elementBytes(desc.type_out), desc.type_out, taps,
                      sums + t * stride, desc.C);
}

} // namespace

bool isDepthwise(const mpc_library_desc &desc) {
  return desc.op != MPC_MATMUL && desc.type_a != MPC_F64 && desc.groups >= fewestChannels && desc.C == desc.groups &&
         desc.O == desc.groups;
}

std::unique_ptr<Primitive> makeDepthwise(const mpc_library_desc &desc, int threads) {
  if (desc.op == MPC_CONV_WEIGHT_GRAD)
    return std::make_unique<DepthwiseWeightGrad>(desc, threads);
  return std::make_unique<Depthwise>(desc, threads);
}

} // namespace mpc::generic
