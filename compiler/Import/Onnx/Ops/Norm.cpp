//===- Norm.cpp - normalisation ---------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Import/Onnx/Import.h"
#include "compiler/Import/Onnx/TrainingForm.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::onnx_import;

/// The epsilon of a norm, which must not be negative.
static double epsilonOf(Node &n) {
  double epsilon = n.floatAttribute("epsilon", 1e-5);
  if (!(epsilon >= 0))
    n.fail("epsilon must not be negative", "norms use a small positive number, as 1e-5", "epsilon");
  return epsilon;
}

//===-- BatchNormalization ------------------------------------------------------===//

/// y = (x - mean)/sqrt(variance + epsilon)*scale + B. In training form mean and variance are the batch's, and
/// running = running*momentum + batch*(1 - momentum) with the population variance (ONNX
/// BatchNormalization-15), or, where torch's metadata say that the norm is torch's, with the unbiased one, which torch
/// keeps. Before opset 14 a norm is in training form if it has more than one output.
static void batchNorm(Node &n) {
  Import &import = n.import;
  Value x = n.floatIn(0);
  if (n.rank(0) < 2)
    n.fail("the input needs a batch and a channel dimension");
  double epsilon = epsilonOf(n), momentum = n.floatAttribute("momentum", 0.9);
  if (n.opset < 9 && n.intAttribute("spatial", 1) != 1)
    n.unsupported("statistics per element (spatial=0) are not supported", "", "spatial");
  bool stated = n.opset >= 14 ? n.intAttribute("training_mode", 0) != 0 : n.named(1);
  bool exported = stated || (import.believesTorch() && normTrains(n.proto, n.opset));
  bool training = exported || import.turnsOn();
  Type compute = computeType(elementOf(x));
  auto statistic = [&](size_t i) { return n.cast(n.floatIn(i), compute); };
  Value scale = statistic(1), bias = statistic(2);
  auto common = [&](auto &p) {
    p.epsilon = n.b.getF64FloatAttr(epsilon);
    p.axis = n.b.getI64IntegerAttr(1);
  };
  if (!training) {
    import.noteKept("BatchNormalization", n.loc);
    n.out(0, n.make<BatchNormInferenceOp>(ValueRange{x, scale, bias, statistic(3), statistic(4)}, common).getY());
    return;
  }
  if (!exported)
    import.note("BatchNormalization was exported for inference and trains with batch statistics "
                "(--mode=as-exported keeps it)",
                n.loc);
  auto op = n.make<BatchNormOp>(ValueRange{x, scale, bias}, common);
  if (import.believesTorch() && import.updatesState() && (momentum == 0 || momentum == 1))
    import.note(std::string("the running statistics of BatchNormalization ") +
                    (momentum == 0 ? "are those of the last batch, for its momentum is 0"
                                   : "never change, for its momentum is 1") +
                    ": torch's exporters write momentum=None like that, whose statistics are means over all batches",
                n.loc);
  if (typeOf(x).getNumElements() == typeOf(scale).getNumElements() && import.updatesState())
    import.note("BatchNormalization trains with one value for each channel, whose mean is that value: its result does "
                "not depend on its input (a larger --batch gives it more)",
                n.loc);
  n.out(0, op.getY());
  // The unbiased variance divides by the number of values less one.
  const double count =
      double(typeOf(x).getNumElements()) / double(std::max<int64_t>(typeOf(scale).getNumElements(), 1));
  const double unbiased = import.believesTorch() && isTorchNorm(n.proto) && count > 1 ? count / (count - 1) : 1;
  for (size_t i = 0; i < 2; ++i) {
    bool wanted = exported && n.used(i + 1);
    std::string variable = import.updatesState() ? import.ownStatistics(n, i + 3) : "";
    if (!wanted && variable.empty())
      continue;
    if (shapeOf(op.getMean()) != n.shape(i + 3))
      n.fail("running statistics need one element for each channel");
    Value running = variable.empty() ? n.in(i + 3) : import.latest(variable);
    Value batch = i == 0 ? op.getMean() : op.getVariance();
    Value old = n.cast(running, compute);
    // A batch without elements has no statistics; torch leaves the running ones alone then.
    Value next = typeOf(x).getNumElements() == 0
                     ? old
                     : n.add(n.mul(old, n.number(momentum, old)),
                             n.mul(batch, n.number((1 - momentum) * (i == 0 ? 1 : unbiased), batch)));
    next = n.cast(next, elementOf(running));
    if (!variable.empty()) {
      import.assign(variable, next, n.loc);
      op->setAttr(i == 0 ? train::kRunningMeanAttr : train::kRunningVarianceAttr,
                  FlatSymbolRefAttr::get(n.context, variable));
    }
    if (wanted)
      n.out(i + 1, next);
  }
  // Outputs 3 and 4 of the old form are the batch's own statistics.
  if (n.opset < 14) {
    n.out(3, n.cast(op.getMean(), n.element(3)));
    n.out(4, n.cast(op.getVariance(), n.element(4)));
  }
}

