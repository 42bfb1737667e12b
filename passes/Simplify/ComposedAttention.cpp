//===- ComposedAttention.cpp - attention that is written as products and a softmax ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exporters, for scaled_dot_product_attention, and models themselves write a product of queries and transposed keys,
// which may be scaled, an added bias, a selection by a mask, a softmax along the keys, perhaps a dropout, and a product
// with the values. The leading dimensions are those of samples and heads, in one or in two.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphBuilder.h"
#include "passes/Simplify/Recognizers.h"
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

namespace {

/// This is what stands between the product of queries and keys and the softmax.
struct Scores {
  MatMulOp product;
  double scale = 1;
  SmallVector<Value> biases;
  SmallVector<std::pair<Value, bool>> masks; ///< conditions, and whether they hide where they are true
  std::optional<double> fill;                ///< the score that masks select
};

/// Walks from the softmax to the product. Each op on the way has one user, so that nothing else needs the scores.
class ScoresMatcher {
public:
  std::optional<Scores> match(Value z) {
    shape = Shape(shapeOf(z));
    return walk(z) ? std::optional(scores) : std::nullopt;
  }

private:
  bool walk(Value z) {
    Operation *op = z.getDefiningOp();
    if (!op || !z.hasOneUse() || shapeOf(z) != ArrayRef<int64_t>(shape))
      return false;
    if (auto product = dyn_cast<MatMulOp>(op)) {
      scores.product = product;
      return elementOf(product.getA()) == elementOf(product.getResult()); // not of 8-bit floats
    }
    if (isa<MulOp, DivOp>(op))
      return walkScale(op);
    if (scaled) // a bias or fill inside of the scale would be scaled, too
      return false;
    if (isa<AddOp>(op))
      return walkBias(op);
    if (auto select = dyn_cast<SelectOp>(op))
      return walkMask(select);
    return false;
  }

  bool walkScale(Operation *op) {
    bool isMul = isa<MulOp>(op);
    for (unsigned i = 0; i < (isMul ? 2u : 1u); ++i) {
      std::optional<double> number = splatNumber(op->getOperand(1 - i));
      if (!number)
        continue;
      scores.scale *= isMul ? *number : 1 / *number;
      scaled = true;
      return walk(op->getOperand(i));
    }
    return false;
  }

  /// Tries to go on with one operand of an op, if `take` can make something of the rest.
  bool walkWith(Value next, llvm::function_ref<bool()> take) {
    Scores before = scores;
    if (take() && walk(next))
      return true;
    scores = before;
    scaled = false;
    return false;
  }

  bool walkBias(Operation *op) {
    return llvm::any_of(llvm::seq(2u), [&](unsigned i) {
      return walkWith(op->getOperand(i), [&] {
        Value bias = op->getOperand(1 - i);
        if (!takeHiding(bias))
          scores.biases.push_back(bias);
        return true;
      });
    });
  }

  /// Takes a bias that is 0 for some keys and minus infinity for the others as a mask, which takes less memory. (A
  /// finite number that is added is no mask: where it hides all keys of a query, their scores still have gradients.)
  bool takeHiding(Value bias) {
    auto select = bias.getDefiningOp<SelectOp>();
    if (!select)
      return false;
    std::optional<double> on = splatNumber(select.getOnTrue()), off = splatNumber(select.getOnFalse());
    if (on == 0.0 && off == -INFINITY)
      return takeMask(select.getCondition(), /*hides=*/false, -INFINITY);
    return off == 0.0 && on == -INFINITY && takeMask(select.getCondition(), /*hides=*/true, -INFINITY);
  }

  bool takeMask(Value condition, bool hides, double fill) {
    if (scores.fill && *scores.fill != fill)
      return false;
    scores.fill = fill;
    scores.masks.push_back({condition, hides});
    return true;
  }

