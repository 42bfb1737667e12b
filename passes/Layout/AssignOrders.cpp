//===- AssignOrders.cpp - an order for each value --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Passes.td. Demands says what ops ask for, OrderChoice chooses, and this file rewrites each op once, in program
// order: from operands in some orders to a result in one. StoredValues converts a value where a reader needs another
// order than that in which it was computed. So the rewriting is right for every choice.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/IR/VariableTable.h"
#include "passes/Layout/Demands.h"
#include "passes/Layout/OpDims.h"
#include "passes/Layout/Passes.h"
#include "passes/Layout/Products.h"
#include "passes/Layout/StoredValues.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::layout;

namespace mpc::layout {
#define GEN_PASS_DEF_ASSIGNORDERSPASS
#include "passes/Layout/Passes.h.inc"
} // namespace mpc::layout

namespace {

/// Rewrites the ops of one entry.
class EntryOrders {
public:
  EntryOrders(Block &block, bool weights) : block(block), weights(weights) {
    addDemands(block, weights, choice);
    choice.solve();
  }
  void run();

private:
  bool rewrite(Operation *op);
  void rewriteWindow(Operation *op);
  bool rewriteDims(Operation *op, const OpDims &dims);
  Order cheapest(Operation *op, const OpDims &dims);
  Order windowOrder(Value v, Operation *window);
  Order wanted(OpOperand &use);

  Block &block;
  bool weights;
  OrderChoice choice;
  StoredValues stored;
};

} // namespace

/// Whether the op's launch can compute the casts of its operands.
static bool computesCasts(Operation *op) {
  return isOfKind(op, LoopKind::Elementwise) || isOfKind(op, LoopKind::Reduction);
}

void EntryOrders::run() {
  SmallVector<Operation *> replaced;
  for (Operation *op : llvm::map_to_vector(block, [](Operation &op) { return &op; })) {
    if (isa_and_nonnull<GraphDialect>(op->getDialect()) && rewrite(op)) {
      replaced.push_back(op);
      continue;
    }
    for (OpOperand &operand : op->getOpOperands())
      if (isa<RankedTensorType>(operand.get().getType()))
        operand.set(stored.plain(operand.get(), computesCasts(op)));
  }
  for (Operation *op : llvm::reverse(replaced))
    op->erase();
}

/// Returns false for an op that stays as it is, with its operands in the program's order.
bool EntryOrders::rewrite(Operation *op) {
  if (op->getNumResults() == 1 && viewedBy(op->getResult(0)))
    return true; // StoredValues finds what they are views of.
  if (isWindow(op))
    return rewriteWindow(op), true;
  if (auto product = dyn_cast<MatMulOp>(op))
    return rewriteProduct(product, choice, stored);
  std::optional<OpDims> dims = dimsOf(op);
  return dims && rewriteDims(op, *dims);
}

/// Creates the op for operands in another order, in front of the old one; the order's pieces belong to `dims`.
static Operation *permuted(Operation *op, ArrayRef<int64_t> dims, ValueRange operands, ArrayRef<Type> types) {
  OpBuilder b(op);
  Operation *made = cast<IndexingOpInterface>(op).permuted(b, dims, operands);
  assert(made && "demands leave an op that has no such form in the program's order");
  for (auto [v, type] : llvm::zip_equal(made->getResults(), types))
    v.setType(type);
  return made;
}

/// Convolutions and pooling become channels-last, and their weights where `weights` says it.
Order EntryOrders::windowOrder(Value v, Operation *window) {
  return isWeight(v, window) && !weights ? Order::identity(shapeOf(v))
                                         : Order::ofDims(shapeOf(v), channelsLast(typeOf(v).getRank()));
}

