//===- WeightGrad.cpp - Weight gradients ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For each frequency the gradient of the transformed weights is a product [O, tiles] x [tiles, C]. The tiles are taken
// in pieces: all threads transform the pixels of a piece, then each adds the products of some frequencies and outputs.
// At the end the sums are transformed to gradients of the weights. With one piece, a task computes all frequencies of
// some outputs and their gradients; then only its own sums are kept, where those of all outputs take four times the
// memory of the weights.
//
// The shape alone determines the pieces, so the result does not depend on the number of threads.
//
//===----------------------------------------------------------------------===//
#include "Parallel.h"
#include "Tiles.h"

#include <algorithm>
#include <cstring>

namespace mpc::winograd {
namespace {

using generic::ceilDiv;
using generic::forEachTask;
using generic::kernels;
using generic::Run;

class WeightGrad final : public generic::Primitive {
public:
  WeightGrad(const mpc_library_desc &desc, int threads)
      : desc(desc), tiling(forwardTiling(desc)), pass(tiling.passes.front()), threads(threads),
        taps(desc.kernel[0] * desc.kernel[1]), tiles(tiling.images * pass.tiles()),
        columns(int64_t(pass.parts.size()) * desc.C), ldX(rowStep(columns)), ldY(rowStep(desc.O)) {
    // A piece is so long that adding to the sums costs little beside the products.
    const int64_t bytes = frequencies * (ldX + ldY) * int64_t(sizeof(float));
    const int64_t most = std::clamp<int64_t>((int64_t(2) << 20) / bytes, 192, 1024);
    piece = ceilDiv(tiles, ceilDiv(tiles, most));
    const int64_t rows = kernels<float>().tileRows, outputBytes = frequencies * ldX * int64_t(sizeof(float));
    // A task's sums stay in its core's cache, unless reading the pixels once for each task would take longer.
    const int64_t blocks = piece * outputBytes > (int64_t(16) << 20) ? 8 : (int64_t(1) << 20) / outputBytes / rows;
    const int64_t fair = ceilDiv(ceilDiv(desc.O, threads), rows); // with which every thread has a task
    outputsOfTask =
        std::clamp<int64_t>(std::min({blocks, fair, (int64_t(16) << 20) / outputBytes / rows}), 1, 8) * rows;
    slots = int(std::min<int64_t>(threads, ceilDiv(desc.O, outputsOfTask)));
    zerosAt = scratch.add(size_t(std::max(desc.C, desc.O)) * sizeof(float));
    sumsAt = scratch.add(onePiece() ? 0 : size_t(desc.O * outputBytes));
    xAt = scratch.add(size_t(frequencies * piece * ldX) * sizeof(float));
    yAt = scratch.add(size_t(frequencies * piece * ldY) * sizeof(float));
    slotsAt = scratch.add(size_t(slotElements() * slots) * sizeof(float));
  }

  void execute(void *const *buffers, void *scratch) override;
  const char *implementation() const override { return "winograd"; }

private:
  static constexpr int64_t outputBlock = 96; // rows of a product of one task
  static constexpr int64_t tilesOfTask = 16; // tiles that a task transforms

  struct Call {
    const void *x, *dy, *zeros;
    char *dw;
  };

  bool onePiece() const { return piece == tiles; }
  int64_t slotElements() const {
    return tileTaps * tileTaps * ldX + (onePiece() ? frequencies * outputsOfTask * ldX : 0);
  }
  void multiply(const float *x, const float *y, int64_t count, int64_t frequency, int64_t output, int64_t outputs,
                float *sums, bool accumulate) const;
  void transformTile(const Call &call, int64_t tile, float *x, float *y) const;
  void storeOutput(const Call &call, int64_t output, const float *sums, int64_t step, float *grads) const;