  /// Only an infinite fill stays what it is when any bias is added to it.
  bool walkMask(SelectOp select) {
    return llvm::any_of(ArrayRef{false, true}, [&](bool hides) {
      Value kept = hides ? select.getOnFalse() : select.getOnTrue();
      std::optional<double> fill = splatNumber(hides ? select.getOnTrue() : select.getOnFalse());
      return walkWith(kept, [&] {
        return fill && (scores.biases.empty() || *fill == -INFINITY) && takeMask(select.getCondition(), hides, *fill);
      });
    });
  }

  Shape shape;
  Scores scores;
  bool scaled = false;
};

/// Returns the shape of a tensor that broadcasts to scores of this shape, with four dimensions.
static Shape withFourDims(ArrayRef<int64_t> shape) {
  Shape four(4 - std::min<size_t>(4, shape.size()), 1);
  llvm::append_range(four, shape);
  return four;
}

/// Returns p where v is p with zeros in place of NaN, and nothing else reads p: torch writes so what its attention
/// gives for a query that sees no key. Null otherwise.
static Value behindGuard(Value v) {
  auto select = v.getDefiningOp<SelectOp>();
  auto isNan = select ? select.getCondition().getDefiningOp<IsNaNOp>() : IsNaNOp();
  if (!isNan || splatNumber(select.getOnTrue()) != 0.0 || isNan.getX() != select.getOnFalse() || !v.hasOneUse() ||
      !isNan->hasOneUse() || select.getType() != isNan.getX().getType())
    return {};
  Value p = isNan.getX();
  return llvm::all_of(p.getUsers(), [&](Operation *user) { return user == isNan || user == select; }) ? p : Value();
}

/// Returns x without the numbers that it is multiplied by, which become a part of the scale of all scores. Numbers stay
/// where 0 times infinity could be something else in another order.
static Value withoutScale(Value x, double &scale) {
  while (auto mul = x.getDefiningOp<MulOp>()) {
    std::optional<double> first = splatNumber(mul->getOperand(0)), second = splatNumber(mul->getOperand(1));
    Value other = mul->getOperand(first ? 1 : 0);
    double number = first ? *first : second.value_or(0);
    if (number == 0 || !std::isfinite(number) || other.getType() != x.getType())
      break;
    scale *= number;
    x = other;
  }
  return x;
}

/// Returns x with its last two dimensions swapped: without a transpose where x is one, maybe behind a view that keeps
/// these dimensions.
static Value swapped(const GraphBuilder &b, Value x) {
  Shape shape(shapeOf(x)), order = llvm::to_vector(llvm::seq<int64_t>(0, int64_t(shape.size())));
  auto view = x.getDefiningOp<ReshapeOp>();
  Value inner = view ? view.getX() : x;
  auto transpose = inner.getDefiningOp<TransposeOp>();
  bool isKept = shapeOf(inner).size() >= 2 && shapeOf(inner).take_back(2) == shapeOf(x).take_back(2);
  std::swap(shape[shape.size() - 2], shape.back());
  if (transpose && transposesMatrices(transpose) && isKept)
    return b.reshape(transpose.getX(), shape);
  std::swap(order[order.size() - 2], order.back());
  return b.transpose(x, order);
}

/// Returns the heads that x repeats, each for as many neighbouring heads of queries: [B, K, N, D] for x of [B, H, N,
/// D], which is written as broadcast [B, K, 1, N, D] to [B, K, H/K, N, D]. Null where x is no such repetition.
static Value repeatedHeads(const GraphBuilder &b, Value x) {
  ArrayRef<int64_t> shape = shapeOf(x);
  Value v = x;
  while (auto view = v.getDefiningOp<ReshapeOp>())
    v = view.getX();
  auto broadcast = v.getDefiningOp<BroadcastOp>();
  if (!broadcast || shapeOf(v).size() != 5 || shapeOf(broadcast.getX()).size() != 5)
    return {};
  ArrayRef<int64_t> from = shapeOf(broadcast.getX()), to = shapeOf(v);
  int64_t heads = to[0] * to[1];
  Shape once(from);
  once[2] = to[2];
  if (from[2] != 1 || Shape(to) != once || to.take_back(2) != shape.take_back(2) || heads % shape[0])
    return {};
  return b.reshape(broadcast.getX(), {shape[0], heads / shape[0], shape[2], shape[3]});
}

struct ComposedAttention : OpRewritePattern<MatMulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MatMulOp op, PatternRewriter &rewriter) const override {
    int64_t rank = typeOf(op.getResult()).getRank();
    Value p = op.getA();
    if (rank < 3 || rank > 4 || op.getTransposeA() || !p.hasOneUse() || elementOf(p) != elementOf(op.getResult()))
      return failure();
    auto dropout = p.getDefiningOp<DropoutOp>();
    if (dropout && dropout.getShared().empty())
      p = dropout.getX();
    else
      dropout = nullptr;
    bool zeroRows = false;
    if (Value guarded = behindGuard(p)) {
      p = guarded;
      zeroRows = true;
    }
    auto softmax = p.getDefiningOp<SoftmaxOp>();
    if (!softmax || !(zeroRows || p.hasOneUse()) || int64_t(softmax.getAxis()) != rank - 1)
      return failure();
    std::optional<Scores> scores = ScoresMatcher().match(softmax.getX());
    if (!scores || scores->product.getTransposeA() || !std::isfinite(scores->scale))
      return failure();
    MatMulOp product = scores->product;
    Value q = product.getA(), k = product.getB(), v = op.getB();
    // Samples and heads of all three are the same; a softmax over no keys is nothing.
    ArrayRef<int64_t> batch = shapeOf(p).drop_back(2);
    if (shapeOf(q).drop_back(2) != batch || shapeOf(k).drop_back(2) != batch || shapeOf(v).drop_back(2) != batch ||
        shapeOf(op.getResult()).drop_back(2) != batch || typeOf(p).getNumElements() == 0 ||
        typeOf(op.getResult()).getNumElements() == 0 || shapeOf(q).back() == 0)
      return failure();

