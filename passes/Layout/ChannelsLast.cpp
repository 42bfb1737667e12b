//===- ChannelsLast.cpp - activations become [N, spatial..., C] ---------------===//
//
// See Passes.td. Two transposes matter: `toLast` [0, 2, ..., r-1, 1] and its inverse `toFirst` [0, r-1, 1, ..., r-2].
//
//===----------------------------------------------------------------------===//
#include "passes/Layout/Passes.h"
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Train/IR/Train.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

namespace mpc::layout {
#define GEN_PASS_DEF_CHANNELSLASTPASS
#include "passes/Layout/Passes.h.inc"
} // namespace mpc::layout

static Shape toLast(int64_t rank) {
  Shape p{0};
  for (int64_t i = 2; i < rank; ++i)
    p.push_back(i);
  p.push_back(1);
  return p;
}
static Shape toFirst(int64_t rank) {
  Shape p{0, rank - 1};
  for (int64_t i = 1; i < rank - 1; ++i)
    p.push_back(i);
  return p;
}
static Value transpose(OpBuilder &b, Location loc, Value x, ArrayRef<int64_t> permutation) {
  return b.createOrFold<TransposeOp>(loc, x, permutation);
}

/// The channels-last value behind a transpose to channels-first; null otherwise.
static Value behindToFirst(Value v) {
  auto op = v.getDefiningOp<TransposeOp>();
  if (!op || typeOf(v).getRank() < 3 || op.getPermutation() != ArrayRef<int64_t>(toFirst(typeOf(v).getRank())))
    return {};
  return op.getX();
}

/// x given or made channels-last.
static Value asLast(OpBuilder &b, Location loc, Value x) {
  if (Value inner = behindToFirst(x))
    return inner;
  return transpose(b, loc, x, toLast(typeOf(x).getRank()));
}
static RankedTensorType lastType(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  Shape shape;
  for (int64_t i : toLast(tensor.getRank()))
    shape.push_back(tensor.getDimSize(i));
  return tensor.clone(shape);
}

/// Per-dimension values in channels-last order.
template <typename T>
static SmallVector<T> permute(ArrayRef<T> values) {
  SmallVector<T> result;
  for (int64_t i : toLast(values.size()))
    result.push_back(values[i]);
  return result;
}
/// Where the dimension `axis` of a channels-first tensor is afterwards.
static int64_t permuteAxis(int64_t axis, int64_t rank) { return toFirst(rank)[axis]; }

/// Whether an operand of rank >= 3 stands behind a transpose to channels-first.
static bool anyBehindToFirst(ValueRange operands) {
  return llvm::any_of(operands, [](Value v) { return bool(behindToFirst(v)); });
}

