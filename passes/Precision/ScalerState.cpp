#include "passes/Precision/ScalerState.h"
#include "dialects/Graph/IR/Shapes.h"
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::precision;

//===-- Scale ---------------------------------------------------------------------===//

static train::VariableOp scaleVariable(train::StepOp step, const train::Scaler &options) {
  return train::getOrCreateScalar(step, "scale", train::Role::scaler, Float32Type::get(step.getContext()),
                                  options.initScale);
}

Value precision::currentScale(OpBuilder &b, Location loc, train::StepOp step, const train::Scaler &options) {
  if (options.varies())
    return train::readVariable(b, loc, scaleVariable(step, options));
  return scalar(b, loc, b.getF32Type(), options.scales() ? options.initScale : 1.0);
}

Value precision::inverseScale(OpBuilder &b, Location loc, Value scale, const train::Scaler &options,
                              int64_t divisor) {
  if (!options.varies()) {
    double s = options.scales() ? double(float(options.initScale)) : 1.0;
    return scalar(b, loc, b.getF32Type(), 1.0 / (s * double(divisor)));
  }
  Value wide = castTo(b, loc, scale, b.getF64Type());
  if (divisor != 1)
    wide = MulOp::create(b, loc, wide, scalar(b, loc, b.getF64Type(), double(divisor)));
  Value inverse = DivOp::create(b, loc, scalar(b, loc, b.getF64Type(), 1), wide);
  return castTo(b, loc, inverse, b.getF32Type());
}

//===-- State machine ---------------------------------------------------------------===//

namespace {
/// These functions let scalar arithmetic be written as it reads.
struct Scalars {
  OpBuilder &b;
  Location loc;

  Value constant(Value like, double v) { return scalar(b, loc, elementOf(like), v); }
  Value add(Value x, double v) { return AddOp::create(b, loc, x, constant(x, v)); }
  /// Returns float(double(x) * factor): GradScaler multiplies its fp32 scale by a double.
  Value times(Value x, double factor) {
    Value wide = castTo(b, loc, x, b.getF64Type());
    return castTo(b, loc, MulOp::create(b, loc, wide, constant(wide, factor)), b.getF32Type());
  }
  Value compare(Predicate predicate, Value x, double v) {
    return CompareOp::create(b, loc, predicate, x, constant(x, v));
  }
  Value select(Value condition, Value x, Value y) { return SelectOp::create(b, loc, condition, x, y); }
};
} // namespace

/// Returns the largest power of two S from 2^-24 on with bound * S < 65504, the largest f16 number; bound is a tensor<f64>. The
/// result is exact: the loop tries the binary digits of the exponent from the highest one down, and multiplies by powers of two only.
static Value largestScaleBelow(Scalars &s, Value bound) {
  Value scale = s.constant(bound, 0x1p-24);
  for (int bit = 64; bit >= 1; bit /= 2) {
    Value larger = MulOp::create(s.b, s.loc, scale, s.constant(bound, std::ldexp(1.0, bit)));
    Value fits = s.compare(Predicate::lt, MulOp::create(s.b, s.loc, bound, larger), 65504);
    scale = s.select(fits, larger, scale);
  }
  return scale;
}

