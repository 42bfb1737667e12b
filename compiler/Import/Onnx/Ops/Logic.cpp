//===- Logic.cpp - comparisons, logic, selection, control --------------------===//
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
  bool negative = n.intAttribute("detect_negative", 1) != 0,
       positive = n.intAttribute("detect_positive", 1) != 0;
  double infinity = std::numeric_limits<double>::infinity();
  Value x = n.floatIn(0);
  if (negative && positive)
    return n.out(0, n.compare(Predicate::eq, n.unary<AbsOp>(x), n.number(infinity, x)));
  if (!negative && !positive)
    return n.out(0, HostTensor::fromInts(n.tensorType(n.shape(0), n.b.getI1Type()), 0));
  n.out(0, n.compare(Predicate::eq, x, n.number(positive ? infinity : -infinity, x)));
}

/// An If whose condition is known at import is replaced by the branch.
static void ifOp(Node &n) {
  bool condition = n.constantNumber(0, "the condition") != 0;
  auto *branch = n.attribute(condition ? "then_branch" : "else_branch", {onnx::AttributeProto::GRAPH});
  n.ignore({"then_branch", "else_branch"});
  if (!branch || !branch->has_g())
    n.fail("the branch is missing");
  std::vector<Entry> results = n.import.inlineGraph(*branch->mutable_g(), n.opset, n.loc);
  if (results.size() < n.numOutputs())
    n.fail("the branch has " + Twine(results.size()) + " outputs, the node " + Twine(n.numOutputs()));
  n.adopt(results);
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
      {"If", 7, kMaxOpset, 1, kAnyNumber, "", "a condition that is known at compile time", ifOp},
  };
  return {"Logic", rows};
}
