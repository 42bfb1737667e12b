//===- Reduce.cpp - models of reductions ----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Evaluator/Ops/Models.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

/// Calls fn(i, r): element i of x goes into element r of a result without `axes`.
template <typename Fn>
static void walkReduction(const HostTensor &x, ArrayRef<int64_t> axes, Fn &&fn) {
  SmallVector<int64_t> strides(x.shape.size(), 0);
  int64_t stride = 1;
  for (int64_t i = int64_t(x.shape.size()) - 1; i >= 0; --i)
    if (!llvm::is_contained(axes, i)) {
      strides[i] = stride;
      stride *= x.shape[i];
    }
  walkStrided(x.shape, strides, 0, fn);
}

namespace {
template <typename OpT>
struct Sum : EvalModel<Sum<OpT>, OpT> {
  LogicalResult evaluate(Operation *operation, Evaluation &e) const {
    auto op = cast<OpT>(operation);
    const HostTensor &x = e.operands[0];
    HostTensor &y = e.results[0];
    walkReduction(x, op.getAxes(), [&](int64_t i, int64_t r) { y.values[r] += x.values[i]; });
    if (std::is_same_v<OpT, ReduceMeanOp>) {
      double n = y.size() ? double(x.size()) / double(y.size()) : 0;
      for (double &v : y.values)
        v /= n;
    }
    return success();
  }
};

struct L2Model : EvalModel<L2Model, ReduceL2Op> {
  LogicalResult evaluate(Operation *op, Evaluation &e) const {
    const HostTensor &x = e.operands[0];
    std::vector<double> &y = e.results[0].values;
    walkReduction(x, cast<ReduceL2Op>(op).getAxes(), [&](int64_t i, int64_t r) { y[r] += x.values[i] * x.values[i]; });
    for (double &v : y)
      v = std::sqrt(v);
    return success();
  }
};

/// y = F(y, x) over the group, starting from what `Start` says for the type of the elements.
template <typename OpT, double (*F)(double, double), double (*Start)(Type)>
struct Fold : EvalModel<Fold<OpT, F, Start>, OpT> {
  LogicalResult evaluate(Operation *op, Evaluation &e) const {
    const HostTensor &x = e.operands[0];
    std::vector<double> &y = e.results[0].values;
    std::fill(y.begin(), y.end(), Start(x.element));
    walkReduction(x, cast<OpT>(op).getAxes(), [&](int64_t i, int64_t r) { y[r] = F(y[r], x.values[i]); });
    return success();
  }
};

struct AnyModel : EvalModel<AnyModel, ReduceAnyOp> {
  LogicalResult evaluate(Operation *op, Evaluation &e) const {
    const HostTensor &x = e.operands[0];
    walkReduction(x, cast<ReduceAnyOp>(op).getAxes(), [&](int64_t i, int64_t r) {
      if (x.values[i] != 0)
        e.results[0].values[r] = 1;
    });
    return success();
  }
};

/// NaN counts as the extremum, as in max_pool; of equal elements the first (or the last) is taken.
struct ArgMaxModel : EvalModel<ArgMaxModel, ArgMaxOp> {
  LogicalResult evaluate(Operation *operation, Evaluation &e) const {
    auto op = cast<ArgMaxOp>(operation);
    const std::vector<double> &x = e.operands[0].values;
    AxisView view(e.operands[0].shape, op.getAxis());
    auto beats = [&](double a, double b) {
      if (std::isnan(a) || std::isnan(b))
        return std::isnan(a) && (op.getLast() || !std::isnan(b));
      return (op.getMin() ? a < b : a > b) || (op.getLast() && a == b);
    };
    for (int64_t o = 0; o < view.outer; ++o)
      for (int64_t i = 0; i < view.inner; ++i) {
        int64_t best = 0;
        for (int64_t k = 1; k < view.extent; ++k)
          if (beats(x[view.at(o, k, i)], x[view.at(o, best, i)]))
            best = k;
        e.results[0].values[o * view.inner + i] = double(best);
      }
    return success();
  }
};
} // namespace

// The models state again what the ops say of themselves (their combiner, its identity), because tests hold these facts
// against the models.

double mpc::lowest(Type element) {
  auto integer = dyn_cast<IntegerType>(element);
  if (!integer)
    return -std::numeric_limits<double>::infinity();
  return integer.isUnsigned() || integer.getWidth() == 1 ? 0 : -std::ldexp(1, int(integer.getWidth()) - 1);
}
double mpc::highest(Type element) {
  auto integer = dyn_cast<IntegerType>(element);
  if (!integer)
    return std::numeric_limits<double>::infinity();
  bool isSigned = !integer.isUnsigned() && integer.getWidth() > 1;
  return std::ldexp(1, int(integer.getWidth()) - isSigned) - 1;
}
static double one(Type) { return 1; }

double mpc::larger(double a, double b) { return std::isnan(a) || a > b ? a : b; }
double mpc::smaller(double a, double b) { return std::isnan(a) || a < b ? a : b; }
static double product(double a, double b) { return a * b; }

void mpc::attachReduceModels(MLIRContext &c) {
  ReduceSumOp::attachInterface<Sum<ReduceSumOp>>(c);
  ReduceMeanOp::attachInterface<Sum<ReduceMeanOp>>(c);
  ReduceMaxOp::attachInterface<Fold<ReduceMaxOp, larger, lowest>>(c);
  ReduceMinOp::attachInterface<Fold<ReduceMinOp, smaller, highest>>(c);
  ReduceProdOp::attachInterface<Fold<ReduceProdOp, product, one>>(c);
  ReduceL2Op::attachInterface<L2Model>(c);
  ReduceAnyOp::attachInterface<AnyModel>(c);
  ArgMaxOp::attachInterface<ArgMaxModel>(c);
}
