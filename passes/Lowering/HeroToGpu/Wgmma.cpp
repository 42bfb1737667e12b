//===- Wgmma.cpp - the warpgroups' mainloop -----------------------------------------------------------===//
//
// The block's first warpgroup, the producer, brings tiles of A and B into a ring in shared memory (Ring.h); the
// others, the consumers, multiply them. For each work item (Raster.h) and each tile t of k:
//
//   producer:  wait until stage t is empty; start the loads of tile t, which fill it
//   consumer:  wait until stage t is full; start its wgmmas; once those of t - 1 are done, release stage t - 1
//   After the last tile the consumer stores the sums.
//
// So the tensor cores have the next tile's wgmmas before they finish this one's, and the producer loads the next
// work item while the consumers store. Sums stay in registers. Consumers either share the rows of a tile, partM
// each, 64 in each wgmma; or they take work items in turns (ping-pong): the ring is filled in the order of the
// items, so the second consumer starts when the first is about to end, and stores while the other multiplies.
//
// An operand whose tiles are boxes (Box.h) is loaded by one thread, and the barrier counts its bytes. The tiles of
// other operands are gathered by all threads of the producer with copy_async: each thread reports that its copies
// of tile t - lag have arrived once those of tile t are under way. A kernel may have an operand of each kind.
//
// The two blocks of a cluster share one operand; each loads a half of it into both.
//
// For 8-bit floats the sums in the tensor cores have few bits (kernel.wgmma), so each stage, 128 of k, is summed by
// itself and then added to the sums of the work item in f32 registers, 64 rows at a time. Meanwhile the tensor
// cores work for the other consumer.
//
//===----------------------------------------------------------------------------------------------------===//
#include "passes/Lowering/HeroToGpu/Wgmma.h"
#include "dialects/Graph/IR/Shapes.h"
#include "passes/Lowering/HeroToGpu/BoxTile.h"
#include "passes/Lowering/HeroToGpu/Drain.h"
#include "passes/Lowering/HeroToGpu/ResultBoxes.h"
#include "passes/Lowering/HeroToGpu/Ring.h"
#include "passes/Lowering/HeroToGpu/RingTile.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::hero;

static constexpr int warpgroup = 128;
/// The bytes of k in a row of a stage, and those that one wgmma multiplies.
static constexpr int64_t rowBytes = wgmmaRowBytes, stepBytes = 32;
/// 64 rows of 128 bytes of k, or 64 k of 64 rows: the part of A's stage that the wgmmas of 64 rows read.
static constexpr int64_t panelBytes = 64 * rowBytes;
/// Registers of a thread where no thread gathers and there are three warpgroups: the launch gives every
/// thread 168, and the consumers get those that the producer gives up.
static constexpr int boxProducerRegisters = 40, boxConsumerRegisters = 232;

namespace {

class WgmmaEmitter {
public:
  explicit WgmmaEmitter(const MainKernel &main)
      : main(main), c(main.c), problem(main.problem), schedule(main.schedule), tile(schedule.tile),
        boxA(boxOf(problem.a, tile.m / blocksOf(Axis::M), tile.k)),
        boxB(boxOf(problem.b, tile.n / blocksOf(Axis::N), tile.k)),
        resultBox(main.results.empty() ? std::nullopt : resultBoxOf(problem)), ring(c, tile.stages, schedule.cluster) {
    memory = kernel::SharedOp::create(c.b, LLVM::LLVMPointerType::get(c.b.getContext(), 3),
                                      wgmmaRingBytes(tile) + tile.workers() * wgmmaOutBytes, /*alignment=*/1024);
    memoryB = c.at(memory, tile.stages * tile.m * rowBytes);
    thread = kernel::ThreadIdOp::create(c.b, c.b.getI32Type());
    lane = c.rem(thread, 32);
    if (tile.pingPong)
      turns = kernel::SharedOp::create(c.b, memory.getType(), turnBytes(tile), /*alignment=*/8);
    if (schedule.cluster > 1)
      blockRank = kernel::ClusterRankOp::create(c.b, c.b.getI32Type());
  }

