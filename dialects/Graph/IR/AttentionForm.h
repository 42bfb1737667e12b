//===- AttentionForm.h - attention written with products and reductions -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The formulas of graph.attention and graph.attention_grad as primitive ops, for some of the queries or all of them.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_GRAPH_IR_ATTENTIONFORM_H
#define MPC_GRAPH_IR_ATTENTIONFORM_H
#include "dialects/Graph/IR/GraphBuilder.h"

namespace mpc::graph {

/// The operands and attributes that attention and its gradient share. All tensors have four dimensions: q is
/// [B, H, M, D], k is [B, K, N, D], v is [B, K, N, V], mask and bias broadcast to [B, H, M, N].
struct AttentionForm {
  mlir::Value q, k, v;
  mlir::Value mask, bias; ///< null without one
  double scale = 1;
  std::optional<double> fill;           ///< the score of a hidden key; minus infinity without one
  std::optional<int64_t> before, after; ///< the keys of query m that are not hidden: m - before <= n <= m + after
  bool zeroRows = false;                ///< whether p is 0 for a query that sees no key
  mlir::Value seed, step;               ///< of the dropout; null without one
  mlir::FloatAttr ratio;
  mlir::IntegerAttr salt;

  template <typename OpT>
  static AttentionForm of(OpT op) {
    AttentionForm form;
    form.q = op.getQ(), form.k = op.getK(), form.v = op.getV();
    form.mask = op.getMask(), form.bias = op.getBias();
    form.scale = op.getScale().convertToDouble();
    if (op.getFill())
      form.fill = op.getFill()->convertToDouble();
    // Beyond the sum of the extents a bound says nothing more.
    auto bound = [&](std::optional<int64_t> v) {
      int64_t most = form.queries() + form.keys();
      return v ? std::optional(std::clamp(*v, -most, most)) : std::nullopt;
    };
    form.before = bound(op.getBefore()), form.after = bound(op.getAfter());
    form.zeroRows = op.getZeroRows();
    form.seed = op.getSeed(), form.step = op.getStep();
    form.ratio = op.getRatioAttr(), form.salt = op.getSaltAttr();
    return form;
  }

  /// Returns whether keys may be hidden.
  bool hides() const { return mask || before || after; }

  /// The extent of the scores.
  int64_t samples() const { return shapeOf(q)[0]; }
  int64_t heads() const { return shapeOf(q)[1]; }
  int64_t keyHeads() const { return shapeOf(k)[1]; }
  int64_t queries() const { return shapeOf(q)[2]; }
  int64_t keys() const { return shapeOf(k)[2]; }

  struct Result {
    mlir::Value y, largest, logSum; ///< as the results of graph.attention
  };
  Result compute(const GraphBuilder &b) const;

  struct Cotangents {
    mlir::Value dq, dk, dv; ///< as the results of graph.attention_grad
    mlir::Value dscores;    ///< ds of graph.attention_grad: [B, H, M, N] in at least fp32
  };
  /// `delta` is the sum of dy y over the last dimension, [B, H, M, 1] in at least fp32.
  Cotangents differentiate(const GraphBuilder &b, mlir::Value largest, mlir::Value logSum, mlir::Value delta,
                           mlir::Value dy) const;
  /// Returns that sum.
  static mlir::Value deltaOf(const GraphBuilder &b, mlir::Value y, mlir::Value dy);

private:
  mlir::Value openScores(const GraphBuilder &b) const;
  mlir::Value seen(const GraphBuilder &b) const;
  mlir::Value hide(const GraphBuilder &b, mlir::Value s, double number) const;
  mlir::Value drop(const GraphBuilder &b, mlir::Value p) const;
  mlir::Value rows(const GraphBuilder &b, mlir::Value x) const;
  mlir::Value ofHeads(const GraphBuilder &b, mlir::Value x) const;
};

} // namespace mpc::graph
#endif
