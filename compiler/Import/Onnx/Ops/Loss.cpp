//===- Loss.cpp - losses and softmax -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Import/Onnx/Import.h"
#include "compiler/Import/Onnx/Torch/Metadata.h"
#include "dialects/Graph/IR/Losses.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::onnx_import;

//===-- Softmax, LogSoftmax, Hardmax ---------------------------------------------===//

template <typename OpT>
static Value along(Node &n, Value x, int64_t axis) {
  return n.make<OpT>(x, [&](auto &p) { p.axis = n.b.getI64IntegerAttr(axis); }).getY();
}

/// 1 at the first maximum along the axis, 0 elsewhere.
static Value hardmaxAlong(Node &n, Value x, int64_t axis) {
  Value best = n.make<ArgMaxOp>(x, [&](auto &p) {
                  p.axis = n.b.getI64IntegerAttr(axis);
                  p.keepdims = n.b.getBoolAttr(true);
                }).getY();
  Value hit = n.compare(Predicate::eq, n.iota(typeOf(x).clone(n.b.getI64Type()), axis), best);
  return n.select(hit, n.number(1, x), n.number(0, x));
}

/// Since opset 13 the op works along one axis; before, over all dimensions from `axis` on, as one row of a matrix.
template <Value (*OpAlong)(Node &, Value, int64_t)>
static void softmaxLike(Node &n) {
  Value x = n.floatIn(0);
  int64_t rank = n.rank(0);
  if (n.opset >= 13) {
    n.out(0, OpAlong(n, x, n.axis(n.intAttribute("axis", -1), rank)));
    return;
  }
  int64_t axis = n.axis(n.intAttribute("axis", 1), rank);
  if (axis == rank - 1) {
    n.out(0, OpAlong(n, x, axis));
    return;
  }
  int64_t rows = 1, columns = 1;
  for (auto [i, d] : llvm::enumerate(n.shape(0)))
    (int64_t(i) < axis ? rows : columns) *= d;
  n.out(0, n.reshape(OpAlong(n, n.reshape(x, {rows, columns}), 1), n.shape(0)));
}

//===-- Losses --------------------------------------------------------------------------===//

static const char *const kExportAgain = "the exporter changed the loss: export the scores, and let mpc compute it "
                                        "(--loss=softmax_cross_entropy:SCORES:LABELS)";

