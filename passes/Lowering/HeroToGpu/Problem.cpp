//===- Problem.cpp - heroes as implicit matrix products ------------------------------===//
#include "passes/Lowering/HeroToGpu/Problem.h"
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Support/Diagnostics.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::hero;
using namespace mpc::graph;

int64_t Problem::extent(Axis axis) const { return llvm::product_of(digits[unsigned(axis)]); }
Type Problem::element() const { return elementOf(hero->getResult(0)); }
Type Problem::accumulator() const { return computeType(element()); }

int Problem::storeVector(int most) const {
  const Digits &n = digits[unsigned(Axis::N)];
  int64_t last = n.back();
  int v = most;
  while (v > 1 && last % v != 0)
    v /= 2;
  return v;
}

//===-- Ranges, vectors, merging -----------------------------------------------------------===//

/// Whether some digits lead outside of [0, extent), or leave a remainder of the division.
static bool needsCheck(const Coordinate &c, const std::array<Digits, axisCount> &digits) {
  int64_t low = c.constant, high = c.constant;
  bool divides = c.constant % c.divisor == 0;
  for (const Term &t : c.terms) {
    int64_t reach = t.coefficient * (digits[unsigned(t.axis)][t.digit] - 1);
    (reach < 0 ? low : high) += reach;
    divides &= t.coefficient % c.divisor == 0;
  }
  return !divides || low < 0 || high / c.divisor >= c.extent;
}

std::optional<int64_t> mpc::hero::linearStride(const Operand &operand, Axis axis, unsigned digit) {
  int64_t stride = 0;
  for (const Coordinate &c : operand.coordinates)
    for (const Term &t : c.terms)
      if (t.axis == axis && t.digit == digit) {
        if (c.checked || c.divisor != 1)
          return std::nullopt;
        stride += t.coefficient * c.stride;
      }
  return stride;
}

/// Adjacent digits through which memory is walked in one stride become one digit; digits of extent 1 vanish.
static void mergeDigits(Operand &operand) {
  for (unsigned a = 0; a < axisCount; ++a) {
    Axis axis = Axis(a);
    Digits &digits = operand.digits[a];
    auto removeTerms = [&](unsigned digit) { // and renumbers the others
      for (Coordinate &c : operand.coordinates) {
        llvm::erase_if(c.terms, [&](const Term &t) { return t.axis == axis && t.digit == digit; });
        for (Term &t : c.terms)
          if (t.axis == axis && t.digit > digit)
            --t.digit;
      }
      digits.erase(digits.begin() + digit);
    };
    for (unsigned d = digits.size(); d-- > 0;)
      if (digits[d] == 1 && digits.size() > 1)
        removeTerms(d);
    for (unsigned d = digits.size() - 1; d-- > 0;) {
      std::optional<int64_t> outer = linearStride(operand, axis, d),
                             inner = linearStride(operand, axis, d + 1);
      if (!outer || !inner || *outer != *inner * digits[d + 1])
        continue;
      digits[d + 1] *= digits[d];
      removeTerms(d);
    }
  }
}

static void chooseVector(Operand &operand) {
  // The contiguous axis is the one of the tile's two axes whose last digit has stride 1.
  operand.contiguous = Axis::K;
  operand.vector = 1;
  for (Axis axis : {Axis::K, operand.outer}) {
    const Digits &digits = operand.digits[unsigned(axis)];
    if (linearStride(operand, axis, digits.size() - 1) != 1)
      continue;
    operand.contiguous = axis;
    int bytes = elementOf(operand.tensor).getIntOrFloatBitWidth() / 8, v = 16 / bytes;
    auto aligned = [&](int v) {
      if (digits.back() % v != 0)
        return false;
      for (const Coordinate &c : operand.coordinates) {
        if (c.checked || c.divisor != 1) {
          if (c.stride % v != 0)
            return false;
          continue;
        }
        if (c.constant * c.stride % v != 0)
          return false;
        for (const Term &t : c.terms)
          if ((t.axis != axis || t.digit + 1 != digits.size()) && t.coefficient * c.stride % v != 0)
            return false;
      }
      return true;
    };
    while (v > 1 && !aligned(v))
      v /= 2;
    operand.vector = v;
    return;
  }
}

static void finish(Operand &operand, const Problem &problem) {
  operand.digits = problem.digits;
  for (Coordinate &c : operand.coordinates)
    c.checked = needsCheck(c, problem.digits);
  mergeDigits(operand);
  chooseVector(operand);
}

Operand Problem::result() const {
  Operand result{.tensor = hero->getResult(0),
                 .outer = Axis::M,
                 .digits = digits,
                 .coordinates = c,
                 .contiguous = Axis::N,
                 .vector = 1};
  mergeDigits(result);
  return result;
}

