//===- Mma.cpp - the tensor cores' mainloop ------------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles of A and B pass through a ring in shared memory. While tile t is multiplied, tile t + stages - 1 is
// under way into the place of tile t - 1: by copy_async, or through registers where the architecture lacks
// that or neighbours in memory are fewer than 4 bytes.
//
//   for t:  wait for tile t; barrier; start tile t + stages - 1; for each 16 of k: load_matrix, mma
//
//===--------------------------------------------------------------------------------------------------===//
#include "passes/Lowering/HeroToGpu/Mma.h"
#include "dialects/Kernel/Target/Blocks.h"
#include "passes/Lowering/HeroToGpu/Drain.h"
#include "passes/Lowering/HeroToGpu/RingTile.h"
#include "passes/Lowering/Schedule/Feed.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::hero;

namespace {

class MmaEmitter {
public:
  MmaEmitter(Code c, const Problem &problem, const Tile &tile, const GpuArch &arch, const BlockPlace &place)
      : c(c), problem(problem), tile(tile), arch(arch), place(place) {
    memory = kernel::SharedOp::create(c.b, LLVM::LLVMPointerType::get(c.b.getContext(), 3), mmaSharedBytes(tile),
                                      /*alignment=*/128);
    lane = c.rem(place.thread, warpThreads);
    warp = c.div(place.thread, warpThreads);
    warpM = c.mul(c.div(warp, tile.n / tile.partN), tile.partM);
    warpN = c.mul(c.rem(warp, tile.n / tile.partN), tile.partN);
    sums.assign(size_t(tile.partM) * tile.partN / warpThreads, c.constant(c.b.getF32Type(), 0));
  }

  void mainloop(Value a, Value b);
  void drain(Sink &sink);

private:
  /// Adds the products of one stage to the sums.
  void multiply(Values &sums, RingTile &a, RingTile &b, Value stage);
  void mma(MutableArrayRef<Value> d, ArrayRef<Value> a, ArrayRef<Value> b);

  Code c;
  const Problem &problem;
  const Tile &tile;
  const GpuArch &arch;
  const BlockPlace &place;
  Value memory, lane, warp, warpM, warpN;
  Values sums; ///< [partM / 16, partN / 8, 4]
};

} // namespace

void MmaEmitter::mma(MutableArrayRef<Value> d, ArrayRef<Value> a, ArrayRef<Value> b) {
  auto type = problem.element().isF16() ? kernel::MmaType::F16 : kernel::MmaType::BF16;
  auto multiply = [&](uint32_t k, ValueRange a, ValueRange b) {
    auto op = kernel::MmaOp::create(c.b, llvm::SmallVector<Type>(4, c.b.getF32Type()), type, k, a, b,
                                    ValueRange(ArrayRef<Value>(d)));
    llvm::copy(op->getResults(), d.begin());
  };
  if (arch.hasMmaK16)
    return multiply(16, a, b);
  multiply(8, a.take_front(2), b.take_front(1));
  multiply(8, a.drop_front(2), b.drop_front(1));
}

void MmaEmitter::multiply(Values &sums, RingTile &a, RingTile &b, Value stage) {
  for (int step = 0; step < tile.k / 16; ++step) {
    llvm::SmallVector<Values> rows, columns;
    for (int i = 0; i < tile.partM / 16; ++i)
      rows.push_back(a.load(stage, i, step));
    for (int j = 0; j < tile.partN / 16; ++j)
      columns.push_back(b.load(stage, j, step));
    for (int i = 0; i < tile.partM / 16; ++i)
      for (int j = 0; j < tile.partN / 8; ++j)
        mma(MutableArrayRef<Value>(sums).slice((size_t(i) * (tile.partN / 8) + j) * 4, 4), rows[i],
            ArrayRef<Value>(columns[j / 2]).slice(j % 2 * 2, 2));
  }
}

