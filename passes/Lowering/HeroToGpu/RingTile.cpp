//===- RingTile.cpp - swizzled tiles in shared memory -------------------------------------------------===//
#include "passes/Lowering/HeroToGpu/RingTile.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::hero;

static constexpr int chunkElements = 8, chunkBytes = 16;

RingTile::RingTile(Code c, const Operand &operand, Value base, int tileOuter, int tileK, int threads,
                   const BlockPlace &place, const Problem &problem, Value memory, Value warpOuter,
                   int partOuter, Value lane)
    : gather(c, problem, operand, base, tileOuter, tileK, threads, place), c(c), alongK(gather.alongK()),
      lineBytes((alongK ? tileK : tileOuter) * 2), bytes(stageBytes(tileOuter, tileK)), memory(memory) {
  // Where the thread's units go.
  Value threadLine = alongK ? gather.threadOuter : gather.threadK,
        threadInner = alongK ? gather.threadK : gather.threadOuter;
  auto placeOf = [&](Value line, Value inner) {
    Value chunk = swizzled(line, c.div(inner, chunkElements));
    Value within = c.mul(c.rem(inner, chunkElements), 2);
    return c.add(c.add(c.mul(line, lineBytes), c.mul(chunk, chunkBytes)), within);
  };
  Value first = placeOf(threadLine, threadInner);
  for (Gather::Unit unit : gather.units()) {
    int line = alongK ? unit.outer : unit.k, inner = alongK ? unit.k : unit.outer;
    if (line % 8 == 0 && inner == 0) // permuted alike
      unitPlaces.push_back({first, int64_t(line) * lineBytes});
    else
      unitPlaces.push_back({placeOf(c.add(threadLine, line), c.add(threadInner, inner)), 0});
  }
  // Which row of a matrix the lane addresses: A's fragments are ordered rows first, B's k first; a transposed
  // load turns that around.
  bool rowsFirst = (operand.outer == Axis::M) == alongK;
  Value half = c.rem(c.div(lane, 8), 2);
  Value line = rowsFirst ? c.rem(lane, 16) : c.add(c.mul(c.div(lane, 16), 8), c.rem(lane, 8));
  Value chunk = rowsFirst ? c.div(lane, 16) : half;
  int count = alongK ? tileK / 16 : partOuter / 16;
  for (int i = 0; i < count; ++i) {
    Value myLine = alongK ? c.add(warpOuter, line) : line;
    Value myChunk = c.add(alongK ? chunk : c.add(c.div(warpOuter, chunkElements), chunk), 2 * i);
    lanePlaces.push_back(c.add(c.mul(myLine, lineBytes), c.mul(swizzled(myLine, myChunk), chunkBytes)));
  }
}

Value RingTile::swizzled(Value line, Value chunk) {
  int chunks = lineBytes / chunkBytes, linesTogether = std::max(1, 8 / chunks), mask = std::min(chunks, 8);
  return c.bitXor(chunk, c.rem(c.div(line, linesTogether), mask));
}

Value RingTile::stageOf(Value stage) { return c.at(memory, c.wide(c.mul(stage, bytes))); }

void RingTile::copyAsync(ValueRange cursor, Value stage) {
  c.when(gather.active, [&] {
    Value to = stageOf(stage);
    int size = gather.vector() * 2;
    for (auto [place, address] : llvm::zip_equal(unitPlaces, gather.addresses(cursor))) {
      Value valid = address.valid ? c.select(address.valid, c.i32(size), c.i32(0)) : Value();
      kernel::CopyAsyncOp::create(c.b, c.at(c.at(to, c.wide(place.first)), place.second), address.pointer,
                                  uint32_t(size), valid);
    }
  });
}

void RingTile::store(ValueRange units, Value stage) {
  c.when(gather.active, [&] {
    Value to = stageOf(stage);
    for (auto [place, bits] : llvm::zip_equal(unitPlaces, units))
      c.store(bits, c.at(c.at(to, c.wide(place.first)), place.second), gather.vector() * 2);
  });
}

Values RingTile::load(Value stage, int number, int step) {
  Value lane = lanePlaces[alongK ? step : number];
  Value row = c.at(c.at(stageOf(stage), c.wide(lane)), int64_t(alongK ? number : step) * 16 * lineBytes);
  auto op = kernel::LoadMatrixOp::create(c.b, llvm::SmallVector<Type>(4, c.b.getI32Type()), row,
                                         /*transpose=*/!alongK);
  return Values(op.getRegisters());
}