//===-- Products ---------------------------------------------------------------------------===//

/// Sets row-major strides.
static void setStrides(MutableArrayRef<Coordinate> coordinates) {
  int64_t stride = 1;
  for (Coordinate &c : llvm::reverse(coordinates)) {
    c.stride = stride;
    stride *= c.extent;
  }
}

static void describe(MatMulOp op, Problem &p) {
  ArrayRef<int64_t> a = shapeOf(op.getA()), b = shapeOf(op.getB()), c = shapeOf(op.getResult());
  ArrayRef<int64_t> batch = c.drop_back(2);
  // Where one operand has a single matrix for all batches, the rows (columns) of the other form one matrix.
  auto isShared = [](ArrayRef<int64_t> shape) { return llvm::product_of(shape.drop_back(2)) == 1; };
  Axis batchAxis = isShared(b) ? Axis::M : isShared(a) ? Axis::N : Axis::Z;
  unsigned mDigit = batchAxis == Axis::M ? batch.size() : 0, nDigit = batchAxis == Axis::N ? batch.size() : 0;
  auto &digits = p.digits;
  llvm::append_range(digits[unsigned(batchAxis)], batch);
  if (digits[unsigned(Axis::Z)].empty())
    digits[unsigned(Axis::Z)].push_back(1);
  digits[unsigned(Axis::M)].push_back(c[c.size() - 2]);
  digits[unsigned(Axis::N)].push_back(c.back());
  digits[unsigned(Axis::K)].push_back(op.getTransposeA() ? a[a.size() - 2] : a.back());

  auto coordinates = [&](ArrayRef<int64_t> shape, Term rows, Term columns) {
    SmallVector<Coordinate, 5> result;
    size_t own = shape.size() - 2, missing = batch.size() - own;
    for (size_t d = 0; d < own; ++d) {
      Coordinate at{.terms = {}, .extent = shape[d]};
      if (shape[d] != 1)
        at.terms.push_back({batchAxis, unsigned(missing + d), 1});
      result.push_back(at);
    }
    result.push_back({.terms = {rows}, .extent = shape[shape.size() - 2]});
    result.push_back({.terms = {columns}, .extent = shape.back()});
    setStrides(result);
    return result;
  };
  Term m{Axis::M, mDigit, 1}, n{Axis::N, nDigit, 1}, k{Axis::K, 0, 1};
  p.a.tensor = op.getA();
  p.b.tensor = op.getB();
  p.a.coordinates = op.getTransposeA() ? coordinates(a, k, m) : coordinates(a, m, k);
  p.b.coordinates = op.getTransposeB() ? coordinates(b, n, k) : coordinates(b, k, n);
  p.c = coordinates(c, m, n);
}

//===-- Convolutions ---------------------------------------------------------------------------===//

namespace {

/// The tensors of a convolution, whichever of them is the result.
struct Convolution {
  ArrayRef<int64_t> x, w, y;
  Operation *op;
  unsigned spatial;
  int64_t groups;
  bool channelsLast;
  bool weightChannelsLast; ///< w is [O, kernel..., C/groups], else [O, C/groups, kernel...]

  template <typename OpT>
  Convolution(OpT op, Value x, Value w, Value y)
      : x(shapeOf(x)), w(shapeOf(w)), y(shapeOf(y)), op(op), spatial(this->x.size() - 2),
        groups(op.getGroups()), channelsLast(op.getLayout() == Layout::ChannelsLast),
        weightChannelsLast(op->hasAttr("weight_channels_last")), strides(op.getStrides()),
        dilations(op.getDilations()), padLow(op.getPadLow()) {}

  ArrayRef<int64_t> strides, dilations, padLow;
  int64_t in(unsigned i) const { return x[(channelsLast ? 1 : 2) + i]; }
  int64_t out(unsigned i) const { return y[(channelsLast ? 1 : 2) + i]; }
  int64_t kernel(unsigned i) const { return w[(weightChannelsLast ? 1 : 2) + i]; }
  int64_t channels() const { return w[weightChannelsLast ? w.size() - 1 : 1]; } ///< C/groups
  int64_t outChannels() const { return w[0] / groups; }

