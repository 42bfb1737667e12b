//===- Pool.cpp - elements of pooling, of depthwise convolutions, and of their gradients ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradients are in gather form: an element of dx is a sum over the windows that cover it, so no two threads
// write one address, and the order of the sum is fixed.
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/Elemental/Ops/Models.h"

using namespace mlir;
using namespace mpc;

namespace {
/// One spatial dimension of a window: output position o covers the inputs o*stride - padLow + k*dilation.
struct WindowDim {
  int64_t axis, in, out, kernel, stride, dilation, padLow, padHigh;
  int64_t extent() const { return dilation * (kernel - 1) + 1; }
  /// The number of windows that may cover one input.
  int64_t covering() const { return (extent() + stride - 1) / stride; }
};
using Window = llvm::SmallVector<WindowDim, 3>;
using Values = llvm::SmallVector<Value>;
} // namespace

/// Windows up to this size are unrolled, so that a loop around them can be vectorised. Those of depthwise convolutions
/// are what a network's time goes to, so more of them are: up to 7 x 7 (mostUnrolledTaps).
constexpr int64_t unrollLimit = 16;

template <typename OpT>
static Window windowOf(OpT op, Value in, Value out) {
  Window window;
  int64_t first = graph::spatialAxis(op.getLayout());
  for (size_t i = 0; i < op.getKernel().size(); ++i) {
    int64_t axis = first + i;
    window.push_back({axis, graph::shapeOf(in)[axis], graph::shapeOf(out)[axis], op.getKernel()[i], op.getStrides()[i],
                      op.getDilations()[i], op.getPadLow()[i], op.getPadHigh()[i]});
  }
  return window;
}

/// Runs `body` for every position in the box of `extents`, in row-major order: unrolled with constant
/// positions, or in loops.
static Values forEach(ArrayRef<int64_t> extents, ArrayRef<Value> init, ElementEmitter &e,
                      llvm::function_ref<Values(ArrayRef<Index>, ArrayRef<Value>)> body,
                      int64_t unrollLimit = ::unrollLimit) {
  int64_t count = 1;
  for (int64_t n : extents)
    count *= n;
  if (count <= unrollLimit) {
    Values carried(init);
    for (int64_t i = 0; i < count; ++i) {
      IndexVector at(extents.size());
      int64_t rest = i;
      for (size_t d = extents.size(); d-- > 0; rest /= extents[d])
        at[d] = Index(rest % extents[d]);
      carried = body(at, carried);
    }
    return carried;
  }
  IndexVector at;
  std::function<Values(ValueRange)> nest = [&](ValueRange carried) -> Values {
    if (at.size() == extents.size())
      return body(at, Values(carried));
    int64_t n = extents[at.size()];
    return e.loop(n, carried, [&](Value iv, ValueRange inner) {
      at.push_back(e.opaque(iv, 0, n - 1));
      Values next = nest(inner);
      at.pop_back();
      return next;
    });
  };
  return nest(Values(init));
}

/// Returns i clamped into [0, n). `valid` accumulates whether it was inside, and `never` whether it cannot be inside.
static Index inside(ElementEmitter &e, const Index &i, int64_t n, Value &valid, bool &never) {
  bool no;
  valid = e.both(valid, e.inBounds(i, 0, n, no));
  never |= no;
  return e.clamp(i, 0, n - 1);
}

//===-- Forward -------------------------------------------------------------------===//

/// The input's index for position k of the window at `index`.
static IndexVector tap(ElementEmitter &e, const Window &window, ArrayRef<Index> index, ArrayRef<Index> k, Value &valid,
                       bool &never) {
  IndexVector x(index);
  for (auto [w, position] : llvm::zip_equal(window, k))
    x[w.axis] = inside(e, index[w.axis] * w.stride + position * w.dilation - Index(w.padLow), w.in, valid, never);
  return x;
}
static graph::Shape kernelOf(const Window &window) {
  graph::Shape kernel;
  for (const WindowDim &w : window)
    kernel.push_back(w.kernel);
  return kernel;
}

