//===- SplitReductions.cpp - partial results for long reductions ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A host kernel divides its work by kept elements (in columns: by blocks of them), a GPU's kernel by rows or columns of
// them. A dispatch that reduces many elements to few is therefore done in two: the first one reduces pieces, the second
// one the pieces' results, and it has the arithmetic on the results. Either the outer dimensions of [N, H, W, C] -> [C]
// are kept at first, [N, H, W, C] -> [N, C] -> [C]; or a reshape makes one more dimension, [M] -> [s, M/s]. What a
// dispatch reads is in memory, where a reshape costs nothing, and its body is rebuilt in the new shape.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphBuilder.h"
#include "dialects/Graph/IR/Storage.h"
#include "dialects/Kernel/Analysis/Form.h"
#include "dialects/Kernel/Analysis/Space.h"
#include "passes/Fusion/Passes.h"
#include "passes/Fusion/Splits.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using kernel::DispatchOp;

namespace mpc::fusion {
#define GEN_PASS_DEF_SPLITREDUCTIONSPASS
#include "passes/Fusion/Passes.h.inc"
} // namespace mpc::fusion
using namespace mpc::fusion;

using Values = SmallVector<Value>;
using OpSet = llvm::SmallPtrSet<Operation *, 8>;

/// Returns the ops that compute `results`, in program order, without those behind `leaves`.
static SmallVector<Operation *> coneOf(ArrayRef<Value> results, const OpSet &leaves = {}) {
  llvm::SetVector<Operation *> ops;
  Values work(results);
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (op && !leaves.contains(op) && ops.insert(op))
      llvm::append_range(work, op->getOperands());
  }
  SmallVector<Operation *> sorted = ops.takeVector();
  llvm::sort(sorted, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return sorted;
}

/// Returns the arguments of the body that the ops and the values themselves read, each once.
static llvm::SetVector<Value> argumentsOf(ArrayRef<Operation *> ops, ArrayRef<Value> values) {
  llvm::SetVector<Value> arguments;
  auto insert = [&](Value v) {
    if (isa<BlockArgument>(v))
      arguments.insert(v);
  };
  llvm::for_each(values, insert);
  for (Operation *op : ops)
    llvm::for_each(op->getOperands(), insert);
  return arguments;
}

namespace {
/// Splits one dispatch.
class Splitter {
public:
  Splitter(DispatchOp dispatch, const GpuArch *gpu) : dispatch(dispatch), gpu(gpu), builder(dispatch) {}
  /// Returns whether the dispatch was replaced by others; fails with a located error.
  FailureOr<bool> run();

private:
  bool findReductions();
  bool mayReshape() const;
  std::optional<Shape> inSplitShape(ArrayRef<int64_t> shape) const;
  Value rebuild(OpBuilder &b, Operation *op, const IRMapping &known) const;
  LogicalResult storeOperands();
  FailureOr<DispatchOp> reducePieces(bool reshaped);
  FailureOr<DispatchOp> reduceResults(DispatchOp pieces, bool reshaped);
  Value reduce(OpBuilder &b, ReductionOpInterface reduction, Value x, ArrayRef<int64_t> axes) const;
  /// Returns what the body's argument stands for.
  Value inputOf(Value argument) { return dispatch.getInputs()[cast<BlockArgument>(argument).getArgNumber()]; }

  DispatchOp dispatch;
  const GpuArch *gpu;
  OpBuilder builder;
  SmallVector<ReductionOpInterface> reductions;
  OpSet ends;                    ///< the reductions
  Values operands;               ///< theirs
  SmallVector<Operation *> cone; ///< the ops that compute the operands
  Shape shape, axes;             ///< of all reductions
  Split split;
};
} // namespace