  SmallVector<Coordinate, 5> activation(Coordinate batch, ArrayRef<Coordinate> positions,
                                        Coordinate channel) const {
    SmallVector<Coordinate, 5> result = {batch};
    if (!channelsLast)
      result.push_back(channel);
    llvm::append_range(result, positions);
    if (channelsLast)
      result.push_back(channel);
    setStrides(result);
    return result;
  }
  SmallVector<Coordinate, 5> weights(Coordinate out, ArrayRef<Coordinate> kernel, Coordinate channel) const {
    SmallVector<Coordinate, 5> result = {out};
    if (!weightChannelsLast)
      result.push_back(channel);
    llvm::append_range(result, kernel);
    if (weightChannelsLast)
      result.push_back(channel);
    setStrides(result);
    return result;
  }
  /// Channel number `term` of the group, as a channel of the tensor.
  Coordinate grouped(Term term, int64_t perGroup) const {
    return {.terms = {{Axis::Z, 0, perGroup}, term}, .extent = groups * perGroup};
  }
};

} // namespace

static void describe(ConvOp op, Problem &p) {
  Convolution conv(op, op.getX(), op.getW(), op.getY());
  auto &[m, n, k, z] = p.digits;
  m.push_back(conv.x[0]);
  n = {conv.outChannels()};
  z = {conv.groups};
  SmallVector<Coordinate> in, out, kernel;
  unsigned d = conv.spatial;
  for (unsigned i = 0; i < d; ++i) {
    m.push_back(conv.out(i));
    k.push_back(conv.kernel(i));
    in.push_back({.terms = {{Axis::M, 1 + i, conv.strides[i]}, {Axis::K, i, conv.dilations[i]}},
                  .constant = -conv.padLow[i],
                  .extent = conv.in(i)});
    out.push_back({.terms = {{Axis::M, 1 + i, 1}}, .extent = conv.out(i)});
    kernel.push_back({.terms = {{Axis::K, i, 1}}, .extent = conv.kernel(i)});
  }
  k.push_back(conv.channels());
  Coordinate batch{.terms = {{Axis::M, 0, 1}}, .extent = conv.x[0]};
  Coordinate o = conv.grouped({Axis::N, 0, 1}, conv.outChannels());
  p.a.tensor = op.getX();
  p.b.tensor = op.getW();
  p.a.coordinates = conv.activation(batch, in, conv.grouped({Axis::K, d, 1}, conv.channels()));
  p.b.coordinates = conv.weights(o, kernel, {.terms = {{Axis::K, d, 1}}, .extent = conv.channels()});
  p.c = conv.activation(batch, out, o);
}

// With stride s, a tap whose distance to a position is not a multiple of s contributes nothing. So positions fall
// into s phases, each of which is a product of its own (z):
//   in = s q + phase - pad mod s,  kernel = s t + phase,  out = (in + pad - kernel) / s = q + pad / s - t
// Positions beyond the tensors are padding, in C too. A dilated kernel has no phases: it multiplies by the zeros.
static void describe(ConvInputGradOp op, Problem &p) {
  Convolution conv(op, op.getDx(), op.getW(), op.getDy());
  auto &[m, n, k, z] = p.digits;
  m.push_back(conv.x[0]);
  n = {conv.channels()};
  z = {conv.groups};
  SmallVector<Coordinate> in, out, kernel;
  unsigned d = conv.spatial;
  for (unsigned i = 0; i < d; ++i) {
    int64_t stride = conv.strides[i], pad = conv.padLow[i];
    if (stride > 1 && conv.dilations[i] == 1 && pad >= 0) {
      Term phase{Axis::Z, unsigned(z.size()), 1};
      z.push_back(stride);
      m.push_back(llvm::divideCeilSigned(conv.in(i) + pad % stride, stride));
      k.push_back(llvm::divideCeilSigned(conv.kernel(i), stride));
      in.push_back(
          {.terms = {{Axis::M, 1 + i, stride}, phase}, .constant = -(pad % stride), .extent = conv.in(i)});
      out.push_back({.terms = {{Axis::M, 1 + i, 1}, {Axis::K, i, -1}},
                     .constant = pad / stride,
                     .extent = conv.out(i)});
      kernel.push_back({.terms = {{Axis::K, i, stride}, phase}, .extent = conv.kernel(i)});
      continue;
    }
    m.push_back(conv.in(i));
    k.push_back(conv.kernel(i));
    in.push_back({.terms = {{Axis::M, 1 + i, 1}}, .extent = conv.in(i)});
    out.push_back({.terms = {{Axis::M, 1 + i, 1}, {Axis::K, i, -conv.dilations[i]}},
                   .constant = pad,
                   .divisor = stride,
                   .extent = conv.out(i)});
    kernel.push_back({.terms = {{Axis::K, i, 1}}, .extent = conv.kernel(i)});
  }
  k.push_back(conv.outChannels());
  Coordinate batch{.terms = {{Axis::M, 0, 1}}, .extent = conv.x[0]};
  Coordinate o = conv.grouped({Axis::K, d, 1}, conv.outChannels());
  p.a.tensor = op.getDy();
  p.b.tensor = op.getW();
  p.a.coordinates = conv.activation(batch, out, o);
  p.b.coordinates = conv.weights(o, kernel, {.terms = {{Axis::N, 0, 1}}, .extent = conv.channels()});
  p.c = conv.activation(batch, in, conv.grouped({Axis::N, 0, 1}, conv.channels()));
}

