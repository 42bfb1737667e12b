//===- Wgmma.cpp - the warpgroups' mainloop
//--------------------------------------------------------------===//
//
// The block's first warpgroup brings tiles of A and B into a ring in shared memory, the others multiply them.
// Each stage of the ring has two mbarriers, whose phases both sides count:
//
//   producer, for t:  wait until stage t is empty; start the copies of tile t; tile t - lag has come: stage t
//   - lag is full consumer, for t:  wait until stage t is full; start its wgmmas; those of t - 1 are done:
//   stage t - 1 is empty
//
// So at any time `lag` tiles or more are under way, and the tensor cores have the next tile's wgmmas before
// they finish this one's. Sums stay in registers; each consumer has partM rows, 64 in each wgmma.
//
//===----------------------------------------------------------------------------------------------------===//
#include "passes/Lowering/HeroToGpu/Wgmma.h"
#include "passes/Lowering/HeroToGpu/Drain.h"
#include "passes/Lowering/HeroToGpu/RingTile.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::hero;

static constexpr int warpgroup = 128, barrierBytes = 8;
/// 64 rows of 64 k, or 64 k of 64 rows: what one wgmma reads of A in a stage.
static constexpr int64_t panelBytes = 64 * 128;
/// The named barrier of the consumers.
static constexpr int consumersBarrier = 1;

static int consumers(const Tile &tile) { return tile.m / tile.partM; }
static int64_t ringBytes(const Tile &tile) {
  return tile.stages * RingTile::stageBytes(tile.m + tile.n, tile.k);
}
/// The ring is used again for the sums.
static int64_t memoryBytes(const Tile &tile) {
  return std::max(ringBytes(tile), drainBytes(tile.partN) * consumers(tile) * 4);
}

int64_t mpc::hero::wgmmaSharedBytes(const Tile &tile) {
  return memoryBytes(tile) + int64_t(2) * tile.stages * barrierBytes;
}

bool mpc::hero::feedsWgmma(const Operand &operand) { return operand.vector == 8; }

namespace {

/// A position in the ring that moves on: the stage, and the parity of the times it has come around.
struct Position {
  Value stage, parity;
};

class WgmmaEmitter {
public:
  WgmmaEmitter(Code c, const Problem &problem, const Tile &tile, const BlockPlace &place)
      : c(c), problem(problem), tile(tile), place(place) {
    Type pointer = LLVM::LLVMPointerType::get(c.b.getContext(), 3);
    memory = kernel::SharedOp::create(c.b, pointer, memoryBytes(tile), /*alignment=*/1024);
    full = kernel::SharedOp::create(c.b, pointer, int64_t(2) * tile.stages * barrierBytes, /*alignment=*/8);
    empty = c.at(full, int64_t(tile.stages) * barrierBytes);
    memoryB = c.at(memory, tile.stages * RingTile::stageBytes(tile.m, tile.k));
  }

  void run(Value a, Value b, Sink &sink);

private:
  void initBarriers();
  void produce(Value a, Value b);
  Values multiply(Value rank, Value lane);
  void drain(Value rank, Value lane, ArrayRef<Value> sums, Sink &sink);
  /// Starts the products of a stage.
  void multiplyStage(MutableArrayRef<Value> sums, Value a, Value b);

  Value at(Value barriers, Value stage) { return c.at(barriers, c.wide(c.mul(stage, barrierBytes))); }
  Value nextStage(Value stage) {
    return c.select(c.equal(stage, tile.stages - 1), c.i32(0), c.add(stage, 1));
  }
  Position next(Position p) {
    Value around = c.equal(p.stage, tile.stages - 1);
    return {c.select(around, c.i32(0), c.add(p.stage, 1)), c.select(around, c.bitXor(p.parity, 1), p.parity)};
  }

  Code c;
  const Problem &problem;
  const Tile &tile;
  const BlockPlace &place;
  Value memory, memoryB, full, empty;
};

} // namespace

