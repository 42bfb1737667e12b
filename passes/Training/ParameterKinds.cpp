//===- ParameterKinds.cpp - norms, biases and embeddings among the parameters ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The op that reads a parameter, behind ops that only move its elements, decides of which kinds the parameter is:
//   @norms       the scale or shift of a batch, layer, group, instance or RMS norm
//   @biases      a vector in a sum, as the bias of a convolution, of a product and of a recurrent network's gates, for
//                which ONNX has a matrix with a row for each direction
//   @embeddings  a table that a gather takes its rows from
//
//===----------------------------------------------------------------------===//
#include "passes/Training/ParameterKinds.h"
#include "dialects/Graph/IR/GraphBuilder.h"
#include "dialects/Train/IR/Groups.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

/// Returns whether the norm has a scale and a shift of its own. Vectors that are normalised to length 1 have none:
/// a factor behind them, as weight norm has one, is a weight.
static bool hasScale(NormOpInterface norm) {
  auto layer = dyn_cast<LayerNormOp>(norm.getOperation());
  return !layer || layer.getKind() != NormKind::l2;
}

/// Inserts the kinds that the readers of v show. v is a parameter or has its elements; `isVector` says whether one of
/// the values between the two was a vector.
static void collectKinds(Value v, bool isVector, SetVector<StringRef> &kinds) {
  ArrayRef<int64_t> shape = shapeOf(v);
  isVector |= shape.size() <= 1 || (shape.size() == 2 && shape[0] == 1);
  for (OpOperand &use : v.getUses()) {
    Operation *reader = use.getOwner();
    const unsigned at = use.getOperandNumber();
    if (auto norm = dyn_cast<NormOpInterface>(reader)) {
      if ((at == 1 || at == 2) && hasScale(norm))
        kinds.insert(train::kNorms.name);
    } else if (isa<AddOp, SubOp>(reader)) {
      if (isVector)
        kinds.insert(train::kBiases.name);
    } else if (isa<GatherOp>(reader)) {
      if (at == 0 && shape.size() > 1)
        kinds.insert(train::kEmbeddings.name);
    } else if (auto scan = dyn_cast<ScanOp>(reader)) {
      collectKinds(scan.getBlock().getArgument(at), isVector, kinds); // the arguments are in the operands' order
    } else if (isa<ReshapeOp, BroadcastOp, CastOp, TransposeOp, SliceOp, ConcatOp>(reader)) {
      collectKinds(reader->getResult(0), isVector, kinds);
    }
  }
}

void training::markParameterKinds(func::FuncOp forward, const train::VariableTable &variables) {
  llvm::MapVector<train::VariableOp, SetVector<StringRef>> found;
  forward.walk([&](train::ReadOp read) {
    train::VariableOp variable = variables.lookup(read.getVariableAttr());
    if (variable.getRole() == train::Role::parameter)
      collectKinds(read.getValue(), /*isVector=*/false, found[variable]);
  });
  Builder b(forward.getContext());
  for (auto &[variable, kinds] : found)
    if (!kinds.empty())
      variable->setAttr(train::kKindsAttr, b.getStrArrayAttr(kinds.getArrayRef()));
}
