//===- Drain.cpp - sums out of fragments --------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/HeroToGpu/Drain.h"
#include "dialects/Kernel/Target/Blocks.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::hero;

void mpc::hero::drainWarp(Code c, Value slab, Value lane, int columns, ArrayRef<Value> sums,
                          llvm::function_ref<Value(int)> firstRow, Value firstColumn, Value part, Sink &sink) {
  int line = drainColumns(columns), groups = line / drainNeighbours;
  // A line of the slab has groups of 8 floats. A half warp stores pairs in 4 rows, in the same group of each;
  // the 4 groups must lie in different banks, and 4 groups fill all banks. So the groups of a row are
  // permuted by the row's number.
  int distinct = std::min(groups, 4);
  auto placeOf = [&](Value row, Value group) {
    Value permuted = c.bitXor(group, c.rem(c.div(row, 4 / distinct), distinct));
    Value inLine = c.mul(permuted, drainNeighbours * 4);
    return c.at(slab, c.wide(c.add(c.mul(row, line * 4), inLine)));
  };
  // Sum 2 h + p of a fragment is at row lane / 4 + 8 h, column 2 (lane mod 4) + p (PTX ISA, mma.m16n8k16;
  // each warp of a wgmma has 16 rows in the same order).
  Value row = c.div(lane, 4), pair = c.wide(c.mul(c.rem(lane, 4), 8));
  int bands = int(sums.size()) / (columns / 2);
  bool first = true;
  // Whatever the round, a thread gets the same group of columns.
  Value own = c.mul(c.rem(lane, groups), drainNeighbours);
  for (int start = 0; start < columns; start += line) {
    Value column0 = c.add(firstColumn, start);
    Values state = sink.initial(drainNeighbours);
    for (int i = 0; i < bands; ++i) {
      if (!first)
        kernel::WarpSyncOp::create(c.b);
      first = false;
      for (int j = 0; j < groups; ++j)
        for (int h = 0; h < 2; ++h) {
          ArrayRef<Value> two = sums.slice((size_t(i) * (columns / 8) + start / 8 + j) * 4 + 2 * h, 2);
          Value group = c.i32(j), at = c.at(placeOf(c.add(row, 8 * h), group), pair);
          c.store(c.vector(two), at, 8);
        }
      kernel::WarpSyncOp::create(c.b);
      Value row0 = firstRow(i), rounds = c.i32(16 * groups / warpThreads);
      state = c.loop(c.i32(0), rounds, state, [&](Value round, ValueRange carried) {
        Value number = c.add(c.mul(round, warpThreads), lane), row = c.div(number, groups),
              group = c.rem(number, groups);
        Value at = placeOf(row, group);
        Values values;
        for (int half = 0; half < drainNeighbours; half += 4) {
          Value v = c.load(VectorType::get({4}, c.b.getF32Type()), c.at(at, half * 4), 16);
          for (int p = 0; p < 4; ++p)
            values.push_back(c.extract(v, p));
        }
        Value column = c.add(column0, c.mul(group, drainNeighbours));
        return sink.put(c.add(row0, row), column, values, carried);
      });
    }
    if (state.empty())
      continue;
    // Lanes whose numbers differ by multiples of `groups` have the same columns.
    for (Value &sum : state)
      for (int distance = groups; distance < warpThreads; distance *= 2)
        sum = c.add(sum, kernel::ShuffleOp::create(c.b, sum.getType(), kernel::ShuffleMode::Xor, sum, c.i32(distance)));
    c.when(c.below(lane, groups), [&] { sink.finish(part, c.add(column0, own), state); });
  }
  kernel::WarpSyncOp::create(c.b); // the caller or the next call uses the slab again
}
