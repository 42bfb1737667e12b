//===- RingTile.cpp - swizzled tiles in shared memory -------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/HeroToGpu/RingTile.h"
#include "passes/Lowering/Schedule/SharedBytes.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::hero;

static constexpr int chunkElements = 8, chunkBytes = 16, mostLineElements = 64;

RingTile::RingTile(Code c, const Operand &operand, Value base, int tileOuter, int tileK, int threads,
                   const BlockPlace &place, const Problem &problem, Value memory)
    : gather(c, problem, operand, base, tileOuter, tileK, threads, place, mostLineElements), c(c),
      alongK(gather.alongK()),
      // Fragments of A take the matrices rows first, those of B k first; a transposed load turns that around.
      rowsFirst((operand.outer == Axis::M) == alongK), tileK(tileK), lines(alongK ? tileOuter : tileK),
      bytes(mmaStageBytes(tileOuter, tileK)), memory(memory) {
  int inner = alongK ? tileK : tileOuter;
  lineChunks = std::min(inner, mostLineElements) / chunkElements;
  panels = inner / (lineChunks * chunkElements);
  // The places of the thread's units.
  Value threadLine = alongK ? gather.threadOuter : gather.threadK,
        threadInner = alongK ? gather.threadK : gather.threadOuter;
  auto unitPlace = [&](Value line, Value inner) {
    Value inChunk = c.mul(c.rem(inner, chunkElements), 2);
    return c.add(placeOf(line, c.div(inner, chunkElements)), inChunk);
  };
  Value first = unitPlace(threadLine, threadInner);
  for (Gather::Unit unit : gather.units()) {
    int line = alongK ? unit.outer : unit.k, inner = alongK ? unit.k : unit.outer;
    if (line % 8 == 0 && inner % mostLineElements == 0) { // the unit's line is permuted as the first unit's line is
      unitPlaces.push_back({first, (int64_t(inner / mostLineElements) * lines + line) * lineBytes()});
    } else {
      Value unitInner = c.add(threadInner, inner);
      unitPlaces.push_back({unitPlace(c.add(threadLine, line), unitInner), 0});
    }
  }
}

void RingTile::readBy(Value warpOuter, int partOuter, Value lane) {
  // The row of a matrix that the lane addresses.
  Value half = c.rem(c.div(lane, 8), 2);
  Value line = c.rem(lane, rowsFirst ? 16 : 8);
  if (!rowsFirst)
    line = c.add(c.mul(c.div(lane, 16), 8), line);
  Value chunk = rowsFirst ? c.div(lane, 16) : half;
  int count = alongK ? tileK / 16 : partOuter / 16;
  for (int i = 0; i < count; ++i) {
    Value myLine = alongK ? c.add(warpOuter, line) : line;
    Value myChunk = c.add(alongK ? chunk : c.add(c.div(warpOuter, chunkElements), chunk), 2 * i);
    lanePlaces.push_back(placeOf(myLine, myChunk));
  }
}

Value RingTile::placeOf(Value line, Value chunk) {
  int linesTogether = 8 / lineChunks;
  Value within = panels == 1 ? chunk : c.rem(chunk, lineChunks);
  Value swizzled = c.bitXor(within, c.rem(c.div(line, linesTogether), lineChunks));
  Value inLine = c.mul(swizzled, chunkBytes), place = c.add(c.mul(line, lineBytes()), inLine);
  return panels == 1 ? place : c.add(place, c.mul(c.div(chunk, lineChunks), int64_t(lines) * lineBytes()));
}

Value RingTile::stageOf(Value stage) { return c.at(memory, c.wide(c.mul(stage, bytes))); }

void RingTile::copyAsync(ValueRange cursor, Value stage) {
  c.when(gather.active, [&] {
    Value to = stageOf(stage);
    int size = gather.vector() * 2;
    for (auto [place, address] : llvm::zip_equal(unitPlaces, gather.addresses(cursor))) {
      Value valid;
      if (address.valid) {
        Value nothing = c.i32(0);
        valid = c.select(address.valid, c.i32(size), nothing);
      }
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
  Value lane = c.wide(lanePlaces[alongK ? step : number]);
  Value row = c.at(c.at(stageOf(stage), lane), int64_t(alongK ? number : step) * 16 * lineBytes());
  auto op = kernel::LoadMatrixOp::create(c.b, llvm::SmallVector<Type>(4, c.b.getI32Type()), row,
                                         /*transpose=*/!alongK);
  return Values(op.getRegisters());
}
