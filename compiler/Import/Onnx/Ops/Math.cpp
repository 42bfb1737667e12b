//===- Math.cpp - elementwise arithmetic and activations ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Import/Onnx/Node.h"
#include "compiler/Import/Onnx/Torch/Metadata.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::onnx_import;

//===-- One graph op for one ONNX op ----------------------------------------------===//

template <typename OpT>
static void floatUnary(Node &n) {
  n.out(0, n.unary<OpT>(n.floatIn(0)));
}
template <typename OpT>
static void anyUnary(Node &n) {
  n.out(0, n.unary<OpT>(n.in(0)));
}
template <typename OpT>
static void broadcasting(Node &n) {
  n.out(0, n.binary<OpT>(n.in(0), n.in(1)));
}
/// Sum, Max, ... of one or more inputs.
template <typename OpT>
static void variadic(Node &n) {
  if (n.numInputs() == 1)
    return n.forward(0, 0);
  Value y = n.in(0);
  for (size_t i = 1; i < n.numInputs(); ++i)
    y = n.binary<OpT>(y, n.in(i));
  n.out(0, y);
}

/// Returns whether the bound of a Max or Min is a number that torch's clamp was given. The exporter writes such a clamp
/// as these ops; since torch 2.14 it passes no gradient at its bound, where a clamp by a tensor passes half of it, as
/// torch.maximum does.
static bool isClampByNumber(Node &n, bool isMax) {
  std::optional<torch::Call> call = torch::Metadata::callOf(n.proto);
  const size_t bound = isMax ? 1 : 2; // clamp(x, min, max)
  double number;
  if (!call || call->target != "clamp" || call->args.size() <= bound || n.numInputs() != 2 || !isFloat(n.element(0)) ||
      !n.entry(1).constant || n.rank(1) != 0)
    return false;
  StringRef text = call->args[bound];
  return text.starts_with("%scalar_tensor_default") || llvm::to_float(text, number);
}

template <typename OpT>
static void extreme(Node &n) {
  constexpr bool isMax = std::is_same_v<OpT, MaxOp>;
  const double infinity = std::numeric_limits<double>::infinity();
  const double bound = isClampByNumber(n, isMax) ? n.constantNumber(1, "bound") : std::nan("");
  if (std::isnan(bound))
    return variadic<OpT>(n);
  n.out(0, n.make<ClipOp>(n.in(0), [&](auto &p) {
              p.min = n.b.getF64FloatAttr(isMax ? bound : -infinity);
              p.max = n.b.getF64FloatAttr(isMax ? infinity : bound);
            }).getY());
}
static void mean(Node &n) {
  Value y = n.floatIn(0);
  for (size_t i = 1; i < n.numInputs(); ++i)
    y = n.add(y, n.in(i));
  n.out(0, n.numInputs() == 1 ? y : n.div(y, n.number(double(n.numInputs()), y)));
}

static void identity(Node &n) { n.forward(0, 0); }

//===-- With attributes -------------------------------------------------------------===//

/// Mod: with fmod=0 the result has the sign of the divisor, with fmod=1 that of the dividend. fmod=0 is valid
/// for floats since opset 28.
static void mod(Node &n) {
  bool fmod = n.intAttribute("fmod", 0) != 0;
  if (!fmod && isFloat(n.element(0)) && n.opset < 28)
    n.fail("floats need fmod=1", "", "fmod");
  n.out(0, n.make<ModOp>(ValueRange{n.in(0), n.in(1)}, [&](auto &p) {
              if (fmod)
                p.fmod = n.b.getUnitAttr();
            }).getResult());
}

/// Pow: the result has the base's type, whatever the exponent's type. Squares of floats stay powers, because
/// they need the range of fp32.
static void pow(Node &n) {
  Value x = n.in(0);
  Type element = elementOf(x);
  const Entry &exponent = n.entry(1);
  if (exponent.constant && exponent.constant->size() == 1 && exponent.type.getRank() <= n.rank(0)) {
    double e = exponent.constant->doubles()[0];
    if (e == 1)
      return n.forward(0, 0);
    if (e == 2 && !isFloat(element))
      return n.out(0, n.mul(x, x));
  }
  Value y = n.in(1);
  if (isFloat(element) || !isFloat(y)) {
    n.out(0, n.binary<PowOp>(x, n.cast(y, element)));
    return;
  }
  Type wide = n.b.getF64Type(); // an integer may be raised to a fractional power
  n.out(0, n.cast(n.binary<PowOp>(n.cast(x, wide), n.cast(y, wide)), element));
}