/// Assigns the scale while gradients are watched, when the watching ends, and after it; Passes.td has the rules.
static void advanceCalibration(Scalars &s, train::StepOp step, const train::Scaler &options, Value scale,
                               const ScalerSignals &signals) {
  OpBuilder &b = s.b;
  Location loc = s.loc;
  train::VariableOp countVariable =
      train::getOrCreateScalar(step, "calibrated", train::Role::scaler, b.getI32Type(), 0);
  train::VariableOp largestVariable =
      train::getOrCreateScalar(step, "gradient_max", train::Role::scaler, b.getF64Type(), 0);
  Value count = train::readVariable(b, loc, countVariable), seen = train::readVariable(b, loc, largestVariable);
  auto both = [&](Value x, Value y) -> Value { return y ? Value(AndOp::create(b, loc, x, y)) : x; };

  // Every call is a sample, even one that only accumulates; a call that overflows says nothing.
  Value watching = s.compare(Predicate::lt, count, double(options.steps));
  Value finite = NotOp::create(b, loc, IsNonFiniteOp::create(b, loc, signals.largest));
  Value unscaled = DivOp::create(b, loc, castTo(b, loc, signals.largest, b.getF64Type()), castTo(b, loc, scale, b.getF64Type()));
  Value largest = s.select(both(watching, finite), MaxOp::create(b, loc, seen, unscaled), seen);
  train::assignVariable(b, loc, largestVariable, largest);

  // An update without overflow counts once a gradient that is not zero was seen: nothing can be picked from zeros alone. The last one ends the calibration.
  Value counts = both(both(watching, signals.due), NotOp::create(b, loc, signals.overflow));
  counts = both(counts, s.compare(Predicate::gt, largest, 0));
  Value next = s.select(counts, s.add(count, 1), count);
  train::assignVariable(b, loc, countVariable, next);
  Value ends = both(counts, s.compare(Predicate::ge, next, double(options.steps)));

  Value bound = MulOp::create(b, loc, largest, s.constant(largest, options.headroom));
  Value picked = castTo(b, loc, largestScaleBelow(s, bound), b.getF32Type());
  if (options.maxScale)
    picked = MinOp::create(b, loc, picked, s.constant(picked, *options.maxScale));
  Value shrunk = s.times(scale, options.backoffFactor);
  if (options.minScale) {
    picked = MaxOp::create(b, loc, picked, s.constant(picked, *options.minScale));
    shrunk = MaxOp::create(b, loc, shrunk, s.constant(shrunk, *options.minScale));
  }
  // `overflow` implies `due`.
  Value adapted = s.select(both(watching, signals.overflow), shrunk, scale);
  train::assignVariable(b, loc, scaleVariable(step, options), s.select(ends, picked, adapted));
}

void precision::advanceScaler(OpBuilder &b, Location loc, train::StepOp step, const train::Scaler &options,
                              Value scale, const ScalerSignals &signals) {
  Scalars s{b, loc};
  Value overflow = signals.overflow, due = signals.due;
  auto assign = [&](train::VariableOp variable, Value old, Value next) {
    train::assignVariable(b, loc, variable, due ? s.select(due, next, old) : next);
  };

  train::VariableOp skipped =
      train::getOrCreateScalar(step, "skipped", train::Role::scaler, b.getI64Type(), 0);
  Value skips = train::readVariable(b, loc, skipped);
  train::assignVariable(b, loc, skipped,
                        AddOp::create(b, loc, skips, castTo(b, loc, overflow, b.getI64Type())));
  if (options.calibrates())
    advanceCalibration(s, step, options, scale, signals);
  if (options.kind != train::ScalerKind::Dynamic)
    return;

  train::VariableOp trackerVariable =
      train::getOrCreateScalar(step, "growth_tracker", train::Role::scaler, b.getI32Type(), 0);
  Value tracker = train::readVariable(b, loc, trackerVariable);
  Value counted = s.add(tracker, 1);
  Value grows = s.compare(Predicate::ge, counted, double(options.growthInterval));

  // The scale does not grow where it would leave fp32.
  Value grown = s.times(scale, options.growthFactor);
  if (options.maxScale)
    grown = MinOp::create(b, loc, grown, s.constant(grown, *options.maxScale));
  grown = s.select(IsNonFiniteOp::create(b, loc, grown), scale, grown);
  Value shrunk = s.times(scale, options.backoffFactor);
  if (options.minScale)
    shrunk = MaxOp::create(b, loc, shrunk, s.constant(shrunk, *options.minScale));

  if (options.hysteresis > 1) {
    train::VariableOp variable = train::getOrCreateScalar(step, "hysteresis", train::Role::scaler,
                                                          b.getI32Type(), double(options.hysteresis));
    Value units = train::readVariable(b, loc, variable);
    Value spent = MaxOp::create(b, loc, s.add(units, -1), s.constant(units, 0));
    shrunk = s.select(s.compare(Predicate::le, spent, 0), shrunk, scale);
    Value refilled = s.select(grows, s.constant(units, double(options.hysteresis)), units);
    assign(variable, units, s.select(overflow, spent, refilled));
  }
  Value zero = s.constant(tracker, 0);
  assign(trackerVariable, tracker, s.select(overflow, zero, s.select(grows, zero, counted)));
  assign(scaleVariable(step, options), scale, s.select(overflow, shrunk, s.select(grows, grown, scale)));
}
