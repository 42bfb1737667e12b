//===- Accesses.cpp - with which strides a dispatch reads and writes ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The walk starts at the results and at the operands of reductions, whose elements are needed at a point, and goes
// backwards over the body. Each op turns the index at which its result is needed into those of its operands. What is
// left at the arguments are the places of loads.
//
//===--------------------------------------------------------------------------------===//
#include "dialects/Kernel/Analysis/Accesses.h"
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Kernel/Analysis/Indices.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::kernel;

namespace {

class AccessWalk {
public:
  AccessWalk(DispatchOp dispatch, ArrayRef<Dim> dims, bool together);
  Accesses run();

private:
  /// Notes that the kernel needs the element of a value at an index.
  void need(Value v, IndexVector index);
  void readOperands(Operation *op, OpResult result, ArrayRef<Index> index);
  void readView(Operation *op, ArrayRef<Index> index);
  /// Reads an operand where the op says; nothing where the index lies beside it. Sets `followed` for the dimensions of
  /// the result that a dimension of the operand follows.
  void readRanges(OpOperand &operand, OpResult result, ArrayRef<Index> index, SmallVectorImpl<bool> &followed);
  /// Returns the index along a dimension of the operand, which the op reads over that range; nullopt where it never
  /// reads the operand.
  std::optional<Index> indexAlong(OpOperand &operand, int64_t dim, ReadRange range, const Index &at);
  /// Notes a load or a store, and that its place is computed.
  void access(const Index &place, Value tensor, bool isStore);

  /// The most indices at which the elements of one value are followed up. Further ones differ little, as those of a
  /// window's elements do, and without a limit there could be very many.
  static constexpr size_t mostNeeds = 16;

  DispatchOp dispatch;
  Indices indices;
  Index point, row; ///< the numbers of the current point in the space, and of its row
  DenseMap<Value, std::vector<IndexVector>> needs;
  Accesses found;
};

} // namespace

static unsigned bytesOf(Value tensor) { return (graph::elementOf(tensor).getIntOrFloatBitWidth() + 7) / 8; }

AccessWalk::AccessWalk(DispatchOp dispatch, ArrayRef<Dim> dims, bool together) : dispatch(dispatch) {
  for (const Dim &dim : dims)
    indices.add(0, dim.extent - 1);
  SpaceNumbers numbers(dims);
  point = numbers.point, row = numbers.row;
  if (together) // the neighbours are no variable
    for (Index *number : {&point, &row}) {
      SymbolId innermost = dims.size() - 1;
      *number = *number - Index::symbol(innermost, number->coefficient(innermost));
    }
}

void AccessWalk::need(Value v, IndexVector index) {
  if (countOf(v) == 0)
    return; // a tensor without elements is never read
  for (auto [i, extent] : llvm::zip_equal(index, graph::shapeOf(v)))
    if (extent == 1)
      i = Index(0); // with one way to write it there are fewer distinct indices
  std::vector<IndexVector> &known = needs[v];
  if (known.size() < mostNeeds && !llvm::is_contained(known, index))
    known.push_back(std::move(index));
}

void AccessWalk::access(const Index &place, Value tensor, bool isStore) {
  found.accesses.push_back({place, bytesOf(tensor), isStore});
  found.indices.push_back(place);
}

//===-- Operands ---------------------------------------------------------------------------===//

void AccessWalk::readView(Operation *op, ArrayRef<Index> index) {
  ArrayRef<int64_t> from = graph::shapeOf(op->getOperand(0)), to = graph::shapeOf(op->getResult(0));
  // Dimensions that both shapes share at the front or at the back keep their index.
  size_t rank = std::min(from.size(), to.size()), front = 0, back = 0;
  while (front < rank && from[front] == to[front])
    ++front;
  while (front + back < rank && from[from.size() - 1 - back] == to[to.size() - 1 - back])
    ++back;
  auto middle = [&](auto list) { return list.drop_front(front).drop_back(back); };
  IndexVector at(index.take_front(front));
  llvm::append_range(at, indices.delinearize(indices.linearize(middle(index), middle(to)), middle(from)));
  llvm::append_range(at, index.take_back(back));
  need(op->getOperand(0), std::move(at));
}

std::optional<Index> AccessWalk::indexAlong(OpOperand &operand, int64_t dim, ReadRange range, const Index &at) {
  Index first = at * range.stride + Index(range.offset);
  auto [low, high] = indices.range(first);
  high += range.span - 1;
  int64_t extent = graph::shapeOf(operand.get())[dim];
  if (low >= 0 && high < extent)
    return first;
  if (high < 0 || low >= extent)
    return std::nullopt;
  // The kernel compares the index with the bounds, and reads inside of them.
  found.indices.push_back(first);
  Operation *op = operand.getOwner();
  bool isOneOfSeveral = isOfKind(op, LoopKind::Movement) && op->getNumOperands() > 1;
  if (isOneOfSeveral && low < 0 && first.terms().size() == 1 && first.terms()[0].second == 1)
    found.cuts.push_back({first.terms()[0].first, -first.constant()});
  return indices.add(std::max<int64_t>(low, 0), std::min(high, extent - 1));
}