/// Clip: the bounds are attributes before opset 11 and inputs since then, which may be constant or not.
static void clip(Node &n) {
  double infinity = std::numeric_limits<double>::infinity();
  Value x = n.in(0);
  double low = -infinity, high = infinity;
  if (n.opset < 11) {
    low = n.floatAttribute("min", -infinity);
    high = n.floatAttribute("max", infinity);
  } else {
    bool constant = (!n.has(1) || n.entry(1).constant) && (!n.has(2) || n.entry(2).constant);
    if (!constant) { // computed bounds: max first, then min, as the specification says
      if (n.has(1))
        x = n.binary<MaxOp>(x, n.in(1));
      if (n.has(2))
        x = n.binary<MinOp>(x, n.in(2));
      return n.out(0, x);
    }
    if (n.has(1))
      low = n.constantNumber(1, "min");
    if (n.has(2))
      high = n.constantNumber(2, "max");
  }
  if (std::isnan(low) || std::isnan(high))
    n.fail("a bound is not a number");
  n.out(0, n.make<ClipOp>(x, [&](auto &p) {
              p.min = n.b.getF64FloatAttr(low);
              p.max = n.b.getF64FloatAttr(high);
            }).getY());
}

static void gelu(Node &n) {
  std::string approximate = n.stringAttribute("approximate", "none");
  if (approximate != "none" && approximate != "tanh")
    n.fail("approximate '" + printable(approximate) + "' is not known", "none or tanh", "approximate");
  n.out(0, n.make<GeluOp>(n.floatIn(0), [&](auto &p) {
              if (approximate == "tanh")
                p.approximate = n.b.getUnitAttr();
            }).getY());
}

static void leakyRelu(Node &n) {
  double alpha = n.floatAttribute("alpha", 0.01);
  n.out(0, n.make<LeakyReluOp>(n.floatIn(0), [&](auto &p) { p.alpha = n.b.getF64FloatAttr(alpha); }).getY());
}
static Value elu(Node &n, Value x, double alpha) {
  return n.make<EluOp>(x, [&](auto &p) { p.alpha = n.b.getF64FloatAttr(alpha); }).getY();
}
static void eluOp(Node &n) { n.out(0, elu(n, n.floatIn(0), n.floatAttribute("alpha", 1.0))); }

static void hardSigmoid(Node &n) {
  double alpha = n.floatAttribute("alpha", 0.2), beta = n.floatAttribute("beta", 0.5);
  n.out(0, n.make<HardSigmoidOp>(n.floatIn(0), [&](auto &p) {
              p.alpha = n.b.getF64FloatAttr(alpha);
              p.beta = n.b.getF64FloatAttr(beta);
            }).getY());
}

//===-- Composed ----------------------------------------------------------------------===//

/// Selu: gamma * (x where x > 0, alpha*(e^x - 1) elsewhere).
static void selu(Node &n) {
  double alpha = n.floatAttribute("alpha", 1.67326319217681884765625),
         gamma = n.floatAttribute("gamma", 1.05070102214813232421875);
  Value x = n.floatIn(0);
  n.out(0, n.mul(elu(n, x, alpha), n.number(gamma, x)));
}
/// Celu: max(0, x) + min(0, alpha*(e^(x/alpha) - 1)) = alpha * elu(x/alpha).
static void celu(Node &n) {
  double alpha = n.floatAttribute("alpha", 1.0);
  if (alpha == 0)
    n.fail("alpha must not be zero", "", "alpha");
  Value x = n.floatIn(0), positive = n.unary<ReluOp>(x);
  Value negative = n.sub(x, positive); // min(0, x)
  Value curve = n.mul(elu(n, n.div(negative, n.number(alpha, x)), 1), n.number(alpha, x));
  n.out(0, n.add(positive, curve));
}
static void thresholdedRelu(Node &n) {
  double alpha = n.floatAttribute("alpha", 1.0);
  Value x = n.floatIn(0);
  n.out(0, n.select(n.compare(Predicate::gt, x, n.number(alpha, x)), x, n.number(0, x)));
}
/// Shrink: x + bias below -lambd, x - bias above lambd, 0 in between.
static void shrink(Node &n) {
  double lambda = n.floatAttribute("lambd", 0.5), bias = n.floatAttribute("bias", 0.0);
  Value x = n.in(0), zero = n.number(0, x);
  if (!isFloat(x) && (lambda != std::floor(lambda) || bias != std::floor(bias)))
    n.fail("integers need integer attributes");
  Value above = n.select(n.compare(Predicate::gt, x, n.number(lambda, x)), n.sub(x, n.number(bias, x)), zero);
  n.out(0, n.select(n.compare(Predicate::lt, x, n.number(-lambda, x)), n.add(x, n.number(bias, x)), above));
}
/// PRelu: x where x > 0, slope*x elsewhere; the slope broadcasts to x, but not the other way round.
static void prelu(Node &n) {
  Value x = n.in(0), slope = n.in(1);
  auto shape = broadcastShapes(shapeOf(x), shapeOf(slope));
  if (!shape || ArrayRef<int64_t>(*shape) != shapeOf(x))
    n.fail("the slope does not broadcast to the input");
  n.out(0, n.make<PReluOp>(ValueRange{x, slope}).getY());
}
/// Mish: x * tanh(softplus(x)).
static void mish(Node &n) {
  Value x = n.floatIn(0);
  n.out(0, n.mul(x, n.unary<TanhOp>(n.unary<SoftplusOp>(x))));
}
/// Swish: x * sigmoid(alpha*x).
static Value swishOf(Node &n) {
  double alpha = n.floatAttribute("alpha", 1.0);
  return n.make<SwishOp>(n.floatIn(0), [&](auto &p) { p.alpha = n.b.getF64FloatAttr(alpha); }).getY();
}
static void swish(Node &n) { n.out(0, swishOf(n)); }
/// SwiGLU: swish(a) * b.
static void swiglu(Node &n) {
  if (n.shape(0) != n.shape(1))
    n.fail("gate and value need one shape");
  n.out(0, n.mul(swishOf(n), n.in(1)));
}

