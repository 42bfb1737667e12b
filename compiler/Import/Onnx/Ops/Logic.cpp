//===- Logic.cpp - comparisons, logic, selection --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Import/Onnx/Import.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::onnx_import;

template <Predicate predicate>
static void comparison(Node &n) {
  n.out(0, n.compare(predicate, n.in(0), n.in(1)));
}
template <typename OpT>
static void logical(Node &n) {
  n.out(0, n.binary<OpT>(n.in(0), n.in(1)));
}
static void logicalNot(Node &n) { n.out(0, n.unary<NotOp>(n.in(0))); }

static void where(Node &n) { n.out(0, n.select(n.in(0), n.in(1), n.in(2))); }

static void isNaN(Node &n) { n.out(0, n.make<IsNaNOp>(n.floatIn(0)).getY()); }
static void isInf(Node &n) {
  bool negative = n.intAttribute("detect_negative", 1) != 0, positive = n.intAttribute("detect_positive", 1) != 0;
  double infinity = std::numeric_limits<double>::infinity();
  Value x = n.floatIn(0);
  if (negative && positive)
    return n.out(0, n.compare(Predicate::eq, n.unary<AbsOp>(x), n.number(infinity, x)));
  if (!negative && !positive)
    return n.out(0, HostTensor::fromInts(n.tensorType(n.shape(0), n.b.getI1Type()), 0));
  n.out(0, n.compare(Predicate::eq, x, n.number(positive ? infinity : -infinity, x)));
}

OpFamily onnx_import::logicOps() {
  static const OpRow rows[] = {
      {"Equal", 7, kMaxOpset, 2, 1, "", "no strings", comparison<Predicate::eq>},
      {"Less", 7, kMaxOpset, 2, 1, "", "", comparison<Predicate::lt>},
      {"LessOrEqual", 12, kMaxOpset, 2, 1, "", "", comparison<Predicate::le>},
      {"Greater", 7, kMaxOpset, 2, 1, "", "", comparison<Predicate::gt>},
      {"GreaterOrEqual", 12, kMaxOpset, 2, 1, "", "", comparison<Predicate::ge>},
      {"And", 7, kMaxOpset, 2, 1, "", "", logical<AndOp>},
      {"Or", 7, kMaxOpset, 2, 1, "", "", logical<OrOp>},
      {"Xor", 7, kMaxOpset, 2, 1, "", "", logical<XorOp>},
      {"Not", 1, kMaxOpset, 1, 1, "", "", logicalNot},
      {"Where", 9, kMaxOpset, 3, 1, "", "", where},
      {"IsNaN", 9, kMaxOpset, 1, 1, "", "", isNaN},
      {"IsInf", 10, kMaxOpset, 1, 1, "", "", isInf},
  };
  return {"Logic", rows};
}
