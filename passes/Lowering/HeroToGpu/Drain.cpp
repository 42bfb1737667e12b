//===- Drain.cpp - sums out of fragments --------------------------------------------------------===//
#include "passes/Lowering/HeroToGpu/Drain.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::hero;

/// Floats between the end of a row of sums and the next: the pairs of 4 rows fill the banks.
static constexpr int padding = 8;

int64_t mpc::hero::drainBytes(int columns) { return 16 * int64_t(columns + padding) * 4; }

void mpc::hero::drainWarp(Code c, Value slab, Value lane, int columns, ArrayRef<Value> sums,
                          llvm::function_ref<Value(int)> firstRow, Value firstColumn, Sink &sink) {
  int line = columns + padding, vectors = columns / drainNeighbours;
  // Sum 2 h + p of a fragment is at row lane / 4 + 8 h, column 2 (lane mod 4) + p (PTX ISA, mma.m16n8k16;
  // each warp of a wgmma has 16 rows in the same order).
  Value fragment = c.add(c.mul(c.div(lane, 4), line * 4), c.mul(c.rem(lane, 4), 8));
  int bands = int(sums.size()) / (columns / 2);
  for (int i = 0; i < bands; ++i) {
    if (i > 0)
      kernel::WarpSyncOp::create(c.b);
    for (int j = 0; j < columns / 8; ++j)
      for (int h = 0; h < 2; ++h) {
        ArrayRef<Value> pair = sums.slice((size_t(i) * (columns / 8) + j) * 4 + 2 * h, 2);
        c.store(c.vector(pair), c.at(c.at(slab, c.wide(fragment)), (8 * h * line + 8 * j) * 4), 8);
      }
    kernel::WarpSyncOp::create(c.b);
    Value row0 = firstRow(i);
    c.loop(c.i32(0), c.i32(16 * vectors / 32), {}, [&](Value round, ValueRange) {
      Value number = c.add(c.mul(round, 32), lane), row = c.div(number, vectors),
            column = c.mul(c.rem(number, vectors), drainNeighbours);
      Value at = c.at(slab, c.wide(c.mul(c.add(c.mul(row, line), column), 4)));
      Values values;
      for (int half = 0; half < drainNeighbours; half += 4) {
        Value v = c.load(VectorType::get({4}, c.b.getF32Type()), c.at(at, half * 4), 16);
        for (int p = 0; p < 4; ++p)
          values.push_back(c.extract(v, p));
      }
      sink.put(c.add(row0, row), c.add(firstColumn, column), values);
      return Values();
    });
  }
}
