//===- SplitReductions.cpp - partial results for long reductions ------------------===//
//
// A host kernel divides its work by kept elements (in columns: by blocks of them). A reduction of many
// elements to few is done in two stages: the outer dimensions of [N, H, W, C] -> [C] are kept at first, [N,
// H, W, C] -> [N, C] -> [C]. Where no dimension has the right size, a reshape makes one more, [M] -> [s,
// M/s]. That reshape costs nothing only on values in memory, so the elementwise ops in between are rebuilt in
// the new shape. Values that other ops use too are then computed twice, which is why this way is the second
// choice. A GPU's blocks share the work in the same way, but there are many more of them.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/Storage.h"
#include "passes/Decompose/Patterns.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace mpc;
using graph::Shape;

SplitSizes mpc::splitSizesFor(const GpuArch *gpu) {
  // On the host the columns are a slice of its column reduction (KernelToHost/Nest.cpp). Sixty-four slices
  // keep a large machine busy.
  if (!gpu)
    return {.wantedPieces = 64,
            .enoughPieces = 32,
            .mostPieces = 512,
            .leastElements = 1 << 16,
            .leastPiece = 1024,
            .columns = 32};
  // On a GPU the columns are those of 32 threads with 16 bytes of f16 each (KernelToGpu/GpuReductions.cpp). Four
  // blocks keep a multiprocessor busy; about one for each multiprocessor (the nearest power of two, as extents
  // often are) is enough where that spares the reshape. A piece is worth a block when its 256 threads have 16
  // elements each.
  return {.wantedPieces = 4 * gpu->multiprocessors,
          .enoughPieces = int64_t(llvm::bit_floor(unsigned(gpu->multiprocessors) * 4 / 3)),
          .mostPieces = 2048,
          .leastElements = 1 << 15,
          .leastPiece = 4096,
          .columns = 256};
}

namespace {
/// Splits the dimensions [begin, end) of a shape of rank `rank` into (outer, inner).
struct Split {
  int64_t begin, end, outer, inner, rank;

  Shape apply(ArrayRef<int64_t> shape) const { return replaced(shape, outer, inner); }
  /// Returns one number for each dimension, with `first` and `second` in place of those that are split.
  Shape replaced(ArrayRef<int64_t> numbers, int64_t first, int64_t second) const {
    Shape result(numbers.take_front(begin));
    result.append({first, second});
    llvm::append_range(result, numbers.drop_front(end));
    return result;
  }
};
} // namespace

/// Makes an elementwise op like `op`, of another shape.
static Value recreate(Operation *op, ArrayRef<Value> operands, ArrayRef<int64_t> shape, OpBuilder &b) {
  OperationState state(op->getLoc(), op->getName(), operands, graph::typeOf(op->getResult(0)).clone(shape),
                       op->getAttrs());
  state.propertiesAttr = op->getPropertiesAsAttribute();
  return b.create(state)->getResult(0);
}

/// Returns whether fusion will store an elementwise value whether or not it is reshaped: others use it too, and either
/// one of them reads it from memory, or computing it for each of them costs more than reading it does
/// (an estimate of what passes/Fusion/Roots.cpp decides). Casts to a wider type are computed by whoever reads their
/// operand.
static bool isStoredAnyway(Operation *op) {
  if (graph::isWideningCast(op))
    return false;
  llvm::SmallSetVector<Operation *, 4> users; // a square uses its operand twice, and is one user
  for (Operation *user : op->getUsers())
    if (graph::isWideningCast(user))
      users.insert_range(user->getUsers());
    else
      users.insert(user);
  auto computesIt = [](Operation *user) {
    std::optional<LoopKind> kind = loopKindOf(user);
    return kind == LoopKind::Elementwise || kind == LoopKind::Reduction || kind == LoopKind::Broadcast ||
           graph::isSample(user);
  };
  if (!llvm::all_of(users, computesIt))
    return true;
  if (users.size() < 2)
    return false;
  llvm::SmallSetVector<Operation *, 8> ops;
  llvm::SmallPtrSet<Value, 4> loads;
  ops.insert(op);
  auto isCheap = [&] { return graph::isCheapToRepeat(int64_t(loads.size()), int64_t(ops.size())); };
  for (size_t i = 0; i < ops.size() && isCheap(); ++i)
    for (Value operand : ops[i]->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (graph::shapeOf(operand) != graph::shapeOf(op->getResult(0)))
        continue; // it is stored, or costs next to nothing
      if (producer && isOfKind(producer, LoopKind::Elementwise))
        ops.insert(producer);
      else if (!(producer && isOfKind(producer, LoopKind::Generator)))
        loads.insert(operand);
    }
  return !isCheap();
}

