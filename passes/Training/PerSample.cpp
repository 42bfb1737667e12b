#include "passes/Training/PerSample.h"
#include "dialects/Graph/IR/Shapes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::training;

PerSample::PerSample(Block &block, int64_t samples, function_ref<bool(BlockArgument)> batched)
    : samples(samples) {
  for (BlockArgument argument : block.getArguments())
    if (batched(argument) && typeOf(argument).getRank() > 0 && samples > 0)
      positions[argument] = {{0, shapeOf(argument)[0] / samples}};
  for (Operation &op : block) {
    if (llvm::all_of(op.getOperands(), [&](Value v) { return fixed(v); }))
      continue;
    for (OpResult result : op.getResults()) {
      std::optional<Positions> common;
      for (OpOperand &operand : op.getOpOperands()) {
        if (fixed(operand.get()))
          continue;
        Positions here;
        for (Position at : positions.lookup(operand.get()))
          for (Position then : through(operand, result, at))
            if (!llvm::is_contained(here, then) && (!common || llvm::is_contained(*common, then)))
              here.push_back(then);
        common = std::move(here);
      }
      positions[result] = std::move(*common);
    }
  }
}

bool PerSample::fixed(Value v) const { return !positions.contains(v); }

bool PerSample::leads(Value v) const {
  return llvm::any_of(positions.lookup(v),
                      [&](Position at) { return at.dim == 0 && shapeOf(v)[0] == samples * at.inner; });
}

static int64_t product(ArrayRef<int64_t> extents) {
  int64_t all = 1;
  for (int64_t extent : extents)
    all *= extent;
  return all;
}

/// In row-major order element l belongs to sample l / S % samples, S = inner * (elements of an index of dim).
/// With R elements of an index of dimension e that is i / (S/R) % samples of its index i, if R divides S, and
/// samples * S/R divides its extent.
PerSample::Positions PerSample::throughReshape(Position at, ArrayRef<int64_t> from,
                                               ArrayRef<int64_t> to) const {
  Positions found;
  int64_t stride = at.inner * product(from.drop_front(at.dim + 1));
  for (int64_t e = 0, rank = int64_t(to.size()); e < rank && stride > 0; ++e) {
    int64_t rest = product(to.drop_front(e + 1));
    if (rest > 0 && stride % rest == 0 && to[e] % (samples * (stride / rest)) == 0)
      found.push_back({e, stride / rest});
  }
  return found;
}