void WgmmaEmitter::run(Value a, Value b, Sink &sink) {
  initBarriers();
  Value thread = place.thread, lane = c.rem(thread, 32);
  // One value for the warp, as far as the assembler can see: descriptors stay out of the threads' registers.
  Value group = kernel::ShuffleOp::create(c.b, c.b.getI32Type(), kernel::ShuffleMode::Index,
                                          c.div(thread, warpgroup), c.i32(0));
  auto setRegisters = [&](int count, bool increase) {
    if (count != 0)
      kernel::SetRegistersOp::create(c.b, uint32_t(count), increase);
  };
  c.branch(
      c.equal(group, 0),
      [&] {
        setRegisters(tile.producerRegisters, /*increase=*/false);
        produce(a, b);
      },
      [&] {
        setRegisters(tile.consumerRegisters, /*increase=*/true);
        Value rank = c.add(group, -1);
        Values sums = multiply(rank, lane);
        // No consumer reads the ring any more, and no copy is under way.
        c.barrier(consumersBarrier, consumers(tile) * warpgroup);
        drain(rank, lane, sums, sink);
      });
}

void WgmmaEmitter::initBarriers() {
  c.when(c.equal(place.thread, 0), [&] {
    for (int s = 0; s < tile.stages; ++s) {
      kernel::MbarrierInitOp::create(c.b, c.at(full, int64_t(s) * barrierBytes), uint32_t(warpgroup));
      // An arrival of each warp: it knows of its own wgmmas that they are done.
      kernel::MbarrierInitOp::create(c.b, c.at(empty, int64_t(s) * barrierBytes),
                                     uint32_t(consumers(tile) * 4));
    }
    kernel::MbarrierFenceOp::create(c.b);
  });
  c.barrier();
}

//===-- The producer -------------------------------------------------------------------------------===//

void WgmmaEmitter::produce(Value a, Value b) {
  RingTile tileA(c, problem.a, a, tile.m, tile.k, warpgroup, place, problem, memory);
  RingTile tileB(c, problem.b, b, tile.n, tile.k, warpgroup, place, problem, memoryB);
  // The consumer holds one stage while the next is full, so this is the most.
  int lag = tile.stages - 2;
  Values init = {c.i32(0), c.i32(1), c.i32(tile.stages - lag)}; // a new barrier's parity: nothing to wait for
  Values cursorA = tileA.gather.cursor(place.firstK), cursorB = tileB.gather.cursor(place.firstK);
  llvm::append_range(init, cursorA);
  llvm::append_range(init, cursorB);
  c.loop(place.firstK, c.add(place.lastK, lag), init, [&](Value t, ValueRange carried) {
    Position fill{carried[0], carried[1]};
    Value come = carried[2];
    ValueRange cursors = carried.drop_front(3);
    cursorA = Values(cursors.take_front(cursorA.size()));
    cursorB = Values(cursors.drop_front(cursorA.size()));
    c.when(c.compare(arith::CmpIPredicate::slt, t, place.lastK), [&] {
      kernel::MbarrierWaitOp::create(c.b, at(empty, fill.stage), fill.parity);
      tileA.copyAsync(cursorA, fill.stage);
      tileB.copyAsync(cursorB, fill.stage);
    });
    kernel::CopyAsyncCommitOp::create(c.b);
    kernel::CopyAsyncWaitOp::create(c.b, uint32_t(lag));
    kernel::AsyncFenceOp::create(c.b);
    c.when(c.compare(arith::CmpIPredicate::sge, c.add(t, -lag), place.firstK),
           [&] { kernel::MbarrierArriveOp::create(c.b, at(full, come), Value()); });
    Position after = next(fill);
    Values carriedOn = {after.stage, after.parity, nextStage(come)};
    llvm::append_range(carriedOn, tileA.gather.advance(cursorA));
    llvm::append_range(carriedOn, tileB.gather.advance(cursorB));
    return carriedOn;
  });
}

//===-- The consumers ------------------------------------------------------------------------------===//