  void run();
  SmallVector<kernel::TensorMapAttr> maps() const;

private:
  bool gathers() const { return !boxA || !boxB; }
  bool hasBoxes() const { return boxA || boxB; }
  unsigned inputMaps() const { return unsigned(boxA.has_value()) + unsigned(boxB.has_value()); }
  /// The number of blocks of the cluster that share the operand with this outer axis.
  int blocksOf(Axis outer) const { return schedule.clusterAxis == outer ? 1 : schedule.cluster; }

  void initBarriers();
  void blockBarrier();
  /// Emits a loop over the block's work items.
  void forEachPiece(ValueRange init, llvm::function_ref<Values(const BlockPlace &, ValueRange)> body);
  void produce();
  Ring::Position producePiece(const BlockPlace &place, Ring::Position start, Value leader);
  void consume(Value rank);
  void awaitTurn(Value piece, Value rank);
  void passTurn(Value rank);
  Value turnOf(Value rank) { return c.at(turns, c.wide(c.mul(rank, 8))); }
  Values multiply(const BlockPlace &place, Value rank, Ring::Position start);
  /// Starts one wgmma: for the 64 rows `band` and the k `step` of a stage. Without `sums` the product starts
  /// from zero.
  ValueRange startProduct(ValueRange sums, Value a, Value b, int band, int step);
  /// Starts the products of a stage, which add to the sums.
  void multiplyStage(MutableArrayRef<Value> sums, Value a, Value b);
  /// Computes the products of a stage, waits for them and adds them to the sums.
  void addStage(MutableArrayRef<Value> sums, Value a, Value b);
  Values wait(uint32_t pending, ValueRange sums);
  void drain(const BlockPlace &place, Value rank, Value firstM, ArrayRef<Value> sums);

  const MainKernel &main;
  Code c;
  const Problem &problem;
  const Schedule &schedule;
  const Tile &tile;
  std::optional<Box> boxA, boxB; ///< nullopt where the operand is gathered
  std::optional<Box> resultBox;  ///< nullopt where results are drained
  Ring ring;
  Value memory, memoryB, thread, lane, blockRank;
  Value turns; ///< ping-pong: an mbarrier for each consumer
};

} // namespace

void WgmmaEmitter::run() {
  initBarriers();
  // The shuffle tells the assembler that the warp has one value, so that descriptors stay out of the
  // threads' registers.
  Value group =
      kernel::ShuffleOp::create(c.b, c.b.getI32Type(), kernel::ShuffleMode::Index, c.div(thread, warpgroup), c.i32(0));
  auto setRegisters = [&](int count, int withoutGathers, bool increase) {
    if (tile.consumerRegisters != 0)
      kernel::SetRegistersOp::create(c.b, uint32_t(gathers() ? count : withoutGathers), increase);
  };
  c.branch(
      c.equal(group, 0),
      [&] {
        setRegisters(tile.producerRegisters, boxProducerRegisters, /*increase=*/false);
        produce();
      },
      [&] {
        setRegisters(tile.consumerRegisters, boxConsumerRegisters, /*increase=*/true);
        consume(c.add(group, -1));
      });
  // No block may exit while another block of the cluster can still write to its shared memory.
  if (schedule.cluster > 1)
    blockBarrier();
}

SmallVector<kernel::TensorMapAttr> WgmmaEmitter::maps() const {
  SmallVector<kernel::TensorMapAttr> result;
  if (boxA)
    result.push_back(boxA->map(problem.a, main.a.getArgNumber()));
  if (boxB)
    result.push_back(boxB->map(problem.b, main.b.getArgNumber()));
  if (resultBox) {
    for (auto [argument, value] : llvm::zip_equal(main.results, problem.dispatch.yielded()))
      result.push_back(
          resultBox->map(cast<RankedTensorType>(value.getType()).getElementType(), argument.getArgNumber()));
  }
  return result;
}

