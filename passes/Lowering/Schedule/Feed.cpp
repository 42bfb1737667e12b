//===- Feed.cpp - how tiles of operands come into shared memory -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/Schedule/Feed.h"
#include "dialects/Graph/IR/Shapes.h"
#include "passes/Lowering/Schedule/Box.h"
#include "passes/Lowering/Schedule/Mainloop.h"

using namespace mpc;
using namespace mpc::hero;

std::string mpc::hero::feedOf(const Operand &operand) {
  std::optional<Box> box =
      boxOf(operand, /*tileOuter=*/128, 1024 / graph::elementOf(operand.tensor).getIntOrFloatBitWidth());
  return !box ? "gather" + std::to_string(operand.vector) : box->pixels ? "im2col" : "tiled";
}

bool mpc::hero::copiesAsync(const Operand &operand, const GpuArch &arch) {
  return arch.hasCopyAsync && operand.vector >= 2;
}

bool mpc::hero::feedsWgmma(const Problem &problem, const Tile &tile) {
  if (problem.hasFloat8())
    return problem.a.contiguous == Axis::K && problem.b.contiguous == Axis::K && boxOf(problem.a, tile.m, tile.k) &&
           boxOf(problem.b, tile.n, tile.k);
  constexpr int mostUnits = 24;
  int units = 0;
  auto feeds = [&](const Operand &operand, int tileOuter) {
    if (!boxOf(operand, tileOuter, tile.k))
      units += tileOuter * tile.k / operand.vector / wgmmaFacts.producerThreads;
    return operand.vector >= 4;
  };
  return feeds(problem.a, tile.m) && feeds(problem.b, tile.n) && units <= mostUnits;
}

/// Whether halves of the operand's tiles are boxes too.
static bool halves(const Operand &operand, int tileOuter, int tileK) {
  bool panels = operand.contiguous == Axis::K || tileOuter / 2 % boxElements == 0;
  return panels && boxOf(operand, tileOuter / 2, tileK);
}
llvm::SmallVector<Axis, 2> mpc::hero::clusterAxesOf(const Problem &problem, const Tile &tile) {
  llvm::SmallVector<Axis, 2> axes;
  if (halves(problem.b, tile.n, tile.k))
    axes.push_back(Axis::M);
  if (halves(problem.a, tile.m, tile.k))
    axes.insert(tile.m > tile.n ? axes.begin() : axes.end(), Axis::N);
  return axes;
}