/// Collects the reductions. Returns whether all have operands of one shape and the same axes, and none reads another.
bool Splitter::findReductions() {
  for (Operation &op : dispatch.getBody().front())
    if (kernel::combinesElements(&op)) {
      reductions.push_back(cast<ReductionOpInterface>(op));
      operands.push_back(op.getOperand(0));
      ends.insert(&op);
    }
  if (reductions.empty())
    return false;
  shape = Shape(shapeOf(operands.front()));
  axes = Shape(reductions.front().getAxes());
  cone = coneOf(operands);
  return llvm::none_of(cone, [&](Operation *op) { return ends.contains(op); }) &&
         llvm::all_of(reductions, [&](ReductionOpInterface reduction) {
           return shapeOf(reduction->getOperand(0)) == ArrayRef<int64_t>(shape) &&
                  reduction.getAxes() == ArrayRef<int64_t>(axes);
         });
}

/// Returns the shape of a value that broadcasts to the operands, where these are in split shape; nullopt for a value
/// that is neither whole nor constant along the dimensions that are split.
std::optional<Shape> Splitter::inSplitShape(ArrayRef<int64_t> own) const {
  if (own == ArrayRef<int64_t>(shape))
    return split.apply(shape);
  int64_t missing = split.rank - int64_t(own.size());
  if (missing < 0)
    return std::nullopt;
  Shape aligned(missing, 1);
  llvm::append_range(aligned, own);
  if (llvm::product_of(ArrayRef<int64_t>(aligned).slice(split.begin, split.end - split.begin)) != 1)
    return std::nullopt;
  if (missing >= split.end) // it does not have the split dimensions at all
    return Shape(own);
  return split.replaced(aligned, 1, 1);
}

/// Returns whether the op can be computed in split shape, and its operands with it.
static bool isShapeless(Operation *op) {
  if (auto constant = dyn_cast<ConstantOp>(op))
    return isa<SplatElementsAttr>(constant.getValue());
  return op->getNumResults() == 1 && !drawsNumbers(op) &&
         (isOfKind(op, LoopKind::Elementwise) || isa<BroadcastOp, SliceOp>(op));
}

bool Splitter::mayReshape() const {
  return split.outer > 1 &&
         llvm::all_of(cone,
                      [&](Operation *op) {
                        if (!isShapeless(op) || !inSplitShape(shapeOf(op->getResult(0))))
                          return false;
                        auto slice = dyn_cast<SliceOp>(op); // it has one element along the dimensions that are split
                        return !slice || (shapeOf(slice.getX()) == ArrayRef<int64_t>(shape) &&
                                          shapeOf(slice.getY()) != ArrayRef<int64_t>(shape));
                      }) &&
         llvm::all_of(argumentsOf(cone, operands),
                      [&](Value argument) { return inSplitShape(shapeOf(argument)).has_value(); });
}

/// Makes an op of the cone in split shape.
Value Splitter::rebuild(OpBuilder &b, Operation *op, const IRMapping &known) const {
  Value old = op->getResult(0);
  Shape own = *inSplitShape(shapeOf(old));
  if (auto constant = dyn_cast<ConstantOp>(op))
    return ConstantOp::create(b, op->getLoc(),
                              cast<SplatElementsAttr>(constant.getValue()).resizeSplat(typeOf(old).clone(own)));
  if (auto slice = dyn_cast<SliceOp>(op)) {
    int64_t position = 0; // in the run of dimensions that is split
    for (int64_t d = split.begin; d < split.end; ++d)
      position = position * shape[d] + slice.getStarts()[d];
    return SliceOp::create(b, op->getLoc(), known.lookup(slice.getX()),
                           split.replaced(slice.getStarts(), position / split.inner, position % split.inner),
                           split.replaced(slice.getSizes(), 1, 1), split.replaced(slice.getStrides(), 1, 1));
  }
  Values mapped;
  for (Value v : op->getOperands())
    mapped.push_back(known.lookup(v));
  OperationState state(op->getLoc(), op->getName(), mapped, typeOf(old).clone(own), op->getAttrs());
  state.propertiesAttr = op->getPropertiesAsAttribute();
  return b.create(state)->getResult(0);
}

