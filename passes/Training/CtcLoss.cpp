//===- CtcLoss.cpp - CTC as a scan over the frames ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The states of a sample are its target with blanks around each label: l' = (-, l1, -, l2, -, ..., lS, -). With the
// log-probabilities y, Graves et al. 2006, eq. 5 to 8, say in log space
//
//   z_t(s)     = log(e^a(s) + e^a(s-1) + [l'(s) is no blank and not l'(s-2)] e^a(s-2)),  a = alpha_t-1
//   alpha_t(s) = z_t(s) + y_t(l'(s))
//   loss       = -log(e^alpha_T(2l) + e^alpha_T(2l-1))                        for a target of length l
//
// and an alpha before the first frame that is 0 for state 0 and log(0) elsewhere makes the first frame like the others.
//
// The gradient. Let g_t(s) be the probability that a path is in state s at frame t, given that it spells the target:
// -g_t(s) is the derivative of the loss by y_t(l'(s)). At the end it is the share of the two last states, and of the
// paths in state s + k at frame t the share e^(alpha_t-1(s) - z_t(s+k)) comes from s, so
//
//   g_t-1(s) = sum over k = 0, 1, 2 of e^(alpha_t-1(s) - z_t(s+k)) g_t(s+k)
//
// with the bracket of s+2 as a factor for k = 2. The gradient that graph.scan has of alpha's recursion are the same
// numbers, none of which is above 1. But it shifts what it has just computed, which takes five kernels for a frame. The
// sum above shifts what is read alone, so that two frames are one kernel, and it keeps two numbers of a state, not
// five.
//
//===----------------------------------------------------------------------===//
#include "passes/Training/CtcLoss.h"
#include "dialects/Graph/IR/Storage.h"
#include <limits>
#include <numeric>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::training;

/// The logarithm of 0. It is finite, so that differences of it are no NaN. Log-probabilities that are added to it
/// vanish in its rounding, and 3e8 of them that are itself do not overflow.
static constexpr double kLogZero = -1e30;

/// Takes the place of the log-probabilities of frames behind a sample's last one, which change nothing. A
/// log-probability is at most 0, but for its rounding.
static constexpr double kOutside = 1;

/// Shifts the last dimension of x [N, L] to higher indices, or for a negative number to lower ones, and fills up.
static Value shifted(const GraphBuilder &b, Value x, int64_t by, double fill) {
  auto list = [&](int64_t n) { return b.builder.getDenseI64ArrayAttr({0, n}); };
  return b.create<PadOp>(x, b.builder.getF64FloatAttr(fill), list(by), list(-by), list(0));
}

static Value isOutside(const GraphBuilder &b, Value y) { return b.compare(Predicate::gt, y, kOutside / 2); }

namespace {
/// Holds a tensor [T/2, N, L] of the frames 0, 2, 4, ... and one of the frames 1, 3, 5, ... An iteration of the scans
/// has two frames: what it carries is copied once, which costs as much as a frame.
struct Frames {
  Value even, odd;
};

/// Builds the losses of one batch.
class Ctc {
public:
  Ctc(const GraphBuilder &b, const CtcOperands &operands, int64_t blank)
      : b(b), operands(operands), blank(double(blank)), frames(shapeOf(operands.scores)[0]),
        samples(shapeOf(operands.scores)[1]), classes(shapeOf(operands.scores)[2]) {}
  Value build(bool zeroInfinity, bool differentiated);

private:
  void findStates();
  Frames logProbabilities();
  /// Carries alpha over the frames. Returns the last alpha, and z of all frames if `all` asks for it.
  std::pair<Value, Frames> forward(const Frames &y, bool all);
  /// Carries g over the frames from the last to the first one. Returns g of all frames.
  Frames backward(const Frames &y, const Frames &z, Value last);

  Value iota(ArrayRef<int64_t> extents, int64_t axis) const {
    return b.create<IotaOp>(RankedTensorType::get(extents, b.builder.getI64Type()), axis);
  }

  const GraphBuilder &b;
  const CtcOperands &operands;
  double blank;
  int64_t frames, samples, classes, states = 0;
  Value lengths;    // [N, 1]
  Value state;      // [N, L]: s
  Value extended;   // [N, L]: l'(s)
  Value mayComeBy2; // [N, L] i1: the bracket
  Value first;      // [N, L]: alpha before the first frame
};
} // namespace

