//===- WgmmaConsumer.cpp - the warpgroups that multiply what the ring brings ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Kernel/Target/Blocks.h"
#include "passes/Lowering/HeroToGpu/Drain.h"
#include "passes/Lowering/HeroToGpu/ResultBoxes.h"
#include "passes/Lowering/HeroToGpu/WgmmaEmitter.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::hero;

/// The bytes of k in a row of a stage, and those that one wgmma multiplies.
static constexpr int64_t rowBytes = wgmmaRowBytes, stepBytes = 32;
/// 64 rows of 128 bytes of k, or 64 k of 64 rows: the part of A's stage that the wgmmas of 64 rows read.
static constexpr int64_t panelBytes = 64 * rowBytes;

void WgmmaEmitter::consume(Value rank) {
  Value own = c.at(memory, c.add(c.wide(c.mul(rank, wgmmaOutBytes)), wgmmaRingBytes(tile)));
  std::optional<ResultBoxes> boxes;
  if (resultBox)
    boxes.emplace(c, problem, *resultBox, inputMaps(), own, c.rem(thread, warpgroupThreads), rank, tile.workers());
  Ring::Position start = ring.start();
  forEachPiece({start.stage, start.parity, c.i32(0)}, [&](const BlockPlace &place, ValueRange carried) {
    Ring::Position position{carried[0], carried[1]};
    Value piece = carried[2]; // the number of the item in the block's order
    Value ours = tile.pingPong ? c.equal(c.rem(piece, 2), rank) : Value();
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
  IntegerAttr offsetA = c.b.getI32IntegerAttr(int32_t(band * panelBytes + offsetOf(problem.a)));
  return kernel::WgmmaOp::create(c.b, types, typeA, a, offsetA, layoutOf(problem.a), /*aRegisters=*/ValueRange(), b,
                                 uint32_t(offsetOf(problem.b)), layoutOf(problem.b), sums, other)
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
      sum = c.add(sum, stage);
  }
}

Values WgmmaEmitter::wait(uint32_t pending, ValueRange sums) {
  SmallVector<Type> types(sums.size(), c.b.getF32Type());
  return Values(kernel::WgmmaWaitOp::create(c.b, types, pending, sums).getResults());
}

Values WgmmaEmitter::multiply(const BlockPlace &place, Value rank, Ring::Position start) {
  int64_t bytesA = tile.m * rowBytes, bytesB = tile.n * rowBytes;
  Value ownA = tile.pingPong ? memory : c.at(memory, c.wide(c.mul(rank, tile.partM / 64 * panelBytes)));
  Value zero = c.constant(c.b.getF32Type(), 0);
  Values sums(size_t(tile.partM) * tile.partN / warpgroupThreads, zero);
  Values init = sums;
  llvm::append_range(init, Values{start.stage, start.parity, start.stage});
  Values last = c.rolledLoop(place.firstK, place.lastK, init, [&](Value t, ValueRange carried) {
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
  });
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
  Value warp = c.rem(c.div(thread, warpThreads), 4); // the warp's number in the warpgroup
  Value slab = c.at(own, c.wide(c.mul(warp, drainBytes(tile.partN))));
  Value warpM = c.add(firstM, c.mul(warp, 16));
  drainWarp(
      c, slab, lane, tile.partN, sums, [&](int band) { return c.add(warpM, 64 * band); }, place.firstN,
      c.add(c.mul(c.div(firstM, tile.partM), 4), warp), *sink);
}
