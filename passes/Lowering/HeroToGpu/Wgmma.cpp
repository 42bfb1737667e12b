//===- Wgmma.cpp - the warpgroups' mainloop -----------------------------------------------------------===//
//
// The block's first warpgroup brings tiles of A and B into a ring in shared memory, the others multiply them.
// Each stage of the ring has two mbarriers, whose phases both sides count:
//
//   producer, for t:  wait until stage t is empty; start the loads of tile t, which fill it
//   consumer, for t:  wait until stage t is full; start its wgmmas; those of t - 1 are done: stage t - 1 is
//   empty
//
// So the tensor cores have the next tile's wgmmas before they finish this one's. Sums stay in registers; each
// consumer has partM rows, 64 in each wgmma.
//
// An operand whose tiles are boxes (Box.h) is loaded by one thread, and the barrier counts its bytes. The
// tiles of others are gathered by all threads of the producer with copy_async: each says of its copies of
// tile t - lag that they have come, once those of t are under way. A kernel may have an operand of each kind.
//
//===----------------------------------------------------------------------------------------------------===//
#include "passes/Lowering/HeroToGpu/Wgmma.h"
#include "passes/Lowering/HeroToGpu/Box.h"
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
/// Where no thread gathers, of three warpgroups: what the launch gives all, 168 each, goes to the consumers.
static constexpr int boxProducerRegisters = 40, boxConsumerRegisters = 232;

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
      : c(c), problem(problem), tile(tile), place(place), boxA(boxOf(problem.a, tile.m, tile.k)),
        boxB(boxOf(problem.b, tile.n, tile.k)) {
    Type pointer = LLVM::LLVMPointerType::get(c.b.getContext(), 3);
    memory = kernel::SharedOp::create(c.b, pointer, memoryBytes(tile), /*alignment=*/1024);
    full = kernel::SharedOp::create(c.b, pointer, int64_t(2) * tile.stages * barrierBytes, /*alignment=*/8);
    empty = c.at(full, int64_t(tile.stages) * barrierBytes);
    memoryB = c.at(memory, tile.stages * RingTile::stageBytes(tile.m, tile.k));
  }

  void run(Value a, Value b, Sink &sink);
  SmallVector<kernel::TensorMapAttr> maps(unsigned parameterA, unsigned parameterB) const;

private:
  bool gathers() const { return !boxA || !boxB; }
  bool hasBoxes() const { return boxA || boxB; }
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
  std::optional<Box> boxA, boxB; ///< none: gathered
  Value memory, memoryB, full, empty;
};

} // namespace

void WgmmaEmitter::run(Value a, Value b, Sink &sink) {
  initBarriers();
  Value thread = place.thread, lane = c.rem(thread, 32);
  // One value for the warp, as far as the assembler can see: descriptors stay out of the threads' registers.
  Value group = kernel::ShuffleOp::create(c.b, c.b.getI32Type(), kernel::ShuffleMode::Index,
                                          c.div(thread, warpgroup), c.i32(0));
  auto setRegisters = [&](int count, int withoutGathers, bool increase) {
    if (tile.consumerRegisters != 0)
      kernel::SetRegistersOp::create(c.b, uint32_t(gathers() ? count : withoutGathers), increase);
  };
  c.branch(
      c.equal(group, 0),
      [&] {
        setRegisters(tile.producerRegisters, boxProducerRegisters, /*increase=*/false);
        produce(a, b);
      },
      [&] {
        setRegisters(tile.consumerRegisters, boxConsumerRegisters, /*increase=*/true);
        Value rank = c.add(group, -1);
        Values sums = multiply(rank, lane);
        // No consumer reads the ring any more, and no copy is under way.
        c.barrier(consumersBarrier, consumers(tile) * warpgroup);
        drain(rank, lane, sums, sink);
      });
}

SmallVector<kernel::TensorMapAttr> WgmmaEmitter::maps(unsigned parameterA, unsigned parameterB) const {
  SmallVector<kernel::TensorMapAttr> result;
  if (boxA)
    result.push_back(boxA->map(problem.a, parameterA));
  if (boxB)
    result.push_back(boxB->map(problem.b, parameterB));
  return result;
}

void WgmmaEmitter::initBarriers() {
  c.when(c.equal(place.thread, 0), [&] {
    for (int s = 0; s < tile.stages; ++s) {
      int arrivals = (hasBoxes() ? 1 : 0) + (gathers() ? warpgroup : 0);
      kernel::MbarrierInitOp::create(c.b, c.at(full, int64_t(s) * barrierBytes), uint32_t(arrivals));
      // An arrival of each warp: it knows of its own wgmmas that they are done.
      kernel::MbarrierInitOp::create(c.b, c.at(empty, int64_t(s) * barrierBytes),
                                     uint32_t(consumers(tile) * 4));
    }
    kernel::MbarrierFenceOp::create(c.b);
    for (int map = 0; map < int(boxA.has_value()) + int(boxB.has_value()); ++map)
      kernel::TensorPrefetchOp::create(c.b, uint32_t(map));
  });
  c.barrier();
}