void Ctc::findStates() {
  const int64_t most = shapeOf(operands.targets)[1];
  // Further blanks at the end change nothing. With them an iteration's slice is where tensors start, so no kernel has
  // to align it.
  const int64_t unit = kTensorAlignment / 4, multiple = unit / std::gcd(unit, samples);
  states = (2 * most + 1 + multiple - 1) / multiple * multiple;
  lengths = b.reshape(operands.targetLengths, {samples, 1});
  // Blanks take the places behind the end of a target, where the data may hold anything.
  Value counts = b.compare(Predicate::lt, iota({samples, most}, 1), lengths);
  Value labels = b.select(counts, operands.targets, blank);
  auto list = [&](int64_t n) { return b.builder.getDenseI64ArrayAttr({0, n}); };
  extended = b.create<PadOp>(labels, b.builder.getF64FloatAttr(blank), list(1), list(states - 2 * most), list(1));
  Value isLabel = b.compare(Predicate::ne, extended, blank);
  mayComeBy2 = b.both(isLabel, b.compare(Predicate::ne, extended, shifted(b, extended, 2, blank)));
  state = iota({samples, states}, 1);
  auto type = RankedTensorType::get({samples, states}, b.builder.getF32Type());
  first = b.select(b.compare(Predicate::eq, state, 0.0), 0.0, b.splat(type, kLogZero));
}

/// Returns y of the states, kOutside for frames that a sample does not have. The number of frames becomes even.
Frames Ctc::logProbabilities() {
  Value y = b.create<LogSoftmaxOp>(operands.scores, /*axis=*/2);
  Value index = b.add(extended, b.mul(iota({samples, 1}, 0), double(classes)));
  y = b.create<GatherOp>(b.reshape(y, {frames, samples * classes}), index, /*axis=*/1);
  y = b.select(b.compare(Predicate::lt, y, kLogZero), kLogZero, y); // a score may be -infinity; NaN stays
  if (operands.inputLengths) {
    Value inside = b.compare(Predicate::lt, iota({frames, 1, 1}, 0), b.reshape(operands.inputLengths, {1, samples, 1}));
    y = b.select(inside, y, kOutside);
  }
  if (frames % 2 == 1) {
    auto list = [&](int64_t n) { return b.builder.getDenseI64ArrayAttr({n, 0, 0}); };
    y = b.create<PadOp>(y, b.builder.getF64FloatAttr(kOutside), list(0), list(1), list(0));
    ++frames;
  }
  auto every2nd = [&](int64_t from) { return b.slice(y, {from, 0, 0}, {frames / 2, samples, states}, {2, 1, 1}); };
  Value even = every2nd(0);
  return {even, every2nd(1)};
}

/// Returns z, and alpha behind the frame.
static std::pair<Value, Value> forwardFrame(const GraphBuilder &b, Value alpha, Value mayComeBy2, Value y) {
  Value one = shifted(b, alpha, 1, kLogZero);
  Value two = b.select(mayComeBy2, shifted(b, alpha, 2, kLogZero), kLogZero);
  Value m = b.max(b.max(alpha, one), two);
  Value sum = b.exp(b.sub(alpha, m));
  sum = b.add(sum, b.exp(b.sub(one, m)));
  sum = b.add(sum, b.exp(b.sub(two, m)));
  Value z = b.add(m, b.log(sum));
  return {z, b.select(isOutside(b, y), alpha, b.add(z, y))};
}

/// Returns g before the frame from g behind it. `alpha` lies before the frame.
static Value backwardFrame(const GraphBuilder &b, Value g, Value mayComeBy2, Value y, Value z, Value alpha) {
  Value sum = b.mul(g, b.exp(b.sub(alpha, z)));
  // Where a path may not go, the difference may be large: nothing may overflow there.
  auto neighbour = [&](int64_t k) {
    Value share = b.exp(b.min(b.sub(alpha, shifted(b, z, -k, 0)), 0.0));
    return b.mul(shifted(b, g, -k, 0), share);
  };
  sum = b.add(sum, neighbour(1));
  sum = b.add(sum, b.select(shifted(b, mayComeBy2, -2, 0), neighbour(2), 0.0));
  return b.select(isOutside(b, y), g, sum);
}

