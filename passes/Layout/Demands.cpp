// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Layout/Demands.h"
#include "dialects/Train/IR/Train.h"
#include "passes/Layout/OpDims.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::layout;

bool layout::isWindow(Operation *op) { return layoutOf(op) == Layout::ChannelsFirst; }
bool layout::isWeight(Value v, Operation *conv) {
  auto convolution = dyn_cast<ConvolutionOpInterface>(conv);
  return convolution && v == convolution.getWeight();
}

std::optional<LinearDims> layout::linearDims(MatMulOp op) {
  int64_t rank = typeOf(op.getA()).getRank();
  if (typeOf(op.getB()).getRank() != 2 || (rank > 2 && op.getTransposeA()))
    return std::nullopt;
  LinearDims dims{.rowsOfA = llvm::to_vector(llvm::seq<int64_t>(0, rank - 1)),
                  .kOfA = rank - 1,
                  .kOfB = op.getTransposeB(),
                  .nOfB = !op.getTransposeB()};
  if (op.getTransposeA())
    dims.rowsOfA = {1}, dims.kOfA = 0;
  return dims;
}

bool layout::isFree(Value v) {
  Operation *op = v.getDefiningOp();
  return !isa<RankedTensorType>(v.getType()) || typeOf(v).getRank() == 0 || (op && isOfKind(op, LoopKind::Generator));
}

namespace {
class Demands {
public:
  Demands(OrderChoice &choice, bool weights) : choice(choice), weights(weights) {}
  void add(Operation *op);
  void plain(Value v, Rank rank = Rank::Plain);

private:
  void addWindow(Operation *op);
  void addProduct(MatMulOp op);
  void addMatrices(Value v);
  void addDims(Operation *op, const OpDims &dims);
  void tieToAnchor(const OpDims &dims, Value v, const std::optional<Shape> &dimsOfValue);
  void preferLast(Value v, ArrayRef<int64_t> axes);

  OrderChoice &choice;
  bool weights;
};
} // namespace

/// v is read or written in the order of the program. Dimensions of size 1 may stand anywhere.
void Demands::plain(Value v, Rank rank) {
  if (isFree(v))
    return;
  choice.wishOrder(v,
                   llvm::filter_to_vector(llvm::seq<int64_t>(0, typeOf(v).getRank()),
                                          [&](int64_t dim) { return shapeOf(v)[dim] != 1; }),
                   rank);
}

void Demands::addWindow(Operation *op) {
  auto wish = [&](Value v) {
    if (isWeight(v, op) && !weights)
      plain(v);
    else if (!isFree(v))
      choice.wishOrder(v, channelsLast(typeOf(v).getRank()), Rank::Need);
  };
  llvm::for_each(op->getOperands(), wish);
  llvm::for_each(op->getResults(), wish);
}

/// The matrices of a batch lie behind its dimensions; which of their dimensions is the last does not matter.
void Demands::addMatrices(Value v) {
  SmallVector<DimPair, 6> before;
  SmallVector<int64_t, 6> whole;
  int64_t rank = typeOf(v).getRank(), last = -1;
  for (int64_t dim = 0; dim < rank; ++dim) {
    if (shapeOf(v)[dim] == 1)
      continue;
    whole.push_back(dim);
    if (last >= 0)
      before.push_back({last, dim});
    if (dim < rank - 2)
      last = dim;
  }
  choice.wish(v, before, whole);
}

void Demands::addProduct(MatMulOp op) {
  Value a = op.getA(), b = op.getB(), y = op.getResult();
  // 8-bit floats are read along k only, and precision has made copies in that order.
  if (isFloat8(elementOf(a)))
    return plain(a), plain(b), plain(y);
  std::optional<LinearDims> dims = linearDims(op);
  if (!dims)
    return addMatrices(a), addMatrices(b), addMatrices(y);
  int64_t n = typeOf(y).getRank() - 1;
  SmallVector<DimPair, 6> rows, rowsK, rowsN;
  for (auto [row, rowOfA] : llvm::enumerate(dims->rowsOfA)) {
    rows.push_back({rowOfA, int64_t(row)});
    rowsK.push_back({rowOfA, dims->kOfA});
    rowsN.push_back({int64_t(row), n});
  }
  choice.tie(a, y, rows);
  choice.wish(a, {}, {dims->kOfA});
  choice.wish(b, {}, {dims->kOfB, dims->nOfB});
  choice.wish(y, {}, {n});
  choice.wish(a, rowsK, {dims->kOfA}, Rank::Together);
  choice.wish(b, {{dims->kOfB, dims->nOfB}}, {dims->kOfB, dims->nOfB}, Rank::Together);
  choice.wish(y, rowsN, {n}, Rank::Together);
}