void WgmmaEmitter::multiplyStage(MutableArrayRef<Value> sums, Value a, Value b) {
  auto type = problem.element().isF16() ? kernel::MmaType::F16 : kernel::MmaType::BF16;
  // Of k, a row has 16 in 32 bytes; where rows are contiguous 16 lines of 128 bytes hold them.
  auto layoutOf = [&](const Operand &operand) {
    bool transposed = operand.contiguous != Axis::K;
    return kernel::MatrixLayoutAttr::get(c.b.getContext(), kernel::Swizzle::B128,
                                         transposed ? panelBytes : 16, /*stride=*/1024, transposed);
  };
  auto stepOf = [](const Operand &operand) { return operand.contiguous == Axis::K ? 32 : 16 * 128; };
  int perBand = tile.partN / 2;
  SmallVector<Type> types(perBand, c.b.getF32Type());
  for (int step = 0; step < tile.k / 16; ++step)
    for (int band = 0; band < tile.partM / 64; ++band) {
      MutableArrayRef<Value> own = sums.slice(size_t(band) * perBand, perBand);
      auto op = kernel::WgmmaOp::create(
          c.b, types, type, a, uint32_t(band * panelBytes + step * stepOf(problem.a)), layoutOf(problem.a), b,
          uint32_t(step * stepOf(problem.b)), layoutOf(problem.b), ValueRange(ArrayRef<Value>(own)));
      llvm::copy(op.getD(), own.begin());
    }
}

Values WgmmaEmitter::multiply(Value rank, Value lane) {
  int64_t bytesA = RingTile::stageBytes(tile.m, tile.k), bytesB = RingTile::stageBytes(tile.n, tile.k);
  Value ownA = c.at(memory, c.wide(c.mul(rank, tile.partM / 64 * panelBytes)));
  Value zero = arith::ConstantOp::create(c.b, c.b.getF32FloatAttr(0));
  Values sums(size_t(tile.partM) * tile.partN / warpgroup, zero);
  auto wait = [&](uint32_t pending, ValueRange values) {
    return Values(kernel::WgmmaWaitOp::create(c.b, llvm::SmallVector<Type>(values.size(), zero.getType()),
                                              pending, values)
                      .getResults());
  };
  Values init = sums;
  llvm::append_range(init, Values{c.i32(0), c.i32(0), c.i32(0)});
  Values last = c.loop(place.firstK, place.lastK, init, [&](Value t, ValueRange carried) {
    Values running(carried.begin(), carried.begin() + sums.size());
    Position read{carried[sums.size()], carried[sums.size() + 1]};
    Value before = carried[sums.size() + 2];
    kernel::MbarrierWaitOp::create(c.b, at(full, read.stage), read.parity);
    kernel::WgmmaFenceOp::create(c.b);
    multiplyStage(running, c.at(ownA, c.wide(c.mul(read.stage, bytesA))),
                  c.at(memoryB, c.wide(c.mul(read.stage, bytesB))));
    kernel::WgmmaCommitOp::create(c.b);
    Values carriedOn = wait(1, running);
    Value another = c.compare(arith::CmpIPredicate::ne, t, place.firstK);
    c.when(c.both(another, c.equal(lane, 0)),
           [&] { kernel::MbarrierArriveOp::create(c.b, at(empty, before), Value()); });
    Position after = next(read);
    llvm::append_range(carriedOn, Values{after.stage, after.parity, read.stage});
    return carriedOn;
  });
  return wait(0, ValueRange(ArrayRef<Value>(last).take_front(sums.size())));
}

void WgmmaEmitter::drain(Value rank, Value lane, ArrayRef<Value> sums, Sink &sink) {
  Value warp = c.rem(c.div(place.thread, 32), 4); // of the warpgroup
  Value number = c.add(c.mul(rank, 4), warp);
  Value slab = c.at(memory, c.wide(c.mul(number, drainBytes(tile.partN))));
  Value firstM = c.add(c.add(place.firstM, c.mul(rank, tile.partM)), c.mul(warp, 16));
  drainWarp(
      c, slab, lane, tile.partN, sums, [&](int band) { return c.add(firstM, 64 * band); }, place.firstN,
      sink);
}

void mpc::hero::emitWgmma(Code c, const Problem &problem, const Tile &tile, Value a, Value b,
                          const BlockPlace &place, Sink &sink) {
  WgmmaEmitter(c, problem, tile, place).run(a, b, sink);
}
