// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/AttentionToGpu/AttentionBlock.h"
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::attention;

namespace {

/// The rows of the block's side, which stay in shared memory: q and dy, or k and v.
struct OwnPair {
  OwnPair(AttentionBlock &block, const HeadLayout &a, const HeadLayout &b, Value headOfA, Value headOfB)
      : first{tileOf(block, a), block.memory}, second{tileOf(block, b), block.c.at(block.memory, first.tile.bytes())} {
    first.tile.copy(first.at, headOfA, a, block.firstRow);
    second.tile.copy(second.at, headOfB, b, block.firstRow);
    block.commit();
    block.arrive();
  }
  int64_t bytes() const { return first.tile.bytes() + second.tile.bytes(); }

  OwnRows first, second;

private:
  static HeadTile tileOf(AttentionBlock &block, const HeadLayout &layout) {
    return {block.c, block.kernel.tiles.rows, layout.width, block.kernel.tiles.threads(), block.thread};
  }
};

} // namespace

/// Returns what `probability` takes of a query's largest score, logarithm of the sum, and delta. Of plain scores these
/// are addends of fused products.
static Values addendsOf(Fragments &f, const Scores &scores, ArrayRef<Value> statistics) {
  Code &c = f.c;
  if (!scores.arePlain())
    return Values(statistics);
  return {c.neg(statistics[0]), c.mul(statistics[1], -log2E), c.mul(statistics[2], -f.form.scale)};
}

/// Returns how far a plain score is below the largest of its row. As in the forward pass nothing but the difference is
/// rounded: a product with a power of two is exact, any other is rounded first, as the largest score was.
static Value belowLargest(Fragments &f, Value product, Value minusLargest) {
  Code &c = f.c;
  int exponent;
  if (std::frexp(f.form.scale, &exponent) == 0.5)
    return c.fma(product, f.form.scale, minusLargest);
  return c.add(c.mul(product, f.form.scale), minusLargest);
}

/// Returns dropout(p) of graph.attention_grad, and scale ds, given numbers of q k^T and dy v^T. `exists` says whether
/// the tensors have the score; it is null where they have all, or where scores are plain and hidden already.
static std::pair<Value, Value> probability(Fragments &f, Scores &scores, const Place &place, Value exists,
                                           Value product, Value dp, ArrayRef<Value> addends) {
  Code &c = f.c;
  dp = scores.dropped(dp, place);
  if (scores.arePlain()) {
    Value p = f.exp2(c.fma(belowLargest(f, product, addends[0]), log2E, addends[1]));
    return {scores.dropped(p, place), c.mul(p, c.fma(dp, f.form.scale, addends[2]))};
  }
  auto [score, hidden] = scores.scoreOf(product, place);
  Value exponent = c.sub(c.sub(score, addends[0]), addends[1]);
  Value p = f.exp2(c.mul(exponent, log2E));
  p = c.select(exists, p, 0);
  Value ds = c.mul(c.mul(p, c.sub(dp, addends[2])), f.form.scale);
  if (hidden && f.form.fill) // a number in place of the score is no function of q and k
    ds = c.select(hidden, 0, ds);
  return {scores.dropped(p, place), ds};
}

