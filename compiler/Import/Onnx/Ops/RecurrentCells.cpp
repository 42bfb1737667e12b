//===- RecurrentCells.cpp - one time step of RNN, GRU and LSTM --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The formulas are those of the ONNX specification of RNN, GRU and LSTM; the gates lie in its order: z r h for GRU,
// i o f c for LSTM.
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/Onnx/Ops/RecurrentCells.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::onnx_import;

//===-- Activations --------------------------------------------------------------===//

namespace {
/// An activation that a node may name, the values of alpha and beta where the node gives none, and whether it has them.
struct Known {
  StringLiteral name;
  std::optional<double> alpha, beta;
};
} // namespace

static ArrayRef<Known> knownActivations() {
  static const Known known[] = {
      {"sigmoid", {}, {}},          {"tanh", {}, {}},         {"relu", {}, {}},          {"softsign", {}, {}},
      {"softplus", {}, {}},         {"affine", 1.0, 0.0},     {"elu", 1.0, {}},          {"leakyrelu", 0.01, {}},
      {"thresholdedrelu", 1.0, {}}, {"scaledtanh", 1.0, 1.0}, {"hardsigmoid", 0.2, 0.5},
  };
  return known;
}

SmallVector<RecurrentActivation> onnx_import::recurrentActivations(Node &n, ArrayRef<StringRef> defaults,
                                                                   int64_t directions) {
  const size_t wanted = defaults.size() * size_t(directions);
  std::vector<std::string> names;
  if (auto *given = n.attribute("activations", {onnx::AttributeProto::STRINGS})) {
    names.assign(given->strings().begin(), given->strings().end());
  } else {
    for (int64_t d = 0; d < directions; ++d)
      names.insert(names.end(), defaults.begin(), defaults.end());
  }
  if (names.size() != wanted)
    n.fail("it names " + Twine(names.size()) + " activations; " + Twine(directions) + " direction(s) have " +
               Twine(wanted),
           "name " + Twine(defaults.size()) + " for each direction", "activations");
  std::vector<double> alphas = n.floatsAttribute("activation_alpha").value_or(std::vector<double>()),
                      betas = n.floatsAttribute("activation_beta").value_or(std::vector<double>());
  // Each list holds a value for each activation that takes one, in their order; where it ends, defaults follow.
  size_t alpha = 0, beta = 0;
  SmallVector<RecurrentActivation> activations;
  for (const std::string &name : names) {
    std::string lower = StringRef(name).lower();
    const auto *known = llvm::find_if(knownActivations(), [&](const Known &each) { return each.name == lower; });
    if (known == knownActivations().end())
      n.fail("activation '" + printable(name) + "' is not known",
             "Sigmoid, Tanh, Relu, Softsign, Softplus, Affine, Elu, LeakyRelu, ThresholdedRelu, ScaledTanh or "
             "HardSigmoid",
             "activations");
    RecurrentActivation &each = activations.emplace_back(RecurrentActivation{lower});
    if (known->alpha)
      each.alpha = alpha < alphas.size() ? alphas[alpha++] : *known->alpha;
    if (known->beta)
      each.beta = beta < betas.size() ? betas[beta++] : *known->beta;
  }
  return activations;
}

Value RecurrentCell::curve(Node &n, size_t which, Value x) const {
  const RecurrentActivation &f = activations[which];
  auto alpha = [&](auto &p) { p.alpha = n.b.getF64FloatAttr(f.alpha); };
  if (f.name == "sigmoid")
    return n.unary<SigmoidOp>(x);
  if (f.name == "tanh")
    return n.unary<TanhOp>(x);
  if (f.name == "relu")
    return n.unary<ReluOp>(x);
  if (f.name == "softsign")
    return n.unary<SoftsignOp>(x);
  if (f.name == "softplus")
    return n.unary<SoftplusOp>(x);
  if (f.name == "elu")
    return n.make<EluOp>(x, alpha).getY();
  if (f.name == "leakyrelu")
    return n.make<LeakyReluOp>(x, alpha).getY();
  if (f.name == "thresholdedrelu")
    return n.select(n.compare(Predicate::gt, x, n.number(f.alpha, x)), x, n.number(0, x));
  if (f.name == "scaledtanh")
    return n.mul(n.unary<TanhOp>(n.mul(x, n.number(f.beta, x))), n.number(f.alpha, x));
  if (f.name == "affine")
    return n.add(n.mul(x, n.number(f.alpha, x)), n.number(f.beta, x));
  assert(f.name == "hardsigmoid" && "recurrentActivations knows all names");
  return n
      .make<HardSigmoidOp>(x,
                           [&](auto &p) {
                             p.alpha = n.b.getF64FloatAttr(f.alpha);
                             p.beta = n.b.getF64FloatAttr(f.beta);
                           })
      .getY();
}