namespace {

/// Convolutions and pooling become channels_last. A convolution's weight keeps its order, or not.
template <typename OpT>
struct ConvertWindowOp : OpRewritePattern<OpT> {
  bool weights;
  ConvertWindowOp(MLIRContext *context, bool weights) : OpRewritePattern<OpT>(context), weights(weights) {}
  LogicalResult matchAndRewrite(OpT op, PatternRewriter &rewriter) const override {
    if (op.getLayout() == Layout::ChannelsLast)
      return failure();
    constexpr bool hasWeight = std::is_same_v<OpT, ConvOp> || std::is_same_v<OpT, ConvInputGradOp> || std::is_same_v<OpT, ConvWeightGradOp>;
    const bool givesWeight = std::is_same_v<OpT, ConvWeightGradOp> && !weights;
    const bool takesWeight = hasWeight && !std::is_same_v<OpT, ConvWeightGradOp> && !weights;
    SmallVector<Value> operands;
    for (auto [i, v] : llvm::enumerate(op->getOperands()))
      operands.push_back(takesWeight && i == 1 ? v : asLast(rewriter, op.getLoc(), v));
    SmallVector<Type> types;
    for (Type t : op->getResultTypes())
      types.push_back(givesWeight ? t : Type(lastType(t)));
    OperationState state(op.getLoc(), op->getName(), operands, types, op->getAttrs());
    state.attributes.set("layout", LayoutAttr::get(op.getContext(), Layout::ChannelsLast));
    if (hasWeight && weights)
      state.attributes.set("weight_channels_last", rewriter.getUnitAttr());
    Operation *last = rewriter.create(state);
    SmallVector<Value> results(last->getResults());
    if (!givesWeight)
      for (Value &v : results)
        v = transpose(rewriter, op.getLoc(), v, toFirst(typeOf(v).getRank()));
    rewriter.replaceOp(op, results);
    return success();
  }
};

/// f(toFirst(x), y) = toFirst(f(x, toLast(y))) for elementwise f. Operands of lower rank get leading dimensions of 1 first.
/// Dropout is left alone: its mask depends on the order of the elements.
struct SinkThroughElementwise : RewritePattern {
  SinkThroughElementwise(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!op->hasTrait<Elementwise>() || isa<DropoutOp>(op) || !anyBehindToFirst(op->getOperands()))
      return failure();
    int64_t rank = typeOf(op->getResult(0)).getRank();
    Location loc = op->getLoc();
    SmallVector<Value> operands;
    for (Value v : op->getOperands()) {
      if (shapeOf(v).empty()) {
        operands.push_back(v);
        continue;
      }
      Shape padded(rank - typeOf(v).getRank(), 1);
      llvm::append_range(padded, shapeOf(v));
      operands.push_back(asLast(rewriter, loc, rewriter.createOrFold<ReshapeOp>(loc, typeOf(v).clone(padded), v)));
    }
    OperationState state(loc, op->getName(), operands, {lastType(op->getResult(0).getType())}, op->getAttrs());
    Operation *last = rewriter.create(state);
    rewriter.replaceOp(op, transpose(rewriter, loc, last->getResult(0), toFirst(rank)));
    return success();
  }
};

/// Sinks through an op on one activation whose per-dimension attributes permute: `adjust` rewrites them.
template <typename OpT>
struct SinkThroughMovement : OpRewritePattern<OpT> {
  using OpRewritePattern<OpT>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpT op, PatternRewriter &rewriter) const override {
    if (!anyBehindToFirst(op->getOperands()) || op->getNumResults() != 1)
      return failure();
    int64_t rank = typeOf(op->getResult(0)).getRank();
    Location loc = op.getLoc();
    SmallVector<Value> operands;
    for (Value v : op->getOperands())
      operands.push_back(asLast(rewriter, loc, v));
    OperationState state(loc, op->getName(), operands, {lastType(op->getResult(0).getType())}, op->getAttrs());
    Operation *last = rewriter.create(state);
    adjust(cast<OpT>(last), rank);
    rewriter.replaceOp(op, transpose(rewriter, loc, last->getResult(0), toFirst(rank)));
    return success();
  }
  static void adjust(OpT op, int64_t rank) {
    if constexpr (std::is_same_v<OpT, ConcatOp> || std::is_same_v<OpT, SoftmaxOp> || std::is_same_v<OpT, LogSoftmaxOp>) {
      op.setAxis(permuteAxis(op.getAxis(), rank));
    } else if constexpr (std::is_same_v<OpT, SliceOp>) {
      op.setStarts(permute(op.getStarts()));
      op.setSizes(permute(op.getSizes()));
      op.setStrides(permute(op.getStrides()));
    } else if constexpr (std::is_same_v<OpT, PadOp>) {
      op.setLow(permute(op.getLow()));
      op.setHigh(permute(op.getHigh()));
      op.setInterior(permute(op.getInterior()));
    } else {
      op.setScales(permute(op.getScales()));
      op.setOffsets(permute(op.getOffsets()));
    }
  }
};

/// Batch norms: operands and results of the activation's shape are channels-last, the others are per channel.
template <typename OpT>
struct SinkThroughBatchNorm : OpRewritePattern<OpT> {
  using OpRewritePattern<OpT>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpT op, PatternRewriter &rewriter) const override {
    if (!anyBehindToFirst(op->getOperands()))
      return failure();
    int64_t rank = typeOf(op.getX()).getRank();
    Location loc = op.getLoc();
    auto isActivation = [&](Type t) { return cast<RankedTensorType>(t).getRank() == rank; };
    SmallVector<Value> operands;
    for (Value v : op->getOperands())
      operands.push_back(isActivation(v.getType()) ? asLast(rewriter, loc, v) : v);
    SmallVector<Type> types;
    for (Type t : op->getResultTypes())
      types.push_back(isActivation(t) ? Type(lastType(t)) : t);
    OperationState state(loc, op->getName(), operands, types, op->getAttrs());
    Operation *last = rewriter.create(state);
    cast<OpT>(last).setAxis(permuteAxis(op.getAxis(), rank));
    SmallVector<Value> results;
    for (Value v : last->getResults())
      results.push_back(isActivation(v.getType()) ? transpose(rewriter, loc, v, toFirst(rank)) : v);
    rewriter.replaceOp(op, results);
    return success();
  }
};