void Demands::tieToAnchor(const OpDims &dims, Value v, const std::optional<Shape> &dimsOfValue) {
  if (isFree(v) || v == dims.anchor)
    return;
  if (!dimsOfValue)
    return plain(v);
  SmallVector<DimPair, 6> pairs;
  for (auto [dim, ofAnchor] : llvm::enumerate(*dimsOfValue)) {
    bool whole = llvm::is_contained(dims.whole, ofAnchor);
    if (whole)
      choice.keepWhole(v, dim);
    if (whole || shapeOf(v)[dim] == shapeOf(dims.anchor)[ofAnchor])
      pairs.push_back({ofAnchor, int64_t(dim)});
  }
  if (!pairs.empty())
    choice.tie(dims.anchor, v, pairs);
}

/// Sums along the last dimensions, and what needs them, are computed together, a row at a time.
void Demands::preferLast(Value v, ArrayRef<int64_t> axes) {
  int64_t rank = typeOf(v).getRank();
  if (axes.empty() || axes.front() != rank - int64_t(axes.size()))
    return;
  SmallVector<DimPair, 6> before;
  for (int64_t dim = 0; dim < axes.front(); ++dim)
    for (int64_t axis : axes)
      before.push_back({dim, axis});
  choice.wish(v, before, {}, Rank::Prefer);
}

void Demands::addDims(Operation *op, const OpDims &dims) {
  if (isFree(dims.anchor))
    return;
  for (int64_t dim : dims.whole)
    choice.keepWhole(dims.anchor, dim);
  for (OpOperand &operand : op->getOpOperands())
    if (unsigned i = operand.getOperandNumber(); dims.reads(i))
      tieToAnchor(dims, operand.get(), dims.operands[i]);
  for (auto [v, dimsOfValue] : llvm::zip_equal(op->getResults(), dims.results))
    tieToAnchor(dims, v, dimsOfValue);
  if (dims.samplesFirst) {
    SmallVector<DimPair, 6> before;
    for (int64_t dim = 1; dim < typeOf(dims.anchor).getRank(); ++dim)
      before.push_back({0, dim});
    choice.wish(dims.anchor, before, {0});
  }
  auto reduction = dyn_cast<ReductionOpInterface>(op);
  if (isOfKind(op, LoopKind::Composite) || (reduction && reduction.getKeepdims()))
    preferLast(dims.anchor, combinedDims(cast<IndexingOpInterface>(op)));
}

void Demands::add(Operation *op) {
  if (isOfKind(op, LoopKind::Generator))
    return;
  if (isWindow(op))
    return addWindow(op);
  if (auto product = dyn_cast<MatMulOp>(op))
    return addProduct(product);
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    SmallVector<DimPair, 6> pairs;
    for (auto [dim, from] : llvm::enumerate(transpose.getPermutation()))
      pairs.push_back({from, int64_t(dim)});
    if (!isFree(transpose.getX()))
      choice.tie(transpose.getX(), transpose.getY(), pairs, Rank::Transpose);
    return;
  }
  if (auto reshape = dyn_cast<ReshapeOp>(op)) {
    Value x = reshape.getX(), y = reshape.getY();
    if (isFree(x) || isFree(y))
      return;
    if (Order::identity(shapeOf(x)).reshaped(shapeOf(x), shapeOf(y)))
      return choice.tieReshape(x, y);
  } else if (std::optional<OpDims> dims = dimsOf(op)) {
    return addDims(op, *dims);
  }
  // A variable's order is that of several ops, which read and assign it and what belongs to it.
  Rank rank = isa<train::ReadOp, train::AssignOp>(op) ? Rank::Need : Rank::Plain;
  for (Value v : op->getOperands())
    plain(v, rank);
  for (Value v : op->getResults())
    plain(v, rank);
}

void layout::addDemands(Block &block, bool weights, OrderChoice &choice) {
  Demands demands(choice, weights);
  for (BlockArgument argument : block.getArguments()) {
    // The runtime fills batches sample by sample; it can store a sample in any order.
    if (isFree(argument))
      continue;
    SmallVector<DimPair, 6> before;
    for (int64_t dim = 1; dim < typeOf(argument).getRank(); ++dim)
      before.push_back({0, dim});
    choice.wish(argument, before, llvm::to_vector<6>(llvm::seq<int64_t>(0, typeOf(argument).getRank())));
  }
  for (Operation &op : block)
    demands.add(&op);
}