PerSample::Positions PerSample::through(OpOperand &operand, OpResult result, Position at) const {
  ArrayRef<int64_t> from = shapeOf(operand.get()), to = shapeOf(result);
  int64_t shift = int64_t(to.size()) - int64_t(from.size());
  unsigned position = operand.getOperandNumber();
  auto moved = [&](int64_t dim) { return Positions{{dim, at.inner}}; };
  auto movedIf = [&](bool follows, int64_t dim) { return follows ? moved(dim) : Positions(); };
  // numpy broadcasting aligns the last dimensions.
  auto aligned = [&] {
    return movedIf(at.dim + shift >= 0 && from[at.dim] == to[at.dim + shift], at.dim + shift);
  };
  /// Of reductions: `axes` go, or stay as 1.
  auto reduced = [&](ArrayRef<int64_t> axes, bool keepdims) {
    int64_t before = llvm::count_if(axes, [&](int64_t axis) { return axis < at.dim; });
    return movedIf(!llvm::is_contained(axes, at.dim), keepdims ? at.dim : at.dim - before);
  };
  auto loss = [&](LossReduction reduction) {
    return movedIf(reduction == LossReduction::none && position < 2 && at.dim == 0, 0);
  };
  /// Places no condition of its own on a result that does not depend on this operand: where `x` has its samples, in kept dimensions.
  auto statisticsOf = [&](Value x) { return Positions(positions.lookup(x)); };
  Operation *op = operand.getOwner();
  if (op->hasTrait<Elementwise>())
    return aligned();
  return llvm::TypeSwitch<Operation *, Positions>(op)
      .Case<BroadcastOp>([&](auto) { return aligned(); })
      .Case<ReshapeOp>([&](auto) { return throughReshape(at, from, to); })
      .Case<TransposeOp>([&](TransposeOp t) {
        return moved(llvm::find(t.getPermutation(), at.dim) - t.getPermutation().begin());
      })
      .Case<ConcatOp>([&](ConcatOp c) { return movedIf(int64_t(c.getAxis()) != at.dim, at.dim); })
      .Case<SliceOp>([&](SliceOp s) {
        return movedIf(
            s.getStarts()[at.dim] == 0 && s.getStrides()[at.dim] == 1 && from[at.dim] == to[at.dim], at.dim);
      })
      .Case<PadOp>([&](PadOp p) {
        return movedIf(p.getLow()[at.dim] == 0 && p.getHigh()[at.dim] == 0 && p.getInterior()[at.dim] == 0,
                       at.dim);
      })
      .Case<GatherOp>([&](GatherOp g) {
        int64_t axis = g.getAxis(), picked = typeOf(g.getIndices()).getRank();
        if (position == 1)
          return moved(axis + at.dim);
        return movedIf(at.dim != axis, at.dim < axis ? at.dim : at.dim + picked - 1);
      })
      .Case<ResizeOp>([&](ResizeOp r) {
        return movedIf(
            r.getScales()[at.dim] == 1 && r.getOffsets()[at.dim] == 0 && from[at.dim] == to[at.dim], at.dim);
      })
      .Case<ReduceSumOp, ReduceMeanOp, ReduceMaxOp, ReduceMinOp, ReduceProdOp, ReduceL2Op, ReduceAnyOp>(
          [&](auto r) { return reduced(r.getAxes(), r.getKeepdims()); })
      .Case<ArgMaxOp>([&](ArgMaxOp a) { return reduced({int64_t(a.getAxis())}, a.getKeepdims()); })
      .Case<SoftmaxOp, LogSoftmaxOp>([&](auto s) { return movedIf(int64_t(s.getAxis()) != at.dim, at.dim); })
      .Case<MatMulOp>([&](MatMulOp m) {
        int64_t rank = int64_t(from.size());
        bool transposed = position == 0 ? m.getTransposeA() : m.getTransposeB();
        if (at.dim < rank - 2)
          return aligned();
        // a is [m, k], b is [k, n].
        int64_t kept = position == 0 ? rank - 2 : rank - 1;
        int64_t dim = transposed ? 2 * rank - 3 - at.dim : at.dim;
        return movedIf(dim == kept, dim + shift);
      })
      .Case<ConvOp, ConvInputGradOp, MaxPoolOp, AvgPoolOp>(
          [&](auto) { return movedIf(position == 0 && at.dim == 0, 0); })
      .Case<BatchNormInferenceOp>([&](auto) { return movedIf(position == 0, at.dim); })
      // A scale or bias may be a sample's own (adaptive norms); the statistics are those of x, whatever these are.
      .Case<LayerNormOp>([&](LayerNormOp n) {
        if (position == 0)
          return movedIf(!llvm::is_contained(n.getAxes(), at.dim), at.dim);
        return result.getResultNumber() == 0 ? aligned() : statisticsOf(n.getX());
      })
      .Case<GroupNormOp>([&](auto) { return movedIf(position == 0 && at.dim == 0, 0); })
      // Statistics are those of an index of the axis.
      .Case<BatchNormOp>([&](BatchNormOp n) {
        return movedIf(position == 0 && int64_t(n.getAxis()) == at.dim,
                       result.getResultNumber() == 0 ? at.dim : 0);
      })
      .Case<SoftmaxCrossEntropyOp, NllLossOp>([&](auto l) { return loss(l.getReduction()); })
      .Default([](auto) { return Positions(); });
}