/// reduce(toFirst(x)) reduces x itself; kept dimensions are transposed back where their order changed.
template <typename OpT>
struct SinkThroughReduce : OpRewritePattern<OpT> {
  using OpRewritePattern<OpT>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpT op, PatternRewriter &rewriter) const override {
    Value x = behindToFirst(op.getX());
    if (!x)
      return failure();
    int64_t rank = typeOf(x).getRank();
    Shape axes, order;
    for (int64_t a : op.getAxes())
      axes.push_back(permuteAxis(a, rank));
    llvm::sort(axes);
    auto reduced = OpT::create(rewriter, op.getLoc(), x, axes, op.getKeepdims());
    if (op.getKeepdims()) {
      order = toFirst(rank);
    } else {
      // Result dimension k of the original is dimension `kept[k]` of x; rank it among those that x keeps.
      Shape kept;
      for (int64_t d = 0; d < rank; ++d)
        if (!llvm::is_contained(op.getAxes(), d))
          kept.push_back(permuteAxis(d, rank));
      for (int64_t d : kept)
        order.push_back(llvm::count_if(kept, [&](int64_t other) { return other < d; }));
    }
    rewriter.replaceOp(op, transpose(rewriter, op.getLoc(), reduced, order));
    return success();
  }
};

/// transpose(broadcast(x)) = broadcast(transpose(x)): what is small is moved.
struct HoistOverBroadcast : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    auto broadcast = op.getX().getDefiningOp<BroadcastOp>();
    if (!broadcast)
      return failure();
    Value x = broadcast.getX();
    Shape padded(typeOf(op).getRank() - typeOf(x).getRank(), 1);
    llvm::append_range(padded, shapeOf(x));
    x = rewriter.createOrFold<ReshapeOp>(op.getLoc(), typeOf(x).clone(padded), x);
    x = transpose(rewriter, op.getLoc(), x, op.getPermutation());
    rewriter.replaceOpWithNewOp<BroadcastOp>(op, op.getType(), x);
    return success();
  }
};

/// Variables with the shape of a convolution's weight, the weight itself among them: all that has to change its order at once.
static llvm::SetVector<train::VariableOp> weightVariables(ModuleOp module) {
  llvm::SmallDenseSet<StringRef> parameters;
  auto nameOf = [](train::VariableOp variable) { return variable.getOf() ? *variable.getOf() : variable.getSymName(); };
  module.walk([&](Operation *op) {
    if (!isa<ConvOp, ConvInputGradOp>(op))
      return;
    Value w = op->getOperand(1);
    while (auto cast = w.getDefiningOp<CastOp>())
      w = cast.getX();
    if (auto read = w.getDefiningOp<train::ReadOp>())
      if (auto variable = train::lookupVariable(read, read.getVariableAttr()))
        parameters.insert(nameOf(variable));
  });
  llvm::SetVector<train::VariableOp> result;
  for (auto variable : module.getOps<train::VariableOp>())
    if (variable.getTensorType().getRank() >= 3 && parameters.contains(nameOf(variable)))
      result.insert(variable);
  return result;
}