void EntryOrders::rewriteWindow(Operation *op) {
  auto orderOf = [&](Value v) { return windowOrder(v, op); };
  SmallVector<Value> operands =
      llvm::map_to_vector(op->getOperands(), [&](Value v) { return stored.get(v, orderOf(v)); });
  SmallVector<Type> types =
      llvm::map_to_vector(op->getResults(), [&](Value v) { return Type(typeOf(v).clone(orderOf(v).stored())); });
  Operation *made = permuted(op, channelsLast(typeOf(op->getOperand(0)).getRank()), operands, types);
  if (weights && isa<ConvolutionOpInterface>(op))
    made->setAttr("weight_channels_last", UnitAttr::get(op->getContext()));
  for (auto [old, value] : llvm::zip_equal(op->getResults(), made->getResults()))
    stored.define(old, orderOf(old), value);
}

/// The order in which an op will read v, as far as the choice tells.
Order EntryOrders::wanted(OpOperand &use) {
  Operation *user = use.getOwner();
  Value v = use.get();
  if (isWindow(user))
    return windowOrder(v, user);
  if (user->getNumResults() == 1 && viewedBy(user->getResult(0)))
    return orderBehindView(user->getResult(0), choice.orderOf(user->getResult(0)))
        .value_or(Order::identity(shapeOf(v)));
  if (isa<MatMulOp>(user))
    return choice.orderOf(v);
  std::optional<OpDims> dims = dimsOf(user);
  if (!dims)
    return Order::identity(shapeOf(v));
  unsigned operand = use.getOperandNumber();
  if (!dims->reads(operand))
    return choice.orderOf(v);
  Order order = choice.orderOf(dims->anchor);
  return dims->supports(order) ? dims->orderOf(v, dims->operands[operand], order) : Order::identity(shapeOf(v));
}

/// The order of the anchor that moves the fewest bytes at this op, in the fewest transposes: that which was chosen for
/// it, one in which an operand was computed, or the program's.
Order EntryOrders::cheapest(Operation *op, const OpDims &dims) {
  ArrayRef<int64_t> shape = shapeOf(dims.anchor);
  SmallVector<Order> candidates{choice.orderOf(dims.anchor)};
  for (Value v : op->getOperands()) {
    if (!isa<RankedTensorType>(v.getType()) || shapeOf(v).size() != shape.size())
      continue;
    Order order = stored.computedOrder(v);
    if (shapeOf(v) == shape)
      candidates.push_back(order);
    else if (order.getPieces().size() == shape.size()) // no dimension is split
      candidates.push_back(
          Order::ofDims(shape, llvm::map_to_vector(order.getPieces(), [](const Piece &piece) { return piece.dim; })));
  }
  candidates.push_back(Order::identity(shape));
  Order best = candidates.back();
  auto least = std::pair(std::numeric_limits<int64_t>::max(), int64_t(0)); // bytes, transposes
  for (const Order &candidate : candidates) {
    if (!dims.supports(candidate))
      continue;
    std::pair<int64_t, int64_t> cost;
    auto add = [&](Value v) { cost = {cost.first + bytesOf(v), cost.second + 1}; };
    for (auto [i, v] : llvm::enumerate(op->getOperands())) {
      if (!dims.reads(i))
        continue;
      Order order = dims.orderOf(v, dims.operands[i], candidate);
      // An argument whose readers all want one order is passed in that.
      bool isPassed = isa<BlockArgument>(v) && choice.orderOf(v).isViewOf(order);
      if (!isPassed && !isFree(v) && !stored.has(v, order))
        add(v);
    }
    for (auto [v, dimsOfValue] : llvm::zip_equal(op->getResults(), dims.results)) {
      SmallVector<Order> made{dims.orderOf(v, dimsOfValue, candidate)};
      for (OpOperand &use : v.getUses())
        if (Order order = wanted(use); llvm::none_of(made, [&](const Order &other) { return other.isViewOf(order); })) {
          add(v);
          made.push_back(order);
        }
    }
    if (cost < least)
      best = candidate, least = cost;
  }
  return best;
}

