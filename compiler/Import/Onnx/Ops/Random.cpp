//===- Random.cpp - random numbers and dropout -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random numbers are a function of the program's seed, the training step and the node (graph.random); a
// node's own seed is ignored. Dropout becomes graph.dropout, which evaluation leaves out, also where the
// model writes it with random numbers (DropoutForms.h).
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/Onnx/Import.h"
#include "compiler/Import/Onnx/Torch/Metadata.h"
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::onnx_import;

//===-- Random numbers ------------------------------------------------------------===//

/// The node draws from a stream of its own, which is identified by the name of the node's result.
static Value draw(Node &n, ArrayRef<int64_t> shape, Type element, Distribution distribution) {
  Import &import = n.import;
  n.ignore({"seed"}); // the whole program has one seed
  const std::string draws = n.named(0) ? n.proto.output(0) : "";
  import.streamOf(draws) = n.index;
  if (!import.model().dropoutDraws.count(draws))
    import.note("random ops other than dropout also run in eval and predict", n.loc);
  return n
      .make<RandomOp>(
          ValueRange{import.rngSeed(), import.rngStep()},
          [&](auto &p) {
            p.distribution = DistributionAttr::get(n.context, distribution);
            p.salt = n.b.getI64IntegerAttr(n.index);
          },
          n.tensorType(shape, element))
      .getY();
}

/// The type that the attribute dtype names, or else the fallback.
static Type elementFor(Node &n, Type fallback) {
  if (!n.hasAttribute("dtype"))
    return fallback;
  int64_t code = n.intAttribute("dtype");
  Type element = elementType(n.context, code);
  if (!element)
    n.limit("element type " + onnxTypeName(code) + " is not supported", "", "dtype");
  return element;
}

/// x * factor + term, where an operation without effect is left out.
static Value scaled(Node &n, Value x, double factor, double term) {
  if (factor != 1)
    x = n.mul(x, n.number(factor, x));
  return term == 0 ? x : n.add(x, n.number(term, x));
}

template <Distribution distribution>
static void random(Node &n, ArrayRef<int64_t> shape, Type element) {
  if (!isa<FloatType>(element))
    n.fail("random numbers of an integer type are not supported", "give a float type as dtype", "dtype");
  if (distribution == Distribution::uniform) {
    double low = n.floatAttribute("low", 0.0), high = n.floatAttribute("high", 1.0);
    return n.out(0, scaled(n, draw(n, shape, element, distribution), high - low, low));
  }
  double mean = n.floatAttribute("mean", 0.0), scale = n.floatAttribute("scale", 1.0);
  n.out(0, scaled(n, draw(n, shape, element, distribution), scale, mean));
}
template <Distribution distribution>
static void randomLike(Node &n) {
  random<distribution>(n, n.shape(0), elementFor(n, n.element(0)));
}
template <Distribution distribution>
static void randomOf(Node &n) {
  auto shape = n.intsAttribute("shape");
  if (!shape)
    n.fail("attribute 'shape' is missing", "", "shape");
  random<distribution>(n, *shape, elementFor(n, n.b.getF32Type()));
}

/// Bernoulli: 1 where a uniform number is below the input.
static void bernoulli(Node &n) {
  Type element = elementFor(n, n.element(0));
  Value p = n.floatIn(0);
  p = n.cast(p, computeType(elementOf(p)));
  Value u = draw(n, n.shape(0), elementOf(p), Distribution::uniform);
  n.out(0, n.cast(n.compare(Predicate::lt, u, p), element));
}

/// Multinomial: draws classes from rows of logarithms of weights, whose sum need not be one. With s[j] the
/// sum of the weights up to j, and u uniform in [0, s[last]), the drawn class is the number of sums that are
/// not above u; a class without weight is never drawn.
static void multinomial(Node &n) {
  int64_t samples = n.intAttribute("sample_size", 1);
  Type element = elementFor(n, n.b.getI32Type());
  if (n.rank(0) != 2 || n.shape(0)[1] < 1 || samples < 1)
    n.fail("the input must be [batch, classes], and sample_size positive", "", "sample_size");
  if (!element.isInteger(32) && !element.isInteger(64))
    n.fail("classes are of type int32 or int64", "", "dtype");
  int64_t batch = n.shape(0)[0], classes = n.shape(0)[1];
  if (classes > 4096)
    n.limit("more than 4096 classes are not supported");
  Value x = n.floatIn(0);
  x = n.cast(x, computeType(elementOf(x)));
  Value weights = n.unary<ExpOp>(n.sub(x, n.reduce<ReduceMaxOp>(x, {1}, true)));
  auto square = n.tensorType({classes, classes}, n.b.getI64Type());
  Value reached = n.compare(Predicate::le, n.iota(square, 1), n.iota(square, 0));
  Value sums = n.sum(n.select(reached, n.reshape(weights, {batch, 1, classes}), n.number(0, x)), {2}, false);
  Value total = n.slice(sums, {0, classes - 1}, {batch, 1}, {1, 1});
  Value u = n.mul(draw(n, {batch, samples}, elementOf(x), Distribution::uniform), total);
  Value passed = n.compare(Predicate::ge, n.reshape(u, {batch, samples, 1}), n.reshape(sums, {batch, 1, classes}));
  n.out(0, n.sum(n.cast(passed, element), {2}, false));
}

//===-- Dropout ---------------------------------------------------------------------===//

