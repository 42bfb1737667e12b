//===- ComposedNorms.cpp - norms written as means, powers and roots -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exporters without a norm op, and networks with norms of their own, write norms as primitive ops, some of which would
// be computed in 16 bits. The patterns match x - mean(x) or x alone, its square as a power or a product, means as
// reduce_mean or as sums times 1/n, roots as sqrt, pow and rsqrt, and quotients as div and as products with a
// reciprocal; then they match a scale and a bias behind the norm, and the reshapes that group norms are exported with.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphBuilder.h"
#include "passes/Simplify/Recognizers.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

//===-- Matching --------------------------------------------------------------------===//

/// Returns the value that v writes out to a larger shape, or v itself.
static Value behindBroadcasts(Value v) {
  while (auto broadcast = v.getDefiningOp<BroadcastOp>())
    v = broadcast.getX();
  return v;
}

/// Returns a statistic as the reduction gave it, if v is that statistic written out to x's shape or with its reduced
/// dimensions put back.
static Value statisticOf(Value v) {
  v = behindBroadcasts(v);
  if (auto view = v.getDefiningOp<ReshapeOp>())
    v = view.getX();
  return v;
}

namespace {
struct Reduced {
  Value x;
  Shape axes;
};
} // namespace

/// Returns the operand and axes of the reduction whose result is v, which has x's shape with some dimensions as 1.
template <typename OpT>
static std::optional<Reduced> reductionOf(Value v, ArrayRef<int64_t> shape) {
  v = behindBroadcasts(v);
  auto op = statisticOf(v).getDefiningOp<OpT>();
  if (!op || op.getAxes().empty() || shapeOf(op.getX()) != shape)
    return std::nullopt;
  if (shapeOf(v) != ArrayRef<int64_t>(reducedShape(shape, op.getAxes(), /*keepdims=*/true)))
    return std::nullopt;
  return Reduced{op.getX(), Shape(op.getAxes())};
}

static int64_t countOf(const Reduced &reduced) {
  int64_t n = 1;
  for (int64_t axis : reduced.axes)
    n *= shapeOf(reduced.x)[axis];
  return n;
}

/// Returns x and the axes where v is mean(x), also written as sum(x)/n or sum(x)*(1/n).
static std::optional<Reduced> meanOf(Value v, ArrayRef<int64_t> shape) {
  if (auto mean = reductionOf<ReduceMeanOp>(v, shape))
    return mean;
  v = behindBroadcasts(v);
  // The number may be rounded as float64, float32 or v's 16-bit type holds it.
  auto isCount = [&](const std::optional<Reduced> &sum, std::optional<double> number, bool inverse) {
    if (!sum || !number || countOf(*sum) == 0)
      return false;
    double n = double(countOf(*sum)), wanted = inverse ? 1 / n : n;
    return *number == wanted || *number == double(float(wanted)) ||
           (isLowPrecision(elementOf(v)) &&
            *number == rounded(APFloat(wanted), cast<FloatType>(elementOf(v))).convertToDouble());
  };
  if (auto div = v.getDefiningOp<DivOp>())
    if (auto sum = reductionOf<ReduceSumOp>(div.getLhs(), shape);
        isCount(sum, splatNumber(div.getRhs()), /*inverse=*/false))
      return sum;
  if (auto mul = v.getDefiningOp<MulOp>())
    for (auto [total, number] : {std::pair(mul.getLhs(), mul.getRhs()), std::pair(mul.getRhs(), mul.getLhs())})
      if (auto sum = reductionOf<ReduceSumOp>(total, shape); isCount(sum, splatNumber(number), /*inverse=*/true))
        return sum;
  return std::nullopt;
}

/// Returns d where v is d^2 or d*d, null otherwise.
static Value squareRootOf(Value v) {
  if (auto pow = v.getDefiningOp<PowOp>(); pow && splatNumber(pow.getRhs()) == 2.0)
    return pow.getLhs();
  if (auto mul = v.getDefiningOp<MulOp>(); mul && mul.getLhs() == mul.getRhs())
    return mul.getLhs();
  return {};
}

