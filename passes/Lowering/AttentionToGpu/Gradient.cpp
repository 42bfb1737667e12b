// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/AttentionToGpu/AttentionBlock.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::attention;

namespace {

/// The rows of the block's side, which stay in shared memory: q and dy, or k and v.
class OwnRows {
public:
  OwnRows(AttentionBlock &block, const HeadLayout &a, const HeadLayout &b, Value headOfA, Value headOfB)
      : block(block), first(block.c, block.kernel.tiles.rows, a.width, block.kernel.tiles.threads(), block.thread),
        second(block.c, block.kernel.tiles.rows, b.width, block.kernel.tiles.threads(), block.thread) {
    first.copy(block.memory, headOfA, a, block.firstRow);
    second.copy(block.c.at(block.memory, first.bytes()), headOfB, b, block.firstRow);
    block.commit();
    block.arrive();
  }
  int64_t bytes() const { return first.bytes() + second.bytes(); }
  Values ofFirst(int step) { return block.warpRows(first, block.memory, step); }
  Values ofSecond(int step) { return block.warpRows(second, block.c.at(block.memory, first.bytes()), step); }

private:
  AttentionBlock &block;
  HeadTile first, second;
};

} // namespace

/// Returns dropout(p) of graph.attention_grad, and scale ds, given numbers of q k^T and dy v^T. `exists` says whether
/// the tensors have the score; it is null where they have all.
static std::pair<Value, Value> probability(Fragments &f, Scores &scores, const Place &place, Value exists,
                                           Value product, Value dp, ArrayRef<Value> statistics) {
  Code &c = f.c;
  auto [score, hidden] = scores.scoreOf(product, place);
  Value exponent = c.sub(c.sub(score, statistics[0]), statistics[1]);
  Value p = f.exp2(c.mul(exponent, log2E));
  p = c.select(exists, p, 0);
  dp = scores.dropped(dp, place);
  Value ds = c.mul(c.mul(p, c.sub(dp, statistics[2])), f.form.scale);
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
  OwnRows own(block, t.q, t.dy, q, dy);

  KeysAndValues tiles(block, c.at(block.memory, own.bytes()));
  auto start = [&](Value tile, Value stage) { tiles.start(tile, stage); };
  Value rows[2] = {block.row(0), block.row(1)};
  Index places[2] = {scores.queryIndex(rows[0]), scores.queryIndex(rows[1])};
  Values statistics[2];
  for (int h : {0, 1}) {
    Value query = c.min(rows[h], form.queries() - 1);
    for (const HeadLayout *of : {&t.largest, &t.logSum, &t.delta})
      statistics[h].push_back(c.load(c.b.getF32Type(), block.statistic(*of, query), 4));
  }
  Values dq =
      block.walk(first, last, block.zeros(sumsOf(t.q.width)), start, [&](Value tile, Value stage, ValueRange carried) {
        Values sums(carried), s = block.zeros(sumsOf(columns)), dp = block.zeros(sumsOf(columns));
        block.timesRows(s, tiles.keys, tiles.keysAt(stage), columns, [&](int step) { return own.ofFirst(step); });
        block.timesRows(dp, tiles.values, tiles.valuesAt(stage), columns, [&](int step) { return own.ofSecond(step); });
        for (int64_t j = 0; j < columns / 8; ++j)
          for (int p : {0, 1}) {
            Value key = c.add(c.add(c.mul(tile, columns), f.column()), 8 * j + p);
            Index keyIndex = scores.keyIndex(key);
            Value exists = form.keys() % columns ? c.below(key, form.keys()) : Value();
            for (int h : {0, 1}) {
              Value &score = s[j * 4 + 2 * h + p];
              Place place{rows[h], key, places[h], keyIndex};
              score = probability(f, scores, place, exists, score, dp[j * 4 + 2 * h + p], statistics[h]).second;
            }
          }
        block.timesElements(sums, tiles.keys, tiles.keysAt(stage), columns,
                            [&](int step) { return f.asFactor(ArrayRef<Value>(s).slice(size_t(step) * 8, 8)); });
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
  OwnRows own(block, t.k, t.v, k, v);
  auto [first, last] = Scores(f, block.sample, block.head).queryTiles(block.firstRow, kernel.tiles.rows, columns);
  // The tiles of the first head of queries that shares the keys come first, then those of the next.
  Value tiles = c.max(c.sub(last, first), 0);
  auto headOf = [&](Value number) {
    return group == 1 ? block.head : c.add(c.mul(block.head, group), c.div(number, c.max(tiles, 1)));
  };
  auto tileOf = [&](Value number) { return c.add(first, group == 1 ? number : c.rem(number, c.max(tiles, 1))); };

  Value ring = c.at(block.memory, own.bytes());
  int64_t pairBytes = queries.bytes() + cotangents.bytes(), stageBytes = pairBytes + statisticBytes(columns);
  auto queriesAt = [&](Value stage) { return c.at(ring, c.wide(c.mul(stage, stageBytes))); };
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
        Value to = c.at(c.at(at, pairBytes + int64_t(i) * columns * 4), c.wide(c.mul(block.thread, 4)));
        kernel::CopyAsyncOp::create(c.b, to, from, uint32_t(4), valid);
      }
    });
  };
  Value rows[2] = {block.row(0), block.row(1)};
  int64_t ofKeys = sumsOf(t.k.width), ofValues = sumsOf(t.v.width);
  Values sums = block.walk(
      c.i32(0), c.mul(tiles, group), block.zeros(ofKeys + ofValues), start,
      [&](Value number, Value stage, ValueRange carried) {
        Values dk(carried.take_front(ofKeys)), dv(carried.drop_front(ofKeys));
        Value at = queriesAt(stage), dyAt = c.at(at, queries.bytes()), firstQuery = c.mul(tileOf(number), columns);
        Scores scores(f, block.sample, headOf(number));
        Index places[2] = {scores.keyIndex(rows[0]), scores.keyIndex(rows[1])};
        Values s = block.zeros(sumsOf(columns)), dp = block.zeros(sumsOf(columns));
        block.timesRows(s, queries, at, columns, [&](int step) { return own.ofFirst(step); });
        block.timesRows(dp, cotangents, dyAt, columns, [&](int step) { return own.ofSecond(step); });
        for (int64_t j = 0; j < columns / 8; ++j) {
          Value column = c.add(f.column(), 8 * j);
          Values pairs;
          for (int i : {0, 1, 2})
            pairs.push_back(c.load(VectorType::get({2}, c.b.getF32Type()),
                                   c.at(c.at(at, pairBytes + i * columns * 4), c.wide(c.mul(column, 4))), 8));
          for (int p : {0, 1}) {
            Value query = c.add(c.add(firstQuery, column), p);
            Index queryIndex = scores.queryIndex(query);
            Value exists = form.queries() % columns ? c.below(query, form.queries()) : Value();
            Values statistics;
            for (Value pair : pairs)
              statistics.push_back(c.extract(pair, p));
            for (int h : {0, 1}) {
              Value &score = s[j * 4 + 2 * h + p], &factor = dp[j * 4 + 2 * h + p];
              Place place{query, rows[h], queryIndex, places[h]};
              std::tie(score, factor) = probability(f, scores, place, exists, score, factor, statistics);
            }
          }
        }
        auto factor = [&](const Values &numbers) {
          return [&](int step) { return f.asFactor(ArrayRef<Value>(numbers).slice(size_t(step) * 8, 8)); };
        };
        block.timesElements(dv, cotangents, dyAt, columns, factor(s));
        block.timesElements(dk, queries, at, columns, factor(dp));
        dk.append(dv);
        return dk;
      });
  if (t.dk.pointer)
    block.store(t.dk, block.sample, block.head, ArrayRef<Value>(sums).take_front(ofKeys), nullptr);
  if (t.dv.pointer)
    block.store(t.dv, block.sample, block.head, ArrayRef<Value>(sums).drop_front(ofKeys), nullptr);
}