/// The inputs are scores [N, C, d...], labels [N, d...] and optional weights [C].
template <typename OpT>
static void loss(Node &n) {
  std::string reduction = n.stringAttribute("reduction", "mean");
  auto kind = symbolizeLossReduction(reduction);
  if (!kind)
    n.fail("reduction '" + printable(reduction) + "' is not known", "none, sum or mean", "reduction");
  std::optional<int64_t> ignoreIndex;
  if (n.hasAttribute("ignore_index"))
    ignoreIndex = n.intAttribute("ignore_index");
  std::optional<torch::LossCall> torchCall = torch::Metadata::lossCallOf(n.proto);
  if (torchCall && !(torchCall->labelSmoothing >= 0 && torchCall->labelSmoothing <= 1))
    n.fail("label_smoothing of the torch module is " + std::to_string(torchCall->labelSmoothing) + ", not from 0 to 1");
  if (torchCall && torchCall->reduction != reduction)
    n.fail("reduction is '" + reduction + "', but the torch module's is '" + torchCall->reduction + "'", kExportAgain,
           "reduction");
  if (torchCall && ignoreIndex.value_or(torchCall->ignoreIndex) != torchCall->ignoreIndex)
    n.fail("ignore_index is " + Twine(*ignoreIndex) + ", but the torch module's is " + Twine(torchCall->ignoreIndex),
           kExportAgain, "ignore_index");
  if (torchCall)
    ignoreIndex = torchCall->ignoreIndex;
  Value scores = n.floatIn(0), labels = n.in(1);
  if (n.rank(0) < 2)
    n.fail("scores are [N, C, d...], not of rank " + Twine(n.rank(0)));
  if (torchCall && *kind == LossReduction::none && n.import.statesNumber(n.proto.output(0)))
    n.fail("torch's exporter took the losses of " + Twine(n.shape(0)[0]) +
               " samples for one number, and may have left out a sum or a mean of them",
           "export again with tools/torch/export.py, or give scores and labels one dimension more, as "
           "F.cross_entropy(z[..., None], y[..., None], reduction=\"none\")[..., 0]");
  if constexpr (std::is_same_v<OpT, SoftmaxCrossEntropyOp>)
    if (isa<FloatType>(elementOf(labels)) && shapeOf(labels) == n.shape(0)) {
      // torch's exporters write cross_entropy of probabilities as this node, which ONNX defines for numbers of classes.
      const GraphBuilder builder(n.b, n.loc);
      Value weights = n.has(2) ? n.cast(n.floatIn(2), elementOf(scores)) : Value();
      if (weights && shapeOf(weights) != ArrayRef<int64_t>{n.shape(0)[1]})
        n.fail("weights must be [" + Twine(n.shape(0)[1]) + "], one for each class");
      n.out(0, crossEntropyOfProbabilities(builder, scores, n.cast(labels, elementOf(scores)), /*axis=*/1, weights,
                                           *kind, torchCall ? torchCall->labelSmoothing : 0));
      if (n.used(1))
        n.out(1, along<LogSoftmaxOp>(n, scores, 1));
      n.import.note("its labels are probabilities of the classes", n.loc);
      return;
    }
  if (!elementOf(labels).isInteger(32) && !elementOf(labels).isInteger(64))
    n.limit(
        "labels must be int32 or int64, the number of the class, or probabilities of the classes in the scores' shape",
        isa<FloatType>(elementOf(labels)) ? "give a probability for each score"
                                          : "cast the labels to int64 before the node");
  n.import.markLabels(labels, n.shape(0)[1], ignoreIndex);
  SmallVector<Value> operands = {scores, labels};
  if (n.has(2))
    operands.push_back(n.cast(n.floatIn(2), elementOf(scores)));
  auto op = n.make<OpT>(operands, [&](auto &p) {
    p.reduction = LossReductionAttr::get(n.context, *kind);
    if (ignoreIndex)
      p.ignore_index = n.b.getI64IntegerAttr(*ignoreIndex);
  });
  Value result = op.getLoss();
  if constexpr (std::is_same_v<OpT, SoftmaxCrossEntropyOp>)
    if (torchCall && torchCall->labelSmoothing > 0) {
      // The op above has checked the operands; nothing reads it any more.
      result = smoothedCrossEntropy(GraphBuilder(n.b, n.loc), scores, labels, op.getWeights(), *kind,
                                    torchCall->ignoreIndex, torchCall->labelSmoothing);
      n.import.note("label smoothing is back, which torch's exporter drops", n.loc);
    }
  n.out(0, result);
  if constexpr (std::is_same_v<OpT, SoftmaxCrossEntropyOp>)
    if (n.used(1))
      n.out(1, along<LogSoftmaxOp>(n, scores, 1));
}

OpFamily onnx_import::lossOps() {
  static const OpRow rows[] = {
      {"Softmax", 1, kMaxOpset, 1, 1, "", "", softmaxLike<along<SoftmaxOp>>},
      {"LogSoftmax", 1, kMaxOpset, 1, 1, "", "", softmaxLike<along<LogSoftmaxOp>>},
      {"Hardmax", 1, kMaxOpset, 1, 1, "", "", softmaxLike<hardmaxAlong>},
      {"SoftmaxCrossEntropyLoss", 12, kMaxOpset, 3, 2, "", "", loss<SoftmaxCrossEntropyOp>},
      {"NegativeLogLikelihoodLoss", 12, kMaxOpset, 3, 1, "", "", loss<NllLossOp>},
  };
  return {"Loss", rows};
}