//===-- Layer and group norms ------------------------------------------------------------===//

static Shape axesFrom(int64_t first, int64_t rank) {
  Shape axes;
  for (int64_t i = first; i < rank; ++i)
    axes.push_back(i);
  return axes;
}

static LayerNormOp layerNormOver(Node &n, Value x, Value scale, Value bias, ArrayRef<int64_t> axes, double epsilon,
                                 NormKind kind) {
  return n.make<LayerNormOp>(ValueRange{x, scale, bias}, [&](auto &p) {
    p.axes = n.b.getDenseI64ArrayAttr(axes);
    p.epsilon = n.b.getF64FloatAttr(epsilon);
    p.kind = NormKindAttr::get(n.context, kind);
  });
}

/// A scale or bias of a layer norm, in the type of the statistics.
static Value broadcasting(Node &n, size_t input, Type compute) {
  auto shape = broadcastShapes(n.shape(0), n.shape(input));
  if (!shape || ArrayRef<int64_t>(*shape) != n.shape(0))
    n.fail("input " + Twine(input) + " does not broadcast to the input");
  return n.cast(n.floatIn(input), compute);
}

/// LayerNormalization-17: the statistics are in stash_type (fp32), over the dimensions from `axis` on.
static void layerNorm(Node &n) {
  Value x = n.floatIn(0);
  int64_t rank = n.rank(0), axis = n.axis(n.intAttribute("axis", -1), rank);
  double epsilon = epsilonOf(n);
  n.ignore({"stash_type"});
  Type compute = computeType(elementOf(x));
  Value scale = broadcasting(n, 1, compute), bias = n.has(2) ? broadcasting(n, 2, compute) : n.number(0, compute);
  auto norm = layerNormOver(n, x, scale, bias, axesFrom(axis, rank), epsilon, NormKind::layer);
  n.out(0, norm.getY());
  n.out(1, norm.getMean());
  n.out(2, norm.getInverse());
}

/// RMSNormalization-23: x / sqrt(mean(x^2) + epsilon) * scale.
static void rmsNorm(Node &n) {
  Value x = n.floatIn(0);
  int64_t rank = n.rank(0), axis = n.axis(n.intAttribute("axis", -1), rank);
  double epsilon = epsilonOf(n);
  n.ignore({"stash_type"});
  Type compute = computeType(elementOf(x));
  Value scale = broadcasting(n, 1, compute);
  n.out(0, layerNormOver(n, x, scale, n.number(0, compute), axesFrom(axis, rank), epsilon, NormKind::rms).getY());
}

/// An input of `count` elements in the type of the statistics, with each element repeated `width` times: once
/// for each channel of a group.
static Value perChannel(Node &n, size_t input, int64_t count, int64_t width, Type compute) {
  if (n.shape(input) != ArrayRef<int64_t>{count})
    n.fail("input " + Twine(input) + " must have one element for each of " + Twine(count) +
           (width == 1 ? " channels" : " groups"));
  Value v = n.cast(n.floatIn(input), compute);
  return width == 1 ? v : n.reshape(n.broadcast(n.reshape(v, {count, 1}), {count, width}), {count * width});
}

static void groupNormOver(Node &n, int64_t groups, double epsilon, Value scale, Value bias) {
  n.out(0, n.make<GroupNormOp>(ValueRange{n.floatIn(0), scale, bias}, [&](auto &p) {
              p.epsilon = n.b.getF64FloatAttr(epsilon);
              p.axis = n.b.getI64IntegerAttr(1);
              p.groups = n.b.getI64IntegerAttr(groups);
            }).getY());
}

static void instanceNorm(Node &n) {
  if (n.rank(0) < 3)
    n.fail("the input needs a batch, a channel and a spatial dimension");
  double epsilon = epsilonOf(n);
  int64_t channels = n.shape(0)[1];
  Type compute = computeType(elementOf(n.floatIn(0)));
  groupNormOver(n, channels, epsilon, perChannel(n, 1, channels, 1, compute), perChannel(n, 2, channels, 1, compute));
}

/// GroupNormalization: scale and bias have an element for each group at opset 18, for each channel from 21 on.
static void groupNorm(Node &n) {
  int64_t rank = n.rank(0), groups = n.intAttribute("num_groups");
  double epsilon = epsilonOf(n);
  n.ignore({"stash_type"});
  if (rank < 2 || groups < 1 || n.shape(0)[1] % groups)
    n.fail("channels do not divide into " + Twine(groups) + " groups", "", "num_groups");
  int64_t channels = n.shape(0)[1], count = n.opset < 21 ? groups : channels,
          width = n.opset < 21 ? channels / groups : 1;
  Type compute = computeType(elementOf(n.floatIn(0)));
  groupNormOver(n, groups, epsilon, perChannel(n, 1, count, width, compute), perChannel(n, 2, count, width, compute));
}