void WgmmaEmitter::blockBarrier() {
  if (schedule.cluster == 1)
    return c.barrier();
  kernel::WarpSyncOp::create(c.b);
  kernel::ClusterBarrierOp::create(c.b);
}

void WgmmaEmitter::initBarriers() {
  c.when(c.equal(thread, 0), [&] {
    // Each warp that reads arrives by itself, since it knows only that its own wgmmas are done.
    ring.init(/*fillers=*/(hasBoxes() ? 1 : 0) + (gathers() ? warpgroup : 0),
              /*readers=*/4 * (tile.pingPong ? 1 : tile.workers()));
    for (int i = 0; i < turnBytes(tile); i += 8)
      kernel::MbarrierInitOp::create(c.b, c.at(turns, i), /*count=*/4u); // the warps of a consumer
    kernel::MbarrierFenceOp::create(c.b);
    unsigned count = inputMaps() + (resultBox ? unsigned(main.results.size()) : 0);
    for (unsigned map = 0; map < count; ++map)
      kernel::TensorPrefetchOp::create(c.b, map);
  });
  blockBarrier();
}

void WgmmaEmitter::forEachPiece(ValueRange init, llvm::function_ref<Values(const BlockPlace &, ValueRange)> body) {
  Value block = kernel::BlockIdOp::create(c.b, c.b.getI32Type(), kernel::Axis::X);
  Value blocks = kernel::GridSizeOp::create(c.b, c.b.getI32Type());
  c.loop(
      c.div(block, schedule.cluster), c.i32(main.raster.pieces()), init,
      [&](Value piece, ValueRange carried) { return body(main.raster.place(c, thread, piece, blockRank), carried); },
      c.div(blocks, schedule.cluster), /*rolled=*/true);
}

//===-- The producer -------------------------------------------------------------------------------===//

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
  int64_t loaded = (boxA ? tile.m * rowBytes : 0) + (boxB ? tile.n * rowBytes : 0);
  Feed feeds[2];
  auto open = [&](Feed &feed, const Operand &operand, const std::optional<Box> &box, unsigned map, Value base,
                  int tileOuter, Value to) {
    if (box)
      feed.cursor =
          feed.box.emplace(c, operand, *box, map, tileOuter, tile.k, place, to, blocksOf(operand.outer), blockRank)
              .cursor(place.firstK);
    else
      feed.cursor = feed.gathered.emplace(c, operand, base, tileOuter, tile.k, warpgroup, place, problem, to)
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
  Values last = c.loop(
      place.firstK, c.add(place.lastK, lag), init,
      [&](Value t, ValueRange carried) {
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
      },
      /*step=*/Value(), /*rolled=*/true);
  return {last[0], last[1]};
}

//===-- The consumers ------------------------------------------------------------------------------===//

void WgmmaEmitter::consume(Value rank) {
  Value own = c.at(memory, c.add(c.wide(c.mul(rank, wgmmaOutBytes)), wgmmaRingBytes(tile)));
  std::optional<ResultBoxes> boxes;
  if (resultBox)
    boxes.emplace(c, problem, *resultBox, inputMaps(), own, c.rem(thread, warpgroup), rank, tile.workers());
  Ring::Position start = ring.start();
  forEachPiece({start.stage, start.parity, c.i32(0)}, [&](const BlockPlace &place, ValueRange carried) {
    Ring::Position position{carried[0], carried[1]};
    Value piece = carried[2]; // the number of the item in the block's order
    Value ours =
        tile.pingPong ? c.b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq, c.rem(piece, 2), rank) : Value();
    c.when(ours, [&] {
      if (tile.pingPong)
        awaitTurn(piece, rank);
      Values sums = multiply(place, rank, position);
      Value firstM = tile.pingPong ? place.firstM : c.add(place.firstM, c.mul(rank, tile.partM));
      if (!boxes)
        return drain(place, own, firstM, sums);
      Epilogue epilogue = main.pairs(place);
      boxes->put(epilogue, firstM, place.firstN, place.z, tile.partN, sums);
    });
    Ring::Position end = ring.advanced(position, c.sub(place.lastK, place.firstK));
    return Values{end.stage, end.parity, c.add(piece, 1)};
  });
  if (boxes)
    boxes->finish();
}

