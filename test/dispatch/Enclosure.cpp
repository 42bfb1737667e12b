// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Enclosure.h"
#include "AttentionErrors.h"
#include "StatedErrors.h"
#include "compiler/Evaluator/Evaluator.h"
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Kernel/Analysis/AttentionKernel.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::test;

namespace {

enum class Rule {
  Increasing, ///< increases in every float operand; integer operands are exact
  Decreasing, ///< decreases in the only operand
  Difference, ///< increases in the first operand, decreases in the second
  Corners,    ///< has its extremes where the operands have theirs
  Quotient,   ///< has its extremes at corners; unbounded where the divisor may be zero
  Order,      ///< a comparison <, <=, >, >=, decided by the difference of the operands
  Select,     ///< takes either branch where the condition is undecided
  Finite,     ///< a predicate with one answer for all of an interval with finite ends
  Exact,      ///< allowed for exact operands only
};

/// The rules of ops that combine elements by functions of their own, by mnemonic; nullopt for one that is not stated.
std::optional<Rule> functionRule(StringRef mnemonic) {
  return llvm::StringSwitch<std::optional<Rule>>(mnemonic)
      .Cases({"add", "min", "max", "and", "or", "relu", "leaky_relu", "elu", "clip"}, Rule::Increasing)
      .Cases({"sign", "floor", "ceil", "round", "cast", "bitcast", "random", "dropout", "stop_gradient"},
             Rule::Increasing)
      .Cases({"exp", "log", "sqrt", "asin", "atan", "sinh", "asinh", "acosh", "atanh", "erf"}, Rule::Increasing)
      .Cases({"tanh", "sigmoid", "normal_cdf", "softplus", "softsign", "hard_sigmoid"}, Rule::Increasing)
      .Cases({"max_pool_grad", "avg_pool", "avg_pool_grad", "resize", "resize_grad"}, Rule::Increasing)
      .Cases({"neg", "reciprocal", "rsqrt", "acos", "not"}, Rule::Decreasing)
      .Case("sub", Rule::Difference)
      .Case("mul", Rule::Corners)
      .Case("div", Rule::Quotient)
      .Case("compare", Rule::Order)
      .Case("select", Rule::Select)
      .Cases({"is_nonfinite", "is_nan"}, Rule::Finite)
      .Cases({"abs", "gelu", "swish", "hard_swish", "sin", "cos", "tan", "cosh", "mod", "pow", "prelu", "xor"},
             Rule::Exact)
      .Cases({"argmax", "max_pool", "depthwise_conv", "depthwise_input_grad"}, Rule::Exact)
      .Default(std::nullopt);
}

/// Returns the rule of an op, which follows from its loop kind where it computes no function of its own.
std::optional<Rule> ruleOf(OperationName name) {
  const auto *indexed = name.getInterface<IndexingOpInterface>();
  if (!indexed)
    return std::nullopt;
  switch (indexed->getLoopKind()) {
  case LoopKind::Generator:
  case LoopKind::View:
  case LoopKind::Broadcast:
  case LoopKind::Permutation:
  case LoopKind::Movement:
  case LoopKind::Scatter:
    return Rule::Increasing;
  case LoopKind::Reduction: {
    Combiner combiner = name.getInterface<ReductionOpInterface>()->getCombiner();
    return combiner == Combiner::Multiply || combiner == Combiner::Hypot ? Rule::Exact : Rule::Increasing;
  }
  case LoopKind::Contraction:
  case LoopKind::Composite:
  case LoopKind::Repeat:
    return Rule::Exact;
  case LoopKind::Elementwise:
  case LoopKind::Window:
    return functionRule(name.stripDialect());
  }
  llvm_unreachable("all loop kinds are handled");
}

/// Elements that are equal or not have no order.
bool comparesForEquality(Operation *op) {
  auto compare = dyn_cast<CompareOp>(op);
  return compare && (compare.getPredicate() == Predicate::eq || compare.getPredicate() == Predicate::ne);
}

/// Computes the enclosures of the ops in one body.
class Encloser {
public:
  explicit Encloser(kernel::DispatchOp dispatch) : contraction(dispatch.isContraction()) {}

