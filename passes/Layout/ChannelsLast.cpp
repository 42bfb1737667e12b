//===- ChannelsLast.cpp - activations become [N, spatial..., C] ---------------===//
//
// See Passes.td. The pass walks over each entry once, in program order: it looks at every op once and
// replaces it at most once, by one op and the transposes that its operands need; so it takes time linear in
// the ops and ends on every program. `Orders` holds the values that exist in both orders; a transpose is made
// when the first op asks for the order that is missing.
//
//===----------------------------------------------------------------------===//
#include "passes/Layout/Orders.h"
#include "passes/Layout/Passes.h"
#include "dialects/Support/Rewrite.h"
#include "dialects/Train/IR/VariableTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Rewrite/FrozenRewritePatternSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::layout;

namespace mpc::layout {
#define GEN_PASS_DEF_CHANNELSLASTPASS
#include "passes/Layout/Passes.h.inc"
} // namespace mpc::layout

/// The position of the dimension `axis` of a channels-first tensor in the channels-last one.
static int64_t permuteAxis(int64_t axis, int64_t rank) { return toFirst(rank)[axis]; }

namespace {

/// Rewrites the ops of one entry.
class EntryLayout {
public:
  EntryLayout(Block &block, bool weights) : block(block), weights(weights) {}

  void run();

private:
  bool visit(Operation *op);
  template <typename OpT>
  bool convertWindow(OpT op);
  bool moveElementwise(Operation *op);
  template <typename OpT>
  bool moveNorm(OpT op);
  template <typename OpT>
  bool moveLayerNorm(OpT op);
  bool moveMovement(Operation *op);
  bool moveReduce(ReductionOpInterface op);
  bool moveReshape(ReshapeOp op);
  bool moveBroadcast(BroadcastOp op);
  bool moveTranspose(TransposeOp op);

  /// Whether the op is to be computed channels-last: it is where one of `activations` was, or where all of them
  /// are channels-last behind a transpose.
  bool wantsLast(ValueRange activations);
  /// v, which broadcasts to an activation of `rank` dimensions, in a form that broadcasts to the
  /// channels-last activation.
  Value spreadLast(OpBuilder &b, Value v, int64_t rank);
  /// Creates the op with other operands and result types, in front of the old one.
  Operation *rebuild(Operation *op, ValueRange operands, TypeRange types);

  Block &block;
  bool weights;
  Orders orders;
};

} // namespace

void EntryLayout::run() {
  SmallVector<Operation *> replaced;
  SmallVector<Operation *> ops = llvm::map_to_vector(block, [](Operation &op) { return &op; });
  for (Operation *op : ops) {
    if (isa_and_nonnull<GraphDialect>(op->getDialect()) && visit(op)) {
      replaced.push_back(op);
      continue;
    }
    for (OpOperand &operand : op->getOpOperands())
      operand.set(orders.first(operand.get()));
  }
  for (Operation *op : llvm::reverse(replaced))
    op->erase();
}

bool EntryLayout::visit(Operation *op) {
  return TypeSwitch<Operation *, bool>(op)
      .Case<ConvOp, ConvInputGradOp, ConvWeightGradOp, MaxPoolOp, MaxPoolGradOp, AvgPoolOp, AvgPoolGradOp>(
          [&](auto window) { return convertWindow(window); })
      .Case<BatchNormOp, BatchNormGradOp, BatchNormInferenceOp, GroupNormOp, GroupNormGradOp>([&](auto norm) { return moveNorm(norm); })
      .Case<LayerNormOp, LayerNormGradOp>([&](auto norm) { return moveLayerNorm(norm); })
      .Case([&](ReductionOpInterface reduce) { return moveReduce(reduce); })
      .Case<ConcatOp, SoftmaxOp, LogSoftmaxOp, SliceOp, PadOp, ResizeOp, ResizeGradOp>(
          [&](auto) { return moveMovement(op); })
      .Case([&](ReshapeOp reshape) { return moveReshape(reshape); })
      .Case([&](BroadcastOp broadcast) { return moveBroadcast(broadcast); })
      .Case([&](TransposeOp transpose) { return moveTranspose(transpose); })
      // A dropout's mask depends on the order of its elements, but not where it drops whole samples.
      .Case([&](DropoutOp dropout) {
        return int64_t(dropout.getShared().size()) == typeOf(dropout.getX()).getRank() - int64_t(!llvm::is_contained(dropout.getShared(), 0)) && moveElementwise(dropout);
      })
      .Default([&](Operation *other) { return isOfKind(other, LoopKind::Elementwise) && moveElementwise(other); });
}