//===-- The producer -------------------------------------------------------------------------------===//

namespace {
/// What brings the tiles of an operand: one of the two.
struct Feed {
  std::optional<BoxTile> box;
  std::optional<RingTile> gathered;
  Values cursor;

  Feed(Code c, const Operand &operand, const std::optional<Box> &box, unsigned map, Value base, int tileOuter,
       int tileK, const BlockPlace &place, const Problem &problem, Value memory) {
    if (box)
      cursor = this->box.emplace(c, operand, *box, map, tileOuter, tileK, place, memory).cursor(place.firstK);
    else
      cursor = gathered.emplace(c, operand, base, tileOuter, tileK, warpgroup, place, problem, memory)
                   .gather.cursor(place.firstK);
  }
  Values advanced() { return box ? box->advance(cursor) : gathered->gather.advance(cursor); }
};
} // namespace

void WgmmaEmitter::produce(Value a, Value b) {
  Value leader = c.equal(place.thread, 0);
  int64_t boxBytes =
      (boxA ? RingTile::stageBytes(tile.m, tile.k) : 0) + (boxB ? RingTile::stageBytes(tile.n, tile.k) : 0);
  // The consumer holds one stage while the next is full, so this is the most.
  int lag = gathers() ? tile.stages - 2 : 0;
  c.when(gathers() ? Value() : leader, [&] {
    Feed feeds[] = {{c, problem.a, boxA, 0, a, tile.m, tile.k, place, problem, memory},
                    {c, problem.b, boxB, boxA ? 1u : 0u, b, tile.n, tile.k, place, problem, memoryB}};
    auto start = [&](Position fill) {
      kernel::MbarrierWaitOp::create(c.b, at(empty, fill.stage), fill.parity);
      if (hasBoxes())
        c.when(gathers() ? leader : Value(), [&] {
          Value barrier = at(full, fill.stage);
          kernel::MbarrierExpectOp::create(c.b, barrier, uint32_t(boxBytes));
          for (Feed &feed : feeds)
            if (feed.box)
              feed.box->load(feed.cursor, fill.stage, barrier);
        });
      for (Feed &feed : feeds)
        if (feed.gathered)
          feed.gathered->copyAsync(feed.cursor, fill.stage);
    };
    Values init = {c.i32(0), c.i32(1)}; // a new barrier's parity: nothing to wait for
    for (Feed &feed : feeds)
      llvm::append_range(init, feed.cursor);
    if (gathers())
      init.push_back(c.i32(tile.stages - lag)); // the stage of tile t - lag
    c.loop(place.firstK, c.add(place.lastK, lag), init, [&](Value t, ValueRange carried) {
      Position fill{carried[0], carried[1]};
      ValueRange rest = carried.drop_front(2);
      for (Feed &feed : feeds) {
        feed.cursor = Values(rest.take_front(feed.cursor.size()));
        rest = rest.drop_front(feed.cursor.size());
      }
      c.when(gathers() ? c.compare(arith::CmpIPredicate::slt, t, place.lastK) : Value(),
             [&] { start(fill); });
      if (gathers()) {
        kernel::CopyAsyncCommitOp::create(c.b);
        kernel::CopyAsyncWaitOp::create(c.b, uint32_t(lag));
        kernel::AsyncFenceOp::create(c.b);
        c.when(c.compare(arith::CmpIPredicate::sge, c.add(t, -lag), place.firstK),
               [&] { kernel::MbarrierArriveOp::create(c.b, at(full, rest[0]), Value()); });
      }
      Position after = next(fill);
      Values carriedOn = {after.stage, after.parity};
      for (Feed &feed : feeds)
        llvm::append_range(carriedOn, feed.advanced());
      if (gathers())
        carriedOn.push_back(nextStage(rest[0]));
      return carriedOn;
    });
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

SmallVector<kernel::TensorMapAttr> mpc::hero::emitWgmma(Code c, const Problem &problem, const Tile &tile,
                                                        BlockArgument a, BlockArgument b,
                                                        const BlockPlace &place, Sink &sink) {
  WgmmaEmitter emitter(c, problem, tile, place);
  // The loads name their maps.
  SmallVector<kernel::TensorMapAttr> maps = emitter.maps(a.getArgNumber(), b.getArgNumber());
  emitter.run(a, b, sink);
  return maps;
}
