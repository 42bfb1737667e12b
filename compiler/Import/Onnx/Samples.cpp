//===- Samples.cpp - where the samples of the data lie ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Import/Onnx/Samples.h"
#include "compiler/Import/Onnx/Import.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::onnx_import;

/// The name of the data whose first dimension is dimension `dim` of a value; empty if there are none.
static StringRef dataAlong(Value x, int64_t dim) {
  SmallVector<std::pair<Value, int64_t>> todo = {{x, dim}};
  llvm::DenseSet<std::pair<Value, int64_t>> seen;
  while (!todo.empty()) {
    auto [value, at] = todo.pop_back_val();
    if (!seen.insert({value, at}).second)
      continue;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
      auto name = function ? function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), train::kNameAttr) : nullptr;
      if (at == 0 && name)
        return name.getValue();
      continue;
    }
    auto op = value.getDefiningOp<IndexingOpInterface>();
    if (!op)
      continue;
    auto result = cast<OpResult>(value);
    for (OpOperand &operand : op->getOpOperands())
      for (int64_t i = 0; op.dependsOn(operand, result) && i < typeOf(operand.get()).getRank(); ++i)
        if (op.followingDim(operand, result, i) == at)
          todo.push_back({operand.get(), i});
  }
  return {};
}

void onnx_import::noteTimeAlongSamples(Node &n, Value x, int64_t time) {
  if (n.import.options.forwardOnly || shapeOf(x)[time] == 1)
    return;
  StringRef data = dataAlong(x, time);
  if (!data.empty())
    n.import.note("the state goes on from sample to sample of '" + data.str() +
                      "': its first dimension, along which the samples of the data lie, is the time of the recurrence; "
                      "where samples are sequences of their own, export the module with batch_first=True, or in a "
                      "wrapper that transposes its input",
                  n.loc);
}