bool EntryLayout::wantsLast(ValueRange activations) {
  auto isLast = [&](Value v) { return orders.isLast(v); };
  auto hasLast = [&](Value v) { return orders.hasLast(v); };
  return llvm::any_of(activations, isLast) || (!activations.empty() && llvm::all_of(activations, hasLast));
}

Value EntryLayout::spreadLast(OpBuilder &b, Value v, int64_t rank) {
  int64_t own = typeOf(v).getRank();
  if (own == rank)
    return orders.last(v);
  Value value = orders.first(v);
  if (own == 0)
    return value;
  Shape padded(rank - own, 1);
  llvm::append_range(padded, shapeOf(value));
  return transposed(b, value.getLoc(), reshapeTo(b, value.getLoc(), value, padded), toLast(rank));
}

Operation *EntryLayout::rebuild(Operation *op, ValueRange operands, TypeRange types) {
  OpBuilder b(op);
  OperationState state(op->getLoc(), op->getName(), operands, types, op->getAttrs());
  return b.create(state);
}

/// Convolutions and pooling always become channels_last. A convolution's weight becomes so only where
/// `weights` says it.
template <typename OpT>
bool EntryLayout::convertWindow(OpT op) {
  if (op.getLayout() == Layout::ChannelsLast)
    return false;
  constexpr bool hasWeight = std::is_same_v<OpT, ConvOp> || std::is_same_v<OpT, ConvInputGradOp> || std::is_same_v<OpT, ConvWeightGradOp>;
  constexpr bool givesWeight = std::is_same_v<OpT, ConvWeightGradOp>;
  SmallVector<Value> operands;
  for (auto [i, v] : llvm::enumerate(op->getOperands())) {
    bool isWeight = hasWeight && !givesWeight && i == 1;
    operands.push_back(isWeight && !weights ? orders.first(v) : orders.last(v));
  }
  SmallVector<Type> types;
  bool last = !givesWeight || weights;
  for (Type t : op->getResultTypes())
    types.push_back(last ? Type(lastType(t)) : t);
  Operation *made = rebuild(op, operands, types);
  made->setAttr("layout", LayoutAttr::get(op.getContext(), Layout::ChannelsLast));
  if (hasWeight && weights)
    made->setAttr("weight_channels_last", UnitAttr::get(op.getContext()));
  for (auto [old, value] : llvm::zip_equal(op->getResults(), made->getResults()))
    last ? orders.setLast(old, value) : orders.setFirst(old, value);
  return true;
}

bool EntryLayout::moveElementwise(Operation *op) {
  int64_t rank = typeOf(op->getResult(0)).getRank();
  if (rank < 3)
    return false;
  SmallVector<Value> activations;
  for (Value v : op->getOperands())
    if (typeOf(v).getRank() == rank && typeOf(v).getNumElements() == typeOf(op->getResult(0)).getNumElements())
      activations.push_back(v);
  if (!wantsLast(activations))
    return false;
  OpBuilder b(op);
  SmallVector<Value> operands = llvm::map_to_vector(op->getOperands(), [&](Value v) { return spreadLast(b, v, rank); });
  Operation *made = rebuild(op, operands, {lastType(op->getResult(0).getType())});
  orders.setLast(op->getResult(0), made->getResult(0));
  return true;
}

