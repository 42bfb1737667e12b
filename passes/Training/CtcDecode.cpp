// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Training/CtcLoss.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

static Value iota(const GraphBuilder &b, ArrayRef<int64_t> extents, int64_t axis) {
  return b.create<IotaOp>(RankedTensorType::get(extents, b.builder.getI64Type()), axis);
}

namespace {
/// What greedy decoding decides for each frame [N, T].
struct Decisions {
  Value best;   // i64: the class with the largest score
  Value kept;   // i1: whether the class is the next label of the sequence
  Value inside; // i1: whether the sample has the frame; null if all samples have all frames
};
} // namespace

static Decisions decide(const GraphBuilder &b, const training::CtcOperands &operands, int64_t blank) {
  ArrayRef<int64_t> shape = shapeOf(operands.scores);
  const int64_t frames = shape[0], samples = shape[1];
  Value best = b.create<ArgMaxOp>(operands.scores, /*axis=*/2, /*keepdims=*/false, /*min=*/false, /*last=*/false);
  best = b.transpose(best, {1, 0});
  auto list = [&](int64_t n) { return b.builder.getDenseI64ArrayAttr({0, n}); };
  Value before = b.create<PadOp>(best, b.builder.getF64FloatAttr(double(blank)), list(1), list(-1), list(0));
  Value kept = b.both(b.compare(Predicate::ne, best, double(blank)), b.compare(Predicate::ne, best, before));
  if (!operands.inputLengths)
    return {best, kept, Value()};
  Value inside =
      b.compare(Predicate::lt, iota(b, {samples, frames}, 1), b.reshape(operands.inputLengths, {samples, 1}));
  return {best, b.both(kept, inside), inside};
}

training::CtcSequences training::ctcDecoded(const GraphBuilder &b, const CtcOperands &operands, int64_t blank) {
  auto [best, kept, inside] = decide(b, operands, blank);
  const int64_t samples = shapeOf(best)[0], frames = shapeOf(best)[1];
  // The label of a frame is label number p of the sequence, from 1 on, if p frames up to this one are kept. A maximum
  // finds it, so that nothing is written to places that depend on the data.
  Value counts = b.cast(kept, b.builder.getI64Type());
  Value upTo = b.compare(Predicate::le, iota(b, {1, frames, frames}, 2), iota(b, {1, frames, frames}, 1));
  Value number = b.sum(b.select(upTo, b.reshape(counts, {samples, 1, frames}), 0.0), {2});
  Value place = b.add(iota(b, {1, frames, 1}, 1), 1.0);
  Value found = b.both(b.reshape(kept, {samples, 1, frames}),
                       b.compare(Predicate::eq, b.reshape(number, {samples, 1, frames}), place));
  Value labels = b.largest(b.select(found, b.reshape(best, {samples, 1, frames}), -1.0), {2});
  return {labels, b.sum(counts, {1})};
}

Value training::ctcFrames(const GraphBuilder &b, const CtcOperands &operands, int64_t blank) {
  auto [best, kept, inside] = decide(b, operands, blank);
  Value labels = b.select(kept, best, double(kCtcNoLabel));
  Value isNan = b.create<IsNaNOp>(operands.scores);
  Value any = b.largest(b.cast(isNan, b.builder.getI64Type()), {2});
  Value undecided = b.compare(Predicate::ne, b.transpose(any, {1, 0}), 0.0);
  if (inside)
    undecided = b.both(undecided, inside);
  return b.select(undecided, double(kCtcUndecided), labels);
}