static Value inSplitShape(Value v, ArrayRef<int64_t> whole, const Split &split, OpBuilder &b, IRMapping &known,
                          int depth);

/// Rebuilds arithmetic on samples of a tensor that is split, where each sample has one element along the dimensions
/// that are split; returns null for other values. (A view would need the sample in memory.)
static Value sampleInSplitShape(Value v, ArrayRef<int64_t> whole, const Split &split, OpBuilder &b, IRMapping &known,
                                int depth) {
  if (Value done = known.lookupOrNull(v))
    return done;
  Operation *op = v.getDefiningOp();
  if (!op || depth == 0 || int64_t(whole.size()) != graph::typeOf(v).getRank() || graph::shapeOf(v) == whole)
    return {};
  Value rebuilt;
  if (auto slice = dyn_cast<graph::SliceOp>(op);
      slice && graph::isSample(op) && graph::shapeOf(slice.getX()) == whole) {
    int64_t position = 0; // of the sample, in the run of dimensions that is split
    for (int64_t d = split.begin; d < split.end; ++d) {
      if (slice.getSizes()[d] != 1)
        return {};
      position = position * whole[d] + slice.getStarts()[d];
    }
    Value x = inSplitShape(slice.getX(), whole, split, b, known, depth - 1);
    if (!x)
      return {};
    rebuilt = graph::SliceOp::create(b, v.getLoc(), x,
                                     split.replaced(slice.getStarts(), position / split.inner, position % split.inner),
                                     split.replaced(slice.getSizes(), 1, 1), split.replaced(slice.getStrides(), 1, 1));
  } else if (isOfKind(op, LoopKind::Elementwise) && !drawsNumbers(op) && op->getNumResults() == 1) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      operands.push_back(sampleInSplitShape(operand, whole, split, b, known, depth - 1));
      if (!operands.back())
        return {};
    }
    rebuilt = recreate(op, operands, graph::typeOf(operands.front()).getShape(), b);
  } else {
    return {};
  }
  known.map(v, rebuilt);
  return rebuilt;
}

/// v, which broadcasts to the shape that was split, in the split shape; null where that would need data
/// movement, or memory for a value that fusion keeps in registers. Elementwise producers are rebuilt, down to
/// values that are stored anyway, where a reshape is a view.
static Value inSplitShape(Value v, ArrayRef<int64_t> whole, const Split &split, OpBuilder &b, IRMapping &known,
                          int depth) {
  if (Value done = known.lookupOrNull(v))
    return done;
  ArrayRef<int64_t> shape = graph::shapeOf(v);
  if (Value sample = sampleInSplitShape(v, whole, split, b, known, depth))
    return sample;
  int64_t missing = split.rank - int64_t(shape.size());
  if (shape != whole) {
    // The operand is broadcast and constant along the split dimensions.
    Shape aligned(missing, 1);
    llvm::append_range(aligned, shape);
    if (llvm::product_of(ArrayRef<int64_t>(aligned).slice(split.begin, split.end - split.begin)) != 1)
      return {};
    if (missing >= split.end || llvm::product_of(shape) == 1)
      return v; // v does not have the split dimensions at all
    Shape result(ArrayRef<int64_t>(aligned).take_front(split.begin));
    result.append({1, 1});
    llvm::append_range(result, ArrayRef<int64_t>(aligned).drop_front(split.end));
    return graph::reshapeTo(b, v.getLoc(), v, result);
  }
  Shape result = split.apply(shape);
  Operation *op = v.getDefiningOp();
  if (auto constant = dyn_cast_or_null<graph::ConstantOp>(op))
    if (auto dense = dyn_cast<SplatElementsAttr>(constant.getValue()))
      return graph::ConstantOp::create(b, v.getLoc(), dense.resizeSplat(graph::typeOf(v).clone(result)));
  if (op && isOfKind(op, LoopKind::Elementwise) && !drawsNumbers(op) && op->getNumResults() == 1 &&
      !isStoredAnyway(op)) {
    if (depth == 0)
      return {};
    llvm::SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      if (Value rebuilt = inSplitShape(operand, whole, split, b, known, depth - 1))
        operands.push_back(rebuilt);
      else
        return {};
    Value rebuilt = recreate(op, operands, result, b);
    known.map(v, rebuilt);
    return rebuilt;
  }
  Value reshaped = graph::reshapeTo(b, v.getLoc(), v, result);
  known.map(v, reshaped);
  return reshaped;
}