/// Operands and results with the activation's rank become channels-last; the others have one number for each
/// channel.
template <typename OpT>
bool EntryLayout::moveNorm(OpT op) {
  int64_t rank = typeOf(op.getX()).getRank();
  if (rank < 3)
    return false;
  auto isActivation = [&](Type t) { return cast<RankedTensorType>(t).getRank() == rank; };
  SmallVector<Value> activations = llvm::filter_to_vector(op->getOperands(), [&](Value v) { return isActivation(v.getType()); });
  if (!wantsLast(activations))
    return false;
  SmallVector<Value> operands;
  for (Value v : op->getOperands())
    operands.push_back(isActivation(v.getType()) ? orders.last(v) : orders.first(v));
  SmallVector<Type> types;
  for (Type t : op->getResultTypes())
    types.push_back(isActivation(t) ? Type(lastType(t)) : t);
  auto made = cast<OpT>(rebuild(op, operands, types));
  made.setAxis(permuteAxis(op.getAxis(), rank));
  for (auto [old, value] : llvm::zip_equal(op->getResults(), made->getResults()))
    isActivation(old.getType()) ? orders.setLast(old, value) : orders.setFirst(old, value);
  return true;
}

/// Everything that broadcasts to the activation is permuted with it, and so are the axes. Results that have
/// the shape of a scale get their own order back.
template <typename OpT>
bool EntryLayout::moveLayerNorm(OpT op) {
  int64_t rank = typeOf(op.getX()).getRank();
  SmallVector<Value> activations{op.getX()};
  if constexpr (std::is_same_v<OpT, LayerNormGradOp>)
    activations.push_back(op.getDy());
  if (rank < 3 || !wantsLast(activations))
    return false;
  OpBuilder b(op);
  Location loc = op.getLoc();
  SmallVector<Value> operands = llvm::map_to_vector(op->getOperands(), [&](Value v) { return spreadLast(b, v, rank); });
  // A gradient's results after the first are those of scale and bias.
  auto isOfScale = [](unsigned result) { return std::is_same_v<OpT, LayerNormGradOp> && result > 0; };
  SmallVector<Type> types;
  for (auto [i, t] : llvm::enumerate(op->getResultTypes()))
    types.push_back(isOfScale(i) ? operands[i].getType() : Type(lastType(t)));
  auto made = cast<OpT>(rebuild(op, operands, types));
  Shape axes = llvm::map_to_vector(op.getAxes(), [&](int64_t axis) { return permuteAxis(axis, rank); });
  llvm::sort(axes);
  made.setAxes(axes);
  for (auto [old, value] : llvm::zip_equal(op->getResults(), made->getResults())) {
    if (!isOfScale(old.getResultNumber()))
      orders.setLast(old, value);
    else if (typeOf(value).getRank() < rank)
      orders.setFirst(old, value);
    else
      orders.setFirst(old, reshapeTo(b, loc, transposed(b, loc, value, toFirst(rank)), shapeOf(old)));
  }
  return true;
}

/// Moves an op whose operands are all activations and whose attributes have an entry for each dimension:
/// these are permuted too.
bool EntryLayout::moveMovement(Operation *op) {
  int64_t rank = typeOf(op->getResult(0)).getRank();
  if (rank < 3 || !wantsLast(op->getOperands()))
    return false;
  SmallVector<Value> operands = llvm::map_to_vector(op->getOperands(), [&](Value v) { return orders.last(v); });
  Operation *made = rebuild(op, operands, {lastType(op->getResult(0).getType())});
  TypeSwitch<Operation *>(made)
      .Case<ConcatOp, SoftmaxOp, LogSoftmaxOp>([&](auto along) { along.setAxis(permuteAxis(along.getAxis(), rank)); })
      .Case([&](SliceOp slice) {
        slice.setStarts(permuted(slice.getStarts()));
        slice.setSizes(permuted(slice.getSizes()));
        slice.setStrides(permuted(slice.getStrides()));
      })
      .Case([&](PadOp pad) {
        pad.setLow(permuted(pad.getLow()));
        pad.setHigh(permuted(pad.getHigh()));
        pad.setInterior(permuted(pad.getInterior()));
      })
      .Case<ResizeOp, ResizeGradOp>([&](auto resize) {
        resize.setScales(permuted(resize.getScales()));
        resize.setOffsets(permuted(resize.getOffsets()));
      });
  orders.setLast(op->getResult(0), made->getResult(0));
  return true;
}