//===-- Others -----------------------------------------------------------------------===//

/// x^2 is written as a power, which has the precision class of pow: the square of an fp16 number may be out
/// of the range of fp16.
static Value square(Node &n, Value x) { return n.binary<PowOp>(x, n.number(2, x)); }

/// LRN: x / (bias + alpha/size * sum of x^2 over `size` neighbouring channels)^beta.
static void lrn(Node &n) {
  Value x = n.floatIn(0);
  int64_t size = n.intAttribute("size");
  double alpha = n.floatAttribute("alpha", 1e-4), beta = n.floatAttribute("beta", 0.75),
         bias = n.floatAttribute("bias", 1.0);
  if (n.rank(0) < 2 || size < 1 || size > INT16_MAX)
    n.fail("size " + Twine(size) + " is not possible", "", "size");
  int64_t channels = n.shape(0)[1], rest = 1;
  for (int64_t d : n.shape(0).drop_front(2))
    rest *= d;
  Value wide = n.cast(x, computeType(elementOf(x)));
  // Channels become the rows of an image, so that an average pooling sums neighbours. Its padding counts, so
  // it divides by `size`.
  Value squares = n.reshape(square(n, wide), {n.shape(0)[0], 1, channels, rest});
  Value mean = n.make<AvgPoolOp>(squares, [&](auto &p) {
                  p.kernel = n.b.getDenseI64ArrayAttr({size, 1});
                  p.strides = n.b.getDenseI64ArrayAttr({1, 1});
                  p.dilations = n.b.getDenseI64ArrayAttr({1, 1});
                  p.pad_low = n.b.getDenseI64ArrayAttr({(size - 1) / 2, 0});
                  p.pad_high = n.b.getDenseI64ArrayAttr({size - 1 - (size - 1) / 2, 0});
                  p.count_include_pad = n.b.getUnitAttr();
                }).getY();
  Value base = n.add(n.mul(n.reshape(mean, shapeOf(x)), n.number(alpha, wide)), n.number(bias, wide));
  Value y = n.div(wide, n.binary<PowOp>(base, n.number(beta, wide)));
  n.out(0, n.cast(y, elementOf(x)));
}

/// MeanVarianceNormalization: (x - mean) / (standard deviation + 1e-9). This is the same as dividing by
/// sqrt(variance + 1e-18), except where the deviation is as small as that. The specification's function uses
/// E[x^2] - E[x]^2 for the variance, which cancels where the mean is large.
static void mvn(Node &n) {
  Value x = n.floatIn(0);
  Type compute = computeType(elementOf(x));
  Shape axes = n.axes(n.intsAttribute("axes").value_or(Shape{0, 2, 3}), n.rank(0));
  n.out(0, axes.empty()
               ? n.sub(x, x)
               : layerNormOver(n, x, n.number(1, compute), n.number(0, compute), axes, 1e-18, NormKind::layer).getY());
}

/// LpNormalization: x / norm along an axis. Where the norm is 0, the result is 0 and has no gradient.
static void lpNorm(Node &n) {
  Value x = n.floatIn(0);
  Shape axes = {n.axis(n.intAttribute("axis", -1), n.rank(0))};
  int64_t p = n.intAttribute("p", 2);
  if (p != 1 && p != 2)
    n.fail("p must be 1 or 2", "", "p");
  Type compute = computeType(elementOf(x));
  if (p == 2) {
    n.out(0, layerNormOver(n, x, n.number(1, compute), n.number(0, compute), axes, 0, NormKind::l2).getY());
    return;
  }
  Value norm = n.sum(n.unary<AbsOp>(x), axes);
  Value isZero = n.compare(Predicate::eq, norm, n.number(0, norm));
  n.out(0, n.select(isZero, n.number(0, x), n.div(x, n.select(isZero, n.number(1, norm), norm))));
}

OpFamily onnx_import::normOps() {
  static const OpRow rows[] = {
      {"BatchNormalization", 7, kMaxOpset, 5, {5, 14, 3}, "dsbmv", "", batchNorm},
      {"LayerNormalization", 17, kMaxOpset, 3, 3, "dsb", "", layerNorm},
      {"RMSNormalization", 23, kMaxOpset, 2, 1, "ds", "", rmsNorm},
      {"InstanceNormalization", 6, kMaxOpset, 3, 1, "dsb", "", instanceNorm},
      {"GroupNormalization", 18, kMaxOpset, 3, 1, "dsb", "", groupNorm},
      {"LRN", 1, kMaxOpset, 1, 1, "", "", lrn},
      {"MeanVarianceNormalization", 9, kMaxOpset, 1, 1, "",
       "divides by sqrt(variance + 1e-18) instead of sqrt(variance) + 1e-9", mvn},
      {"LpNormalization", 1, kMaxOpset, 1, 1, "", "", lpNorm},
  };
  return {"Norm", rows};
}