/// The loop carries the best element, its position, and whether there was an element at all, since a window
/// may begin with padding.
static Value emit(graph::MaxPoolOp op, unsigned result, ArrayRef<Index> index, ElementEmitter &e) {
  Window window = windowOf(op, op.getX(), op.getY());
  graph::Shape kernel = kernelOf(window);
  Type element = graph::elementOf(op.getX()), type = ElementEmitter::registerType(element), i1 = e.b.getI1Type(),
       i16 = e.b.getI16Type();
  Value no = e.constantInt(i1, 0), yes = e.constantInt(i1, 1);
  Values init = {e.constant(type, 0), e.constantInt(i16, 0), no};
  Values best = forEach(kernel, init, e, [&](ArrayRef<Index> k, ArrayRef<Value> carried) -> Values {
    Value valid;
    bool never = false;
    IndexVector at = tap(e, window, index, k, valid, never);
    if (never)
      return Values(carried);
    Value x = e.operand(op, 0, at), beats;
    if (isa<FloatType>(type)) { // greater than the best, or a NaN where the best is a number
      beats = e.compare(arith::CmpFPredicate::UGT, x, carried[0]);
      Value ordered = e.compare(arith::CmpFPredicate::ORD, carried[0], carried[0]);
      beats = e.both(beats, ordered);
    } else {
      auto greater = element.isUnsignedInteger() ? arith::CmpIPredicate::ugt : arith::CmpIPredicate::sgt;
      beats = e.compare(greater, x, carried[0]);
    }
    Value position = e.truncate(i16, e.materialize(e.linearize(k, kernel)));
    if (carried[2] == no && !valid)
      return {x, position, yes};
    if (carried[2] != yes)
      beats = e.either(beats, e.opposite(carried[2]));
    beats = e.both(beats, valid);
    Value found = carried[2] == yes || !valid ? yes : e.either(carried[2], valid);
    return {e.select(beats, x, carried[0]), e.select(beats, position, carried[1]), found};
  });
  e.define(op->getResult(1 - result), index, best[1 - result]);
  return best[result];
}

/// The number of elements that the divisor of window `index` counts: those inside the input, or those inside
/// the padding too.
static Value divisor(ElementEmitter &e, const Window &window, ArrayRef<Index> index, bool includePad, Type type) {
  int64_t fixed = 1;
  Value product;
  Type i32 = e.b.getI32Type();
  for (const WindowDim &w : window) {
    Index begin = index[w.axis] * w.stride;
    int64_t low = includePad ? 0 : w.padLow, high = w.padLow + w.in + (includePad ? w.padHigh : 0);
    int64_t always = 0;
    Value some;
    for (int64_t k = 0; k < w.kernel; ++k) {
      bool never;
      Value counts = e.inBounds(begin + Index(k * w.dilation), low, high, never);
      if (counts) {
        counts = e.zeroExtend(i32, counts);
        some = some ? e.add(some, counts) : counts;
      } else {
        always += !never;
      }
    }
    if (!some) {
      fixed *= always;
      continue;
    }
    some = e.add(some, e.constantInt(i32, always));
    product = product ? e.mul(product, some) : some;
  }
  if (!product)
    return e.constant(type, std::max<int64_t>(fixed, 1));
  product = e.mul(product, e.constantInt(i32, fixed));
  product = e.max(product, e.constantInt(i32, 1)); // a window of padding alone gives 0/1
  return e.toFloat(type, product);
}

static Value emit(graph::AvgPoolOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  Window window = windowOf(op, op.getX(), op.getY());
  Type element = graph::elementOf(op.getX()), type = ElementEmitter::registerType(element);
  Value zero = e.constant(type, 0);
  Values sum = forEach(kernelOf(window), zero, e, [&](ArrayRef<Index> k, ArrayRef<Value> carried) -> Values {
    Value valid;
    bool never = false;
    IndexVector at = tap(e, window, index, k, valid, never);
    if (never)
      return Values(carried);
    Value x = e.operand(op, 0, at);
    if (valid)
      x = e.select(valid, x, zero);
    return {e.add(carried[0], x)};
  });
  Value mean = e.div(sum[0], divisor(e, window, index, op.getCountIncludePad(), type));
  return e.round(mean, element);
}

//===-- Gradients -------------------------------------------------------------------===//

/// Calls `step(window index, position in the window, valid, sum so far)` for the windows that cover the input at
/// `index`, where `valid` is null or says whether there is such a window, and returns the last sum. Along a dimension
/// these are the windows o = floor((i + padLow)/stride) - t for t = 0, 1, ...; the position is then
/// ((i + padLow) mod stride + t*stride)/dilation.
static Value overWindows(ElementEmitter &e, const Window &window, ArrayRef<Index> index, Type type,
                         llvm::function_ref<Value(ArrayRef<Index>, ArrayRef<Index>, Value valid, Value sum)> step,
                         int64_t unrollLimit = ::unrollLimit) {
  graph::Shape extents;
  IndexVector last, phase;
  for (const WindowDim &w : window) {
    extents.push_back(w.covering());
    last.push_back(e.floorDiv(index[w.axis] + Index(w.padLow), w.stride));
    phase.push_back(e.mod(index[w.axis] + Index(w.padLow), w.stride));
  }
  Value zero = e.constant(type, 0);
  auto body = [&](ArrayRef<Index> t, ArrayRef<Value> carried) -> Values {
    IndexVector o(index), k;
    Value valid;
    bool never = false;
    for (auto [d, w] : llvm::enumerate(window)) {
      Index at = inside(e, phase[d] + t[d] * w.stride, w.extent(), valid, never);
      bool no;
      valid = e.both(valid, e.inBounds(e.mod(at, w.dilation), 0, 1, no)); // false between two taps of a dilated window
      never |= no;
      k.push_back(e.floorDiv(at, w.dilation));
      o[w.axis] = inside(e, last[d] - t[d], w.out, valid, never);
    }
    if (never)
      return Values(carried);
    return {step(o, k, valid, carried[0])};
  };
  return forEach(extents, zero, e, body, unrollLimit)[0];
}

