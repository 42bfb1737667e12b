//===- Tensor.cpp - models of constants and data movement ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Evaluator/Ops/Models.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

namespace {
struct ConstantModel : EvalModel<ConstantModel, ConstantOp> {
  LogicalResult evaluate(Operation *op, Evaluation &e) const {
    FailureOr<HostTensor> value = HostTensor::fromAttr(cast<ConstantOp>(op).getValue());
    if (failed(value))
      return op->emitOpError("has a value that the evaluator cannot read");
    e.results[0] = std::move(*value);
    return success();
  }
};

struct IotaModel : EvalModel<IotaModel, IotaOp> {
  LogicalResult evaluate(Operation *op, Evaluation &e) const {
    HostTensor &y = e.results[0];
    SmallVector<int64_t> strides(y.shape.size(), 0);
    strides[cast<IotaOp>(op).getAxis()] = 1;
    walkStrided(y.shape, strides, 0, [&](int64_t i, int64_t index) { y.values[i] = double(index); });
    return success();
  }
};

struct ReshapeModel : EvalModel<ReshapeModel, ReshapeOp> {
  LogicalResult evaluate(Operation *, Evaluation &e) const {
    e.results[0].values = e.operands[0].values;
    return success();
  }
};

struct BarrierModel : EvalModel<BarrierModel, BarrierOp> {
  LogicalResult evaluate(Operation *, Evaluation &e) const {
    e.results[0].values = e.operands[0].values;
    return success();
  }
};

struct TransposeModel : EvalModel<TransposeModel, TransposeOp> {
  LogicalResult evaluate(Operation *op, Evaluation &e) const {
    const HostTensor &x = e.operands[0];
    HostTensor &y = e.results[0];
    SmallVector<int64_t> own = stridesOf(x.shape), strides;
    for (int64_t p : cast<TransposeOp>(op).getPermutation())
      strides.push_back(own[p]);
    walkStrided(y.shape, strides, 0, [&](int64_t i, int64_t at) { y.values[i] = x.values[at]; });
    return success();
  }
};

struct BroadcastModel : EvalModel<BroadcastModel, BroadcastOp> {
  LogicalResult evaluate(Operation *, Evaluation &e) const {
    std::vector<double> storage;
    e.results[0].values = broadcastValues(e.operands[0], e.results[0].shape, storage);
    return success();
  }
};

struct ConcatModel : EvalModel<ConcatModel, ConcatOp> {
  LogicalResult evaluate(Operation *op, Evaluation &e) const {
    HostTensor &y = e.results[0];
    int64_t axis = cast<ConcatOp>(op).getAxis(), offset = 0;
    SmallVector<int64_t> strides = stridesOf(y.shape);
    for (const HostTensor &x : e.operands) {
      walkStrided(x.shape, strides, offset, [&](int64_t i, int64_t at) { y.values[at] = x.values[i]; });
      offset += x.shape[axis] * strides[axis];
    }
    return success();
  }
};

struct SliceModel : EvalModel<SliceModel, SliceOp> {
  LogicalResult evaluate(Operation *operation, Evaluation &e) const {
    auto op = cast<SliceOp>(operation);
    const HostTensor &x = e.operands[0];
    HostTensor &y = e.results[0];
    SmallVector<int64_t> strides = stridesOf(x.shape);
    int64_t offset = 0;
    for (auto [stride, start, step] : llvm::zip_equal(strides, op.getStarts(), op.getStrides())) {
      offset += stride * start;
      stride *= step;
    }
    walkStrided(y.shape, strides, offset, [&](int64_t i, int64_t at) { y.values[i] = x.values[at]; });
    return success();
  }
};

struct PadModel : EvalModel<PadModel, PadOp> {
  LogicalResult evaluate(Operation *operation, Evaluation &e) const {
    auto op = cast<PadOp>(operation);
    const HostTensor &x = e.operands[0];
    HostTensor &y = e.results[0];
    std::fill(y.values.begin(), y.values.end(), op.getValue().convertToDouble());
    SmallVector<int64_t> strides = stridesOf(y.shape), index(x.shape.size(), 0);
    for (double v : x.values) {
      int64_t at = 0;
      bool inside = true;
      for (size_t d = 0; d < index.size(); ++d) {
        int64_t position = op.getLow()[d] + index[d] * (op.getInterior()[d] + 1);
        inside &= position >= 0 && position < y.shape[d]; // negative low and high crop
        at += position * strides[d];
      }
      if (inside)
        y.values[at] = v;
      for (int64_t d = int64_t(index.size()) - 1; d >= 0 && ++index[d] == x.shape[d]; --d)
        index[d] = 0;
    }
    return success();
  }
};
} // namespace

void mpc::attachTensorModels(MLIRContext &c) {
  ConstantOp::attachInterface<ConstantModel>(c);
  IotaOp::attachInterface<IotaModel>(c);
  ReshapeOp::attachInterface<ReshapeModel>(c);
  BarrierOp::attachInterface<BarrierModel>(c);
  TransposeOp::attachInterface<TransposeModel>(c);
  BroadcastOp::attachInterface<BroadcastModel>(c);
  ConcatOp::attachInterface<ConcatModel>(c);
  SliceOp::attachInterface<SliceModel>(c);
  PadOp::attachInterface<PadModel>(c);
}
