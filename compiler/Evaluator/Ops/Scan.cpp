//===- Scan.cpp - the model of repetition ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Evaluator/Evaluator.h"
#include "compiler/Evaluator/Ops/Models.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

namespace {
struct ScanModel : EvalModel<ScanModel, ScanOp> {
  LogicalResult evaluate(Operation *op, Evaluation &e) const {
    auto scan = cast<ScanOp>(op);
    size_t numCarried = scan.getInits().size();
    SmallVector<HostTensor> arguments(e.operands);
    for (auto [i, slice] : llvm::enumerate(scan.slices()))
      arguments[arguments.size() - scan.getStacked().size() + i] = HostTensor(typeOf(slice));
    for (int64_t trip = 0, trips = scan.getTrips(); trip < trips; ++trip) {
      int64_t at = scan.getReverse() ? trips - 1 - trip : trip;
      for (size_t i = arguments.size() - scan.getStacked().size(); i < arguments.size(); ++i) {
        std::vector<double> &slice = arguments[i].values;
        std::copy_n(e.operands[i].values.begin() + at * int64_t(slice.size()), slice.size(), slice.begin());
      }
      SmallVector<HostTensor> yielded;
      if (failed(Evaluator::evaluateBlock(scan.getBlock(), arguments, yielded, e.mode)))
        return failure();
      for (size_t i = 0; i < yielded.size(); ++i)
        if (i < numCarried)
          arguments[i] = std::move(yielded[i]);
        else
          llvm::copy(yielded[i].values, e.results[i].values.begin() + at * int64_t(yielded[i].values.size()));
    }
    for (size_t i = 0; i < numCarried; ++i)
      e.results[i] = std::move(arguments[i]);
    return success();
  }
};
} // namespace

void mpc::attachScanModels(MLIRContext &c) { ScanOp::attachInterface<ScanModel>(c); }