/// Sums `contribution(window index, position in the window)` over the windows that cover the input at `index`.
static Value sumOverWindows(ElementEmitter &e, const Window &window, ArrayRef<Index> index, Type type,
                            llvm::function_ref<Value(ArrayRef<Index>, ArrayRef<Index>)> contribution) {
  Value zero = e.constant(type, 0);
  return overWindows(e, window, index, type, [&](ArrayRef<Index> o, ArrayRef<Index> k, Value valid, Value sum) {
    Value term = contribution(o, k);
    if (valid)
      term = e.select(valid, term, zero);
    return e.add(sum, term);
  });
}

static Value emit(graph::MaxPoolGradOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  Window window = windowOf(op, op.getDx(), op.getDy());
  graph::Shape kernel = kernelOf(window);
  Type element = graph::elementOf(op.getDx()), type = ElementEmitter::registerType(element);
  Value sum = sumOverWindows(e, window, index, type, [&](ArrayRef<Index> o, ArrayRef<Index> k) -> Value {
    Value position = e.truncate(e.b.getI16Type(), e.materialize(e.linearize(k, kernel)));
    Value match = e.equal(e.operand(op, 1, o), position);
    return e.select(match, e.operand(op, 0, o), e.constant(type, 0));
  });
  return e.round(sum, element);
}

static Value emit(graph::AvgPoolGradOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  Window window = windowOf(op, op.getDx(), op.getDy());
  Type element = graph::elementOf(op.getDx()), type = ElementEmitter::registerType(element);
  Value sum = sumOverWindows(e, window, index, type, [&](ArrayRef<Index> o, ArrayRef<Index>) -> Value {
    Value count = divisor(e, window, o, op.getCountIncludePad(), type);
    return e.div(e.operand(op, 0, o), count);
  });
  return e.round(sum, element);
}

//===-- Depthwise convolutions -----------------------------------------------------------===//

/// Returns the sum with the product of an activation at `at` and the weight at position k of the window. Beside the
/// tensor there is no product, so that an infinite weight times padding is no NaN.
template <typename OpT>
static Value addProduct(OpT op, ArrayRef<Index> at, ArrayRef<Index> k, Value valid, Value sum, ElementEmitter &e) {
  IndexVector weight(k);
  weight.push_back(at[graph::channelAxis(op.getLayout(), int64_t(at.size()))]);
  Value next = e.fma(e.operand(op, 0, at), e.operand(op, 1, weight), sum);
  return valid ? e.select(valid, next, sum) : next;
}

static Value emit(graph::DepthwiseConvOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  Window window = windowOf(op, op.getX(), op.getY());
  Type element = graph::elementOf(op.getX()), type = ElementEmitter::registerType(element);
  auto body = [&](ArrayRef<Index> k, ArrayRef<Value> carried) -> Values {
    Value valid;
    bool never = false;
    IndexVector at = tap(e, window, index, k, valid, never);
    return never ? Values(carried) : Values{addProduct(op, at, k, valid, carried[0], e)};
  };
  return e.round(forEach(kernelOf(window), e.constant(type, 0), e, body, mostUnrolledTaps)[0], element);
}

static Value emit(graph::DepthwiseInputGradOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  Window window = windowOf(op, op.getDx(), op.getDy());
  Type element = graph::elementOf(op.getDx()), type = ElementEmitter::registerType(element);
  auto step = [&](ArrayRef<Index> o, ArrayRef<Index> k, Value valid, Value sum) {
    return addProduct(op, o, k, valid, sum, e);
  };
  return e.round(overWindows(e, window, index, type, step, mostUnrolledTaps), element);
}

#define ATTACH(OP) MPC_ATTACH_ELEMENTAL(context, graph::OP)
void mpc::attachPoolModels(MLIRContext *context) {
  ATTACH(MaxPoolOp), ATTACH(MaxPoolGradOp), ATTACH(AvgPoolOp), ATTACH(AvgPoolGradOp);
  ATTACH(DepthwiseConvOp), ATTACH(DepthwiseInputGradOp);
}
