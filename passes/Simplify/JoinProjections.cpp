//===- JoinProjections.cpp - one product for queries, keys and values ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Passes.td for the IR before and after.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphBuilder.h"
#include "dialects/Train/IR/Train.h"
#include "passes/Simplify/Passes.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

namespace mpc {
#define GEN_PASS_DEF_JOINPROJECTIONSPASS
#include "passes/Simplify/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

namespace {

/// The heads that an attention reads, as transpose(reshape(a w + bias)). Nothing else reads the values in between.
struct Projection {
  MatMulOp product;
  Value bias;           ///< [n]; null where there is none
  Value stored;         ///< w, or what w is the transpose of: exporters write weights so
  bool transposed;      ///< whether w is the transpose of `stored`
  train::ReadOp weight; ///< reads the variable that is `stored`, perhaps through a cast
  Shape rows;           ///< [B, T, heads, elements]

  static std::optional<Projection> of(Value operand);
};

const Shape kHeadsFirst{0, 2, 1, 3};

train::ReadOp readThroughCast(Value v) {
  if (auto cast = v.getDefiningOp<CastOp>())
    v = cast.getX();
  return v.getDefiningOp<train::ReadOp>();
}

std::optional<Projection> Projection::of(Value operand) {
  auto heads = operand.getDefiningOp<TransposeOp>();
  auto view = heads ? heads.getX().getDefiningOp<ReshapeOp>() : ReshapeOp();
  if (!view || Shape(heads.getPermutation()) != kHeadsFirst || !operand.hasOneUse() || !view->hasOneUse())
    return std::nullopt;
  Projection p;
  p.rows = Shape(shapeOf(view.getY()));
  Value flat = view.getX();
  if (auto add = flat.getDefiningOp<AddOp>(); add && flat.hasOneUse())
    for (unsigned i : {0u, 1u})
      if (add->getOperand(i).getDefiningOp<MatMulOp>() && shapeOf(add->getOperand(1 - i)).size() == 1) {
        flat = add->getOperand(i);
        p.bias = add->getOperand(1 - i);
        break;
      }
  p.product = flat.getDefiningOp<MatMulOp>();
  if (!p.product || !flat.hasOneUse() || shapeOf(p.product.getB()).size() != 2 ||
      elementOf(flat) != elementOf(p.product.getA())) // products of 8-bit floats choose their type
    return std::nullopt;
  Operation *turned = p.product.getB().getDefiningOp();
  p.transposed = transposesMatrices(turned);
  p.stored = p.transposed ? turned->getOperand(0) : p.product.getB();
  p.weight = readThroughCast(p.stored);
  // The last dimension of the product is split into heads, and the others are kept.
  int64_t width = shapeOf(flat).back();
  bool splits = p.rows[2] * p.rows[3] == width && (!p.bias || shapeOf(p.bias)[0] == width);
  // In every step the weights are copied side by side, which pays where the tensor has more rows than they have.
  int64_t numRows = p.rows[0] * p.rows[1],
          depth = typeOf(p.product.getB()).getNumElements() / std::max<int64_t>(1, width);
  return p.weight && splits && numRows >= depth ? std::optional(p) : std::nullopt;
}

/// Erases the op if nothing reads its results, and then what only it has read.
void eraseDead(Operation *op) {
  llvm::SetVector<Operation *> work;
  work.insert(op);
  while (!work.empty()) {
    Operation *dead = work.pop_back_val();
    if (!isOpTriviallyDead(dead))
      continue;
    for (Value v : dead->getOperands())
      if (v.getDefiningOp())
        work.insert(v.getDefiningOp());
    dead->erase();
  }
}

class JoinProjectionsPass : public mpc::impl::JoinProjectionsPassBase<JoinProjectionsPass> {
public:
  using Base::Base;

  void runOnOperation() override {
    SmallVector<AttentionOp> attentions;
    getOperation().walk([&](AttentionOp op) { attentions.push_back(op); });
    for (AttentionOp op : attentions)
      join(op);
  }

private:
  /// Returns whether the step that reads the variable trains it. Where only some of the weights are trained, one
  /// product would compute the gradients of all.
  bool isTrained(train::ReadOp read) {
    auto step = read->getParentOfType<train::StepOp>();
    return step && llvm::is_contained(step.getParameters(), read.getVariableAttr());
  }

  bool mayJoin(Projection p, Projection q) {
    MatMulOp a = p.product, b = q.product;
    return a.getA() == b.getA() && a->getAttrs() == b->getAttrs() && bool(p.bias) == bool(q.bias) &&
           (!p.bias || elementOf(p.bias) == elementOf(q.bias)) && p.rows[0] == q.rows[0] && p.rows[1] == q.rows[1] &&
           p.rows[3] == q.rows[3] && elementOf(a.getB()) == elementOf(b.getB()) && p.transposed == q.transposed &&
           p.weight != q.weight && isTrained(p.weight) == isTrained(q.weight);
  }

  void join(AttentionOp attention) {
    // Queries come from another tensor than keys and values where a decoder looks at what an encoder has read.
    std::array<std::optional<Projection>, 3> projections;
    for (auto [i, p] : llvm::enumerate(projections))
      p = Projection::of(attention->getOperand(i));
    auto &[q, k, v] = projections;
    if (!k || !v || !mayJoin(*k, *v))
      return;
    bool all = q && mayJoin(*q, *k) && q->weight != v->weight;
    MutableArrayRef<std::optional<Projection>> joined =
        MutableArrayRef<std::optional<Projection>>(projections).drop_front(all ? 0 : 1);

    OpBuilder builder(attention);
    SmallVector<Location> locations;
    SmallVector<Value> weights, biases;
    int64_t heads = 0, first = 0;
    for (std::optional<Projection> &p : joined) {
      locations.push_back(p->product.getLoc());
      weights.push_back(p->stored);
      if (p->bias)
        biases.push_back(p->bias);
      heads += p->rows[2];
    }
    GraphBuilder b(builder, builder.getFusedLoc(locations));
    MatMulOp product = k->product;
    Value weight = b.create<ConcatOp>(weights, product.getTransposeB() != k->transposed ? 0 : 1);
    if (k->transposed)
      weight = b.transpose(weight, {1, 0});
    Value y = b.matmul(product.getA(), weight, product.getTransposeA(), product.getTransposeB());
    if (!biases.empty())
      y = b.add(y, b.create<ConcatOp>(biases, 0));
    Shape rows = k->rows;
    rows[2] = heads;
    y = b.reshape(y, rows);
    for (auto [i, p] : llvm::enumerate(joined)) {
      Value part = b.slice(y, {0, 0, first, 0}, p->rows, {1, 1, 1, 1});
      OpOperand &operand = attention->getOpOperand(i + (all ? 0 : 1));
      Operation *replaced = operand.get().getDefiningOp();
      operand.set(b.transpose(part, kHeadsFirst));
      eraseDead(replaced);
      first += p->rows[2];
    }
    numJoined += joined.size();
  }
};

} // namespace
