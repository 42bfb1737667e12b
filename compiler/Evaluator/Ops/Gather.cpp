//===- Gather.cpp - models of gather, resize and their transposes --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Evaluator/Ops/Models.h"
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

/// Returns the indices counted from the start, or emits an error.
static FailureOr<std::vector<int64_t>> normalizedIndices(Operation *op, const HostTensor &indices, int64_t extent) {
  std::vector<int64_t> result;
  for (double v : indices.values) {
    int64_t i = int64_t(v);
    if (i < -extent || i >= extent)
      return op->emitOpError("index ") << i << " is out of range for " << extent << " elements";
    result.push_back(i < 0 ? i + extent : i);
  }
  return result;
}

namespace {
struct GatherModel : EvalModel<GatherModel, GatherOp> {
  LogicalResult evaluate(Operation *op, Evaluation &e) const {
    const HostTensor &x = e.operands[0];
    AxisView view(x.shape, cast<GatherOp>(op).getAxis());
    auto indices = normalizedIndices(op, e.operands[1], view.extent);
    if (failed(indices))
      return failure();
    double *y = e.results[0].values.data();
    for (int64_t o = 0; o < view.outer; ++o)
      for (int64_t k : *indices)
        y = std::copy_n(x.values.data() + view.at(o, k, 0), view.inner, y);
    return success();
  }
};

double initial(ScatterMode mode, Type element) {
  switch (mode) {
  case ScatterMode::add:
    return 0;
  case ScatterMode::multiply:
    return 1;
  case ScatterMode::max:
    return lowest(element);
  case ScatterMode::min:
    return highest(element);
  }
  llvm_unreachable("all modes are handled");
}

double combined(ScatterMode mode, double a, double b) {
  switch (mode) {
  case ScatterMode::add:
    return a + b;
  case ScatterMode::multiply:
    return a * b;
  case ScatterMode::max:
    return larger(b, a);
  case ScatterMode::min:
    return smaller(b, a);
  }
  llvm_unreachable("all modes are handled");
}

struct ScatterModel : EvalModel<ScatterModel, ScatterOp> {
  LogicalResult evaluate(Operation *op, Evaluation &e) const {
    HostTensor &y = e.results[0];
    auto scatter = cast<ScatterOp>(op);
    AxisView view(y.shape, scatter.getAxis());
    auto indices = normalizedIndices(op, e.operands[1], view.extent);
    if (failed(indices))
      return failure();
    llvm::fill(y.values, initial(scatter.getMode(), elementOf(scatter.getY())));
    const double *updates = e.operands[0].values.data();
    for (int64_t o = 0; o < view.outer; ++o)
      for (int64_t k : *indices)
        for (int64_t i = 0; i < view.inner; ++i, ++updates) {
          double &place = y.values[view.at(o, k, i)];
          place = combined(scatter.getMode(), place, *updates);
        }
    return success();
  }
};

/// The elements that one result element reads along one axis.
struct Tap {
  int64_t low, high;
  double highWeight; // the low one has weight 1 - highWeight
};
} // namespace

/// One tap for each of `out` result elements, over `in` operand elements.
template <typename OpT>
static std::vector<Tap> tapsOf(OpT op, int64_t axis, int64_t in, int64_t out) {
  std::vector<Tap> taps;
  auto clampIndex = [&](double v) { return int64_t(std::min(std::max(v, 0.0), double(in - 1))); };
  for (int64_t i = 0; i < out; ++i) {
    double coordinate = op.getScales()[axis] * double(i) + op.getOffsets()[axis];
    if (op.getMode() == ResizeMode::nearest) {
      double biased = coordinate + op.getNearestBias().convertToDouble();
      int64_t at = clampIndex(op.getNearestCeil() ? std::ceil(biased) : std::floor(biased));
      taps.push_back({at, at, 0});
      continue;
    }
    double inside = std::min(std::max(coordinate, 0.0), double(in - 1));
    int64_t low = int64_t(std::floor(inside));
    taps.push_back({low, std::min(low + 1, in - 1), inside - double(low)});
  }
  return taps;
}

namespace {
/// Interpolation is a product of linear maps, one for each axis, which are applied one after the other; so is
/// its transpose.
template <typename OpT, bool Transposed>
struct ResizeModel : EvalModel<ResizeModel<OpT, Transposed>, OpT> {
  LogicalResult evaluate(Operation *operation, Evaluation &e) const {
    auto op = cast<OpT>(operation);
    SmallVector<int64_t> shape = e.operands[0].shape;
    ArrayRef<int64_t> target = e.results[0].shape;
    std::vector<double> x = e.operands[0].values;
    for (int64_t axis = 0, rank = shape.size(); axis < rank; ++axis) {
      int64_t from = shape[axis], to = target[axis];
      if (from == to && op.getScales()[axis] == 1 && op.getOffsets()[axis] == 0)
        continue;
      std::vector<Tap> taps = Transposed ? tapsOf(op, axis, to, from) : tapsOf(op, axis, from, to);
      AxisView before(shape, axis);
      shape[axis] = to;
      AxisView after(shape, axis);
      std::vector<double> y(after.outer * after.extent * after.inner);
      for (int64_t o = 0; o < after.outer; ++o)
        for (auto [k, tap] : llvm::enumerate(taps))
          for (int64_t i = 0; i < after.inner; ++i) {
            // An element with weight 0 is not read, since it might be infinite.
            if constexpr (Transposed) {
              double v = x[before.at(o, k, i)];
              y[after.at(o, tap.low, i)] += (1 - tap.highWeight) * v;
              if (tap.highWeight)
                y[after.at(o, tap.high, i)] += tap.highWeight * v;
            } else {
              double high = tap.highWeight ? tap.highWeight * x[before.at(o, tap.high, i)] : 0;
              y[after.at(o, k, i)] = (1 - tap.highWeight) * x[before.at(o, tap.low, i)] + high;
            }
          }
      x = std::move(y);
    }
    e.results[0].values = std::move(x);
    return success();
  }
};
} // namespace

void mpc::attachGatherModels(MLIRContext &c) {
  GatherOp::attachInterface<GatherModel>(c);
  ScatterOp::attachInterface<ScatterModel>(c);
  ResizeOp::attachInterface<ResizeModel<ResizeOp, false>>(c);
  ResizeGradOp::attachInterface<ResizeModel<ResizeGradOp, true>>(c);
}
