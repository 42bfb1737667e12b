// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Kernel/Analysis/Form.h"
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Graph/IR/Storage.h"
#include "dialects/Kernel/Analysis/AttentionKernel.h"
#include "dialects/Kernel/Analysis/Space.h"
#include "dialects/Kernel/Target/Blocks.h"
#include "dialects/Support/Diagnostics.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::kernel;

static LogicalResult fail(DispatchOp dispatch, const Twine &message, const Twine &hint) {
  return emitErrorWithHint([&] { return dispatch.emitOpError(); }, message, hint);
}

//===-- Transposed copies --------------------------------------------------------------------===//

graph::TransposeOp TransposedCopy::transposeOf(Value yielded) {
  Operation *op = yielded.getDefiningOp();
  return op && graph::transposesMatrices(op) ? cast<graph::TransposeOp>(op) : graph::TransposeOp();
}

RankedTensorType TransposedCopy::tileOf(Value yielded) {
  return RankedTensorType::get({gpuBlocks.copyTile * gpuBlocks.copyTile}, graph::elementOf(yielded));
}

std::optional<TransposedCopy> TransposedCopy::of(DispatchOp dispatch) {
  TransposedCopy copy;
  for (Value v : dispatch.yielded()) {
    graph::TransposeOp transpose = transposeOf(v);
    ArrayRef<int64_t> own = graph::shapeOf(transpose ? transpose.getX() : v);
    if (own.size() < 2 || (!copy.shape.empty() && copy.shape != own))
      return std::nullopt;
    copy.shape = own;
    RankedTensorType tile = tileOf(v);
    copy.hasOnlyBytes &= graph::bytesOf(tile) == tile.getNumElements();
    if (transpose)
      copy.tileBytes += graph::bytesOf(tile);
    else
      copy.hasValues = true;
  }
  if (copy.tileBytes == 0)
    return std::nullopt;
  return copy;
}

/// Verifies what the tiles need: a GPU, and room in its shared memory.
static LogicalResult verifyTransposedCopy(DispatchOp dispatch) {
  constexpr llvm::StringLiteral hint = "state the form pointwise";
  std::optional<TransposedCopy> copy = TransposedCopy::of(dispatch);
  std::optional<Space> space = Space::of(dispatch);
  if (!copy || dispatch.computesNothing() || !space || space->hasReductions())
    return fail(
        dispatch,
        "states the form transposed_copy, but its results are not values of one shape and transposes of their matrices",
        hint);
  TargetAttr target = TargetAttr::of(dispatch);
  if (!target) // mpc-set-target will say it, and then the verifier looks again
    return success();
  const GpuArch *gpu = target.getGpu();
  if (!gpu)
    return fail(dispatch, "states the form transposed_copy, which is for GPUs, and its module is compiled for the host",
                hint);
  if (!copy->fits(*gpu))
    return fail(dispatch,
                "has transposes whose tiles take " + Twine(copy->tileBytes) +
                    " bytes of shared memory, and a block of " + gpu->name + " has " + Twine(gpu->sharedBytesPerBlock),
                hint);
  return success();
}

//===-- All forms ----------------------------------------------------------------------------===//

FailureOr<Form> kernel::formOf(DispatchOp dispatch) {
  Block &body = dispatch.getBody().front();
  if (!body.getOps<DispatchOp>().empty())
    return Form::Batch;
  if (llvm::any_of(body, [](Operation &op) { return isOfKind(&op, LoopKind::Contraction); }))
    return Form::Contraction;
  if (llvm::any_of(body, [](Operation &op) { return isAttention(&op); }))
    return Form::Attention;
  if (dispatch.computesNothing())
    return Form::Pointwise;
  ValueRange yielded = dispatch.yielded();
  for (Operation &op : body)
    if (isOfKind(&op, LoopKind::Scatter)) {
      if (yielded.size() == 1 && yielded[0].getDefiningOp() == &op)
        return Form::Scatter;
      return fail(dispatch, "computes more than a scatter, which is the only result of its dispatch",
                  "compute the rest in a dispatch of its own");
    }
  std::optional<Space> space = Space::of(dispatch);
  if (!space)
    return fail(
        dispatch,
        "has reductions over different dimensions, or results of different sizes, which no one loop nest computes",
        "compute them in dispatches of their own");
  if (space->hasReductions()) {
    bool hasPoints =
        llvm::any_of(yielded, [&](Value v) { return graph::typeOf(v).getNumElements() == space->points(); });
    return hasPoints ? Form::Row : Form::Reduction;
  }
  const GpuArch *gpu = gpuOf(dispatch);
  std::optional<TransposedCopy> copy = TransposedCopy::of(dispatch);
  return gpu && copy && copy->fits(*gpu) && copy->pays() ? Form::TransposedCopy : Form::Pointwise;
}

