//===- Convolution.cpp - Forward passes and input gradients ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Results are 36 products [tiles, depth] x [depth, columns], one for each frequency, of transformed pixels and
// transformed weights. The work is done in one of two orders.
//
// By tiles: all weights are transformed first. A task owns a block of tiles; it transforms their pixels, multiplies,
// and transforms the products to results. Its arrays stay in its core's cache where channels are few.
//
// By columns: all pixels are transformed first. A task owns a panel of columns and transforms some of its weights at a
// time, which stay in its core's cache. This suits few tiles and many channels: all transformed weights take four times
// the memory of the weights themselves.
//
// The shape alone decides on the order of the work and of the sums.
//
//===----------------------------------------------------------------------===//
#include "Parallel.h"
#include "Tiles.h"

#include <algorithm>
#include <cstring>

namespace mpc::winograd {
namespace {

using generic::ceilDiv;
using generic::elementBytes;
using generic::forEachTask;
using generic::kernels;
using generic::roundUp;
using generic::Run;

class Convolution final : public generic::Primitive {
public:
  Convolution(const mpc_library_desc &desc, int threads);
  void execute(void *const *buffers, void *scratch) override;
  const char *implementation() const override { return "winograd"; }

private:
  static constexpr int64_t rowsOfTask = 16;   // rows of weights that are transformed at one time
  static constexpr int64_t depthOfPanel = 64; // rows of a panel whose transformed weights stay in the cache

  struct Call {
    const char *source, *weights, *addend, *zeros;
    const float *bias;
    char *result;
  };

  int64_t packedWeights() const { return rowsOfTask * taps * panel; }
  int64_t panelWeights() const { return depthOfPanel * panel; }
  int64_t weightStep() const { return mostParts * panels * depth * panel; }

  void chooseOrder();
  void transformWeights(const Call &call, const Part &part, int64_t column, int64_t first, int64_t rows, float *packed,
                        float *to, int64_t step) const;
  void transformPixels(const Call &call, const Pass &pass, int64_t tile, float *to, int64_t step) const;
  void transformProducts(const Call &call, const Pass &pass, int64_t tile, const float *products, int64_t step,
                         int64_t column, int64_t count) const;
  void runByTiles(const Call &call, const Pass &pass, float *weights, float *slotMemory) const;
  void runByColumns(const Call &call, const Pass &pass, float *pixels, float *slotMemory) const;