void mpc::attention::emitQueryGradient(const Kernel &kernel) {
  const graph::AttentionForm &form = kernel.form;
  const Tensors &t = kernel.tensors;
  int64_t columns = kernel.tiles.columns;
  AttentionBlock block(kernel, form.queries(), form.heads());
  Code &c = block.c;
  Fragments &f = block.f;
  Scores scores(f, block.sample, block.head);
  Value q = t.q.at(c, block.sample, block.head), dy = t.dy.at(c, block.sample, block.head);
  auto [first, last] = scores.keyTiles(block.firstRow, kernel.tiles.rows, columns);
  OwnPair own(block, t.q, t.dy, q, dy);

  KeysAndValues tiles(block, c.at(block.memory, own.bytes()));
  auto start = [&](Value tile, Value stage) { tiles.start(tile, stage); };
  Value rows[2] = {block.row(0), block.row(1)};
  Index places[2] = {scores.queryIndex(rows[0]), scores.queryIndex(rows[1])};
  Value firstRow = c.add(block.firstRow, block.warpRow());
  Values addends[2];
  for (int h : {0, 1}) {
    Value query = c.min(rows[h], form.queries() - 1);
    Values statistics;
    for (const HeadLayout *of : {&t.largest, &t.logSum, &t.delta})
      statistics.push_back(c.load(c.b.getF32Type(), block.statistic(*of, query), 4));
    addends[h] = addendsOf(f, scores, statistics);
  }
  Values dq =
      block.walk(first, last, block.zeros(sumsOf(t.q.width)), start, [&](Value tile, Value stage, ValueRange carried) {
        Values sums(carried);
        std::vector<Values> products = block.timesRows(
            {{own.first, tiles.keys, tiles.keysAt(stage)}, {own.second, tiles.values, tiles.valuesAt(stage)}}, columns);
        Values &s = products[0], &dp = products[1];
        Value firstKey = c.mul(tile, columns);
        auto placeOf = [&](size_t i) {
          Value key = c.add(c.add(firstKey, f.column()), int64_t(8 * (i / 4) + i % 2));
          size_t h = i / 2 % 2;
          return Place{rows[h], key, places[h], scores.keyIndex(key)};
        };
        auto exists = [&](const Place &place) {
          return form.keys() % columns ? c.below(place.key, form.keys()) : Value();
        };
        if (scores.arePlain())
          scores.hide(s, firstRow, 16, firstKey, columns, placeOf, exists);
        for (auto [i, score] : llvm::enumerate(s)) {
          Place place = placeOf(i);
          score = probability(f, scores, place, exists(place), score, dp[i], addends[i / 2 % 2]).second;
        }
        block.timesElements({{sums, s, tiles.keys, tiles.keysAt(stage)}}, columns);
        return sums;
      });
  block.store(t.dq, block.sample, block.head, dq, nullptr);
}

