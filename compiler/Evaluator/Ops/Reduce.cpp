//===- Reduce.cpp - models of reductions ----------------------------------------------===//
#include "compiler/Evaluator/Ops/Models.h"
#include <cmath>

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

/// Returns the number that changes no other under the combiner.
static double identityNumber(Combiner combiner, Type element) {
  auto attr = DenseElementsAttr::get(RankedTensorType::get({}, element), Attribute(identityOf(combiner, element)));
  return HostTensor::fromAttr(attr)->values[0];
}

/// A NaN is larger and smaller than every number.
static double larger(double a, double b) { return std::isnan(a) || a > b ? a : b; }
static double smaller(double a, double b) { return std::isnan(a) || a < b ? a : b; }

namespace {
struct ReductionModel : EvaluableOpInterface::FallbackModel<ReductionModel> {
  LogicalResult evaluate(Operation *operation, Evaluation &e) const {
    auto op = cast<ReductionOpInterface>(operation);
    const HostTensor &x = e.operands[0];
    std::vector<double> &y = e.results[0].values;
    std::fill(y.begin(), y.end(), identityNumber(op.getCombiner(), x.element));
    auto combine = [&](auto &&combined) {
      walkReduction(x, op.getAxes(), [&](int64_t i, int64_t r) { y[r] = combined(y[r], x.values[i]); });
    };
    switch (op.getCombiner()) {
    case Combiner::Add:
      combine([](double a, double b) { return a + b; });
      break;
    case Combiner::Multiply:
      combine([](double a, double b) { return a * b; });
      break;
    case Combiner::Max:
      combine(larger);
      break;
    case Combiner::Min:
      combine(smaller);
      break;
    case Combiner::Or:
      combine([](double a, double b) { return double(a != 0 || b != 0); });
      break;
    case Combiner::Hypot: // the squares are added first, so that there is one root
      combine([](double squares, double b) { return squares + b * b; });
      for (double &v : y)
        v = std::sqrt(v);
      break;
    }
    if (op.isMean())
      for (double &v : y)
        v /= double(x.size()) / double(y.size());
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

void mpc::attachReduceModels(MLIRContext &c) {
  for (RegisteredOperationName name : c.getRegisteredOperationsByDialect(GraphDialect::getDialectNamespace()))
    if (name.hasInterface<ReductionOpInterface>())
      name.attachInterface<ReductionModel>();
  ArgMaxOp::attachInterface<ArgMaxModel>(c);
}
