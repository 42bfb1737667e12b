//===- WgmmaProducer.cpp - the warpgroup that fills the ring --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/HeroToGpu/BoxTile.h"
#include "passes/Lowering/HeroToGpu/RingTile.h"
#include "passes/Lowering/HeroToGpu/WgmmaEmitter.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::hero;

namespace {
/// Brings the tiles of an operand, in one of two ways.
struct Feed {
  std::optional<BoxTile> box;
  std::optional<RingTile> gathered;
  Values cursor;

  Values advanced() { return box ? box->advance(cursor) : gathered->gather.advance(cursor); }
};
} // namespace

void WgmmaEmitter::produce() {
  Value leader = c.equal(thread, 0);
  c.when(gathers() ? Value() : leader, [&] {
    Ring::Position start = ring.start();
    forEachPiece({start.stage, start.parity}, [&](const BlockPlace &place, ValueRange carried) {
      Ring::Position end = producePiece(place, {carried[0], carried[1]}, gathers() ? leader : Value());
      return Values{end.stage, end.parity};
    });
  });
}

Ring::Position WgmmaEmitter::producePiece(const BlockPlace &place, Ring::Position start, Value leader) {
  // A consumer holds one stage while the next is full, so this is the largest possible lag.
  int lag = gathers() ? tile.stages - 2 : 0;
  int64_t loaded = (boxA ? tile.m * wgmmaRowBytes : 0) + (boxB ? tile.n * wgmmaRowBytes : 0);
  Feed feeds[2];
  auto open = [&](Feed &feed, const Operand &operand, const std::optional<Box> &box, unsigned map, Value base,
                  int tileOuter, Value to) {
    if (box)
      feed.cursor =
          feed.box.emplace(c, operand, *box, map, tileOuter, tile.k, place, to, blocksOf(operand.outer), blockRank)
              .cursor(place.firstK);
    else
      feed.cursor = feed.gathered.emplace(c, operand, base, tileOuter, tile.k, warpgroupThreads, place, problem, to)
                        .gather.cursor(place.firstK);
  };
  open(feeds[0], problem.a, boxA, 0, main.a, tile.m, memory);
  open(feeds[1], problem.b, boxB, boxA ? 1 : 0, main.b, tile.n, memoryB);
  auto fill = [&](Ring::Position at) {
    ring.awaitEmpty(at);
    if (hasBoxes())
      c.when(leader, [&] {
        Value barrier = ring.full(at.stage);
        kernel::MbarrierExpectOp::create(c.b, barrier, uint32_t(loaded));
        for (Feed &feed : feeds)
          if (feed.box)
            feed.box->load(feed.cursor, at.stage, barrier);
      });
    for (Feed &feed : feeds)
      if (feed.gathered)
        feed.gathered->copyAsync(feed.cursor, at.stage);
  };
  Values init = {start.stage, start.parity};
  if (gathers())
    init.push_back(start.stage); // the stage of tile t - lag
  for (Feed &feed : feeds)
    llvm::append_range(init, feed.cursor);
  Values last = c.rolledLoop(place.firstK, c.add(place.lastK, lag), init, [&](Value t, ValueRange carried) {
    Ring::Position at{carried[0], carried[1]}, after = ring.next(at);
    ValueRange rest = carried.drop_front(gathers() ? 3 : 2);
    for (Feed &feed : feeds) {
      feed.cursor = Values(rest.take_front(feed.cursor.size()));
      rest = rest.drop_front(feed.cursor.size());
    }
    Values carriedOn;
    if (gathers()) {
      Value exists = c.compare(arith::CmpIPredicate::slt, t, place.lastK);
      c.when(exists, [&] { fill(at); });
      kernel::CopyAsyncCommitOp::create(c.b);
      kernel::CopyAsyncWaitOp::create(c.b, uint32_t(lag));
      kernel::AsyncFenceOp::create(c.b);
      Value arrived = c.compare(arith::CmpIPredicate::sge, c.add(t, -lag), place.firstK);
      c.when(arrived, [&] { ring.arriveFull(carried[2]); });
      carriedOn = {c.select(exists, after.stage, at.stage), c.select(exists, after.parity, at.parity),
                   c.select(arrived, ring.nextStage(carried[2]), carried[2])};
    } else {
      fill(at);
      carriedOn = {after.stage, after.parity};
    }
    for (Feed &feed : feeds)
      llvm::append_range(carriedOn, feed.advanced());
    return carriedOn;
  });
  return {last[0], last[1]};
}