  mpc_library_desc desc;
  Tiling tiling;
  Pass pass;
  int threads;
  int64_t taps, tiles, columns; // columns: of the sums, [parts, C]
  int64_t ldX, ldY, piece, outputsOfTask;
  int slots; // of tasks that store gradients at one time
  size_t zerosAt, sumsAt, xAt, yAt, slotsAt;
};

/// Transforms the pixels of a tile: those of x, parts one after the other, and those of dy.
void WeightGrad::transformTile(const Call &call, int64_t tile, float *x, float *y) const {
  const void *addresses[frequencies];
  const Place place = pass.place(tile);
  addressPixels(tiling.result, call.dy, desc.type_b, place, 1, tileResults, call.zeros, addresses);
  transforms().outputGrad({addresses, desc.type_b, desc.O, y, piece * ldY});
  for (const Part &part : pass.parts) {
    tiling.address(part, place, call.x, desc.type_a, call.zeros, addresses);
    transforms().input({addresses, desc.type_a, desc.C, x, piece * ldX});
    x += desc.C;
  }
}

/// Transforms the sums of an output to its gradients: dw[output][c][tap].
void WeightGrad::storeOutput(const Call &call, int64_t output, const float *sums, int64_t step, float *grads) const {
  for (const Part &part : pass.parts) {
    transforms().weightGrads({sums, step, desc.C, grads, ldX});
    for (size_t i = 0; i < part.tap.size(); ++i)
      if (part.tap[i] >= 0)
        kernels<float>().narrowStrided(call.dw + (output * desc.C * taps + part.tap[i]) *
                                                     generic::elementBytes(desc.type_out),
                                       desc.type_out, taps, grads + int64_t(i) * ldX, desc.C);
    sums += desc.C;
  }
}

/// Adds the products of some outputs over the `count` tiles of a piece.
void WeightGrad::multiply(const float *x, const float *y, int64_t count, int64_t frequency, int64_t output,
                          int64_t outputs, float *sums, bool accumulate) const {
  const Run whole{0, 0};
  kernels<float>().multiply({outputs, columns, y + frequency * piece * ldY + output, ldY, true,
                             x + frequency * piece * ldX, ldX, kernels<float>().panelColumns, &whole, 1, count, sums,
                             ldX, accumulate});
}

void WeightGrad::execute(void *const *buffers, void *scratch) {
  char *base = static_cast<char *>(scratch), *zeros = base + zerosAt;
  const auto at = [&](size_t offset) { return reinterpret_cast<float *>(base + offset); };
  float *sums = at(sumsAt), *x = at(xAt), *y = at(yAt);
  std::memset(zeros, 0, size_t(std::max(desc.C, desc.O)) * sizeof(float));
  const Call call{buffers[0], buffers[1], zeros, static_cast<char *>(buffers[2])};
  for (int64_t first = 0; first < tiles; first += piece) {
    const int64_t count = std::min(piece, tiles - first);
    forEachTask(threads, ceilDiv(count, tilesOfTask), [&](int, int64_t task) {
      for (int64_t t = task * tilesOfTask; t < std::min(count, (task + 1) * tilesOfTask); ++t)
        transformTile(call, first + t, x + t * ldX, y + t * ldY);
    });
    if (onePiece())
      break;
    const int64_t blocks = ceilDiv(desc.O, outputBlock);
    forEachTask(threads, frequencies * blocks, [&](int, int64_t task) {
      const int64_t f = task / blocks, output = task % blocks * outputBlock;
      multiply(x, y, count, f, output, std::min(outputBlock, desc.O - output), sums + (f * desc.O + output) * ldX,
               first > 0);
    });
  }
  forEachTask(slots, ceilDiv(desc.O, outputsOfTask), [&](int slot, int64_t task) {
    float *grads = at(slotsAt) + slot * slotElements(), *own = grads + tileTaps * tileTaps * ldX;
    const int64_t output = task * outputsOfTask, outputs = std::min(outputsOfTask, desc.O - output);
    for (int64_t f = 0; f < frequencies && onePiece(); ++f)
      multiply(x, y, tiles, f, output, outputs, own + f * outputsOfTask * ldX, false);
    for (int64_t o = 0; o < outputs; ++o)
      if (onePiece())
        storeOutput(call, output + o, own + o * ldX, outputsOfTask * ldX, grads);
      else
        storeOutput(call, output + o, sums + (output + o) * ldX, desc.O * ldX, grads);
  });
}

} // namespace

std::unique_ptr<generic::Primitive> makeWeightGrad(const mpc_library_desc &desc, int threads) {
  return std::make_unique<WeightGrad>(desc, threads);
}

} // namespace mpc::winograd