//===-- Types -----------------------------------------------------------------------------===//

static void cast(Node &n) {
  n.ignore({"saturate", "round_mode"}); // these concern 8-bit floats only
  int64_t code = n.intAttribute("to");
  Type to = elementType(n.context, code);
  if (!to)
    n.limit("element type " + onnxTypeName(code) + " is not supported", "", "to");
  if (to == n.element(0))
    return n.forward(0, 0);
  n.out(0, n.cast(n.in(0), to));
}
static void castLike(Node &n) {
  n.ignore({"saturate", "round_mode"});
  if (n.element(1) == n.element(0))
    return n.forward(0, 0);
  n.out(0, n.cast(n.in(0), n.element(1)));
}

/// BitCast: reads the bits as another type of the same width. A boolean is a byte that is 0 or 1.
static void bitCast(Node &n) {
  int64_t code = n.intAttribute("to");
  Type to = elementType(n.context, code), from = n.element(0);
  if (!to)
    n.limit("element type " + onnxTypeName(code) + " is not supported", "", "to");
  if (elementBytes(from) != elementBytes(to))
    n.fail("the element types have " + Twine(elementBytes(from)) + " and " + Twine(elementBytes(to)) + " bytes", "",
           "to");
  if (to == from)
    return n.forward(0, 0);
  Value x = n.in(0);
  if (from.isInteger(1) || to.isInteger(1))
    return n.out(0, n.cast(x, to));
  n.out(0, n.make<BitcastOp>(x, {}, Type(typeOf(x).clone(to))).getResult());
}