bool EntryOrders::rewriteDims(Operation *op, const OpDims &dims) {
  Order order = cheapest(op, dims);
  if (order == Order::identity(shapeOf(dims.anchor)))
    return false;
  OpBuilder b(op);
  SmallVector<Value> operands;
  for (auto [i, v] : llvm::enumerate(op->getOperands())) {
    if (!dims.reads(i)) {
      operands.push_back(stored.any(v));
      continue;
    }
    Value operand = stored.get(v, dims.orderOf(v, dims.operands[i], order), computesCasts(op));
    operands.push_back(reshapeTo(b, op->getLoc(), operand, dims.shapeOf(v, dims.operands[i], order)));
  }
  SmallVector<Type> types;
  for (auto [v, dimsOfValue] : llvm::zip_equal(op->getResults(), dims.results))
    types.push_back(typeOf(v).clone(dims.shapeOf(v, dimsOfValue, order)));
  Operation *made = permuted(op, llvm::map_to_vector(order.getPieces(), [](const Piece &piece) { return piece.dim; }),
                             operands, types);
  for (auto [i, value] : llvm::enumerate(made->getResults()))
    stored.define(op->getResult(i), dims.orderOf(op->getResult(i), dims.results[i], order), value);
  return true;
}

/// The variables that have the shape of a convolution's weight and belong to it, the weight included: all of
/// them have to change their order at once.
static llvm::SetVector<train::VariableOp> weightVariables(ModuleOp module, const train::VariableTable &variables) {
  llvm::SmallDenseSet<StringRef> parameters;
  auto nameOf = [](train::VariableOp variable) { return variable.getOf() ? *variable.getOf() : variable.getSymName(); };
  module.walk([&](Operation *op) {
    auto convolution = dyn_cast<ConvolutionOpInterface>(op);
    if (!convolution)
      return;
    Value w = convolution.getWeight();
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

static RankedTensorType storedType(RankedTensorType type) {
  return type.clone(inOrder(type.getShape(), channelsLast(type.getRank())));
}

/// Stores these variables channels-last: reads and assignments go through transposes, which then cancel with
/// opposite ones.
static void storeWeightsChannelsLast(ModuleOp module) {
  train::VariableTable table(module);
  llvm::SetVector<train::VariableOp> variables = weightVariables(module, table);
  for (train::VariableOp variable : variables) {
    variable->setAttr(train::kPermutationAttr,
                      DenseI64ArrayAttr::get(module.getContext(), channelsLast(variable.getTensorType().getRank())));
    variable.setType(storedType(variable.getTensorType()));
  }
  module.walk([&](Operation *op) {
    OpBuilder b(op);
    if (auto read = dyn_cast<train::ReadOp>(op); read && variables.contains(table.lookup(read.getVariableAttr()))) {
      Value value = read.getValue();
      RankedTensorType logical = typeOf(value);
      value.setType(storedType(logical));
      b.setInsertionPointAfter(op);
      auto back = TransposeOp::create(b, op->getLoc(), value, inverse(channelsLast(logical.getRank())));
      value.replaceAllUsesExcept(back, back);
    } else if (auto assign = dyn_cast<train::AssignOp>(op);
               assign && variables.contains(table.lookup(assign.getVariableAttr()))) {
      Value value = assign.getValue();
      assign.getValueMutable().assign(
          TransposeOp::create(b, op->getLoc(), value, channelsLast(typeOf(value).getRank())));
    }
  });
}

namespace {
struct AssignOrders : layout::impl::AssignOrdersPassBase<AssignOrders> {
  using AssignOrdersPassBase::AssignOrdersPassBase;
  void runOnOperation() override {
    // GPU kernels read weights as they are stored; the host's library packs them itself.
    bool weights = kernel::gpuOf(getOperation());
    getOperation().walk([&](Operation *op) { numConverted += isWindow(op); });
    if (weights)
      storeWeightsChannelsLast(getOperation());
    for (auto entry : getOperation().getOps<FunctionOpInterface>()) {
      if (entry.isExternal())
        continue;
      EntryOrders(entry.getFunctionBody().front(), weights).run();
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
    // A GPU kernel is a function of another type, which stays as it is.
    if (types != SmallVector<Type>(entry.getArgumentTypes()))
      entry.setType(FunctionType::get(&getContext(), types, entry.getResultTypes()));
  }
};

} // namespace
