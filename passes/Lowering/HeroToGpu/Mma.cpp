//===- Mma.cpp - the tensor cores' mainloop ------------------------------------------------------------===//
//
// Tiles of A and B pass through a ring in shared memory. While tile t is multiplied, tile t + stages - 1 is
// under way into the place of tile t - 1: by copy_async, or through registers where the architecture lacks
// that or neighbours in memory are fewer than 4 bytes.
//
//   for t:  wait for tile t; barrier; start tile t + stages - 1; for each 16 of k: load_matrix, mma
//
// The sums leave through shared memory, 16 rows of a warp at a time: fragments hold pairs of neighbours,
// results are stored in 16 bytes.
//
//===--------------------------------------------------------------------------------------------------===//
#include "passes/Lowering/HeroToGpu/Mma.h"
#include "dialects/Graph/IR/Shapes.h"
#include "passes/Lowering/HeroToGpu/RingTile.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::hero;

/// Floats between the end of a row of sums and the next: the pairs of 4 rows fill the banks.
static constexpr int slabPadding = 8;

static int64_t slabBytes(const Tile &tile) { return 16 * int64_t(tile.partN + slabPadding) * 4; }

int64_t mpc::hero::mmaSharedBytes(const Tile &tile) {
  int64_t ring = tile.stages * (RingTile::stageBytes(tile.m, tile.k) + RingTile::stageBytes(tile.n, tile.k));
  return std::max(ring, slabBytes(tile) * tile.threads() / 32);
}

bool mpc::hero::copiesAsync(const Operand &operand, const GpuArch &arch) {
  return arch.hasCopyAsync && operand.vector >= 2;
}

namespace {

class MmaEmitter {
public:
  MmaEmitter(Code c, const Problem &problem, const Tile &tile, const GpuArch &arch, const BlockPlace &place)
      : c(c), problem(problem), tile(tile), arch(arch), place(place) {
    memory = kernel::SharedOp::create(c.b, LLVM::LLVMPointerType::get(c.b.getContext(), 3),
                                      mmaSharedBytes(tile), /*alignment=*/128);
    lane = c.rem(place.thread, 32);
    warp = c.div(place.thread, 32);
    warpM = c.mul(c.div(warp, tile.n / tile.partN), tile.partM);
    warpN = c.mul(c.rem(warp, tile.n / tile.partN), tile.partN);
    sums.assign(size_t(tile.partM) * tile.partN / 32, arith::ConstantOp::create(c.b, c.b.getF32FloatAttr(0)));
  }

  void mainloop(Value a, Value b);
  void drain(Sink &sink);

private:
  /// Adds the products of a stage.
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
  RingTile tileA(c, problem.a, a, tile.m, tile.k, tile.threads(), place, problem, memory, warpM, tile.partM,
                 lane);
  Value memoryB = c.at(memory, tile.stages * RingTile::stageBytes(tile.m, tile.k));
  RingTile tileB(c, problem.b, b, tile.n, tile.k, tile.threads(), place, problem, memoryB, warpN, tile.partN,
                 lane);
  struct Feed {
    RingTile &tile;
    bool async;
    Values cursor, units;
  };
  Feed feeds[] = {{tileA, copiesAsync(problem.a, arch), tileA.gather.cursor(place.firstK), {}},
                  {tileB, copiesAsync(problem.b, arch), tileB.gather.cursor(place.firstK), {}}};
  bool anyAsync = feeds[0].async || feeds[1].async;
  auto isTile = [&](Value number) { return c.compare(arith::CmpIPredicate::slt, number, place.lastK); };
  /// Starts the copies of the tile at the cursors, and the loads of the rest; `finish` puts those into the
  /// ring.
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
        feed.units = c.when(
            exists, llvm::SmallVector<Type>(feed.tile.gather.units().size(), feed.tile.gather.unitType()),
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
    start(isTile(c.add(place.firstK, s)), c.i32(s));
    finish(c.i32(s));
    advance();
  }
  Values init = sums;
  init.push_back(c.i32(0));     // stage of this tile
  init.push_back(c.i32(ahead)); // of the tile `ahead`
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
    for (Value place : {stage, fill}) // of the ring's next
      next.push_back(c.select(c.equal(place, ahead), c.i32(0), c.add(place, 1)));
    for (Feed &feed : feeds)
      llvm::append_range(next, feed.cursor);
    return next;
  });
  sums.assign(last.begin(), last.begin() + sums.size());
  if (anyAsync)
    kernel::CopyAsyncWaitOp::create(c.b, 0u);
  c.barrier(); // the ring's memory is used again
}

void MmaEmitter::drain(Sink &sink) {
  int line = tile.partN + slabPadding, vectors = tile.partN / mmaNeighbours;
  Value slab = c.at(memory, c.wide(c.mul(warp, slabBytes(tile))));
  // Sum 2 h + p of a fragment is at row lane / 4 + 8 h, column 2 (lane mod 4) + p (PTX ISA, mma.m16n8k16).
  Value fragment = c.add(c.mul(c.div(lane, 4), line * 4), c.mul(c.rem(lane, 4), 8));
  for (int i = 0; i < tile.partM / 16; ++i) {
    if (i > 0)
      kernel::WarpSyncOp::create(c.b);
    for (int j = 0; j < tile.partN / 8; ++j)
      for (int h = 0; h < 2; ++h) {
        ArrayRef<Value> pair = ArrayRef<Value>(sums).slice((size_t(i) * (tile.partN / 8) + j) * 4 + 2 * h, 2);
        c.store(c.vector(pair), c.at(c.at(slab, c.wide(fragment)), (8 * h * line + 8 * j) * 4), 8);
      }
    kernel::WarpSyncOp::create(c.b);
    c.loop(c.i32(0), c.i32(16 * vectors / 32), {}, [&](Value round, ValueRange) {
      Value number = c.add(c.mul(round, 32), lane), row = c.div(number, vectors),
            column = c.mul(c.rem(number, vectors), mmaNeighbours);
      Value at = c.at(slab, c.wide(c.mul(c.add(c.mul(row, line), column), 4)));
      Values values;
      for (int half = 0; half < mmaNeighbours; half += 4) {
        Value v = c.load(VectorType::get({4}, c.b.getF32Type()), c.at(at, half * 4), 16);
        for (int p = 0; p < 4; ++p)
          values.push_back(c.extract(v, p));
      }
      sink.put(c.add(c.add(place.firstM, warpM), c.add(row, 16 * i)),
               c.add(c.add(place.firstN, warpN), column), values);
      return Values();
    });
  }
}

void mpc::hero::emitMma(Code c, const Problem &problem, const Tile &tile, const GpuArch &arch, Value a,
                        Value b, const BlockPlace &place, Sink &sink) {
  MmaEmitter emitter(c, problem, tile, arch, place);
  emitter.mainloop(a, b);
  emitter.drain(sink);
}