OpFamily onnx_import::mathOps() {
  static const OpRow rows[] = {
      {"Identity", 1, kMaxOpset, 1, 1, "=", "tensors", identity},
      {"Abs", 6, kMaxOpset, 1, 1, "", "", anyUnary<AbsOp>},
      {"Neg", 6, kMaxOpset, 1, 1, "", "", anyUnary<NegOp>},
      {"Sign", 9, kMaxOpset, 1, 1, "", "", anyUnary<SignOp>},
      {"Floor", 6, kMaxOpset, 1, 1, "", "", floatUnary<FloorOp>},
      {"Ceil", 6, kMaxOpset, 1, 1, "", "", floatUnary<CeilOp>},
      {"Round", 11, kMaxOpset, 1, 1, "", "", floatUnary<RoundOp>},
      {"Exp", 6, kMaxOpset, 1, 1, "", "", floatUnary<ExpOp>},
      {"Log", 6, kMaxOpset, 1, 1, "", "", floatUnary<LogOp>},
      {"Sqrt", 6, kMaxOpset, 1, 1, "", "", floatUnary<SqrtOp>},
      {"Reciprocal", 6, kMaxOpset, 1, 1, "", "", floatUnary<ReciprocalOp>},
      {"Sin", 7, kMaxOpset, 1, 1, "", "", floatUnary<SinOp>},
      {"Cos", 7, kMaxOpset, 1, 1, "", "", floatUnary<CosOp>},
      {"Tan", 7, kMaxOpset, 1, 1, "", "", floatUnary<TanOp>},
      {"Asin", 7, kMaxOpset, 1, 1, "", "", floatUnary<AsinOp>},
      {"Acos", 7, kMaxOpset, 1, 1, "", "", floatUnary<AcosOp>},
      {"Atan", 7, kMaxOpset, 1, 1, "", "", floatUnary<AtanOp>},
      {"Sinh", 9, kMaxOpset, 1, 1, "", "", floatUnary<SinhOp>},
      {"Cosh", 9, kMaxOpset, 1, 1, "", "", floatUnary<CoshOp>},
      {"Asinh", 9, kMaxOpset, 1, 1, "", "", floatUnary<AsinhOp>},
      {"Acosh", 9, kMaxOpset, 1, 1, "", "", floatUnary<AcoshOp>},
      {"Atanh", 9, kMaxOpset, 1, 1, "", "", floatUnary<AtanhOp>},
      {"Erf", 9, kMaxOpset, 1, 1, "", "floats", floatUnary<ErfOp>},
      {"Tanh", 6, kMaxOpset, 1, 1, "", "", floatUnary<TanhOp>},
      {"Sigmoid", 6, kMaxOpset, 1, 1, "", "", floatUnary<SigmoidOp>},
      {"Relu", 6, kMaxOpset, 1, 1, "", "", anyUnary<ReluOp>},
      {"Softplus", 1, kMaxOpset, 1, 1, "", "", floatUnary<SoftplusOp>},
      {"HardSwish", 14, kMaxOpset, 1, 1, "", "", floatUnary<HardSwishOp>},
      {"Add", 7, kMaxOpset, 2, 1, "++", "", broadcasting<AddOp>},
      {"Sub", 7, kMaxOpset, 2, 1, "", "", broadcasting<SubOp>},
      {"Mul", 7, kMaxOpset, 2, 1, "**", "", broadcasting<MulOp>},
      {"Div", 7, kMaxOpset, 2, 1, "", "", broadcasting<DivOp>},
      {"Mod", 10, kMaxOpset, 2, 1, "", "", mod},
      {"Pow", 7, kMaxOpset, 2, 1, "", "", pow},
      {"Min", 8, kMaxOpset, kAnyNumber, 1, "", "", extreme<MinOp>},
      {"Max", 8, kMaxOpset, kAnyNumber, 1, "", "", extreme<MaxOp>},
      {"Sum", 8, kMaxOpset, kAnyNumber, 1, "+", "", variadic<AddOp>},
      {"Mean", 8, kMaxOpset, kAnyNumber, 1, "", "", mean},
      {"Clip", 7, kMaxOpset, {1, 11, 3}, 1, "", "", clip},
      {"Gelu", 20, kMaxOpset, 1, 1, "", "", gelu},
      {"LeakyRelu", 6, kMaxOpset, 1, 1, "", "", leakyRelu},
      {"Elu", 6, kMaxOpset, 1, 1, "", "", eluOp},
      {"Selu", 6, kMaxOpset, 1, 1, "", "", selu},
      {"Celu", 12, kMaxOpset, 1, 1, "", "", celu},
      {"HardSigmoid", 6, kMaxOpset, 1, 1, "", "", hardSigmoid},
      {"ThresholdedRelu", 10, kMaxOpset, 1, 1, "", "", thresholdedRelu},
      {"Shrink", 9, kMaxOpset, 1, 1, "", "", shrink},
      {"PRelu", 7, kMaxOpset, 2, 1, "dp", "", prelu},
      {"Softsign", 1, kMaxOpset, 1, 1, "", "", floatUnary<SoftsignOp>},
      {"Mish", 18, kMaxOpset, 1, 1, "", "", mish},
      {"Swish", 7, kMaxOpset, 1, 1, "", "also before opset 24, where it became standard", swish},
      {"SwiGLU", 28, kMaxOpset, 2, 1, "", "", swiglu},
      {"BitCast", 26, kMaxOpset, 1, 1, "", "as Cast", bitCast},
      {"Cast", 7, kMaxOpset, 1, 1, "=", "no STRING, FLOAT8, FLOAT4E2M1, INT4, UINT4, INT2, UINT2", cast},
      {"CastLike", 15, kMaxOpset, 2, 1, "=d", "as Cast", castLike},
  };
  return {"Math", rows};
}