bool mpc::splitReduction(Operation *op, const SplitSizes &sizes, OpBuilder &b) {
  if (!isOfKind(op, LoopKind::Reduction))
    return false;
  auto reduction = cast<ReductionOpInterface>(op);
  Value x = op->getOperand(0);
  Shape shape(graph::shapeOf(x)), axes(reduction.getAxes());
  int64_t rank = shape.size(), total = llvm::product_of(shape);
  if (axes.empty() || total < sizes.leastElements)
    return false;
  auto isReduced = [&](int64_t d) { return llvm::is_contained(axes, d); };

  // The slices that the unsplit reduction has: kept elements, in blocks where the innermost dimension is kept.
  int64_t last = rank - 1;
  while (last > 0 && shape[last] == 1)
    --last;
  int64_t columns = 1;
  for (int64_t d = last; d >= 0 && !isReduced(d); --d)
    columns *= shape[d];
  int64_t kept = llvm::product_of(graph::shapeOf(op->getResult(0)));
  int64_t slices = isReduced(last) ? kept : kept / columns * ((columns + sizes.columns - 1) / sizes.columns);
  if (slices * 2 > sizes.wantedPieces)
    return false;

  // The run is the outermost one of reduced dimensions; the code looks for the best divisor of it.
  int64_t begin = 0;
  while (!isReduced(begin) || shape[begin] == 1)
    if (++begin == rank)
      return false;
  int64_t end = begin;
  while (end < rank && isReduced(end))
    ++end;
  int64_t run = llvm::product_of(ArrayRef<int64_t>(shape).slice(begin, end - begin));
  // The first choice is to keep as many whole dimensions of the run as make enough pieces.
  int64_t keep = begin, pieces = 1;
  while (keep < end && pieces * slices < sizes.enoughPieces)
    pieces *= shape[keep++];
  bool whole = pieces * slices >= sizes.enoughPieces && pieces <= sizes.mostPieces && run / pieces >= 8;
  int64_t most = std::min((sizes.wantedPieces + slices - 1) / slices,
                          std::max<int64_t>(1, total / slices / sizes.leastPiece)),
          outer = 1;
  for (int64_t d = 2; d <= most; ++d)
    if (run % d == 0)
      outer = d;
  if (!whole && outer == 1)
    return false;
  // Whole dimensions may make pieces that are too small: far below what is worth a block.
  bool large = 2 * (total / slices / pieces) >= sizes.leastPiece;

  b.setInsertionPoint(op);
  graph::GraphBuilder m(b, op->getLoc());
  Type element = graph::elementOf(x);
  Value partial;
  Split split{begin, end, outer, run / outer, rank};
  if (outer > 1 && !(whole && large)) {
    IRMapping known;
    partial = inSplitShape(x, shape, split, b, known, /*depth=*/8);
    if (!partial && !whole) { // otherwise one tensor is stored, the narrower one where there is a cast
      auto cast = x.getDefiningOp<graph::CastOp>();
      Value narrow = cast && graph::isFloat(cast.getX()) ? cast.getX() : x;
      partial = m.cast(m.reshape(narrow, split.apply(shape)), element);
    }
  }
  bool reshaped = bool(partial);
  if (!reshaped) {
    partial = x;
  } else {
    Shape others; // the axes after the run are renumbered, since the run has become (outer, inner)
    for (int64_t axis : axes)
      if (axis < begin || axis >= end)
        others.push_back(axis < begin ? axis : axis - end + begin + 2);
    axes = others;
    keep = begin + 1;
    end = begin + 2;
  }
  bool keepdims = reduction.getKeepdims();
  bool rounds = reduction.getCombiner() == Combiner::Add || reduction.getCombiner() == Combiner::Multiply;
  if (rounds) // partial results are not rounded to the narrow type
    partial = m.up(partial);
  auto reduce = [&](Value v, ArrayRef<int64_t> over) -> Value {
    return reduction.isMean() ? m.sum(v, over, keepdims) : reduction.over(b, v, over, keepdims);
  };
  Shape inner, outerAxes;
  for (int64_t axis : axes)
    if (axis < begin || axis >= end)
      inner.push_back(axis);
  // The position of the pieces in the partial results.
  int64_t before = keepdims ? begin : begin - llvm::count_if(inner, [&](int64_t axis) { return axis < begin; });
  for (int64_t axis = keep; axis < end; ++axis)
    inner.push_back(axis);
  for (int64_t axis = begin; axis < keep; ++axis)
    outerAxes.push_back(before + axis - begin);
  llvm::sort(inner);
  Value sums = reduce(partial, inner);
  if (keepdims && reshaped) { // the pieces stand in the dimension where the run began
    Shape results(graph::shapeOf(op->getResult(0)));
    results[begin] = outer;
    sums = m.reshape(sums, results);
  }
  Value result = reduce(sums, outerAxes);
  if (reduction.isMean()) {
    double count = double(total) / double(kept);
    result = m.div(result, count);
  }
  result = m.cast(result, element);
  op->getResult(0).replaceAllUsesWith(m.reshape(result, graph::shapeOf(op->getResult(0))));
  op->erase();
  return true;
}