/// Reduces the same axes of the channels-last operand. Where the reduced dimensions vanish, the kept ones are
/// brought into their original order.
bool EntryLayout::moveReduce(ReductionOpInterface op) {
  Value x = op->getOperand(0), y = op->getResult(0);
  int64_t rank = typeOf(x).getRank();
  if (rank < 3 || !wantsLast(x))
    return false;
  Shape axes = llvm::map_to_vector(op.getAxes(), [&](int64_t axis) { return permuteAxis(axis, rank); });
  llvm::sort(axes);
  OpBuilder b(op);
  Value last = orders.last(x);
  Operation *made = rebuild(op, last, typeOf(y).clone(reducedShape(shapeOf(last), axes, op.getKeepdims())));
  made->setAttr("axes", b.getDenseI64ArrayAttr(axes));
  Value reduced = made->getResult(0);
  if (op.getKeepdims()) {
    orders.setLast(y, reduced);
    return true;
  }
  // Dimension k of the original result is dimension `kept[k]` of x; its position is its rank among the
  // dimensions that x keeps.
  Shape kept, order;
  for (int64_t d = 0; d < rank; ++d)
    if (!llvm::is_contained(op.getAxes(), d))
      kept.push_back(permuteAxis(d, rank));
  for (int64_t d : kept)
    order.push_back(llvm::count_if(kept, [&](int64_t other) { return other < d; }));
  orders.setFirst(y, transposed(b, op.getLoc(), reduced, order));
  return true;
}

/// Reshapes [N, C, spatial...] to [N, C, other spatial...]: the channels stay the last dimension.
bool EntryLayout::moveReshape(ReshapeOp op) {
  ArrayRef<int64_t> from = shapeOf(op.getX()), to = shapeOf(op.getY());
  if (!orders.isLast(op.getX()) || to.size() < 3 || to[0] != from[0] || to[1] != from[1])
    return false;
  OpBuilder b(op);
  orders.setLast(op.getY(), reshapeTo(b, op.getLoc(), orders.last(op.getX()), lastType(op.getType()).getShape()));
  return true;
}

bool EntryLayout::moveBroadcast(BroadcastOp op) {
  int64_t rank = typeOf(op.getY()).getRank();
  if (rank < 3 || typeOf(op.getX()).getRank() != rank || !orders.isLast(op.getX()))
    return false;
  OpBuilder b(op);
  orders.setLast(op.getY(), broadcastTo(b, op.getLoc(), orders.last(op.getX()), lastType(op.getType()).getShape()));
  return true;
}

/// A transpose of a channels-last value starts from that form: often it is the opposite transpose.
bool EntryLayout::moveTranspose(TransposeOp op) {
  OpBuilder b(op);
  Value x = op.getX();
  Shape permutation(op.getPermutation());
  if (orders.isLast(x)) {
    x = orders.last(x);
    Shape back = toFirst(permutation.size());
    for (int64_t &i : permutation)
      i = back[i];
  } else {
    x = orders.first(x);
  }
  orders.setFirst(op.getY(), transposed(b, op.getLoc(), x, permutation));
  return true;
}