void MmaEmitter::mainloop(Value a, Value b) {
  if (problem.k() == 0)
    return;
  RingTile tileA(c, problem.a, a, tile.m, tile.k, tile.threads(), place, problem, memory);
  Value memoryB = c.at(memory, tile.stages * mmaStageBytes(tile.m, tile.k));
  RingTile tileB(c, problem.b, b, tile.n, tile.k, tile.threads(), place, problem, memoryB);
  tileA.readBy(warpM, tile.partM, lane);
  tileB.readBy(warpN, tile.partN, lane);
  struct Feed {
    RingTile &tile;
    bool async;
    Values cursor, units;
  };
  Feed feeds[] = {{tileA, copiesAsync(problem.a, arch), tileA.gather.cursor(place.firstK), {}},
                  {tileB, copiesAsync(problem.b, arch), tileB.gather.cursor(place.firstK), {}}};
  bool anyAsync = feeds[0].async || feeds[1].async;
  auto isTile = [&](Value number) { return c.compare(arith::CmpIPredicate::slt, number, place.lastK); };
  /// Starts the copies of the tile at the cursors, and the loads of operands that are not copied
  /// asynchronously; `finish` puts the latter into the ring.
  auto start = [&](Value exists, Value stage) {
    if (anyAsync) {
      c.when(exists, [&] {
        for (Feed &feed : feeds)
          if (feed.async)
            feed.tile.copyAsync(feed.cursor, stage);
      });
      kernel::CopyAsyncCommitOp::create(c.b);
    }
    for (Feed &feed : feeds)
      if (!feed.async)
        feed.units =
            c.when(exists, llvm::SmallVector<Type>(feed.tile.gather.units().size(), feed.tile.gather.unitType()),
                   [&] { return feed.tile.gather.load(feed.cursor); });
  };
  auto finish = [&](Value stage) {
    for (Feed &feed : feeds)
      if (!feed.async)
        feed.tile.store(feed.units, stage);
  };
  auto advance = [&] {
    for (Feed &feed : feeds)
      feed.cursor = feed.tile.gather.advance(feed.cursor);
  };

  int ahead = tile.stages - 1;
  for (int s = 0; s < ahead; ++s) {
    Value stage = c.i32(s);
    start(isTile(c.add(place.firstK, s)), stage);
    finish(c.i32(s));
    advance();
  }
  Values init = sums;
  init.push_back(c.i32(0));     // the stage of this tile
  init.push_back(c.i32(ahead)); // the stage of the tile `ahead` tiles later
  for (Feed &feed : feeds)
    llvm::append_range(init, feed.cursor);
  Values last = c.loop(place.firstK, place.lastK, init, [&](Value t, ValueRange carried) {
    Values next(carried.begin(), carried.begin() + sums.size());
    Value stage = carried[sums.size()], fill = carried[sums.size() + 1];
    ValueRange cursors = carried.drop_front(sums.size() + 2);
    feeds[0].cursor = Values(cursors.take_front(feeds[0].cursor.size()));
    feeds[1].cursor = Values(cursors.drop_front(feeds[0].cursor.size()));
    if (anyAsync)
      kernel::CopyAsyncWaitOp::create(c.b, uint32_t(ahead - 1));
    c.barrier();
    start(isTile(c.add(t, ahead)), fill);
    advance();
    multiply(next, tileA, tileB, stage);
    finish(fill);
    for (Value place : {stage, fill}) { // each moves to the ring's next stage
      Value following = c.add(place, 1), first = c.i32(0);
      next.push_back(c.select(c.equal(place, ahead), first, following));
    }
    for (Feed &feed : feeds)
      llvm::append_range(next, feed.cursor);
    return next;
  });
  sums.assign(last.begin(), last.begin() + sums.size());
  if (anyAsync)
    kernel::CopyAsyncWaitOp::create(c.b, 0u);
  c.barrier(); // draining uses the ring's memory again
}

void MmaEmitter::drain(Sink &sink) {
  Value slab = c.at(memory, c.wide(c.mul(warp, drainBytes(tile.partN))));
  Value firstM = c.add(place.firstM, warpM), firstN = c.add(place.firstN, warpN);
  drainWarp(
      c, slab, lane, tile.partN, sums, [&](int band) { return c.add(firstM, 16 * band); }, firstN,
      c.div(firstM, tile.partM), sink);
}

llvm::SmallVector<kernel::TensorMapAttr> mpc::hero::emitMma(const MainKernel &main) {
  BlockPlace place = main.raster.placeOfBlock(main.c);
  std::unique_ptr<Sink> sink = main.sink(place, drainNeighbours);
  MmaEmitter emitter(main.c, main.problem, main.schedule.tile, main.arch, place);
  emitter.mainloop(main.a, main.b);
  emitter.drain(*sink);
  return {};
}