std::pair<Value, Frames> Ctc::forward(const Frames &y, bool all) {
  SmallVector<Type> stacks(all ? 2 : 0, y.even.getType());
  auto scan = b.create<ScanOp>(frames / 2, /*reverse=*/false, first, mayComeBy2, ValueRange{y.even, y.odd}, stacks);
  Block &body = scan.getBlock();
  OpBuilder inner = OpBuilder::atBlockEnd(&body);
  GraphBuilder f(inner, b.loc);
  Value alpha = body.getArgument(0), by2 = body.getArgument(1);
  auto [even, between] = forwardFrame(f, alpha, by2, body.getArgument(2));
  auto [odd, next] = forwardFrame(f, between, by2, body.getArgument(3));
  f.create<ScanYieldOp>(all ? SmallVector<Value>{next, even, odd} : SmallVector<Value>{next});
  return {scan.getResult(0), all ? Frames{scan.getResult(1), scan.getResult(2)} : Frames()};
}

Frames Ctc::backward(const Frames &y, const Frames &z, Value last) {
  // alpha before the even frames: that behind the odd ones, and the first one in front. It is not read where the frame
  // is outside.
  auto moved = [&](Value x, int64_t by, Value end) {
    auto list = [&](int64_t n) { return b.builder.getDenseI64ArrayAttr({n, 0, 0}); };
    x = b.create<PadOp>(x, b.builder.getF64FloatAttr(0), list(by), list(-by), list(0));
    Value isEnd = b.compare(Predicate::eq, iota({frames / 2, 1, 1}, 0), by > 0 ? 0.0 : double(frames / 2 - 1));
    return b.select(isEnd, b.reshape(end, {1, samples, states}), x);
  };
  Value alphas = moved(b.add(z.odd, y.odd), 1, first);
  auto scan =
      b.create<ScanOp>(frames / 2, /*reverse=*/true, last, mayComeBy2, ValueRange{y.even, y.odd, z.even, z.odd, alphas},
                       SmallVector<Type>(2, y.even.getType()));
  Block &body = scan.getBlock();
  OpBuilder inner = OpBuilder::atBlockEnd(&body);
  GraphBuilder f(inner, b.loc);
  Value g = body.getArgument(0), by2 = body.getArgument(1);
  auto frame = body.getArguments().drop_front(2);
  Value between = f.add(frame[2], frame[0]); // alpha
  Value even = backwardFrame(f, g, by2, frame[1], frame[3], between);
  Value before = backwardFrame(f, even, by2, frame[0], frame[2], frame[4]);
  f.create<ScanYieldOp>(ValueRange{before, even, before});
  return {scan.getResult(1), moved(scan.getResult(2), -1, last)};
}

Value Ctc::build(bool zeroInfinity, bool differentiated) {
  findStates();
  Frames y = logProbabilities();
  Frames fixed = y;
  if (differentiated)
    for (Value *half : {&fixed.even, &fixed.odd})
      *half = b.create<StopGradientOp>(*half);
  auto [alpha, z] = forward(fixed, differentiated);

  // The last two states of each sample; an empty target has one.
  Value end = b.mul(lengths, 2.0);
  Value last = b.compare(Predicate::eq, state, end), before = b.compare(Predicate::eq, state, b.sub(end, 1.0));
  Value isEnd = b.either(last, before), ends = b.select(isEnd, alpha, kLogZero);
  Value m = b.largest(ends, {1}, /*keepdims=*/true), terms = b.exp(b.sub(ends, m));
  Value sum = b.sum(terms, {1}, /*keepdims=*/true);
  Value total = b.reshape(b.add(m, b.log(sum)), {samples}), losses = b.neg(total);
  if (differentiated) {
    // The sum of g y has the derivative that the loss has, and its value is taken away again.
    Frames g = backward(fixed, z, b.select(isEnd, b.div(terms, sum), 0.0));
    Value even = b.mul(y.even, b.create<StopGradientOp>(g.even));
    Value odd = b.mul(y.odd, b.create<StopGradientOp>(g.odd));
    Value carrier = b.sum(b.add(even, odd), {0, 2});
    losses = b.sub(losses, b.sub(carrier, b.create<StopGradientOp>(carrier)));
  }

  Value impossible = b.compare(Predicate::lt, total, kLogZero / 2);
  if (zeroInfinity)
    return b.select(impossible, 0.0, losses);
  // A factor makes the gradients infinite too, so that such a step updates nothing.
  Value one = b.splat(typeOf(losses), 1);
  return b.mul(losses, b.select(impossible, std::numeric_limits<double>::infinity(), one));
}

Value training::ctcLosses(const GraphBuilder &b, const CtcOperands &operands, int64_t blank, bool zeroInfinity,
                          bool differentiated) {
  return Ctc(b, operands, blank).build(zeroInfinity, differentiated);
}