Value Splitter::reduce(OpBuilder &b, ReductionOpInterface reduction, Value x, ArrayRef<int64_t> over) const {
  bool keepdims = reduction.getKeepdims();
  return reduction.isMean() ? GraphBuilder(b, reduction.getLoc()).sum(x, over, keepdims)
                            : reduction.over(b, x, over, keepdims);
}

/// Makes a dispatch that stores what the reductions read (the narrower tensors where there are casts), and lets the
/// split one read that.
LogicalResult Splitter::storeOperands() {
  llvm::SetVector<Value> computed;
  for (Value v : operands) {
    Operation *op = v.getDefiningOp();
    Value narrow = op && isWideningCast(op) && isFloat(op->getOperand(0)) ? op->getOperand(0) : v;
    if (!isa<BlockArgument>(narrow))
      computed.insert(narrow);
  }
  Values values = computed.takeVector();
  SmallVector<Operation *> ops = coneOf(values);
  llvm::SetVector<Value> arguments = argumentsOf(ops, values);
  Values inputs = llvm::map_to_vector(arguments, [&](Value argument) { return inputOf(argument); });
  auto body = [&](OpBuilder &b, ValueRange own) {
    IRMapping known;
    known.map(arguments.getArrayRef(), own);
    for (Operation *op : ops)
      b.clone(*op, known);
    return llvm::map_to_vector(values, [&](Value v) { return known.lookup(v); });
  };
  FailureOr<DispatchOp> stored = kernel::createLoops(builder, dispatch.getLoc(), dispatch.getName(), inputs, body);
  if (failed(stored))
    return failure();
  dispatch.getInputsMutable().append(stored->getResults());
  for (Value v : values)
    v.replaceAllUsesWith(dispatch.getBody().addArgument(v.getType(), dispatch.getLoc()));
  for (Operation *op : llvm::reverse(ops))
    if (op->use_empty())
      op->erase();
  operands = llvm::map_to_vector(reductions, [](ReductionOpInterface op) { return op->getOperand(0); });
  cone = coneOf(operands);
  return success();
}

/// Makes the dispatch that reduces the pieces.
FailureOr<DispatchOp> Splitter::reducePieces(bool reshaped) {
  llvm::SetVector<Value> arguments = argumentsOf(cone, operands);
  Values inputs;
  for (Value argument : arguments) {
    Value input = inputOf(argument);
    inputs.push_back(reshaped ? reshapeTo(builder, dispatch.getLoc(), input, *inSplitShape(shapeOf(argument))) : input);
  }
  // The axes after the run are renumbered where the run has become (outer, inner).
  Shape inner;
  for (int64_t axis : axes)
    if (axis < split.begin)
      inner.push_back(axis);
    else if (reshaped && axis >= split.end)
      inner.push_back(axis - split.end + split.begin + 2);
    else if (!reshaped && axis >= split.whole)
      inner.push_back(axis);
  if (reshaped)
    inner.insert(llvm::lower_bound(inner, split.begin + 1), split.begin + 1);
  return kernel::createLoops(builder, dispatch.getLoc(), dispatch.getName(), inputs, [&](OpBuilder &b, ValueRange own) {
    IRMapping known;
    known.map(arguments.getArrayRef(), own);
    for (Operation *op : cone)
      if (reshaped)
        known.map(op->getResult(0), rebuild(b, op, known));
      else
        b.clone(*op, known);
    Values results;
    for (ReductionOpInterface reduction : reductions) {
      Value x = known.lookup(reduction->getOperand(0));
      bool rounds = reduction.getCombiner() == Combiner::Add || reduction.getCombiner() == Combiner::Multiply;
      if (rounds) // partial results are not rounded to a narrow type
        x = GraphBuilder(b, reduction.getLoc()).up(x);
      results.push_back(reduce(b, reduction, x, inner));
    }
    return results;
  });
}

