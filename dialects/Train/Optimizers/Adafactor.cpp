//===- Adafactor.cpp - second moments of rows and columns ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This is torch.optim.Adafactor (Shazeer & Stern 2018, algorithms 4 and 5, without momentum), where t counts this
// update, rms(x) is the root of the mean square of all elements of x, and parameters of two or more dimensions are
// matrices of R rows and C columns in their last two:
//   b = t^beta2_decay                                              (the paper's 1 - beta2(t))
//   row = row + b * (mean of gradient^2 over columns - row),  col = col + b * (mean over rows - col)
//   v = row * col / max(mean of row, eps1)
//   v = v + b * (gradient^2 - v)                                   (vectors and single numbers)
//   u = gradient / sqrt(max(v, eps1^2))
//   w = w * (1 - lr * weight_decay) - max(eps2, rms(w)) * min(lr, 1/sqrt(t)) / max(1, rms(u)/d) * u
// rms(w) is that before the decay. torch's default of eps1 is the eps of the parameter's type, which is fp32 here.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/Optimizers/Registry.h"
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::optimizers;

static constexpr Hyperparameter lr{"lr", 1e-2, 0, INFINITY, "largest step, relative to the size of the parameter"},
    beta2Decay{"beta2_decay", -0.8, -INFINITY, 0, "power of the number of updates by which second moments change less"},
    eps1{"eps1", 0x1p-23, 1e-18, INFINITY, "least root of a second moment"},
    eps2{"eps2", 1e-3, 0, INFINITY, "least size of a parameter, for the size of its steps"},
    threshold{"d", 1, 1, INFINITY, "root mean square of an update above which it is scaled down"},
    weightDecay{"weight_decay", 0, 0, INFINITY, "share of a parameter that a step of size lr removes"};
static constexpr const Hyperparameter *hyperparameters[] = {&lr, &beta2Decay, &eps1, &eps2, &threshold, &weightDecay};

static SmallVector<Slot> slots(const Hyperparameters &, ArrayRef<int64_t> shape) {
  if (shape.size() < 2)
    return {"variance"};
  graph::Shape row(shape), col(shape);
  row.back() = 1;
  col[col.size() - 2] = 1;
  return {{"row_var", row}, {"col_var", col}};
}

/// Returns t^beta2_decay and 1/sqrt(t) in f32. The power comes from a logarithm, whose rounding changes it by less than
/// a millionth.
static SmallVector<Value> shared(StepContext &context) {
  const graph::GraphBuilder &b = context.b;
  Value t = b.cast(b.add(context.count, 1), b.builder.getF32Type());
  Value power = b.exp(b.mul(b.log(t), context.hyper[beta2Decay]));
  return {power, b.rsqrt(t)};
}

/// Returns the factor of a mean over `count` elements. There is nothing to be computed from the mean of none.
static double share(int64_t count) { return 1 / double(std::max<int64_t>(count, 1)); }

static Value rootMeanSquare(const UpdateContext &u, Value x) {
  return u.b.mul(u.norm(x), std::sqrt(share(graph::typeOf(x).getNumElements())));
}

/// Moves a slot to `target` by the share of this update.
static Value moved(UpdateContext &u, unsigned slot, Value target) {
  return u.newSlots[slot] = u.b.add(u.slots[slot], u.b.mul(u.b.sub(target, u.slots[slot]), u.shared[0]));
}

/// Updates the second moments and returns v.
static Value secondMoment(UpdateContext &u) {
  const graph::GraphBuilder &b = u.b;
  Value square = b.square(u.gradient);
  ArrayRef<int64_t> shape = graph::typeOf(u.gradient).getShape();
  if (shape.size() < 2)
    return moved(u, 0, square);
  const int64_t columns = shape.size() - 1, rows = columns - 1;
  auto mean = [&](Value x, int64_t axis) {
    return b.mul(b.sum(x, axis, /*keepdims=*/true), share(graph::typeOf(x).getDimSize(axis)));
  };
  Value row = moved(u, 0, mean(square, columns)), col = moved(u, 1, mean(square, rows));
  Value outer = b.mul(row, col);
  return b.div(outer, b.max(mean(row, rows), u.hyper[eps1]));
}

static Value update(UpdateContext &u) {
  const graph::GraphBuilder &b = u.b;
  double least = u.hyper[eps1];
  Value step = b.mul(u.gradient, b.rsqrt(b.max(secondMoment(u), least * least)));
  Value shrunk = b.max(b.mul(rootMeanSquare(u, step), 1 / u.hyper[threshold]), 1.0);
  Value size = b.max(rootMeanSquare(u, u.parameter), u.hyper[eps2]), rate = b.min(u.lr, u.shared[1]);
  Value length = b.div(b.mul(size, rate), shrunk), kept = u.decayedParameter();
  return b.sub(kept, b.mul(step, length));
}

const Optimizer optimizers::adafactor{"adafactor",
                                      "second moments of rows and columns; decoupled weight decay",
                                      lr,
                                      weightDecay,
                                      hyperparameters,
                                      slots,
                                      shared,
                                      update};