void AccessWalk::readRanges(OpOperand &operand, OpResult result, ArrayRef<Index> index,
                            SmallVectorImpl<bool> &followed) {
  auto op = cast<IndexingOpInterface>(operand.getOwner());
  IndexVector at;
  for (auto [dim, extent] : llvm::enumerate(graph::shapeOf(operand.get()))) {
    std::optional<ReadRange> range = op.readRange(operand, result, int64_t(dim));
    if (range)
      followed[range->dim] = true;
    if (extent == 1) {
      at.push_back(Index(0));
    } else if (!range) {
      at.push_back(indices.add(0, extent - 1));
    } else if (std::optional<Index> along = indexAlong(operand, int64_t(dim), *range, index[range->dim])) {
      at.push_back(*along);
    } else {
      return;
    }
  }
  need(operand.get(), std::move(at));
}

void AccessWalk::readOperands(Operation *op, OpResult result, ArrayRef<Index> index) {
  auto indexed = cast<IndexingOpInterface>(op);
  if (indexed.drawsNumbers()) {
    // The kernel computes the number of the block of words that neighbours share, and that of the element's word.
    auto [block, word] = indices.divide(indices.linearize(index, graph::shapeOf(result)), indexed.getPeriod());
    found.indices.append({block, word});
  }
  if (indexed.getLoopKind() == LoopKind::View)
    return readView(op, index);
  bool repeats = indexed.getLoopKind() == LoopKind::Elementwise ||
                 indexed.getLoopKind() == LoopKind::Broadcast; // the same along what no operand has
  SmallVector<bool> followed(index.size(), repeats);
  for (OpOperand &operand : op->getOpOperands())
    if (indexed.dependsOn(operand, result))
      readRanges(operand, result, index, followed);
  if (auto iota = dyn_cast<graph::IotaOp>(op)) {
    followed.assign(index.size(), true);
    followed[iota.getAxis()] = false;
  }
  // What follows no operand is computed from the index itself.
  for (auto [i, follows] : llvm::zip_equal(index, followed))
    if (!follows)
      found.indices.push_back(i);
}

//===-- The body ---------------------------------------------------------------------------===//

Accesses AccessWalk::run() {
  Block &body = dispatch.getBody().front();
  int64_t points = 1;
  if (std::optional<Space> space = Space::of(dispatch))
    points = space->points();
  for (Value v : dispatch.yielded()) {
    if (countOf(v) == 0)
      continue; // there is nothing to store
    if (StoredParts joined(v, points); joined) {
      for (auto [i, part] : llvm::enumerate(joined.parts)) {
        IndexVector index = indices.delinearize(point, graph::shapeOf(part));
        access(indices.linearize(joined.place(i, index), graph::shapeOf(v)), v, /*isStore=*/true);
        need(part, std::move(index));
      }
      continue;
    }
    const Index &number = countOf(v) == points ? point : row;
    access(number, v, /*isStore=*/true);
    need(v, indices.delinearize(number, graph::shapeOf(v)));
  }
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    IndexVector own; // at which a reduction has its result
    if (combinesElements(&op)) {
      auto reduction = cast<ReductionOpInterface>(op);
      IndexVector at = indices.delinearize(point, graph::shapeOf(op.getOperand(0)));
      for (auto [dim, i] : llvm::enumerate(at))
        if (!llvm::is_contained(reduction.getAxes(), int64_t(dim)))
          own.push_back(graph::shapeOf(op.getOperand(0))[dim] == 1 ? Index(0) : i);
        else if (reduction.getKeepdims())
          own.push_back(Index(0));
      need(op.getOperand(0), std::move(at));
    }
    for (OpResult result : op.getResults())
      for (const IndexVector &index : needs.lookup(result)) {
        DenseElementsAttr table;
        if (matchPattern(result, m_Constant(&table))) {
          if (Index place = indices.linearize(index, graph::shapeOf(result)); !table.isSplat() && !place.isConstant())
            access(place, result, /*isStore=*/false);
        } else if (!combinesElements(&op) || index != own) {
          readOperands(&op, result, index);
        }
      }
  }
  for (BlockArgument argument : body.getArguments())
    for (const IndexVector &index : needs[argument])
      access(indices.linearize(index, graph::shapeOf(argument)), argument, /*isStore=*/false);
  llvm::append_range(found.indices, indices.divided);
  return std::move(found);
}

Accesses kernel::accessesOf(DispatchOp dispatch, ArrayRef<Dim> dims, bool together) {
  return AccessWalk(dispatch, dims, together).run();
}