/// The variables that have the shape of a convolution's weight and belong to it, the weight included: all of
/// them have to change their order at once.
static llvm::SetVector<train::VariableOp> weightVariables(ModuleOp module, const train::VariableTable &variables) {
  llvm::SmallDenseSet<StringRef> parameters;
  auto nameOf = [](train::VariableOp variable) { return variable.getOf() ? *variable.getOf() : variable.getSymName(); };
  module.walk([&](Operation *op) {
    if (!isa<ConvOp, ConvInputGradOp>(op))
      return;
    Value w = op->getOperand(1);
    while (auto cast = w.getDefiningOp<CastOp>())
      w = cast.getX();
    if (auto read = w.getDefiningOp<train::ReadOp>())
      if (train::VariableOp variable = variables.lookup(read.getVariableAttr()))
        parameters.insert(nameOf(variable));
  });
  llvm::SetVector<train::VariableOp> result;
  for (auto variable : module.getOps<train::VariableOp>())
    if (variable.getTensorType().getRank() >= 3 && parameters.contains(nameOf(variable)))
      result.insert(variable);
  return result;
}

/// Stores these variables channels-last: reads and assignments go through transposes, which then cancel with
/// opposite ones.
static void storeWeightsChannelsLast(ModuleOp module) {
  train::VariableTable table(module);
  llvm::SetVector<train::VariableOp> variables = weightVariables(module, table);
  for (train::VariableOp variable : variables) {
    variable->setAttr(train::kPermutationAttr, DenseI64ArrayAttr::get(module.getContext(), toLast(variable.getTensorType().getRank())));
    variable.setType(lastType(variable.getType()));
  }
  module.walk([&](Operation *op) {
    OpBuilder b(op);
    if (auto read = dyn_cast<train::ReadOp>(op); read && variables.contains(table.lookup(read.getVariableAttr()))) {
      Value value = read.getValue();
      RankedTensorType logical = typeOf(value);
      value.setType(lastType(logical));
      b.setInsertionPointAfter(op);
      auto back = TransposeOp::create(b, op->getLoc(), value, toFirst(logical.getRank()));
      value.replaceAllUsesExcept(back, back);
    } else if (auto assign = dyn_cast<train::AssignOp>(op);
               assign && variables.contains(table.lookup(assign.getVariableAttr()))) {
      Value value = assign.getValue();
      assign.getValueMutable().assign(TransposeOp::create(b, op->getLoc(), value, toLast(typeOf(value).getRank())));
    }
  });
}

namespace {
struct ChannelsLast : layout::impl::ChannelsLastPassBase<ChannelsLast> {
  using ChannelsLastPassBase::ChannelsLastPassBase;
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    // GPU kernels read weights as they are stored; the host's library packs them itself.
    bool weights = kernel::gpuOf(getOperation());
    getOperation().walk([&](Operation *op) {
      if (op->hasAttr("layout") && isa<GraphDialect>(op->getDialect()))
        ++numConverted;
    });
    if (weights)
      storeWeightsChannelsLast(getOperation());
    RewritePatternSet patterns(context);
    TransposeOp::getCanonicalizationPatterns(patterns, context);
    ReshapeOp::getCanonicalizationPatterns(patterns, context);
    FrozenRewritePatternSet cleanup(std::move(patterns));
    for (auto entry : getOperation().getOps<FunctionOpInterface>()) {
      if (entry.isExternal())
        continue;
      EntryLayout(entry.getFunctionBody().front(), weights).run();
      // The cleanup drops dead ops and merges views of views.
      if (failed(applyWithinBudget(entry, cleanup)))
        return signalPassFailure();
      storeArgumentsTransposed(entry);
    }
    getOperation().walk([&](TransposeOp) { ++numTransposes; });
  }

  /// An argument that is read only in one transposed form is passed in that form.
  void storeArgumentsTransposed(FunctionOpInterface entry) {
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
      // The runtime fills batches sample by sample, so the leading dimension stays where it is.
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
