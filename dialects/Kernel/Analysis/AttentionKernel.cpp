// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Kernel/Analysis/AttentionKernel.h"
#include "dialects/Graph/IR/AttentionForm.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::kernel;
using graph::AttentionForm;

bool kernel::isAttention(Operation *op) { return isa<graph::AttentionOp, graph::AttentionGradOp>(op); }

Operation *kernel::attentionOf(DispatchOp dispatch) {
  return &*llvm::find_if(dispatch.getBody().front(), [](Operation &op) { return isAttention(&op); });
}

//===-- Where heads lie --------------------------------------------------------------------===//

bool kernel::movesRows(Operation *op) {
  if (auto transpose = dyn_cast_or_null<graph::TransposeOp>(op))
    return transpose.getPermutation().size() == 4 && transpose.getPermutation()[3] == 3;
  auto slice = dyn_cast_or_null<graph::SliceOp>(op);
  return slice && slice.getStarts().size() == 4 &&
         llvm::all_of(slice.getStrides(), [](int64_t stride) { return stride == 1; });
}

static std::array<int64_t, 4> rowMajor(ArrayRef<int64_t> shape) {
  return {shape[1] * shape[2] * shape[3], shape[2] * shape[3], shape[3], 1};
}

HeadAccess kernel::accessOfOperand(Value operand) {
  Operation *op = operand.getDefiningOp();
  if (!movesRows(op))
    return {operand, 0, rowMajor(graph::shapeOf(operand))};
  HeadAccess access = accessOfOperand(op->getOperand(0)), result = access;
  if (auto transpose = dyn_cast<graph::TransposeOp>(op)) {
    for (auto [i, from] : llvm::enumerate(transpose.getPermutation()))
      result.strides[i] = access.strides[from];
    return result;
  }
  for (auto [start, stride] : llvm::zip_equal(cast<graph::SliceOp>(op).getStarts(), access.strides))
    result.offset += start * stride;
  return result;
}

/// Returns where a result lies in a buffer in which `v`, which is the result or a transpose of it, lies as `access`
/// says.
static std::optional<HeadAccess> accessThrough(Value v, Value result, HeadAccess access) {
  if (v == result)
    return access;
  auto transpose = v.getDefiningOp<graph::TransposeOp>();
  if (!transpose || transpose.getX() != result)
    return std::nullopt;
  std::array<int64_t, 4> strides = access.strides;
  for (auto [i, from] : llvm::enumerate(transpose.getPermutation()))
    access.strides[from] = strides[i];
  return access;
}

std::optional<HeadAccess> kernel::accessOfResult(DispatchOp dispatch, Value result) {
  for (Value yielded : dispatch.yielded()) {
    ArrayRef<int64_t> shape = graph::shapeOf(yielded);
    auto concat = yielded.getDefiningOp<graph::ConcatOp>();
    HeadAccess access{yielded, 0, rowMajor(shape)};
    for (Value part : concat ? ValueRange(concat.getInputs()) : ValueRange(yielded)) {
      if (std::optional<HeadAccess> found = accessThrough(part, result, access))
        return found;
      if (concat)
        access.offset += access.strides[concat.getAxis()] * graph::shapeOf(part)[concat.getAxis()];
    }
  }
  return std::nullopt;
}

bool kernel::readsInPlace(OpOperand &operand) {
  if (!movesRows(operand.get().getDefiningOp()))
    return true;
  auto grad = dyn_cast<graph::AttentionGradOp>(operand.getOwner());
  if (grad && &operand == &grad.getDeltaMutable())
    return true;
  if (operand.getOperandNumber() > 2 && !(grad && &operand == &grad.getDyMutable()))
    return false;
  HeadAccess access = accessOfOperand(operand.get());
  return access.offset % 8 == 0 &&
         llvm::all_of(ArrayRef(access.strides).drop_back(), [](int64_t stride) { return stride % 8 == 0; });
}