/// Makes the dispatch that reduces the results of the pieces and computes what depends on the reductions.
FailureOr<DispatchOp> Splitter::reduceResults(DispatchOp pieces, bool reshaped) {
  Values yielded(dispatch.yielded());
  SmallVector<Operation *> rest = coneOf(yielded, ends);
  llvm::SetVector<Value> arguments = argumentsOf(rest, yielded);
  Values inputs;
  for (auto [reduction, partial] : llvm::zip_equal(reductions, pieces.getResults())) {
    Value input = partial;
    if (reduction.getKeepdims() && reshaped) { // the pieces stand in the dimension where the run began
      Shape results(shapeOf(reduction->getResult(0)));
      results[split.begin] = split.outer;
      input = reshapeTo(builder, reduction.getLoc(), partial, results);
    }
    inputs.push_back(input);
  }
  for (Value argument : arguments)
    inputs.push_back(inputOf(argument));
  auto body = [&](OpBuilder &b, ValueRange own) {
    IRMapping known;
    known.map(arguments.getArrayRef(), own.drop_front(reductions.size()));
    for (auto [reduction, partial] : llvm::zip_equal(reductions, own.take_front(reductions.size()))) {
      GraphBuilder m(b, reduction.getLoc());
      Value old = reduction->getResult(0);
      // The position of the pieces in the partial results.
      int64_t first = reduction.getKeepdims()
                          ? split.begin
                          : split.begin - llvm::count_if(axes, [&](int64_t axis) { return axis < split.begin; });
      Shape over = llvm::to_vector(llvm::seq(first, first + (reshaped ? 1 : split.whole - split.begin)));
      Value result = reduce(b, reduction, partial, over);
      if (reduction.isMean())
        result = m.div(result, double(llvm::product_of(shape)) / double(kernel::countOf(old)));
      known.map(old, m.cast(result, elementOf(old)));
    }
    for (Operation *op : rest)
      b.clone(*op, known);
    return llvm::map_to_vector(yielded, [&](Value v) { return known.lookup(v); });
  };
  return kernel::createLoops(builder, dispatch.getLoc(), dispatch.getName(), inputs, body);
}

FailureOr<bool> Splitter::run() {
  if (dispatch.getForm() != kernel::Form::Reduction || !findReductions())
    return false;
  std::optional<Split> found = splitOf(shape, axes, gpu);
  if (!found)
    return false;
  split = *found;
  bool reshaped = !split.prefersWhole && mayReshape();
  // On a GPU too many or too few pieces take less than storing what the reductions read. (On the host a piece is a
  // slice of work.)
  bool isOther = !reshaped && split.whole == 0 && split.other != 0 && gpu;
  if (isOther)
    split.whole = split.other;
  if (!reshaped && split.whole == 0) {
    if (failed(storeOperands()))
      return failure();
    reshaped = true; // what the reductions read is in memory now
  }
  FailureOr<DispatchOp> pieces = reducePieces(reshaped);
  if (failed(pieces))
    return failure();
  FailureOr<DispatchOp> results = reduceResults(*pieces, reshaped);
  if (failed(results))
    return failure();
  dispatch.replaceAllUsesWith(results->getResults());
  dispatch.erase();
  // To sum up many pieces is a long reduction itself, of values in memory.
  if (isOther && failed(Splitter(*results, gpu).run()))
    return failure();
  return true;
}

namespace {
struct SplitReductions : fusion::impl::SplitReductionsPassBase<SplitReductions> {
  void runOnOperation() override {
    if (failed(kernel::verifyNotPlanned(getOperation(), getArgument())))
      return signalPassFailure();
    const GpuArch *gpu = kernel::gpuOf(getOperation());
    SmallVector<DispatchOp> dispatches;
    getOperation()->walk([&](DispatchOp dispatch) { dispatches.push_back(dispatch); });
    for (DispatchOp dispatch : dispatches) {
      FailureOr<bool> wasSplit = Splitter(dispatch, gpu).run();
      if (failed(wasSplit))
        return signalPassFailure();
      numSplit += *wasSplit;
    }
  }
};
} // namespace
