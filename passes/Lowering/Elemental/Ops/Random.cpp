//===- Random.cpp - dropout -----------------------------------------------------===//
#include "passes/Lowering/Elemental/Ops/Models.h"

using namespace mlir;
using namespace mpc;

/// Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011, section 3.3): counter and
/// key of 32-bit words; ten rounds of two multiplications.
static std::array<Value, 4> philox(std::array<Value, 4> counter, std::array<Value, 2> key, ElementEmitter &e) {
  constexpr uint32_t m0 = 0xD2511F53, m1 = 0xCD9E8D57, w0 = 0x9E3779B9, w1 = 0xBB67AE85;
  Type i32 = e.b.getI32Type(), i64 = e.b.getI64Type();
  auto product = [&](uint32_t m, Value x) -> std::pair<Value, Value> { // high, low
    Value wide = arith::MulIOp::create(e.b, arith::ExtUIOp::create(e.b, i64, x), e.constantInt(i64, m));
    Value high = arith::TruncIOp::create(e.b, i32, arith::ShRUIOp::create(e.b, wide, e.constantInt(i64, 32)));
    return {high, arith::TruncIOp::create(e.b, i32, wide)};
  };
  auto exclusive = [&](Value a, Value b) -> Value { return arith::XOrIOp::create(e.b, a, b); };
  for (int round = 0; round < 10; ++round) {
    auto [high0, low0] = product(m0, counter[0]);
    auto [high1, low1] = product(m1, counter[2]);
    counter = {exclusive(exclusive(high1, counter[1]), key[0]), low1, exclusive(exclusive(high0, counter[3]), key[1]), low0};
    key = {arith::AddIOp::create(e.b, key[0], e.constantInt(i32, w0)), arith::AddIOp::create(e.b, key[1], e.constantInt(i32, w1))};
  }
  return counter;
}

/// Element i draws word i%4 of the block with counter (i/4, salt, step low, step high) and key seed; it is kept when
/// u/2^32 >= ratio.
static Value emit(graph::DropoutOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  Type element = graph::elementOf(op.getY());
  Value x = e.operand(op, 0, index);
  double ratio = op.getRatio().convertToDouble();
  if (ratio <= 0)
    return x;
  if (ratio >= 1)
    return e.constant(x.getType(), 0);

  Type i32 = e.b.getI32Type(), i64 = e.b.getI64Type();
  auto words = [&](Value v) -> std::pair<Value, Value> { // low, high
    Value high = arith::ShRUIOp::create(e.b, v, e.constantInt(i64, 32));
    return {arith::TruncIOp::create(e.b, i32, v), arith::TruncIOp::create(e.b, i32, high)};
  };
  IndexVector zero(graph::typeOf(op.getSeed()).getRank(), Index(0));
  auto [seedLow, seedHigh] = words(e.operand(op, 1, zero));
  zero.assign(graph::typeOf(op.getStep()).getRank(), Index(0));
  auto [stepLow, stepHigh] = words(e.operand(op, 2, zero));

  Index linear = e.linearize(index, graph::shapeOf(op.getX()));
  // Neighbours of one block, when the nest unrolls by four, find its words in the memo: the key is its counter.
  Index block = e.floorDiv(linear, 4), word = e.mod(linear, 4);
  std::array<Value, 4> drawn;
  IndexVector blockKey{block, Index(0)};
  auto memoised = [&](int64_t w) {
    blockKey[1] = Index(w);
    return e.recall(op.getSeed(), blockKey, op.getSalt());
  };
  if (memoised(0)) {
    for (int64_t w = 0; w < 4; ++w)
      drawn[w] = memoised(w);
  } else {
    Value counter = arith::TruncIOp::create(e.b, i32, e.materialize(block));
    drawn = philox({counter, e.constantInt(i32, int64_t(op.getSalt())), stepLow, stepHigh}, {seedLow, seedHigh}, e);
    for (int64_t w = 0; w < 4; ++w) {
      blockKey[1] = Index(w);
      e.remember(op.getSeed(), blockKey, op.getSalt(), drawn[w]);
    }
  }

  Value u = drawn[0];
  if (word.isConstant()) {
    u = drawn[word.constant()];
  } else {
    Value which = e.materialize(word);
    for (int64_t w = 1; w < 4; ++w)
      u = arith::SelectOp::create(e.b, arith::CmpIOp::create(e.b, arith::CmpIPredicate::eq, which, e.i64(w)), drawn[w], u);
  }
  // u/2^32 >= ratio, for integers u: u >= ceil(ratio * 2^32).
  double threshold = std::ceil(std::ldexp(ratio, 32));
  if (threshold > double(UINT32_MAX))
    return e.constant(x.getType(), 0);
  Value keep = arith::CmpIOp::create(e.b, arith::CmpIPredicate::uge, u, e.constantInt(i32, int64_t(threshold)));
  Value scaled = e.round(arith::MulFOp::create(e.b, x, e.constant(x.getType(), 1 / (1 - ratio))), element);
  return arith::SelectOp::create(e.b, keep, scaled, e.constant(x.getType(), 0));
}

void mpc::attachRandomModels(MLIRContext *context) { MPC_ATTACH_ELEMENTAL(context, graph::DropoutOp); }
