//===- Binary.cpp - elementwise models of two and three operands --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Evaluator/Ops/Models.h"
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

namespace {
/// result = F(op, isInteger)(lhs, rhs), with broadcast operands.
template <typename OpT, auto F>
struct Binary : EvalModel<Binary<OpT, F>, OpT> {
  LogicalResult evaluate(Operation *op, Evaluation &e) const {
    HostTensor &r = e.results[0];
    std::vector<double> storageA, storageB;
    const std::vector<double> &a = broadcastValues(e.operands[0], r.shape, storageA);
    const std::vector<double> &b = broadcastValues(e.operands[1], r.shape, storageB);
    auto function = F(cast<OpT>(op), !isa<FloatType>(e.operands[0].element));
    for (size_t i = 0; i < a.size(); ++i)
      r.values[i] = function(a[i], b[i]);
    return success();
  }
};

struct SelectModel : EvalModel<SelectModel, SelectOp> {
  LogicalResult evaluate(Operation *, Evaluation &e) const {
    HostTensor &r = e.results[0];
    std::vector<double> storage[3];
    const std::vector<double> &c = broadcastValues(e.operands[0], r.shape, storage[0]);
    const std::vector<double> &a = broadcastValues(e.operands[1], r.shape, storage[1]);
    const std::vector<double> &b = broadcastValues(e.operands[2], r.shape, storage[2]);
    for (size_t i = 0; i < c.size(); ++i)
      r.values[i] = c[i] != 0 ? a[i] : b[i];
    return success();
  }
};
} // namespace

// Integers go through uint64_t, which wraps; doubles would be rounded beyond 2^53.
static uint64_t word(double v) { return v < 0 ? uint64_t(int64_t(v)) : uint64_t(v); }
static double number(uint64_t w) { return double(int64_t(w)); }

static auto add(AddOp, bool integer) {
  return [=](double a, double b) { return integer ? number(word(a) + word(b)) : a + b; };
}
static auto sub(SubOp, bool integer) {
  return [=](double a, double b) { return integer ? number(word(a) - word(b)) : a - b; };
}
static auto mul(MulOp, bool integer) {
  return [=](double a, double b) { return integer ? number(word(a) * word(b)) : a * b; };
}
static auto divide(DivOp, bool integer) {
  return [=](double a, double b) { return !integer ? a / b : b == 0 ? 0 : std::trunc(a / b); };
}
static auto mod(ModOp op, bool integer) {
  return [fmod = op.getFmod(), integer](double a, double b) {
    if (integer && b == 0)
      return 0.0;
    double r = std::fmod(a, b);
    return fmod || r == 0 || (r < 0) == (b < 0) ? r : r + b;
  };
}
/// The power of integers modulo 2^64, by squaring; a negative power is 0 unless a is 1 or -1.
static double integerPower(double a, double b) {
  if (b < 0)
    return a == 1 ? 1 : a == -1 ? (std::fmod(b, 2) != 0 ? -1 : 1) : 0;
  auto result = word(1), base = word(a);
  for (uint64_t exponent = uint64_t(b); exponent; exponent >>= 1, base = base * base)
    if (exponent & 1)
      result = result * base;
  return number(result);
}
static auto power(PowOp, bool integer) {
  return [=](double a, double b) { return integer ? integerPower(a, b) : std::pow(a, b); };
}
static auto prelu(PReluOp, bool integer) {
  return [=](double x, double slope) { return x > 0 ? x : integer ? number(word(x) * word(slope)) : x * slope; };
}
static auto minimum(MinOp, bool) {
  return [](double a, double b) { return std::isnan(a) || a < b ? a : b; };
}
static auto maximum(MaxOp, bool) {
  return [](double a, double b) { return std::isnan(a) || a > b ? a : b; };
}
static auto logicalAnd(AndOp, bool) {
  return [](double a, double b) { return double(a != 0 && b != 0); };
}
static auto logicalOr(OrOp, bool) {
  return [](double a, double b) { return double(a != 0 || b != 0); };
}
static auto logicalXor(XorOp, bool) {
  return [](double a, double b) { return double((a != 0) != (b != 0)); };
}
static auto compare(CompareOp op, bool) {
  return [predicate = op.getPredicate()](double a, double b) -> double {
    switch (predicate) {
    case Predicate::eq:
      return a == b;
    case Predicate::ne:
      return a != b;
    case Predicate::lt:
      return a < b;
    case Predicate::le:
      return a <= b;
    case Predicate::gt:
      return a > b;
    case Predicate::ge:
      return a >= b;
    }
    llvm_unreachable("all predicates are handled");
  };
}

void mpc::attachBinaryModels(MLIRContext &c) {
  AddOp::attachInterface<Binary<AddOp, add>>(c);
  SubOp::attachInterface<Binary<SubOp, sub>>(c);
  MulOp::attachInterface<Binary<MulOp, mul>>(c);
  DivOp::attachInterface<Binary<DivOp, divide>>(c);
  ModOp::attachInterface<Binary<ModOp, mod>>(c);
  PowOp::attachInterface<Binary<PowOp, power>>(c);
  PReluOp::attachInterface<Binary<PReluOp, prelu>>(c);
  MinOp::attachInterface<Binary<MinOp, minimum>>(c);
  MaxOp::attachInterface<Binary<MaxOp, maximum>>(c);
  AndOp::attachInterface<Binary<AndOp, logicalAnd>>(c);
  OrOp::attachInterface<Binary<OrOp, logicalOr>>(c);
  XorOp::attachInterface<Binary<XorOp, logicalXor>>(c);
  CompareOp::attachInterface<Binary<CompareOp, compare>>(c);
  SelectOp::attachInterface<SelectModel>(c);
}