// Phase j of a consumer's barrier ends when the consumer has seen all stages of its work item j full; the
// other consumer waits for that. There are two reasons: waits for a stage distinguish phases by parity only,
// so no consumer may be more than one round of the ring ahead; and the tensor cores shall serve one consumer
// after the other. Item 2 j + 1 of the block waits for phase j of the first consumer, item 2 j for phase j -
// 1 of the second.
void WgmmaEmitter::awaitTurn(Value piece, Value rank) {
  Value parity = c.bitXor(c.bitXor(c.rem(c.div(piece, 2), 2), rank), 1);
  kernel::MbarrierWaitOp::create(c.b, turnOf(c.bitXor(rank, 1)), parity);
}
void WgmmaEmitter::passTurn(Value rank) {
  c.when(c.equal(lane, 0), [&] { kernel::MbarrierArriveOp::create(c.b, turnOf(rank), Value()); });
}

static kernel::MmaType mmaTypeOf(const Operand &operand) {
  Type element = graph::elementOf(operand.tensor);
  return element.isF16()                ? kernel::MmaType::F16
         : element.isBF16()             ? kernel::MmaType::BF16
         : isa<Float8E5M2Type>(element) ? kernel::MmaType::E5M2
                                        : kernel::MmaType::E4M3;
}

ValueRange WgmmaEmitter::startProduct(ValueRange sums, Value a, Value b, int band, int step) {
  auto layoutOf = [&](const Operand &operand) {
    bool transposed = operand.contiguous != Axis::K;
    return kernel::MatrixLayoutAttr::get(c.b.getContext(), kernel::Swizzle::B128, transposed ? panelBytes : 16,
                                         /*stride=*/1024, transposed);
  };
  // Where rows are contiguous (16-bit types only), the k of a step are in 16 lines of 128 bytes.
  auto offsetOf = [&](const Operand &operand) {
    return step * (operand.contiguous == Axis::K ? stepBytes : 16 * rowBytes);
  };
  kernel::MmaType typeA = mmaTypeOf(problem.a), typeB = mmaTypeOf(problem.b);
  auto other = typeA == typeB ? kernel::MmaTypeAttr() : kernel::MmaTypeAttr::get(c.b.getContext(), typeB);
  SmallVector<Type> types(tile.partN / 2, c.b.getF32Type());
  return kernel::WgmmaOp::create(c.b, types, typeA, a, uint32_t(band * panelBytes + offsetOf(problem.a)),
                                 layoutOf(problem.a), b, uint32_t(offsetOf(problem.b)), layoutOf(problem.b), sums,
                                 other)
      .getD();
}

void WgmmaEmitter::multiplyStage(MutableArrayRef<Value> sums, Value a, Value b) {
  int perBand = tile.partN / 2;
  kernel::WgmmaFenceOp::create(c.b);
  for (int step = 0; step < rowBytes / stepBytes; ++step)
    for (int band = 0; band < tile.partM / 64; ++band) {
      MutableArrayRef<Value> own = sums.slice(size_t(band) * perBand, perBand);
      llvm::copy(startProduct(ValueRange(ArrayRef<Value>(own)), a, b, band, step), own.begin());
    }
  kernel::WgmmaCommitOp::create(c.b);
}

