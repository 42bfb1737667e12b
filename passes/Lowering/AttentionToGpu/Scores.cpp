// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/AttentionToGpu/Scores.h"
#include "dialects/Kernel/Target/Blocks.h"
#include "passes/Lowering/Elemental/Dropout.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::attention;

Fragments::Fragments(Code c, ElementEmitter &e, Operation *op, const graph::AttentionForm &form, Value thread)
    : c(c), e(e), op(op), form(form), element(cast<FloatType>(graph::elementOf(form.q))) {
  lane = this->c.rem(thread, warpThreads);
  warp = this->c.div(thread, warpThreads);
}

Value Fragments::exp2(Value x) { return kernel::ApproxOp::create(c.b, c.b.getF32Type(), kernel::Approx::Exp2, x); }

void Fragments::multiply(MutableArrayRef<Value> d, ArrayRef<Value> a, ArrayRef<Value> b) {
  auto op = kernel::MmaOp::create(c.b, SmallVector<Type>(4, c.b.getF32Type()), productType(), uint32_t(16),
                                  ValueRange(a), ValueRange(b), ValueRange(ArrayRef<Value>(d)));
  llvm::copy(op->getResults(), d.begin());
}

Value Fragments::pack(Value low, Value high) {
  Value first = c.truncate(element, e.round(low, element)), second = c.truncate(element, e.round(high, element));
  return LLVM::BitcastOp::create(c.b, c.b.getI32Type(), c.vector({first, second}));
}

Values Fragments::asFactor(ArrayRef<Value> blocks) {
  Values factor;
  for (unsigned i : {0, 2, 4, 6})
    factor.push_back(pack(blocks[i], blocks[i + 1]));
  return factor;
}

Scores::Scores(Fragments &f, Value sample, Value head)
    : f(f), sample(inside(sample, f.form.samples())), head(inside(head, f.form.heads())) {}

Index Scores::inside(Value number, int64_t extent) {
  if (extent == 1)
    return Index(0);
  return f.e.opaque(f.c.wide(f.c.min(number, extent - 1)), 0, extent - 1);
}

/// Returns the element of a mask or bias, which has extent 1 where it is repeated.
Value Scores::read(Value tensor, const Place &place) {
  IndexVector index{sample, head, place.queryIndex, place.keyIndex};
  for (auto [position, extent] : llvm::zip_equal(index, graph::shapeOf(tensor)))
    if (extent == 1)
      position = Index(0);
  return f.e.element(tensor, index);
}

Value Scores::isHidden(const Place &place) {
  Code &c = f.c;
  Value hidden;
  auto hide = [&](Value also) { hidden = hidden ? c.either(hidden, also) : also; };
  if (f.form.mask)
    hide(c.opposite(read(f.form.mask, place)));
  if (f.form.before)
    hide(c.compare(arith::CmpIPredicate::slt, c.add(place.key, *f.form.before), place.query));
  if (f.form.after)
    hide(c.compare(arith::CmpIPredicate::sgt, place.key, c.add(place.query, *f.form.after)));
  return hidden;
}

std::pair<Value, Value> Scores::scoreOf(Value product, const Place &place) {
  Code &c = f.c;
  Value s = c.mul(product, f.form.scale);
  if (f.form.bias)
    s = c.add(s, read(f.form.bias, place));
  Value hidden = isHidden(place);
  if (hidden)
    s = c.select(hidden, f.form.fill.value_or(-INFINITY), s);
  return {s, hidden};
}

bool Scores::arePlain() const { return !f.form.bias && !f.form.fill && f.form.scale > 0; }

void Scores::hide(Values &numbers, Value firstQuery, int64_t queries, Value firstKey, int64_t keys,
                  llvm::function_ref<Place(size_t)> placeOf, llvm::function_ref<Value(const Place &)> exists) {
  Code &c = f.c;
  Value any;
  auto orIf = [&](Value also) { any = any ? c.either(any, also) : also; };
  auto greater = [&](Value x, Value y) { return c.compare(arith::CmpIPredicate::sgt, x, y); };
  if (f.form.mask)
    orIf(c.constantInt(c.b.getI1Type(), 1));
  if (f.form.before)
    orIf(greater(c.add(firstQuery, queries - 1), c.add(firstKey, *f.form.before)));
  if (f.form.after)
    orIf(greater(c.add(firstKey, keys - 1), c.add(firstQuery, *f.form.after)));
  bool allExist = !exists(placeOf(0));
  if (!allExist) // the last place of a tile tells
    orIf(c.opposite(exists(placeOf(numbers.size() - 1))));
  numbers = c.when(any, numbers, [&] {
    Values hidden;
    for (auto [i, number] : llvm::enumerate(numbers)) {
      Place place = placeOf(i);
      Value gone = isHidden(place), is = exists(place);
      if (is)
        gone = gone ? c.either(gone, c.opposite(is)) : c.opposite(is);
      hidden.push_back(gone ? c.select(gone, -INFINITY, number) : number);
    }
    return hidden;
  });
}

Value Scores::dropped(Value x, const Place &place) {
  if (!f.form.seed || f.form.ratio.getValueAsDouble() <= 0)
    return x;
  double ratio = f.form.ratio.getValueAsDouble();
  auto numberOf = [&](Value v) {
    return unsigned(std::distance(f.op->operand_begin(), llvm::find(f.op->getOperands(), v)));
  };
  Index linear = f.e.linearize({sample, head, place.queryIndex, place.keyIndex},
                               {f.form.samples(), f.form.heads(), f.form.queries(), f.form.keys()});
  Value keep = isKept(f.op, numberOf(f.form.seed), numberOf(f.form.step), f.form.salt.getInt(), ratio, linear, f.e);
  return f.c.select(keep, f.c.mul(x, 1 / (1 - ratio)), 0);
}

/// Returns the tiles of `extent` that hold first - down ... first + count - 1 + up, as far as these are numbers below
/// `all`; without `down` or `up` there is no bound on that side. Neither bound is beyond the sum of the extents
/// (AttentionForm::of), so nothing overflows.
std::pair<Value, Value> Scores::tiles(Value first, int64_t count, int64_t extent, std::optional<int64_t> down,
                                      std::optional<int64_t> up, int64_t all) {
  Code &c = f.c;
  Value low = c.i32(0), high = c.i32(llvm::divideCeil(all, extent));
  if (f.form.fill) // a hidden key has a score
    return {low, high};
  if (down)
    low = c.div(c.max(c.sub(first, *down), 0), extent);
  if (up) {
    Value end = c.max(c.add(first, count + *up), 0);
    high = c.min(high, c.div(c.add(end, extent - 1), extent));
  }
  return {low, high};
}

std::pair<Value, Value> Scores::keyTiles(Value first, int64_t count, int64_t extent) {
  return tiles(first, count, extent, f.form.before, f.form.after, f.form.keys());
}
std::pair<Value, Value> Scores::queryTiles(Value firstKey, int64_t count, int64_t extent) {
  // m - before <= n <= m + after says n - after <= m <= n + before.
  return tiles(firstKey, count, extent, f.form.after, f.form.before, f.form.queries());
}