  LogicalResult run(Operation *op);
  DenseMap<Value, Enclosure> known;

private:
  using Tensors = SmallVector<HostTensor>;
  LogicalResult evaluate(Operation *op, ArrayRef<HostTensor> operands, Tensors &results) {
    return Evaluator::evaluateOp(op, operands, results, EvalMode::Exact);
  }
  /// Computes the lowest and highest results over the operands' intervals.
  LogicalResult bounds(Operation *op, Tensors &low, Tensors &high);
  LogicalResult addOwnError(Operation *op, Tensors &low, Tensors &high);
  Tensors pick(ArrayRef<bool> high);

  bool contraction;
  std::vector<Enclosure> operands; ///< operands of the current op
};

void include(HostTensor &low, HostTensor &high, const HostTensor &x) {
  for (size_t i = 0; i < x.values.size(); ++i) {
    // A NaN says that the ends of the interval have no meaning.
    double v = x.values[i];
    low.values[i] = std::isnan(v) || v < low.values[i] ? v : low.values[i];
    high.values[i] = std::isnan(v) || v > high.values[i] ? v : high.values[i];
  }
}

/// A quotient by an interval that contains zero has no bounds, which NaN ends express.
void openAroundZero(Enclosure &divisor) {
  for (auto [a, b] : llvm::zip(divisor.low.values, divisor.high.values))
    if (a < b && a <= 0 && b >= 0)
      a = b = NAN;
}

Encloser::Tensors Encloser::pick(ArrayRef<bool> high) {
  Tensors tensors;
  for (auto [i, operand] : llvm::enumerate(operands))
    tensors.push_back(high[i] ? operand.high : operand.low);
  return tensors;
}

LogicalResult Encloser::bounds(Operation *op, Tensors &low, Tensors &high) {
  unsigned n = op->getNumOperands();
  if (llvm::all_of(operands, [](const Enclosure &e) { return e.exact(); })) {
    if (failed(evaluate(op, pick(SmallVector<bool>(n, false)), low)))
      return failure();
    high = low;
    return success();
  }
  std::optional<Rule> stated = ruleOf(op->getName());
  if (!stated)
    return op->emitError("has no rule; state it in functionRule (test/dispatch/Enclosure.cpp)");
  Rule rule = comparesForEquality(op) ? Rule::Exact : *stated;
  for (const Enclosure &e : operands)
    if (!isa<FloatType>(e.value.element) && !e.value.element.isInteger(1) && !e.exact())
      return op->emitError("has no rule for integers that are not exact");
  switch (rule) {
  case Rule::Increasing:
  case Rule::Decreasing: {
    bool flip = rule == Rule::Decreasing;
    if (isa<ReciprocalOp, RsqrtOp>(op))
      openAroundZero(operands[0]);
    return success(succeeded(evaluate(op, pick(SmallVector<bool>(n, flip)), low)) &&
                   succeeded(evaluate(op, pick(SmallVector<bool>(n, !flip)), high)));
  }
  case Rule::Difference:
    return success(succeeded(evaluate(op, pick({false, true}), low)) &&
                   succeeded(evaluate(op, pick({true, false}), high)));
  case Rule::Quotient:
    openAroundZero(operands[1]);
    [[fallthrough]];
  case Rule::Corners:
  case Rule::Order: {
    if (failed(evaluate(op, pick({false, false}), low)))
      return failure();
    high = low;
    for (auto [a, b] : {std::pair(false, true), std::pair(true, false), std::pair(true, true)}) {
      Tensors corner;
      if (failed(evaluate(op, pick({a, b}), corner)))
        return failure();
      include(low[0], high[0], corner[0]);
    }
    return success();
  }
  case Rule::Select: {
    if (failed(evaluate(op, pick({false, false, false}), low)) || failed(evaluate(op, pick({true, true, true}), high)))
      return failure();
    Tensors other;
    if (failed(evaluate(op, pick({true, false, false}), other)))
      return failure();
    include(low[0], high[0], other[0]);
    other.clear();
    if (failed(evaluate(op, pick({false, true, true}), other)))
      return failure();
    include(low[0], high[0], other[0]);
    return success();
  }
  case Rule::Finite: {
    Enclosure &x = operands[0];
    low.push_back(HostTensor(typeOf(op->getResult(0))));
    high.push_back(low[0]);
    for (auto [v, a, b, l, h] : llvm::zip(x.value.values, x.low.values, x.high.values, low[0].values, high[0].values))
      if (std::isnan(v))
        l = h = 1;
      else if (!std::isfinite(a) || !std::isfinite(b))
        h = 1, l = a == b;
    return success();
  }
  case Rule::Exact:
    return op->emitError("has no rule for operands that are not exact");
  }
  llvm_unreachable("all rules are handled");
}

LogicalResult Encloser::addOwnError(Operation *op, Tensors &low, Tensors &high) {
  Type type = elementOf(op->getResult(0));
  if (!isa<FloatType>(type))
    return success();
  if (kernel::isAttention(op)) {
    Tensors values;
    for (const Enclosure &operand : operands)
      values.push_back(operand.value);
    AttentionNumbers numbers = computeAttention(op, values);
    for (size_t r = 0; r < low.size(); ++r)
      for (auto [l, h, error] : llvm::zip_equal(low[r].values, high[r].values, numbers.errors[r])) {
        l -= error;
        h += error;
      }
    return success();
  }
  // The evaluator computes f64 in f64 as well, so its results are wrong by as much.
  bool wide = type.isF64();
  double unit = wide ? 0x1p-52 : 0x1p-24, bits = wide ? 53 : 24;
  std::optional<int64_t> stated = accumulationLength(op);
  std::optional<StatedError> ownError = statedError(op->getName());
  if (!stated || !ownError)
    return op->emitError("states no error; add it to test/dispatch/StatedErrors.cpp");
  int64_t length = *stated;
  // An op with a single term adds nothing.
  if (length > 1 || isOfKind(op, LoopKind::Contraction)) {
    Tensors magnitudes, sums;
    for (const Enclosure &operand : operands) {
      HostTensor m = operand.high;
      if (isa<FloatType>(m.element))
        for (auto [x, l] : llvm::zip(m.values, operand.low.values))
          x = std::max(std::abs(x), std::abs(l));
      magnitudes.push_back(std::move(m));
    }
    if (failed(evaluate(op, magnitudes, sums)))
      return failure();
    double terms = double(length) * unit, loss = accumulatorLoss(op);
    for (auto [l, h, sum] : llvm::zip(low[0].values, high[0].values, sums[0].values)) {
      // The term 2^-126 is needed because bf16 instructions flush subnormals of f32 to zero.
      double error = std::isfinite(sum) ? (terms / (1 - terms) + loss) * sum + double(length) * 0x1p-126 : 0;
      l -= error;
      h += error;
    }
  }
  if (wide && ownError->ulps > 0)
    ownError->ulps = std::max(ownError->ulps, 1.0);
  if (ownError->ulps > 0 || ownError->absolute > 0)
    for (auto [l, h] : llvm::zip(low[0].values, high[0].values)) {
      auto error = [&](double v) {
        if (!std::isfinite(v) || v == 0)
          return 0.0;
        return ownError->ulps * std::ldexp(1.0, std::max(std::ilogb(v), wide ? -1022 : -126) - int(bits) + 1) +
               ownError->absolute * unit;
      };
      l -= error(l);
      h += error(h);
    }
  return success();
}

LogicalResult Encloser::run(Operation *op) {
  Tensors references, values, low, high;
  if (auto member = dyn_cast<kernel::DispatchOp>(op)) { // a member of a batch, whose inputs are exact
    for (Value v : member.getInputs())
      values.push_back(known[v].value);
    FailureOr<std::vector<Enclosure>> enclosed = enclose(member, values);
    if (failed(enclosed))
      return failure();
    for (auto [result, enclosure] : llvm::zip_equal(member.getResults(), *enclosed))
      known[result] = std::move(enclosure);
    return success();
  }
  operands.clear();
  for (Value v : op->getOperands()) {
    operands.push_back(known[v]);
    references.push_back(known[v].value);
  }
  if (failed(Evaluator::evaluateOp(op, references, values, EvalMode::Rounded)) || failed(bounds(op, low, high)) ||
      failed(addOwnError(op, low, high)))
    return failure();
  for (unsigned r = 0; r < op->getNumResults(); ++r) {
    HostTensor unroundedLow = low[r], unroundedHigh = high[r];
    low[r].round();
    high[r].round();
    if (contraction && isa<FloatType>(low[r].element)) {
      include(low[r], high[r], unroundedLow);
      include(low[r], high[r], unroundedHigh);
    }
    for (auto [v, l, h] : llvm::zip(values[r].values, low[r].values, high[r].values)) {
      if (std::isnan(v))
        l = h = NAN;
      else if (std::isnan(l) || std::isnan(h))
        l = -INFINITY, h = INFINITY;
      l = std::min(l, v);
      h = std::max(h, v);
    }
    known[op->getResult(r)] = {std::move(values[r]), std::move(low[r]), std::move(high[r])};
  }
  return success();
}

} // namespace