namespace {
/// A variance is E[d^2] + epsilon, where d is the deviation.
struct Variance {
  Value deviation;
  Shape axes;
  double epsilon;
};
} // namespace

static std::optional<Variance> varianceOf(Value v, ArrayRef<int64_t> shape) {
  v = behindBroadcasts(v);
  auto add = v.getDefiningOp<AddOp>();
  if (!add)
    return std::nullopt;
  for (auto [variance, number] : {std::pair(add.getLhs(), add.getRhs()), std::pair(add.getRhs(), add.getLhs())}) {
    std::optional<double> epsilon = splatNumber(number);
    if (!epsilon || !(*epsilon >= 0)) // NaN is none either
      continue;
    if (auto mean = meanOf(variance, shape))
      if (Value d = squareRootOf(mean->x))
        return Variance{d, mean->axes, *epsilon};
  }
  return std::nullopt;
}

/// Matches sqrt(variance), written as a root or a power.
static std::optional<Variance> ofRoot(Value v, ArrayRef<int64_t> shape) {
  v = behindBroadcasts(v);
  if (auto root = v.getDefiningOp<SqrtOp>())
    return varianceOf(root.getX(), shape);
  if (auto pow = v.getDefiningOp<PowOp>(); pow && splatNumber(pow.getRhs()) == 0.5)
    return varianceOf(pow.getLhs(), shape);
  return std::nullopt;
}
/// Matches 1/sqrt(variance) in its forms.
static std::optional<Variance> ofInverseRoot(Value v, ArrayRef<int64_t> shape) {
  v = behindBroadcasts(v);
  if (auto rsqrt = v.getDefiningOp<RsqrtOp>())
    return varianceOf(rsqrt.getX(), shape);
  if (auto reciprocal = v.getDefiningOp<ReciprocalOp>())
    return ofRoot(reciprocal.getX(), shape);
  if (auto div = v.getDefiningOp<DivOp>(); div && splatNumber(div.getLhs()) == 1.0)
    return ofRoot(div.getRhs(), shape);
  if (auto pow = v.getDefiningOp<PowOp>(); pow && splatNumber(pow.getRhs()) == -0.5)
    return varianceOf(pow.getLhs(), shape);
  return std::nullopt;
}

/// Returns whether two values are the same difference, or the same value.
static bool same(Value a, Value b) {
  auto x = a.getDefiningOp<SubOp>(), y = b.getDefiningOp<SubOp>();
  return a == b || (x && y && x->getOperands() == y->getOperands());
}

//===-- Squares --------------------------------------------------------------------------===//

namespace {
/// Turns x*x into a power, which autocast computes in fp32: the square of 256 is infinite in f16.
struct Square : OpRewritePattern<MulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MulOp op, PatternRewriter &rewriter) const override {
    if (op.getLhs() != op.getRhs() || !isFloat(op.getResult()))
      return failure();
    rewriter.replaceOpWithNewOp<PowOp>(op, op.getLhs(), scalar(rewriter, op.getLoc(), elementOf(op.getLhs()), 2));
    return success();
  }
};
} // namespace

//===-- Building --------------------------------------------------------------------------===//

/// Makes a norm over `axes` with neither scale nor bias.
static LayerNormOp plainNorm(const GraphBuilder &b, Value x, ArrayRef<int64_t> axes, double epsilon, NormKind kind) {
  Type compute = computeType(elementOf(x));
  Value bias = b.constant(compute, 0), scale = b.constant(compute, 1);
  OpBuilder &attributes = b.builder;
  return b.create<LayerNormOp>(x, scale, bias, attributes.getDenseI64ArrayAttr(axes),
                               attributes.getF64FloatAttr(epsilon), NormKindAttr::get(attributes.getContext(), kind));
}

