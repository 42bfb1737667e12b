//===- Loss.cpp - models of losses over integer labels ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Evaluator/Ops/Models.h"
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

namespace {
template <typename OpT, bool Softmax>
struct LossModel : EvalModel<LossModel<OpT, Softmax>, OpT> {
  LogicalResult evaluate(Operation *operation, Evaluation &e) const {
    auto op = cast<OpT>(operation);
    const HostTensor &scores = e.operands[0], &labels = e.operands[1];
    const HostTensor *weights = e.operands.size() > 2 ? &e.operands[2] : nullptr;
    AxisView view(scores.shape, 1);
    double total = 0, denominator = 0;
    for (int64_t o = 0; o < view.outer; ++o)
      for (int64_t i = 0; i < view.inner; ++i) {
        const int64_t sample = o * view.inner + i, label = int64_t(labels.values[sample]);
        if (op.getIgnoreIndex() && int64_t(*op.getIgnoreIndex()) == label)
          continue;
        if (label < 0 || label >= view.extent)
          return op.emitOpError("label ")
                 << label << " of sample " << sample << " is not in [0, " << view.extent << ")";
        double logp = scores.values[view.at(o, label, i)];
        if (Softmax) {
          double max = -INFINITY, sum = 0;
          for (int64_t k = 0; k < view.extent; ++k)
            max = std::max(max, scores.values[view.at(o, k, i)]);
          for (int64_t k = 0; k < view.extent; ++k)
            sum += std::exp(scores.values[view.at(o, k, i)] - max);
          logp -= max + std::log(sum);
        }
        double weight = weights ? weights->values[label] : 1;
        total -= weight * logp;
        denominator += weight;
        if (op.getReduction() == LossReduction::none)
          e.results[0].values[sample] = -weight * logp;
      }
    if (op.getReduction() == LossReduction::sum)
      e.results[0].values[0] = total;
    else if (op.getReduction() == LossReduction::mean)
      e.results[0].values[0] = total / denominator; // NaN when no sample counts, as in torch
    return success();
  }
};
} // namespace

void mpc::attachLossModels(MLIRContext &c) {
  NllLossOp::attachInterface<LossModel<NllLossOp, false>>(c);
  SoftmaxCrossEntropyOp::attachInterface<LossModel<SoftmaxCrossEntropyOp, true>>(c);
}