void mpc::attention::emitKeyGradient(const Kernel &kernel) {
  const graph::AttentionForm &form = kernel.form;
  const Tensors &t = kernel.tensors;
  int64_t columns = kernel.tiles.columns, group = form.heads() / form.keyHeads();
  AttentionBlock block(kernel, form.keys(), form.keyHeads());
  Code &c = block.c;
  Fragments &f = block.f;
  HeadTile queries(c, columns, t.q.width, kernel.tiles.threads(), block.thread);
  HeadTile cotangents(c, columns, t.dy.width, kernel.tiles.threads(), block.thread);
  Value k = t.k.at(c, block.sample, block.head), v = t.v.at(c, block.sample, block.head);
  OwnPair own(block, t.k, t.v, k, v);
  auto [first, last] = Scores(f, block.sample, block.head).queryTiles(block.firstRow, kernel.tiles.rows, columns);
  // The tiles of the first head of queries that shares the keys come first, then those of the next.
  Value tiles = c.max(c.sub(last, first), 0);
  auto headOf = [&](Value number) {
    return group == 1 ? block.head : c.add(c.mul(block.head, group), c.div(number, c.max(tiles, 1)));
  };
  auto tileOf = [&](Value number) { return c.add(first, group == 1 ? number : c.rem(number, c.max(tiles, 1))); };

  Value ring = c.at(block.memory, own.bytes());
  int64_t pairBytes = queries.bytes() + cotangents.bytes();
  auto queriesAt = [&](Value stage) { return c.at(ring, c.wide(c.mul(stage, pairBytes))); };
  // The statistics lie behind both pairs, since tiles for wgmma start at multiples of 1024 bytes.
  auto statisticsAt = [&](Value stage) {
    Value first = c.at(ring, 2 * pairBytes);
    return c.at(first, c.wide(c.mul(stage, statisticBytes(columns))));
  };
  auto start = [&](Value number, Value stage) {
    Value head = headOf(number), row = c.mul(tileOf(number), columns), at = queriesAt(stage);
    queries.copy(at, t.q.at(c, block.sample, head), t.q, row);
    cotangents.copy(c.at(at, queries.bytes()), t.dy.at(c, block.sample, head), t.dy, row);
    c.when(c.below(block.thread, columns), [&] {
      Value query = c.add(row, block.thread), none = c.i32(0);
      Value valid = c.select(c.below(query, form.queries()), c.i32(4), none);
      const HeadLayout *statistics[] = {&t.largest, &t.logSum, &t.delta};
      for (auto [i, of] : llvm::enumerate(statistics)) {
        Value from = c.at(of->at(c, block.sample, head, 4), c.mul(c.wide(query), of->row * 4));
        Value to = c.at(c.at(statisticsAt(stage), int64_t(i) * columns * 4), c.wide(c.mul(block.thread, 4)));
        kernel::CopyAsyncOp::create(c.b, to, from, uint32_t(4), valid);
      }
    });
  };
  Value rows[2] = {block.row(0), block.row(1)}, firstRow = c.add(block.firstRow, block.warpRow());
  int64_t ofKeys = sumsOf(t.k.width), ofValues = sumsOf(t.v.width);
  Values sums =
      block.walk(c.i32(0), c.mul(tiles, group), block.zeros(ofKeys + ofValues), start,
                 [&](Value number, Value stage, ValueRange carried) {
                   Values dk(carried.take_front(ofKeys)), dv(carried.drop_front(ofKeys));
                   Value at = queriesAt(stage), dyAt = c.at(at, queries.bytes()), statistics = statisticsAt(stage),
                         firstQuery = c.mul(tileOf(number), columns);
                   Scores scores(f, block.sample, headOf(number));
                   Index places[2] = {scores.keyIndex(rows[0]), scores.keyIndex(rows[1])};
                   std::vector<Values> products =
                       block.timesRows({{own.first, queries, at}, {own.second, cotangents, dyAt}}, columns);
                   Values &s = products[0], &dp = products[1];
                   auto placeOf = [&](size_t i) {
                     Value query = c.add(c.add(firstQuery, f.column()), int64_t(8 * (i / 4) + i % 2));
                     size_t h = i / 2 % 2;
                     return Place{query, rows[h], scores.queryIndex(query), places[h]};
                   };
                   auto exists = [&](const Place &place) {
                     return form.queries() % columns ? c.below(place.query, form.queries()) : Value();
                   };
                   if (scores.arePlain())
                     scores.hide(s, firstQuery, columns, firstRow, 16, placeOf, exists);
                   for (int64_t j = 0; j < columns / 8; ++j) {
                     Value column = c.add(f.column(), 8 * j);
                     Values pairs;
                     for (int i : {0, 1, 2})
                       pairs.push_back(c.load(VectorType::get({2}, c.b.getF32Type()),
                                              c.at(c.at(statistics, i * columns * 4), c.wide(c.mul(column, 4))), 8));
                     for (int p : {0, 1}) {
                       Values ofQuery;
                       for (Value pair : pairs)
                         ofQuery.push_back(c.extract(pair, p));
                       Values addends = addendsOf(f, scores, ofQuery);
                       for (int h : {0, 1}) {
                         size_t i = size_t(j * 4 + 2 * h + p);
                         Place place = placeOf(i);
                         std::tie(s[i], dp[i]) = probability(f, scores, place, exists(place), s[i], dp[i], addends);
                       }
                     }
                   }
                   block.timesElements({{dv, s, cotangents, dyAt}, {dk, dp, queries, at}}, columns);
                   dk.append(dv);
                   return dk;
                 });
  if (t.dk.pointer)
    block.store(t.dk, block.sample, block.head, ArrayRef<Value>(sums).take_front(ofKeys), nullptr);
  if (t.dv.pointer)
    block.store(t.dv, block.sample, block.head, ArrayRef<Value>(sums).drop_front(ofKeys), nullptr);
}