    // It has the names of all nodes that it stands for, by which users choose its precision.
    GraphBuilder b(rewriter, rewriter.getFusedLoc({product.getLoc(), softmax.getLoc(), op.getLoc()}));
    double scale = scores->scale;
    q = withoutScale(q, scale);
    k = withoutScale(k, scale);
    if (!product.getTransposeB())
      k = withoutScale(swapped(b, k), scale);
    if (op.getTransposeB())
      v = swapped(b, v);
    auto four = [&](Value x) { return b.reshape(x, withFourDims(shapeOf(x))); };
    q = four(q), k = four(k), v = four(v);
    Value fewKeys = repeatedHeads(b, k), fewValues = repeatedHeads(b, v);
    if (fewKeys && fewValues && shapeOf(fewKeys)[1] == shapeOf(fewValues)[1])
      k = fewKeys, v = fewValues;
    Type statistics = computeType(elementOf(q));
    Value mask, bias;
    for (auto [condition, hides] : scores->masks) {
      Value seen = four(hides ? b.opposite(condition) : condition);
      mask = mask ? b.both(mask, seen) : seen;
    }
    for (Value x : scores->biases) {
      Value addend = four(b.cast(x, statistics));
      bias = bias ? b.add(bias, addend) : addend;
    }
    FloatAttr fill;
    if (scores->fill && *scores->fill != -INFINITY)
      fill = rewriter.getF64FloatAttr(*scores->fill);
    auto attention = b.create<AttentionOp>(
        q, k, v, mask, bias, dropout ? dropout.getSeed() : Value(), dropout ? dropout.getStep() : Value(),
        rewriter.getF64FloatAttr(scale), fill,
        /*before=*/IntegerAttr(), /*after=*/IntegerAttr(), zeroRows ? rewriter.getUnitAttr() : UnitAttr(),
        dropout ? dropout.getRatioAttr() : FloatAttr(), dropout ? dropout.getSaltAttr() : IntegerAttr());
    rewriter.replaceOp(op, b.reshape(attention.getY(), shapeOf(op.getResult())));
    return success();
  }
};

} // namespace

void simplify::populateComposedAttention(RewritePatternSet &patterns) {
  patterns.add<ComposedAttention>(patterns.getContext());
}