namespace {

/// Matches d/sqrt(E[d^2] + epsilon), where d is x - mean(x) or x.
template <typename OpT>
struct ComposedNorm : OpRewritePattern<OpT> {
  using OpRewritePattern<OpT>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpT op, PatternRewriter &rewriter) const override {
    if (!isFloat(op.getResult()))
      return failure();
    ArrayRef<int64_t> shape = shapeOf(op.getResult());
    auto rewrite = [&](Value d, const std::optional<Variance> &variance) {
      if (!variance || d.getType() != op.getType() || !same(d, variance->deviation))
        return failure();
      NormKind kind = NormKind::rms;
      Value x = d;
      if (auto difference = d.getDefiningOp<SubOp>(); difference && difference.getLhs().getType() == op.getType())
        if (auto mean = meanOf(difference.getRhs(), shape);
            mean && mean->x == difference.getLhs() && mean->axes == variance->axes) {
          kind = NormKind::layer;
          x = difference.getLhs();
        }
      rewriter.replaceOp(op, plainNorm({rewriter, op.getLoc()}, x, variance->axes, variance->epsilon, kind).getY());
      return success();
    };
    if constexpr (std::is_same_v<OpT, DivOp>)
      return rewrite(op.getLhs(), ofRoot(op.getRhs(), shape));
    if (succeeded(rewrite(op.getLhs(), ofInverseRoot(op.getRhs(), shape))))
      return success();
    return rewrite(op.getRhs(), ofInverseRoot(op.getLhs(), shape));
  }
};

/// Matches x/max(|x|, epsilon), where the bound is a clip or a maximum.
struct ComposedL2 : OpRewritePattern<DivOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DivOp op, PatternRewriter &rewriter) const override {
    if (!isFloat(op.getResult()) || op.getLhs().getType() != op.getType())
      return failure();
    Value bounded = op.getRhs(), norm;
    bounded = behindBroadcasts(bounded);
    std::optional<double> epsilon;
    if (auto clip = bounded.getDefiningOp<ClipOp>(); clip && clip.getMax().isPosInfinity()) {
      epsilon = clip.getMin().convertToDouble();
      norm = clip.getX();
    } else if (auto max = bounded.getDefiningOp<MaxOp>()) {
      bool right = splatNumber(max.getRhs()).has_value();
      epsilon = splatNumber(right ? max.getRhs() : max.getLhs());
      norm = right ? max.getLhs() : max.getRhs();
    }
    if (!epsilon || !(*epsilon > 0) || std::isinf(*epsilon))
      return failure();
    ArrayRef<int64_t> shape = shapeOf(op.getResult());
    std::optional<Reduced> reduced = reductionOf<ReduceL2Op>(norm, shape);
    if (auto root = norm.getDefiningOp<SqrtOp>(); root && !reduced)
      if (auto sum = reductionOf<ReduceSumOp>(root.getX(), shape))
        if (Value x = squareRootOf(sum->x))
          reduced = Reduced{x, sum->axes};
    if (!reduced || reduced->x != op.getLhs())
      return failure();
    rewriter.replaceOp(op,
                       plainNorm({rewriter, op.getLoc()}, op.getLhs(), reduced->axes, *epsilon, NormKind::l2).getY());
    return success();
  }
};

/// Returns the norm whose y is v, if nothing else reads v and nothing reads the norm's statistics; null otherwise.
template <typename NormT>
static NormT onlyReadHere(Value v) {
  auto norm = v.getDefiningOp<NormT>();
  return norm && v == norm.getY() && v.hasOneUse() && norm.getMean().use_empty() && norm.getInverse().use_empty()
             ? norm
             : NormT();
}

/// Takes the scale of norm(x)*scale and the bias of norm(x)*scale + bias into the norm, if it has none yet.
template <typename OpT>
struct AbsorbAffine : OpRewritePattern<OpT> {
  using OpRewritePattern<OpT>::OpRewritePattern;
  static constexpr bool isScale = std::is_same_v<OpT, MulOp>;

