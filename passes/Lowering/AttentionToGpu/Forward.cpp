// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/AttentionToGpu/AttentionBlock.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cfloat>

using namespace mlir;
using namespace mpc;
using namespace mpc::attention;

void mpc::attention::emitForward(const Kernel &kernel) {
  const graph::AttentionForm &form = kernel.form;
  const Tensors &t = kernel.tensors;
  int64_t columns = kernel.tiles.columns;
  AttentionBlock block(kernel, form.queries(), form.heads());
  Code &c = block.c;
  Fragments &f = block.f;
  Scores scores(f, block.sample, block.head);
  HeadTile queries(c, kernel.tiles.rows, t.q.width, kernel.tiles.threads(), block.thread);
  auto [first, last] = scores.keyTiles(block.firstRow, kernel.tiles.rows, columns);

  queries.copy(block.memory, t.q.at(c, block.sample, block.head), t.q, block.firstRow);
  block.commit();
  block.arrive();
  OwnRows own{queries, block.memory};
  block.load(own);

  KeysAndValues tiles(block, c.at(block.memory, queries.bytes()));
  auto start = [&](Value tile, Value stage) { tiles.start(tile, stage); };
  Value rows[2] = {block.row(0), block.row(1)};
  Index places[2] = {scores.queryIndex(rows[0]), scores.queryIndex(rows[1])};
  bool plain = scores.arePlain();
  double exponent = plain ? scores.exponentOf() : log2E;
  Value firstRow = c.add(block.firstRow, block.warpRow());
  // Carried are the sums of y, then for each of the thread's two rows the largest score and the sum of exponentials.
  int64_t sums = sumsOf(t.v.width);
  Values init = block.zeros(sums);
  Value lowest = c.constant(c.b.getF32Type(), -FLT_MAX);
  init.append({lowest, lowest, f.zero(), f.zero()});
  Values result = block.walk(first, last, init, start, [&](Value tile, Value stage, ValueRange carried) {
    Values y(carried.take_front(sums)), largest(carried.slice(sums, 2)), sum(carried.slice(sums + 2, 2));
    Values s = block.timesRows({{own, tiles.keys, tiles.keysAt(stage)}}, columns).front();
    Value firstKey = c.mul(tile, columns);
    auto placeOf = [&](size_t i) {
      Value key = c.add(c.add(firstKey, f.column()), int64_t(8 * (i / 4) + i % 2));
      size_t h = i / 2 % 2;
      return Place{rows[h], key, places[h], scores.keyIndex(key)};
    };
    auto exists = [&](const Place &place) { return form.keys() % columns ? c.below(place.key, form.keys()) : Value(); };
    if (plain)
      scores.hide(s, firstRow, 16, firstKey, columns, placeOf, exists);
    else
      for (auto [i, score] : llvm::enumerate(s)) {
        Place place = placeOf(i);
        score = c.select(exists(place), scores.scoreOf(score, place).first, -INFINITY);
      }
    Values rowLargest = largest, factor(2);
    for (auto [i, score] : llvm::enumerate(s))
      rowLargest[i / 2 % 2] = c.max(rowLargest[i / 2 % 2], score);
    for (int h : {0, 1}) {
      rowLargest[h] = f.acrossRow(rowLargest[h], [&](Value x, Value y) { return c.max(x, y); });
      factor[h] = f.exp2(c.mul(c.sub(largest[h], rowLargest[h]), exponent));
      sum[h] = c.mul(sum[h], factor[h]);
    }
    for (auto [i, score] : llvm::enumerate(s)) {
      size_t h = i / 2 % 2;
      // The difference comes first: it is exact where scores are near the largest, however large they are.
      score = f.exp2(c.mul(c.sub(score, rowLargest[h]), exponent));
      sum[h] = c.add(sum[h], score);
      if (form.seed)
        score = scores.dropped(score, placeOf(i));
    }
    for (auto [i, number] : llvm::enumerate(y))
      number = c.mul(number, factor[i / 2 % 2]);
    block.timesElements({{y, s, tiles.values, tiles.valuesAt(stage)}}, columns);
    y.append(rowLargest);
    y.append(sum);
    return y;
  });

  Value factors[2];
  for (int h : {0, 1}) {
    Value largest = result[sums + h];
    if (plain) // that of a row without a key stays the lowest number
      largest = c.select(c.equal(largest, lowest), lowest, c.mul(largest, form.scale));
    Value sum = f.acrossRow(result[sums + 2 + h], [&](Value x, Value y) { return c.add(x, y); });
    Value logSum = math::LogOp::create(c.b, sum);
    factors[h] = c.div(1, sum);
    if (form.zeroRows) {
      Value none = c.equal(sum, 0);
      logSum = c.select(none, INFINITY, logSum);
      factors[h] = c.select(none, 0, factors[h]);
    }
    Value query = rows[h], isFirst = c.equal(c.rem(f.lane, 4), 0);
    c.when(c.both(c.below(query, form.queries()), isFirst), [&] {
      for (auto [number, of] : {std::pair(largest, &t.largest), std::pair(logSum, &t.logSum)})
        if (of->pointer)
          c.store(number, block.statistic(*of, query), 4);
    });
  }
  if (t.y.pointer)
    block.store(t.y, block.sample, block.head, ArrayRef<Value>(result).take_front(sums), factors);
}
