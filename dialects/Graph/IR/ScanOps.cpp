//===- ScanOps.cpp - repetition: checks and indices -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Support/Diagnostics.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

RankedTensorType ScanOp::sliceType(Type stacked) {
  auto type = cast<RankedTensorType>(stacked);
  return RankedTensorType::get(type.getShape().drop_front(), type.getElementType());
}
RankedTensorType ScanOp::stackType(int64_t trips, Type slice) {
  auto type = cast<RankedTensorType>(slice);
  Shape shape{trips};
  llvm::append_range(shape, type.getShape());
  return RankedTensorType::get(shape, type.getElementType());
}

/// The body gets its arguments, and the caller fills it.
void ScanOp::build(OpBuilder &builder, OperationState &state, int64_t trips, bool reverse, ValueRange inits,
                   ValueRange invariants, ValueRange stacked, TypeRange stacks) {
  OpBuilder::InsertionGuard guard(builder);
  build(builder, state, inits.getTypes(), stacks, builder.getI64IntegerAttr(trips),
        reverse ? builder.getUnitAttr() : UnitAttr(), inits, invariants, stacked);
  Block &body = state.regions.front()->emplaceBlock();
  for (ValueRange values : {inits, invariants})
    for (Value v : values)
      body.addArgument(v.getType(), v.getLoc());
  for (Value v : stacked)
    body.addArgument(sliceType(v.getType()), v.getLoc());
}

//===-- Checks -----------------------------------------------------------------===//

static LogicalResult verifyStack(ScanOp op, StringRef what, unsigned number, Type type) {
  auto tensor = cast<RankedTensorType>(type);
  if (tensor.getRank() > 0 && tensor.getDimSize(0) == int64_t(op.getTrips()))
    return success();
  return op.emitOpError() << what << " " << number << " has type " << type
                          << ", whose first dimension is not the number of iterations, " << op.getTrips();
}

LogicalResult ScanOp::verify() {
  for (auto [i, v] : llvm::enumerate(getStacked()))
    if (failed(verifyStack(*this, "stacked operand", i, v.getType())))
      return failure();
  for (auto [i, v] : llvm::enumerate(getStacks()))
    if (failed(verifyStack(*this, "stacked result", i, v.getType())))
      return failure();
  if (getInits().getTypes() != getFinals().getTypes())
    return emitOpError("returns other types than it carries");
  return success();
}

/// Whether an op has effects beyond its operands and results, or may have them.
static bool reachesOut(Operation *op) {
  std::optional<SmallVector<MemoryEffects::EffectInstance>> effects = getEffectsRecursively(op);
  return !effects ||
         !llvm::all_of(*effects, [](const MemoryEffects::EffectInstance &effect) { return bool(effect.getValue()); });
}

LogicalResult ScanOp::verifyRegions() {
  Block &block = getBlock();
  if (block.getNumArguments() != getNumOperands())
    return emitOpError("has ") << getNumOperands() << " operands, but its body has " << block.getNumArguments()
                               << " arguments";
  for (auto [i, argument] : llvm::enumerate(block.getArguments())) {
    Type operand = getOperand(i).getType(), wanted = isStacked(i) ? sliceType(operand) : operand;
    if (argument.getType() != wanted)
      return emitOpError("argument ") << i << " of its body has type " << argument.getType() << " instead of "
                                      << wanted;
  }
  auto yield = dyn_cast<ScanYieldOp>(block.getTerminator());
  if (!yield)
    return emitOpError("ends without graph.scan_yield");
  if (yield.getNumOperands() != getNumResults())
    return yield.emitOpError("yields ") << yield.getNumOperands() << " values for " << getNumResults() << " results";
  for (auto [i, v] : llvm::enumerate(yield.getValues())) {
    Type result = getResult(i).getType(), wanted = isCarried(i) ? result : sliceType(result);
    if (v.getType() != wanted)
      return yield.emitOpError("value ") << i << " has type " << v.getType() << " instead of " << wanted;
  }
  for (Operation &op : block)
    if (isa<ScanOp>(op) || reachesOut(&op)) {
      InFlightDiagnostic error =
          op.emitOpError(isa<ScanOp>(op) ? "stands in the body of another scan"
                                         : "has effects, and stands in the body of a graph.scan");
      error.attachNote() << "hint: "
                         << (isa<ScanOp>(op) ? "repeat its body explicitly"
                                             : "pass what it reads or writes in and out of the scan");
      return error;
    }
  return success();
}

//===-- Indices ----------------------------------------------------------------===//

/// This maps each value of the body that depends on an operand to the dimension that follows a given dimension of
/// the operand, or to nullopt if some elements depend on other indices as well. Values that do not depend on the
/// operand are absent.
using FollowedDims = DenseMap<Value, std::optional<int64_t>>;

/// Notes that `v` depends on the operand through `dim`; returns whether that is news. Two ways through different
/// dimensions follow neither.
static bool note(FollowedDims &dims, Value v, std::optional<int64_t> dim) {
  auto [known, isNew] = dims.try_emplace(v, dim);
  if (isNew || known->second == dim || !known->second)
    return isNew;
  known->second = std::nullopt;
  return true;
}

/// Follows a dimension of operand `number` through the body, over as many iterations as it takes until nothing changes.
static FollowedDims followThrough(ScanOp op, unsigned number, std::optional<int64_t> dim) {
  FollowedDims dims;
  note(dims, op.getBlock().getArgument(number), dim);
  for (bool changed = true; changed;) {
    changed = false;
    for (Operation &inner : op.getBlock().without_terminator()) {
      auto indexed = dyn_cast<IndexingOpInterface>(inner);
      for (OpOperand &operand : inner.getOpOperands()) {
        auto from = dims.find(operand.get());
        if (from == dims.end())
          continue;
        std::optional<int64_t> at = from->second;
        for (OpResult result : inner.getResults())
          if (!indexed || indexed.dependsOn(operand, result))
            changed |= note(dims, result, indexed && at ? indexed.followingDim(operand, result, *at) : std::nullopt);
      }
    }
    for (auto [i, carried] : llvm::enumerate(op.carried()))
      if (auto from = dims.find(op.yielded()[i]); from != dims.end())
        changed |= note(dims, carried, std::optional<int64_t>(from->second));
  }
  return dims;
}

bool ScanOp::dependsOn(OpOperand &operand, OpResult result) {
  unsigned to = result.getResultNumber();
  // With no iterations a carried value is its operand.
  if (isCarried(operand.getOperandNumber()) && operand.getOperandNumber() == to)
    return true;
  return followThrough(*this, operand.getOperandNumber(), std::nullopt).contains(yielded()[to]);
}

std::optional<int64_t> ScanOp::followingDim(OpOperand &operand, OpResult result, int64_t dim) {
  unsigned from = operand.getOperandNumber(), to = result.getResultNumber();
  if (isStacked(from)) {
    // Iterations depend on one another; without carried values only, slice t of a result depends on slice t alone.
    if (dim == 0)
      return getInits().empty() && !isCarried(to) ? std::optional<int64_t>(0) : std::nullopt;
    --dim;
  }
  FollowedDims dims = followThrough(*this, from, dim);
  auto found = dims.find(yielded()[to]);
  if (found == dims.end() || !found->second)
    return isCarried(to) && from == to && found == dims.end() ? std::optional<int64_t>(dim) : std::nullopt;
  return *found->second + (isCarried(to) ? 0 : 1);
}