/// Returns the result of an attention that a value is, or is a transpose of that moves rows; null otherwise. The
/// statistics of the forward pass, and the cotangent of a bias, are left out: they stay as they are.
static OpResult rowsOf(Value v) {
  if (auto transpose = v.getDefiningOp<graph::TransposeOp>(); transpose && movesRows(transpose))
    v = transpose.getX();
  auto result = dyn_cast<OpResult>(v);
  if (!result || !isAttention(result.getOwner()))
    return {};
  unsigned most = isa<graph::AttentionOp>(result.getOwner()) ? 1 : 3;
  return result.getResultNumber() < most ? result : OpResult();
}

bool kernel::writesInPlace(Operation *op) {
  if (isa_and_nonnull<graph::TransposeOp>(op))
    return bool(rowsOf(op->getResult(0)));
  auto concat = dyn_cast_or_null<graph::ConcatOp>(op);
  if (!concat || graph::typeOf(concat.getResult()).getRank() != 4 || concat.getAxis() == 3)
    return false;
  OpResult first = rowsOf(concat.getInputs().front());
  llvm::SmallPtrSet<Value, 3> parts;
  return first && llvm::all_of(concat.getInputs(), [&](Value v) {
           OpResult part = rowsOf(v);
           return part && part.getOwner() == first.getOwner() && parts.insert(part).second;
         });
}

SmallVector<Value, 3> kernel::resultsIn(Value yielded) {
  Operation *op = yielded.getDefiningOp();
  if (!writesInPlace(op))
    return {yielded};
  return llvm::map_to_vector<3>(op->getOperands(), [](Value v) -> Value { return rowsOf(v); });
}

//===-- Which attention has a kernel, and what it costs --------------------------------------===//

static AttentionForm formOf(Operation *op) {
  if (auto forward = dyn_cast<graph::AttentionOp>(op))
    return AttentionForm::of(forward);
  return AttentionForm::of(cast<graph::AttentionGradOp>(op));
}

StringRef kernel::whyNoAttentionKernel(Operation *op, const GpuArch &gpu) {
  AttentionForm form = formOf(op);
  Type element = graph::elementOf(form.q);
  int64_t depth = graph::shapeOf(form.q)[3], width = graph::shapeOf(form.v)[3];
  if (!element.isF16() && !element.isBF16())
    return "its kernels multiply 16-bit types";
  if (!gpu.hasMmaK16 || !gpu.hasCopyAsync)
    return "its kernels need mma of bf16 and copy_async";
  if (op->getNumResults() > 3 && isa<graph::AttentionGradOp>(op))
    return "its bias has a gradient";
  if (depth % 8 || width % 8 || depth == 0 || width == 0 || depth > 128 || width > 128)
    return "heads are no multiples of 8 up to 128";
  if (form.samples() * form.heads() * form.queries() == 0 || form.keys() == 0)
    return "it has no scores";
  // Rows, columns and blocks are counted in 32 bits.
  constexpr int64_t most = int64_t(1) << 30;
  if (form.queries() > most || form.keys() > most || form.samples() * form.heads() * (form.queries() / 64 + 1) > most ||
      form.samples() * form.keyHeads() * (form.keys() / 64 + 1) > most)
    return "it has too many scores";
  return {};
}

AttentionCost kernel::costOfAttention(Operation *op) {
  AttentionForm form = formOf(op);
  double seen = 0; // scores of one head that are computed
  for (int64_t m = 0; m < form.queries(); ++m) {
    int64_t first = std::max<int64_t>(0, m - form.before.value_or(form.queries())),
            last = std::min(form.keys() - 1, m + form.after.value_or(form.keys()));
    seen += double(std::max<int64_t>(0, last - first + 1));
  }
  double each = 2 * seen * double(form.samples() * form.heads());
  double ofKeys = each * double(graph::shapeOf(form.q)[3]), ofValues = each * double(graph::shapeOf(form.v)[3]);
  if (isa<graph::AttentionOp>(op))
    return {ofKeys + ofValues, 0};
  // Both kernels compute the scores and dp. That of dq adds one product, that of dk and dv two.
  double dq = 2 * ofKeys + ofValues;
  return {dq + 2 * ofKeys + 2 * ofValues, dq};
}