bool mpc::test::hasRule(OperationName name) { return ruleOf(name).has_value(); }

bool mpc::test::Enclosure::exact() const {
  for (auto [l, h] : llvm::zip(low.values, high.values))
    if (l != h && !(std::isnan(l) && std::isnan(h)))
      return false;
  return true;
}

FailureOr<std::vector<Enclosure>> mpc::test::enclose(kernel::DispatchOp dispatch, ArrayRef<HostTensor> inputs) {
  Encloser encloser(dispatch);
  Block &body = dispatch.getBody().front();
  for (auto [argument, input] : llvm::zip_equal(body.getArguments(), inputs))
    encloser.known[argument] = {input, input, input};
  for (Operation &op : body.without_terminator())
    if (failed(encloser.run(&op)))
      return failure();
  std::vector<Enclosure> results;
  for (Value v : dispatch.yielded()) {
    results.push_back(encloser.known[v]);
    results.back().low.round();
    results.back().high.round();
  }
  return results;
}

Comparison mpc::test::compare(const Enclosure &expected, const HostTensor &actual) {
  Comparison result;
  result.elements = int64_t(actual.values.size());
  Type element = expected.value.element;
  auto floatType = dyn_cast<FloatType>(element);
  double distanceSquares = 0, allowedSquares = 0, squares = 0;
  for (double want : expected.value.values)
    squares += std::isfinite(want) ? want * want : 0;
  double rms = std::sqrt(squares / std::max<double>(1, double(actual.values.size())));
  for (size_t i = 0; i < actual.values.size(); ++i) {
    double want = expected.value.values[i], got = actual.values[i], low = expected.low.values[i],
           high = expected.high.values[i];
    if (std::isnan(want) && std::isnan(got))
      continue;
    if (std::isinf(low) && std::isinf(high) && low < high)
      ++result.unbounded;
    if (!(low <= got && got <= high)) {
      if (result.outside++ == 0)
        result.firstOutside = int64_t(i);
    }
    double allowed = std::max(high - want, want - low);
    if (std::isfinite(want) && std::isfinite(allowed)) {
      allowedSquares += allowed * allowed;
      distanceSquares += (got - want) * (got - want);
    }
    if (got == want)
      continue;
    ++result.different;
    double ulp = 1;
    if (floatType) {
      const llvm::fltSemantics &s = floatType.getFloatSemantics();
      int least = llvm::APFloat::semanticsMinExponent(s), precision = llvm::APFloat::semanticsPrecision(s);
      double size = std::max(std::abs(want), rms);
      ulp = std::ldexp(1.0,
                       (size == 0 || !std::isfinite(size) ? least : std::max(std::ilogb(size), least)) - precision + 1);
    }
    double ulps = std::abs(got - want) / ulp;
    if (!(ulps <= result.maxUlps)) {
      result.maxUlps = ulps;
      result.allowedUlps = allowed / ulp;
    }
  }
  squares = squares > 0 ? squares : 1;
  result.rms = std::sqrt(distanceSquares / squares);
  result.allowedRms = std::sqrt(allowedSquares / squares);
  return result;
}