/// Stores them channels-last: reads and assignments go through transposes, which then meet their opposites.
static void storeWeightsChannelsLast(ModuleOp module) {
  llvm::SetVector<train::VariableOp> variables = weightVariables(module);
  for (train::VariableOp variable : variables) {
    variable->setAttr(train::kPermutationAttr, DenseI64ArrayAttr::get(module.getContext(), toLast(variable.getTensorType().getRank())));
    variable.setType(lastType(variable.getType()));
  }
  module.walk([&](Operation *op) {
    OpBuilder b(op);
    if (auto read = dyn_cast<train::ReadOp>(op); read && variables.contains(train::lookupVariable(read, read.getVariableAttr()))) {
      Value value = read.getValue();
      RankedTensorType logical = typeOf(value);
      value.setType(lastType(logical));
      b.setInsertionPointAfter(op);
      auto back = TransposeOp::create(b, op->getLoc(), value, toFirst(logical.getRank()));
      value.replaceAllUsesExcept(back, back);
    } else if (auto assign = dyn_cast<train::AssignOp>(op);
               assign && variables.contains(train::lookupVariable(assign, assign.getVariableAttr()))) {
      Value value = assign.getValue();
      assign.getValueMutable().assign(transpose(b, op->getLoc(), value, toLast(typeOf(value).getRank())));
    }
  });
}

struct ChannelsLast : layout::impl::ChannelsLastPassBase<ChannelsLast> {
  using ChannelsLastPassBase::ChannelsLastPassBase;
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    getOperation().walk([&](Operation *op) {
      if (op->hasAttr("layout") && isa<GraphDialect>(op->getDialect()))
        ++numConverted;
    });
    if (weights)
      storeWeightsChannelsLast(getOperation());
    RewritePatternSet patterns(context);
    patterns.add<ConvertWindowOp<ConvOp>, ConvertWindowOp<ConvInputGradOp>, ConvertWindowOp<ConvWeightGradOp>,
                 ConvertWindowOp<MaxPoolOp>, ConvertWindowOp<MaxPoolGradOp>, ConvertWindowOp<AvgPoolOp>,
                 ConvertWindowOp<AvgPoolGradOp>>(context, weights);
    patterns.add<SinkThroughElementwise, SinkThroughMovement<ConcatOp>,
                 SinkThroughMovement<SoftmaxOp>, SinkThroughMovement<LogSoftmaxOp>, SinkThroughMovement<SliceOp>,
                 SinkThroughMovement<PadOp>, SinkThroughMovement<ResizeOp>, SinkThroughMovement<ResizeGradOp>,
                 SinkThroughBatchNorm<BatchNormOp>, SinkThroughBatchNorm<BatchNormGradOp>,
                 SinkThroughBatchNorm<BatchNormInferenceOp>, SinkThroughReduce<ReduceSumOp>, SinkThroughReduce<ReduceMeanOp>,
                 SinkThroughReduce<ReduceMaxOp>, SinkThroughReduce<ReduceMinOp>, SinkThroughReduce<ReduceAnyOp>,
                 HoistOverBroadcast>(context);
    TransposeOp::getCanonicalizationPatterns(patterns, context);
    ReshapeOp::getCanonicalizationPatterns(patterns, context);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      return signalPassFailure();
    for (auto entry : getOperation().getOps<FunctionOpInterface>())
      storeArgumentsTransposed(entry);
    getOperation().walk([&](TransposeOp) { ++numTransposes; });
  }

  /// An argument of which only one transposed form is read is handed over in that form.
  void storeArgumentsTransposed(FunctionOpInterface entry) {
    if (entry.isExternal())
      return;
    SmallVector<Type> types(entry.getArgumentTypes());
    for (BlockArgument arg : entry.getArguments()) {
      DenseI64ArrayAttr permutation;
      bool uniform = !arg.use_empty();
      for (Operation *user : arg.getUsers()) {
        auto op = dyn_cast<TransposeOp>(user);
        uniform &= op && (!permutation || permutation == op.getPermutationAttr());
        if (op)
          permutation = op.getPermutationAttr();
      }
      // The runtime fills batches sample by sample: the leading dimension stays where it is.
      if (!uniform || permutation.empty() || permutation[0] != 0)
        continue;
      SmallVector<Operation *> users(arg.getUsers());
      types[arg.getArgNumber()] = users.front()->getResult(0).getType();
      arg.setType(types[arg.getArgNumber()]);
      for (Operation *user : users) {
        user->getResult(0).replaceAllUsesWith(arg);
        user->erase();
      }
      entry.setArgAttr(arg.getArgNumber(), train::kPermutationAttr, permutation);
    }
    entry.setType(FunctionType::get(&getContext(), types, entry.getResultTypes()));
  }
};

} // namespace