static void refuseInForwardRun(Node &n) {
  if (n.import.options.forwardOnly)
    n.fail("draws random numbers in a forward run",
           "make the model's inference form: mpc export MODEL --inference -o FILE");
}

static Value drop(Node &n, Value x, double ratio, int64_t salt, ArrayRef<int64_t> shared = {}) {
  return n
      .make<DropoutOp>(
          ValueRange{x, n.import.rngSeed(), n.import.rngStep()},
          [&](auto &p) {
            p.ratio = n.b.getF64FloatAttr(ratio);
            p.salt = n.b.getI64IntegerAttr(salt);
            p.shared = n.b.getDenseI64ArrayAttr(shared);
          },
          x.getType())
      .getY();
}

static void dropout(Node &n) {
  Import &import = n.import;
  double ratio = 0.5;
  bool exported = false;
  if (n.opset >= 12) {
    n.ignore({"seed"}); // the whole program has one seed
    if (n.has(1))
      ratio = n.constantNumber(1, "ratio");
    if (n.has(2))
      exported = n.constantNumber(2, "training_mode") != 0;
  } else {
    ratio = n.floatAttribute("ratio", 0.5);
  }
  if (auto call = torch::Metadata::callOf(n.proto);
      call && torch::Metadata::attentionDropout(*call) > 0 && !import.options.forwardOnly) {
    // The exporter writes no training_mode here; torch passes this probability in train mode alone.
    exported = import.options.mode != TrainingMode::AsExported;
    if (exported)
      import.note("attention drops again, as the torch module does in train mode (--mode=as-exported keeps it)", n.loc);
  }
  if (!(ratio >= 0 && ratio < 1))
    n.fail("the ratio must be in [0, 1), not " + std::to_string(ratio), "", "ratio");
  bool training = (exported || import.turnsOn()) && ratio > 0;
  if (!training) {
    if (ratio > 0)
      import.noteKept("Dropout", n.loc);
    n.forward(0, 0);
    if (n.used(1))
      n.out(1, n.constantValue(HostTensor::fromInts(n.tensorType(n.shape(0), n.b.getI1Type()), 1)));
    return;
  }
  refuseInForwardRun(n);
  if (!exported)
    import.note("Dropout was exported for inference and drops again (--mode=as-exported keeps it)", n.loc);
  Value x = n.floatIn(0);
  n.out(0, drop(n, x, ratio, n.index));
  if (n.used(1)) { // the mask is a function of seed, step and salt, and dropping ones reveals it
    Value ones = n.constantValue(HostTensor::fromDoubles(typeOf(x), 1.0));
    n.out(1, n.compare(Predicate::ne, drop(n, ones, ratio, n.index), n.number(0, x)));
  }
}

/// A dropout that the model writes with random numbers. Its inputs are x and the mask; a dimension of the
/// mask with one element shares a number.
static void recognisedDropout(Node &n) {
  Import &import = n.import;
  double ratio = std::max(1 - n.floatAttribute("keep"), 0.0);
  std::string draws = n.stringAttribute("draws");
  if (ratio == 0)
    return n.forward(0, 0);
  refuseInForwardRun(n);
  import.note("random masks whose mean is one are dropout, which eval and predict leave out", n.loc);
  Value x = n.floatIn(0);
  // Exporters write the batch of their example into the mask's shape.
  Shape mask(n.shape(1));
  if (import.rebound && !mask.empty() && mask.size() == size_t(n.rank(0)) && mask[0] == import.rebound->first &&
      n.shape(0)[0] == import.rebound->second)
    mask[0] = import.rebound->second;
  auto shape = broadcastShapes(n.shape(0), mask);
  if (!shape)
    n.fail("the mask's shape does not fit what it drops",
           import.rebound ? "--batch changed the batch; the mask may hold the old one" : "");
  Shape shared;
  bool shares = false;
  for (int64_t d = 0, missing = int64_t(shape->size() - mask.size()); d < int64_t(shape->size()); ++d)
    if (d < missing || mask[d - missing] == 1) {
      shared.push_back(d);
      shares |= (*shape)[d] != 1;
    }
  if (!shares) // there is a number for each element
    shared.clear();
  n.out(0, drop(n, n.broadcast(x, *shape), ratio, import.streamOf(draws), shared));
}

const OpRow onnx_import::kRecognisedDropout = {"Dropout", 1, kMaxOpset, 2, 1, "=d", "", recognisedDropout};

OpFamily onnx_import::randomOps() {
  static const OpRow rows[] = {
      {"Dropout",
       7,
       kMaxOpset,
       {1, 12, 3},
       2,
       "=d",
       "constant ratio; one seed for the whole program; random in training only",
       dropout},
      {"RandomUniform", 1, kMaxOpset, 0, 1, "", "floats; one seed for the whole program",
       randomOf<Distribution::uniform>},
      {"RandomNormal", 1, kMaxOpset, 0, 1, "", "floats; one seed for the whole program",
       randomOf<Distribution::normal>},
      {"RandomUniformLike", 1, kMaxOpset, 1, 1, "", "floats; one seed for the whole program",
       randomLike<Distribution::uniform>},
      {"RandomNormalLike", 1, kMaxOpset, 1, 1, "", "floats; one seed for the whole program",
       randomLike<Distribution::normal>},
      {"Bernoulli", 15, kMaxOpset, 1, 1, "", "one seed for the whole program", bernoulli},
      {"Multinomial", 7, kMaxOpset, 1, 1, "", "at most 4096 classes; one seed for the whole program", multinomial},
  };
  return {"Random", rows};
}