  mpc_library_desc desc;
  Tiling tiling;
  int threads;
  int64_t taps, depth, columns, panel, panels, mostParts = 0, mostTiles = 0;
  int64_t ldPixels, ldProducts;
  bool byColumns;
  int64_t block, slotElements; // block: the most tiles of a task
  int slots;                   // of tasks that run at one time
  size_t biasAt, zerosAt, sharedAt, slotsAt;
};

Convolution::Convolution(const mpc_library_desc &desc, int threads)
    : desc(desc), tiling(desc.op == MPC_CONV_FORWARD ? forwardTiling(desc) : inputGradTiling(desc)), threads(threads),
      taps(desc.kernel[0] * desc.kernel[1]), depth(tiling.source.channels), columns(tiling.result.channels),
      panel(kernels<float>().panelColumns), panels(ceilDiv(columns, panel)) {
  for (const Pass &pass : tiling.passes) {
    mostParts = std::max(mostParts, int64_t(pass.parts.size()));
    mostTiles = std::max(mostTiles, tiling.images * pass.tiles());
  }
  ldPixels = rowStep(mostParts * depth);
  chooseOrder();
  biasAt = scratch.add(size_t(desc.has_bias ? rowStep(columns) : 0) * sizeof(float));
  zerosAt = scratch.add(size_t(std::max(depth, panel)) * sizeof(float));
  sharedAt = scratch.add(size_t(frequencies * (byColumns ? mostTiles * ldPixels : weightStep())) * sizeof(float));
  slotsAt = scratch.add(size_t(slotElements * slots) * sizeof(float));
}

void Convolution::chooseOrder() {
  const int64_t size = int64_t(sizeof(float)), rows = kernels<float>().tileRows;
  const int64_t pixelBytes = frequencies * mostTiles * ldPixels * size, weightBytes = frequencies * weightStep() * size;
  byColumns =
      weightBytes > (int64_t(2) << 20) && 3 * pixelBytes <= 2 * weightBytes && pixelBytes <= (int64_t(32) << 20);
  if (byColumns) {
    // Where there are more threads than panels, several of them share one, with tiles of their own.
    block = ceilDiv(mostTiles, std::min(mostTiles, ceilDiv(threads, panels)));
    slots = int(std::min<int64_t>(threads, panels * ceilDiv(mostTiles, block)));
    ldProducts = panel;
    slotElements = frequencies * (block * ldProducts + panelWeights()) + packedWeights();
    return;
  }
  // A block's arrays stay in a core's cache, of which they take about 0.7 MB. With many channels no useful block does,
  // and a larger one reads the weights less often.
  ldProducts = rowStep(columns);
  const int64_t bytes = frequencies * (ldPixels + ldProducts) * size;
  int64_t most = (int64_t(700) << 10) / bytes / rows * rows;
  if (most < 2 * rows)
    most = std::clamp<int64_t>((std::max(int64_t(16) / threads, int64_t(2)) << 20) / bytes, rows, 128);
  // Every thread gets as many blocks as any other.
  const int64_t blocks = roundUp(ceilDiv(mostTiles, most), threads);
  block = ceilDiv(mostTiles, blocks);
  slots = int(std::min<int64_t>(threads, std::max(ceilDiv(mostTiles, block), panels)));
  slotElements = std::max(frequencies * block * (ldPixels + ldProducts), packedWeights());
}

/// Transforms rows [first, first + rows) of the panel at `column`, in one part. The forward pass has rows of input
/// channels, w[column][row], and the input gradient has w[row][column].
void Convolution::transformWeights(const Call &call, const Part &part, int64_t column, int64_t first, int64_t rows,
                                   float *packed, float *to, int64_t step) const {
  const int64_t count = std::min(panel, columns - column), total = depth * columns * taps;
  const bool forward = desc.op == MPC_CONV_FORWARD;
  const auto pack = [&](int64_t at, int64_t stride, int64_t length, float *buffer) {
    kernels<float>().packTransposed({buffer, nullptr, panel, call.weights + at * elementBytes(desc.type_b), desc.type_b,
                                     stride, count, panel, length, total - at});
  };
  if (forward)
    pack((column * depth + first) * taps, depth * taps, rows * taps, packed);
  for (int64_t row = 0; row < rows; ++row) {
    float *buffer = packed + row * taps * panel;
    if (!forward)
      pack(((first + row) * columns + column) * taps, taps, taps, buffer);
    const float *addresses[tileTaps * tileTaps];
    for (size_t i = 0; i < part.tap.size(); ++i)
      addresses[i] = part.tap[i] < 0 ? reinterpret_cast<const float *>(call.zeros) : buffer + part.tap[i] * panel;
    transforms().weights({addresses, panel, to + row * panel, step});
  }
}

/// Transforms the pixels of a tile: parts one after the other.
void Convolution::transformPixels(const Call &call, const Pass &pass, int64_t tile, float *to, int64_t step) const {
  const void *addresses[frequencies];
  for (const Part &part : pass.parts) {
    tiling.address(part, pass.place(tile), call.source, desc.type_a, call.zeros, addresses);
    transforms().input({addresses, desc.type_a, depth, to, step});
    to += depth;
  }
}

/// Transforms the products of a tile and of columns [column, column + count) to results.
void Convolution::transformProducts(const Call &call, const Pass &pass, int64_t tile, const float *products,
                                    int64_t step, int64_t column, int64_t count) const {
  const Maps &to = tiling.result;
  const Place at = pass.place(tile);
  const int64_t row = pass.first[0] + at.row * tiling.resultStep, first = pass.first[1] + at.column * tiling.resultStep;
  const int64_t pixel = (at.image * to.extent[0] + row) * to.extent[1] + first;
  const int64_t offset = (pixel * columns + column) * elementBytes(desc.type_out),
                pixelStep = tiling.resultStep * columns;
  transforms().results({products, step, count, call.result + offset, desc.type_out,
                        std::min<int64_t>(tileResults, pass.count[0] - at.row),
                        std::min<int64_t>(tileResults, pass.count[1] - at.column), to.extent[1] * pixelStep, pixelStep,
                        call.bias ? call.bias + column : nullptr, call.addend ? call.addend + offset : nullptr,
                        desc.activation == MPC_ACT_RELU});
}

void Convolution::runByTiles(const Call &call, const Pass &pass, float *weights, float *slotMemory) const {
  const int64_t chunks = ceilDiv(depth, rowsOfTask), tiles = tiling.images * pass.tiles();
  const int64_t partStep = panels * depth * panel;
  forEachTask(slots, int64_t(pass.parts.size()) * panels * chunks, [&](int slot, int64_t task) {
    const int64_t first = task % chunks * rowsOfTask, column = task / chunks % panels, part = task / (chunks * panels);
    transformWeights(call, pass.parts[size_t(part)], column * panel, first, std::min(rowsOfTask, depth - first),
                     slotMemory + slot * slotElements, weights + part * partStep + (column * depth + first) * panel,
                     weightStep());
  });
  forEachTask(slots, ceilDiv(tiles, block), [&](int slot, int64_t task) {
    const int64_t first = task * block, count = std::min(block, tiles - first);
    float *pixels = slotMemory + slot * slotElements, *products = pixels + frequencies * block * ldPixels;
    for (int64_t t = 0; t < count; ++t)
      transformPixels(call, pass, first + t, pixels + t * ldPixels, block * ldPixels);
    const Run whole{0, 0};
    for (int64_t f = 0; f < frequencies; ++f)
      for (int64_t part = 0; part < int64_t(pass.parts.size()); ++part)
        kernels<float>().multiply({count, columns, pixels + f * block * ldPixels + part * depth, ldPixels, false,
                                   weights + f * weightStep() + part * partStep, panel, depth * panel, &whole, 1, depth,
                                   products + f * block * ldProducts, ldProducts, part > 0});
    for (int64_t t = 0; t < count; ++t)
      transformProducts(call, pass, first + t, products + t * ldProducts, block * ldProducts, 0, columns);
  });
}

void Convolution::runByColumns(const Call &call, const Pass &pass, float *pixels, float *slotMemory) const {
  constexpr int64_t tilesOfTask = 4;
  const int64_t tiles = tiling.images * pass.tiles(), blocks = ceilDiv(tiles, block);
  forEachTask(threads, ceilDiv(tiles, tilesOfTask), [&](int, int64_t task) {
    for (int64_t t = task * tilesOfTask; t < std::min(tiles, (task + 1) * tilesOfTask); ++t)
      transformPixels(call, pass, t, pixels + t * ldPixels, mostTiles * ldPixels);
  });
  forEachTask(slots, panels * blocks, [&](int slot, int64_t task) {
    const int64_t column = task / blocks * panel, width = std::min(panel, columns - column);
    const int64_t tile = task % blocks * block, count = std::min(block, tiles - tile);
    float *products = slotMemory + slot * slotElements, *weights = products + frequencies * block * ldProducts;
    float *packed = weights + frequencies * panelWeights();
    const Run whole{0, 0};
    for (int64_t part = 0; part < int64_t(pass.parts.size()); ++part)
      for (int64_t first = 0; first < depth; first += depthOfPanel) {
        const int64_t rows = std::min(depthOfPanel, depth - first);
        for (int64_t row = 0; row < rows; row += rowsOfTask)
          transformWeights(call, pass.parts[size_t(part)], column, first + row, std::min(rowsOfTask, rows - row),
                           packed, weights + row * panel, panelWeights());
        for (int64_t f = 0; f < frequencies; ++f)
          kernels<float>().multiply({count, width, pixels + (f * mostTiles + tile) * ldPixels + part * depth + first,
                                     ldPixels, false, weights + f * panelWeights(), panel, 0, &whole, 1, rows,
                                     products + f * block * ldProducts, ldProducts, part > 0 || first > 0});
      }
    for (int64_t t = 0; t < count; ++t)
      transformProducts(call, pass, tile + t, products + t * ldProducts, block * ldProducts, column, width);
  });
}

void Convolution::execute(void *const *buffers, void *scratch) {
  char *base = static_cast<char *>(scratch), *zeros = base + zerosAt;
  float *shared = reinterpret_cast<float *>(base + sharedAt), *slotMemory = reinterpret_cast<float *>(base + slotsAt);
  std::memset(zeros, 0, size_t(std::max(depth, panel)) * sizeof(float));
  Call call{
      static_cast<const char *>(buffers[0]), static_cast<const char *>(buffers[1]), nullptr, zeros, nullptr, nullptr};
  int next = 2;
  if (desc.has_bias) {
    float *bias = reinterpret_cast<float *>(base + biasAt);
    generic::widenBias(bias, buffers[next++], desc.type_bias, columns);
    call.bias = bias;
  }
  if (desc.has_addend)
    call.addend = static_cast<const char *>(buffers[next++]);
  call.result = static_cast<char *>(buffers[next]);
  for (const Pass &pass : tiling.passes)
    byColumns ? runByColumns(call, pass, shared, slotMemory) : runByTiles(call, pass, shared, slotMemory);
}

} // namespace

std::unique_ptr<generic::Primitive> makeConvolution(const mpc_library_desc &desc, int threads) {
  return std::make_unique<Convolution>(desc, threads);
}

} // namespace mpc::winograd