/// Verifies a contraction's body: one product or convolution, of inputs.
static LogicalResult verifyContraction(DispatchOp dispatch) {
  auto contractions = llvm::make_filter_range(dispatch.getBody().front(),
                                              [](Operation &op) { return isOfKind(&op, LoopKind::Contraction); });
  if (!llvm::hasSingleElement(contractions))
    return dispatch.emitOpError("is a contraction, which computes one matrix product or convolution; its body has ")
           << std::distance(contractions.begin(), contractions.end());
  if (!llvm::all_of((*contractions.begin()).getOperands(), [](Value v) { return isa<BlockArgument>(v); }))
    return dispatch.emitOpError("is a contraction whose product or convolution reads what the body computes");
  return success();
}

/// Verifies the body of an attention: one op for which the GPU has a kernel, and ops that move rows before and behind
/// it.
static LogicalResult verifyAttention(DispatchOp dispatch) {
  constexpr llvm::StringLiteral hint = "compute the rest in a dispatch of its own";
  auto ops = dispatch.getBody().front().without_terminator();
  auto isOne = [](Operation &op) { return isAttention(&op); };
  if (llvm::count_if(ops, isOne) != 1 ||
      !llvm::all_of(ops, [&](Operation &op) { return isOne(op) || movesRows(&op) || writesInPlace(&op); }))
    return fail(dispatch,
                "states the form attention, but its body is not one attention and slices, transposes and "
                "concatenations of its heads",
                hint);
  Operation *op = attentionOf(dispatch);
  for (OpOperand &operand : op->getOpOperands())
    if (!readsInPlace(operand))
      return fail(dispatch,
                  "is an attention whose operand " + Twine(operand.getOperandNumber()) +
                      " is none that its kernel reads where it lies",
                  hint);
  llvm::SmallPtrSet<Value, 4> written;
  for (Value v : dispatch.yielded()) {
    if (v.getDefiningOp() != op && !writesInPlace(v.getDefiningOp()))
      return fail(dispatch,
                  "is an attention that yields something besides its results, their transposes and concatenations",
                  hint);
    if (!llvm::all_of(resultsIn(v), [&](Value result) { return written.insert(result).second; }))
      return fail(dispatch, "is an attention that yields one of its results twice",
                  "yield it once, as it is, transposed or as a part of a concatenation");
  }
  TargetAttr target = TargetAttr::of(dispatch);
  if (!target) // mpc-set-target will say it, and then the verifier looks again
    return success();
  StringRef why = target.getGpu() ? whyNoAttentionKernel(op, *target.getGpu()) : "it is compiled for the host";
  if (!why.empty())
    return fail(dispatch, "is an attention without a kernel: " + why,
                "run mpc-decompose-attention before dispatches are formed");
  return success();
}

LogicalResult kernel::verifyForm(DispatchOp dispatch) {
  Form stated = dispatch.getForm();
  if (stated == Form::Batch) // DispatchOp::verify has looked at the members
    return success();
  if (stated == Form::Contraction)
    return verifyContraction(dispatch);
  if (stated == Form::Attention)
    return verifyAttention(dispatch);
  if (stated == Form::TransposedCopy)
    return verifyTransposedCopy(dispatch);
  FailureOr<Form> form = formOf(dispatch);
  if (failed(form))
    return failure();
  if (*form == stated || (*form == Form::TransposedCopy && stated == Form::Pointwise))
    return success();
  StringRef name = stringifyForm(*form);
  return fail(dispatch, "states the form " + stringifyForm(stated) + ", but its body has the form " + name,
              "write kernel.dispatch " + name);
}

FailureOr<DispatchOp> kernel::createLoops(OpBuilder &b, Location loc, StringRef name, ValueRange inputs,
                                          llvm::function_ref<SmallVector<Value>(OpBuilder &, ValueRange)> body) {
  // The results' types are known only when the body exists.
  auto block = std::make_unique<Block>();
  block->addArguments(inputs.getTypes(), SmallVector<Location>(inputs.size(), loc));
  OpBuilder inner(b.getContext());
  inner.setInsertionPointToStart(block.get());
  SmallVector<Value> results = body(inner, block->getArguments());
  YieldOp::create(inner, loc, results);
  auto dispatch = DispatchOp::create(b, loc, TypeRange(ValueRange(results)), Form::Pointwise, name, inputs);
  dispatch.getBody().push_back(block.release());
  FailureOr<Form> form = formOf(dispatch);
  if (failed(form))
    return failure();
  dispatch.setForm(*form);
  if (failed(mlir::verify(dispatch)))
    return failure();
  return dispatch;
}
