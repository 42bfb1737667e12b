// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Precision/ScalerState.h"
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

Value precision::currentScale(const GraphBuilder &b, train::StepOp step, const train::Scaler &options) {
  if (options.varies())
    return train::readVariable(b.builder, b.loc, scaleVariable(step, options));
  return b.constant(b.builder.getF32Type(), options.scales() ? options.initScale : 1.0);
}

Value precision::inverseScale(const GraphBuilder &b, Value scale, const train::Scaler &options, int64_t divisor) {
  Type f32 = b.builder.getF32Type();
  if (!options.varies()) {
    double s = options.scales() ? double(float(options.initScale)) : 1.0;
    return b.constant(f32, 1.0 / (s * double(divisor)));
  }
  Value wide = b.mul(b.cast(scale, b.builder.getF64Type()), double(divisor));
  return b.cast(b.div(1, wide), f32);
}

//===-- State machine ---------------------------------------------------------------===//

/// Returns float(double(x) * factor): GradScaler multiplies its fp32 scale by a double.
static Value times(const GraphBuilder &b, Value x, double factor) {
  return b.cast(b.mul(b.cast(x, b.builder.getF64Type()), factor), b.builder.getF32Type());
}

/// Returns the largest power of two S from 2^-24 on with bound * S < 65504, the largest f16 number; bound is a
/// tensor<f64>. The result is exact: the loop tries the binary digits of the exponent from the highest one down, and
/// multiplies by powers of two only.
static Value largestScaleBelow(const GraphBuilder &b, Value bound) {
  Value scale = b.constant(bound, 0x1p-24);
  for (int bit = 64; bit >= 1; bit /= 2) {
    Value larger = b.mul(scale, std::ldexp(1.0, bit));
    Value fits = b.compare(Predicate::lt, b.mul(bound, larger), 65504);
    scale = b.select(fits, larger, scale);
  }
  return scale;
}

/// Assigns the scale while gradients are watched, when the watching ends, and after it; Passes.td has the rules.
static void advanceCalibration(const GraphBuilder &b, train::StepOp step, const train::Scaler &options, Value scale,
                               const ScalerSignals &signals) {
  OpBuilder &builder = b.builder;
  Location loc = b.loc;
  Type f64 = builder.getF64Type();
  train::VariableOp countVariable =
      train::getOrCreateScalar(step, "calibrated", train::Role::scaler, builder.getI32Type(), 0);
  train::VariableOp largestVariable = train::getOrCreateScalar(step, "gradient_max", train::Role::scaler, f64, 0);
  Value count = train::readVariable(builder, loc, countVariable),
        seen = train::readVariable(builder, loc, largestVariable);

  // Every call is a sample, even one that only accumulates; a call that overflows says nothing.
  Value watching = b.compare(Predicate::lt, count, double(options.steps));
  Value finite = b.opposite(b.isNonFinite(signals.largest));
  Value wideScale = b.cast(scale, f64), unscaled = b.div(b.cast(signals.largest, f64), wideScale);
  Value larger = b.max(seen, unscaled), largest = b.select(b.both(watching, finite), larger, seen);
  train::assignVariable(builder, loc, largestVariable, largest);

  // An update without overflow counts once a gradient that is not zero was seen: nothing can be picked from zeros
  // alone. The last one ends the calibration.
  Value fine = b.opposite(signals.overflow),
        counts = b.both(signals.due ? b.both(watching, signals.due) : watching, fine);
  counts = b.both(counts, b.compare(Predicate::gt, largest, 0));
  Value next = b.select(counts, b.add(count, 1), count);
  train::assignVariable(builder, loc, countVariable, next);
  Value ends = b.both(counts, b.compare(Predicate::ge, next, double(options.steps)));

  Value bound = b.mul(largest, options.headroom);
  Value picked = b.cast(largestScaleBelow(b, bound), builder.getF32Type());
  if (options.maxScale)
    picked = b.min(picked, *options.maxScale);
  Value shrunk = times(b, scale, options.backoffFactor);
  if (options.minScale) {
    picked = b.max(picked, *options.minScale);
    shrunk = b.max(shrunk, *options.minScale);
  }
  // `overflow` implies `due`.
  Value adapted = b.select(b.both(watching, signals.overflow), shrunk, scale);
  train::assignVariable(builder, loc, scaleVariable(step, options), b.select(ends, picked, adapted));
}

void precision::advanceScaler(const GraphBuilder &b, train::StepOp step, const train::Scaler &options, Value scale,
                              const ScalerSignals &signals) {
  OpBuilder &builder = b.builder;
  Location loc = b.loc;
  Value overflow = signals.overflow, due = signals.due;
  auto assign = [&](train::VariableOp variable, Value old, Value next) {
    train::assignVariable(builder, loc, variable, due ? b.select(due, next, old) : next);
  };

  train::VariableOp skipped = train::getOrCreateScalar(step, "skipped", train::Role::scaler, builder.getI64Type(), 0);
  Value skips = train::readVariable(builder, loc, skipped);
  train::assignVariable(builder, loc, skipped, b.add(skips, b.cast(overflow, builder.getI64Type())));
  if (options.calibrates())
    advanceCalibration(b, step, options, scale, signals);
  if (options.kind != train::ScalerKind::Dynamic)
    return;

  train::VariableOp trackerVariable =
      train::getOrCreateScalar(step, "growth_tracker", train::Role::scaler, builder.getI32Type(), 0);
  Value tracker = train::readVariable(builder, loc, trackerVariable);
  Value counted = b.add(tracker, 1);
  Value grows = b.compare(Predicate::ge, counted, double(options.growthInterval));

  // The scale does not grow where it would leave fp32.
  Value grown = times(b, scale, options.growthFactor);
  if (options.maxScale)
    grown = b.min(grown, *options.maxScale);
  grown = b.select(b.isNonFinite(grown), scale, grown);
  Value shrunk = times(b, scale, options.backoffFactor);
  if (options.minScale)
    shrunk = b.max(shrunk, *options.minScale);

  if (options.hysteresis > 1) {
    train::VariableOp variable = train::getOrCreateScalar(step, "hysteresis", train::Role::scaler, builder.getI32Type(),
                                                          double(options.hysteresis));
    Value units = train::readVariable(builder, loc, variable), none = b.constant(units, 0);
    Value spent = b.max(b.add(units, -1), none);
    shrunk = b.select(b.compare(Predicate::le, spent, 0), shrunk, scale);
    Value refilled = b.select(grows, double(options.hysteresis), units);
    assign(variable, units, b.select(overflow, spent, refilled));
  }
  Value zero = b.constant(tracker, 0);
  assign(trackerVariable, tracker, b.select(overflow, zero, b.select(grows, zero, counted)));
  assign(scaleVariable(step, options), scale, b.select(overflow, shrunk, b.select(grows, grown, scale)));
}