void WgmmaEmitter::addStage(MutableArrayRef<Value> sums, Value a, Value b) {
  int perBand = tile.partN / 2;
  for (int band = 0; band < tile.partM / 64; ++band) {
    kernel::WgmmaFenceOp::create(c.b);
    ValueRange running;
    for (int step = 0; step < rowBytes / stepBytes; ++step)
      running = startProduct(running, a, b, band, step);
    kernel::WgmmaCommitOp::create(c.b);
    for (auto [sum, stage] : llvm::zip_equal(sums.slice(size_t(band) * perBand, perBand), wait(0, running)))
      sum = arith::AddFOp::create(c.b, sum, stage);
  }
}

Values WgmmaEmitter::wait(uint32_t pending, ValueRange sums) {
  SmallVector<Type> types(sums.size(), c.b.getF32Type());
  return Values(kernel::WgmmaWaitOp::create(c.b, types, pending, sums).getResults());
}

Values WgmmaEmitter::multiply(const BlockPlace &place, Value rank, Ring::Position start) {
  int64_t bytesA = tile.m * rowBytes, bytesB = tile.n * rowBytes;
  Value ownA = tile.pingPong ? memory : c.at(memory, c.wide(c.mul(rank, tile.partM / 64 * panelBytes)));
  Value zero = arith::ConstantOp::create(c.b, c.b.getF32FloatAttr(0));
  Values sums(size_t(tile.partM) * tile.partN / warpgroup, zero);
  Values init = sums;
  llvm::append_range(init, Values{start.stage, start.parity, start.stage});
  Values last = c.loop(
      place.firstK, place.lastK, init,
      [&](Value t, ValueRange carried) {
        Values running(carried.begin(), carried.begin() + sums.size());
        Ring::Position read{carried[sums.size()], carried[sums.size() + 1]};
        Value before = carried[sums.size() + 2];
        ring.awaitFull(read);
        Value a = c.at(ownA, c.wide(c.mul(read.stage, bytesA)));
        Value b = c.at(memoryB, c.wide(c.mul(read.stage, bytesB)));
        Values carriedOn = running;
        if (problem.hasFloat8()) {
          addStage(carriedOn, a, b);
          ring.release(read.stage, lane, Value());
        } else {
          multiplyStage(running, a, b);
          carriedOn = wait(1, running);
          ring.release(before, lane, c.compare(arith::CmpIPredicate::ne, t, place.firstK));
        }
        Ring::Position after = ring.next(read);
        llvm::append_range(carriedOn, Values{after.stage, after.parity, read.stage});
        return carriedOn;
      },
      /*step=*/Value(), /*rolled=*/true);
  if (tile.pingPong)
    passTurn(rank);
  auto total = ArrayRef<Value>(last).take_front(sums.size());
  if (problem.hasFloat8())
    return Values(total);
  Values done = wait(0, ValueRange(total));
  ring.release(last[sums.size() + 2], lane, Value());
  return done;
}

void WgmmaEmitter::drain(const BlockPlace &place, Value own, Value firstM, ArrayRef<Value> sums) {
  std::unique_ptr<Sink> sink = main.sink(place, drainNeighbours);
  Value warp = c.rem(c.div(thread, 32), 4); // the warp's number in the warpgroup
  Value slab = c.at(own, c.wide(c.mul(warp, drainBytes(tile.partN))));
  Value warpM = c.add(firstM, c.mul(warp, 16));
  drainWarp(
      c, slab, lane, tile.partN, sums, [&](int band) { return c.add(warpM, 64 * band); }, place.firstN,
      c.add(c.mul(c.div(firstM, tile.partM), 4), warp), *sink);
}

SmallVector<kernel::TensorMapAttr> mpc::hero::emitWgmma(const MainKernel &main) {
  WgmmaEmitter emitter(main);
  // The loads name maps by their number in this list.
  SmallVector<kernel::TensorMapAttr> maps = emitter.maps();
  emitter.run();
  return maps;
}