  LogicalResult matchAndRewrite(OpT op, PatternRewriter &rewriter) const override {
    GraphBuilder b(rewriter, op.getLoc());
    for (auto [y, other] : {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())}) {
      // A factor of the size of x is a gate, not a scale.
      if (y.getType() != op.getType() || typeOf(other).getNumElements() >= typeOf(y).getNumElements())
        continue;
      if (LayerNormOp norm = onlyReadHere<LayerNormOp>(y); norm && hasNone(norm)) {
        Value v = b.cast(other, computeType(elementOf(y)));
        auto made = b.create<LayerNormOp>(norm.getX(), isScale ? v : norm.getScale(), isScale ? norm.getBias() : v,
                                          norm.getAxesAttr(), norm.getEpsilonAttr(), norm.getKindAttr());
        rewriter.replaceOp(op, made.getY());
        return success();
      }
      GroupNormOp norm = onlyReadHere<GroupNormOp>(y);
      if (!norm || !hasNone(norm) || !isPerChannel(other, norm))
        continue;
      Value v = b.reshape(b.cast(other, computeType(elementOf(y))), shapeOf(norm.getScale()));
      auto made = b.create<GroupNormOp>(norm.getX(), isScale ? v : norm.getScale(), isScale ? norm.getBias() : v,
                                        norm.getEpsilonAttr(), norm.getAxisAttr(), norm.getGroupsAttr());
      rewriter.replaceOp(op, made.getY());
      return success();
    }
    return failure();
  }

  template <typename NormT>
  static bool hasNone(NormT norm) {
    return splatNumber(norm.getBias()) == 0.0 && (!isScale || splatNumber(norm.getScale()) == 1.0);
  }
  static bool isPerChannel(Value v, GroupNormOp norm) {
    int64_t rank = typeOf(norm.getX()).getRank(), own = typeOf(v).getRank(),
            at = int64_t(norm.getAxis()) - (rank - own);
    return at >= 0 && shapeOf(v)[at] == shapeOf(norm.getX())[norm.getAxis()] &&
           typeOf(v).getNumElements() == shapeOf(v)[at];
  }
};

/// Matches a group norm as exporters write it: [N, C, ...] is viewed as [N, groups, ...],
/// every group is normalised by itself, and the result is viewed as [N, C, ...] again.
struct ReshapedGroups : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp op, PatternRewriter &rewriter) const override {
    Value inner;
    double epsilon = 0;
    bool none = false;
    if (LayerNormOp norm = onlyReadHere<LayerNormOp>(op.getX())) {
      int64_t rank = typeOf(norm.getX()).getRank();
      bool spatial = rank >= 3 && norm.getKind() == NormKind::layer &&
                     norm.getAxes() == ArrayRef<int64_t>(llvm::to_vector(llvm::seq<int64_t>(2, rank)));
      none = spatial && splatNumber(norm.getScale()) == 1.0 && splatNumber(norm.getBias()) == 0.0;
      inner = norm.getX();
      epsilon = norm.getEpsilon().convertToDouble();
    } else if (GroupNormOp norm = onlyReadHere<GroupNormOp>(op.getX())) {
      none = norm.getAxis() == 1 && int64_t(norm.getGroups()) == shapeOf(norm.getX())[1] &&
             splatNumber(norm.getScale()) == 1.0 && splatNumber(norm.getBias()) == 0.0;
      inner = norm.getX();
      epsilon = norm.getEpsilon().convertToDouble();
    }
    auto view = none ? inner.getDefiningOp<ReshapeOp>() : ReshapeOp();
    if (!view || view.getX().getType() != op.getType())
      return failure();
    ArrayRef<int64_t> shape = shapeOf(op), seen = shapeOf(inner);
    if (shape.size() < 2 || shape[0] != seen[0] || seen[1] == 0 || shape[1] % seen[1] != 0)
      return failure();
    Type compute = computeType(elementOf(op));
    auto channels = RankedTensorType::get({shape[1]}, compute);
    GraphBuilder b(rewriter, op.getLoc());
    Value bias = b.splat(channels, 0), scale = b.splat(channels, 1);
    auto made = b.create<GroupNormOp>(view.getX(), scale, bias, rewriter.getF64FloatAttr(epsilon),
                                      rewriter.getI64IntegerAttr(1), rewriter.getI64IntegerAttr(seen[1]));
    rewriter.replaceOp(op, made.getY());
    return success();
  }
};

} // namespace

void simplify::populateComposedNorms(RewritePatternSet &patterns) {
  patterns.add<Square, ComposedNorm<MulOp>, ComposedNorm<DivOp>, ComposedL2, AbsorbAffine<MulOp>, AbsorbAffine<AddOp>,
               ReshapedGroups>(patterns.getContext());
}