static void describe(ConvWeightGradOp op, Problem &p) {
  Convolution conv(op, op.getX(), op.getDw(), op.getDy());
  auto &[m, n, k, z] = p.digits;
  m = {conv.outChannels()};
  k.push_back(conv.x[0]);
  z = {conv.groups};
  SmallVector<Coordinate> in, out, kernel;
  unsigned d = conv.spatial;
  for (unsigned i = 0; i < d; ++i) {
    k.push_back(conv.out(i));
    n.push_back(conv.kernel(i));
    in.push_back({.terms = {{Axis::K, 1 + i, conv.strides[i]}, {Axis::N, i, conv.dilations[i]}},
                  .constant = -conv.padLow[i],
                  .extent = conv.in(i)});
    out.push_back({.terms = {{Axis::K, 1 + i, 1}}, .extent = conv.out(i)});
    kernel.push_back({.terms = {{Axis::N, i, 1}}, .extent = conv.kernel(i)});
  }
  n.push_back(conv.channels());
  Coordinate batch{.terms = {{Axis::K, 0, 1}}, .extent = conv.x[0]};
  Coordinate o = conv.grouped({Axis::M, 0, 1}, conv.outChannels());
  p.a.tensor = op.getDy();
  p.b.tensor = op.getX();
  p.a.coordinates = conv.activation(batch, out, o);
  p.b.coordinates = conv.activation(batch, in, conv.grouped({Axis::N, d, 1}, conv.channels()));
  p.c = conv.weights(o, kernel, {.terms = {{Axis::N, d, 1}}, .extent = conv.channels()});
}

//===-- Dispatches -------------------------------------------------------------------------------===//

/// Returns whether the last dimension of C is n, so that a column of C has one position there.
static bool hasColumns(const Problem &p) {
  const Coordinate &last = p.c.back();
  return p.digits[unsigned(Axis::N)].size() == 1 && last.constant == 0 && last.divisor == 1 && last.terms.size() == 1 && last.terms[0].axis == Axis::N &&
         last.terms[0].coefficient == 1;
}

static LogicalResult describeResults(Problem &p) {
  ArrayRef<int64_t> shape = shapeOf(p.hero->getResult(0));
  for (auto [number, v] : llvm::enumerate(p.dispatch.getBody().front().getTerminator()->getOperands())) {
    auto sum = v.getDefiningOp<ReduceSumOp>();
    if (!sum && typeOf(v).getNumElements() == typeOf(p.hero->getResult(0)).getNumElements()) {
      p.fullResults.push_back(number);
    } else if (sum && hasColumns(p) && shapeOf(sum.getX()) == shape && llvm::equal(sum.getAxes(), llvm::seq<int64_t>(0, int64_t(shape.size()) - 1)) &&
               computeType(elementOf(sum.getX())) == p.accumulator()) {
      p.columnSums.push_back({sum, unsigned(number)});
    } else {
      return emitErrorWithHint(v.getLoc(), "result " + Twine(number) + " of this launch has neither an element for each element of the product nor is a sum over its rows",
                               "compute it in a dispatch of its own");
    }
  }
  return success();
}

FailureOr<Problem> mpc::hero::describeHero(kernel::DispatchOp dispatch) {
  Problem p{};
  p.dispatch = dispatch;
  // The verifier of library dispatches sees to it that there is one, of inputs of the dispatch.
  p.hero = &*llvm::find_if(dispatch.getBody().front(), [](Operation &op) { return isOfKind(&op, LoopKind::Contraction); });
  llvm::TypeSwitch<Operation *>(p.hero).Case<MatMulOp, ConvOp, ConvInputGradOp, ConvWeightGradOp>(
      [&](auto op) { describe(op, p); });
  for (const Digits &digits : p.digits)
    if (llvm::product_of(digits) > INT32_MAX / 2)
      return emitErrorWithHint(p.hero->getLoc(),
                               "'" + p.hero->getName().getStringRef() + "' op has an axis of " + Twine(llvm::product_of(digits)) +
                                   " elements, more than " + Twine(INT32_MAX / 2) + ": kernels count them in 32 bits",
                               "make the batch smaller, or compile for the host");
  if (failed(describeResults(p)))
    return failure();
  p.a.outer = Axis::M;
  p.b.outer = Axis::N;
  for (Coordinate &c : p.c)
    c.checked = needsCheck(c, p.digits);
  finish(p.a, p);
  finish(p.b, p);
  return p;
}
