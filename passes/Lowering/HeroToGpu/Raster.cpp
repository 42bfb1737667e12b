//===- Raster.cpp - the order of tiles -----------------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/HeroToGpu/Raster.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::hero;

Raster::Raster(const Problem &problem, const Schedule &schedule, const GpuArch &arch)
    : schedule(schedule), across(llvm::divideCeilSigned(problem.n(), schedule.spanN())),
      down(llvm::divideCeilSigned(problem.m(), schedule.spanM())), matrices(problem.z()),
      kTiles(llvm::divideCeilSigned(problem.k(), int64_t(schedule.tile.k))) {
  // A wave of w tiles that is r spans of m high and w / r spans of n wide is square where r = sqrt(w n / m).
  double wave = double(arch.multiprocessors) * std::max(schedule.tile.blocks, 1) / schedule.cluster;
  double square = std::sqrt(wave * double(schedule.spanN()) / double(schedule.spanM()));
  rows = std::clamp<int64_t>(llvm::bit_floor(uint64_t(std::max(square, 1.0))), 1, std::max<int64_t>(down, 1));
}

int64_t Raster::pieces() const { return across * down * matrices * schedule.splits; }

BlockPlace Raster::place(Code c, Value thread, Value piece, Value rank) const {
  Value number = c.rem(piece, across * down), matrix = c.div(piece, across * down);
  // Strips have `rows` rows; the last one may have fewer.
  Value strip = c.div(number, rows * across), inStrip = c.rem(number, rows * across);
  Value row = c.rem(inStrip, rows), column = c.div(inStrip, rows);
  if (int64_t rest = down % rows) {
    Value last = c.equal(strip, down / rows);
    row = c.select(last, c.rem(inStrip, rest), row);
    column = c.select(last, c.div(inStrip, rest), column);
  }
  BlockPlace place;
  place.thread = thread;
  place.firstM = c.mul(c.add(c.mul(strip, rows), row), schedule.spanM());
  place.firstN = c.mul(column, schedule.spanN());
  if (schedule.cluster > 1) {
    bool alongM = schedule.clusterAxis == Axis::M;
    Value &first = alongM ? place.firstM : place.firstN;
    first = c.add(first, c.mul(rank, alongM ? schedule.tile.m : schedule.tile.n));
  }
  place.spanM = schedule.spanM();
  place.spanN = schedule.spanN();
  place.z = matrix;
  place.split = place.firstK = c.i32(0);
  place.lastK = c.i32(kTiles);
  if (schedule.splits > 1) {
    place.z = c.rem(matrix, matrices);
    place.split = c.div(matrix, matrices);
    int64_t each = llvm::divideCeilSigned(kTiles, schedule.splits);
    place.firstK = c.mul(place.split, each);
    place.lastK = c.add(place.firstK, each);
    if (each * schedule.splits > kTiles)
      place.lastK = c.min(place.lastK, kTiles);
    // No split is empty (hero::usefulSplits), and LLVM has to know it: behind a branch around the loop over k, ptxas
    // serialises wgmmas.
    LLVM::AssumeOp::create(c.b, c.compare(arith::CmpIPredicate::slt, place.firstK, place.lastK));
  }
  return place;
}

BlockPlace Raster::placeOfBlock(Code c) const {
  Value thread = kernel::ThreadIdOp::create(c.b, c.b.getI32Type());
  Value block = kernel::BlockIdOp::create(c.b, c.b.getI32Type(), kernel::Axis::X);
  return place(c, thread, block, Value());
}