Value RecurrentCell::activate(Node &n, size_t which, Value x) const {
  if (clip)
    x = n.make<ClipOp>(x, [&](auto &p) {
           p.min = n.b.getF64FloatAttr(-*clip);
           p.max = n.b.getF64FloatAttr(*clip);
         }).getY();
  return curve(n, which, x);
}

//===-- Cells ----------------------------------------------------------------------===//

Value onnx_import::part(Node &n, Value x, int64_t axis, int64_t from, int64_t size) {
  Shape starts(typeOf(x).getRank(), 0), sizes(shapeOf(x)), strides(starts.size(), 1);
  starts[axis] = from;
  sizes[axis] = size;
  return sizes == Shape(shapeOf(x)) ? x : n.slice(x, starts, sizes, strides);
}

Value onnx_import::timesTransposed(Node &n, Value a, Value b) {
  return n.make<MatMulOp>(ValueRange{a, b}, [&](auto &p) { p.transpose_b = n.b.getUnitAttr(); }).getResult();
}

/// LSTM: i = f(z_i + P_i c), f = f(z_f + P_f c), c' = f c + i g(z_c), o = f(z_o + P_o c'), h' = o h(c').
RecurrentCell::State RecurrentCell::lstm(Node &n, Value input, State before) const {
  const int64_t size = shapeOf(before.h)[1];
  Type element = elementOf(before.h), wide = elementOf(before.c);
  Value product = timesTransposed(n, before.h, recurrent);
  // The parts are added, not the whole, so that the sums join the cell's launch.
  auto sum = [&](int64_t which) {
    Value x = part(n, input, 1, which * size, size);
    return n.add(x, part(n, product, 1, which * size, size));
  };
  auto gate = [&](int64_t which, Value peep, Value c) {
    Value zi = sum(which);
    return n.cast(activate(n, 0, peep ? n.add(zi, n.mul(peep, n.cast(c, element))) : zi), wide);
  };
  Value i = gate(0, inputPeep, before.c);
  Value f = coupled ? n.sub(n.number(1, i), i) : gate(2, forgetPeep, before.c);
  Value g = n.cast(activate(n, 1, sum(3)), wide);
  Value kept = n.mul(f, before.c), added = n.mul(i, g);
  State after;
  after.c = n.add(kept, added);
  Value o = gate(1, outputPeep, after.c);
  after.h = n.cast(n.mul(o, curve(n, 2, after.c)), element);
  return after;
}

/// GRU: z and r are gates, n = g(x_n + (r h) R_n'), or g(x_n + r (h R_n' + b)) with linearBeforeReset,
/// and h' = (1 - z) n + z h.
RecurrentCell::State RecurrentCell::gru(Node &n, Value input, State before) const {
  const int64_t size = shapeOf(before.h)[1];
  const int64_t products = linearBeforeReset ? 3 : 2;
  Value product = timesTransposed(n, before.h, part(n, recurrent, 0, 0, products * size));
  if (recurrentBias)
    product = n.add(product, recurrentBias);
  auto gate = [&](int64_t which) {
    Value x = part(n, input, 1, which * size, size);
    return activate(n, 0, n.add(x, part(n, product, 1, which * size, size)));
  };
  Value z = gate(0), r = gate(1), x = part(n, input, 1, 2 * size, size), scaled;
  if (linearBeforeReset) {
    Value own = part(n, product, 1, 2 * size, size);
    scaled = n.mul(r, own);
  } else {
    scaled = timesTransposed(n, n.mul(r, before.h), part(n, recurrent, 0, 2 * size, size));
  }
  Value fresh = activate(n, 1, n.add(x, scaled));
  // (1 - z) n + z h = n + z (h - n)
  return {n.add(fresh, n.mul(z, n.sub(before.h, fresh))), {}};
}

RecurrentCell::State RecurrentCell::step(Node &n, Value input, State before) const {
  if (op == "LSTM")
    return lstm(n, input, before);
  if (op == "GRU")
    return gru(n, input, before);
  return {activate(n, 0, n.add(input, timesTransposed(n, before.h, recurrent))), {}};
}
