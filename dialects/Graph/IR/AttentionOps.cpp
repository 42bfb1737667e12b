//===- AttentionOps.cpp - attention: shapes and checks -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Graph/IR/AttentionForm.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

LogicalResult AttentionOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  RankedTensorType q = typeOf(adaptor.getQ()), v = typeOf(adaptor.getV());
  if (q.getRank() != 4 || v.getRank() != 4)
    return emitOptionalError(loc, "q, k and v have four dimensions");
  Shape y(q.getShape()), ofQuery(q.getShape());
  y[3] = v.getDimSize(3);
  ofQuery[3] = 1;
  types.push_back(q.clone(y));
  types.append(2, RankedTensorType::get(ofQuery, computeType(q.getElementType())));
  return success();
}

/// Checks what attention and its gradient share.
template <typename OpT>
static LogicalResult verifyOperands(OpT op) {
  ArrayRef<int64_t> q = shapeOf(op.getQ()), k = shapeOf(op.getK()), v = shapeOf(op.getV());
  if (q.size() != 4 || k.size() != 4 || v.size() != 4)
    return op.emitOpError("q, k and v have four dimensions");
  if (k[0] != q[0] || v[0] != q[0] || k[1] != v[1] || k[2] != v[2] || k[3] != q[3])
    return op.emitOpError("k [") << k << "] and v [" << v << "] do not fit to q [" << q << "]";
  if (k[1] == 0 || q[1] % k[1])
    return op.emitOpError() << q[1] << " heads of q do not divide among " << k[1] << " of k and v";
  Type element = elementOf(op.getQ());
  if (elementOf(op.getK()) != element || elementOf(op.getV()) != element)
    return op.emitOpError("q, k and v differ in element type");
  Shape scores{q[0], q[1], q[2], k[2]};
  for (Value v : {Value(op.getMask()), Value(op.getBias())}) {
    if (!v)
      continue;
    auto broadcast = broadcastShapes(scores, shapeOf(v));
    if (shapeOf(v).size() != 4 || !broadcast || *broadcast != scores)
      return op.emitOpError() << v.getType() << " is no mask or bias of scores [" << ArrayRef<int64_t>(scores) << "]";
  }
  if (op.getBias() && elementOf(op.getBias()) != computeType(element))
    return op.emitOpError("needs a bias of ") << computeType(element) << ", not " << op.getBias().getType();
  AttentionForm form = AttentionForm::of(op);
  int64_t most = q[2] + k[2], before = form.before.value_or(most), after = form.after.value_or(most);
  if (!op.getZeroRows() && (after < 0 || before + after < 0 || q[2] - before > k[2]))
    return op.emitOpError("hides all keys of a query by before and after, which needs zero_rows");
  bool drops = bool(op.getSeed());
  if (bool(op.getStep()) != drops || op.getRatio().has_value() != drops || op.getSalt().has_value() != drops)
    return op.emitOpError("dropout has a seed, a step, a ratio and a salt");
  double ratio = drops ? op.getRatio()->convertToDouble() : 0;
  if (!(ratio >= 0 && ratio < 1))
    return op.emitOpError("the ratio of dropout is at least 0 and below 1, not ") << ratio;
  return success();
}
LogicalResult AttentionOp::verify() { return verifyOperands(*this); }
LogicalResult AttentionGradOp::verify() {
  if (failed(verifyOperands(*this)))
    return failure();
  Shape y(shapeOf(getQ())), ofQuery = y;
  y[3] = shapeOf(getV())[3];
  ofQuery[3] = 1;
  RankedTensorType q = typeOf(getQ());
  if (getDy().getType() != q.clone(y))
    return emitOpError("dy is ") << q.clone(y) << ", not " << getDy().getType();
  auto wanted = RankedTensorType::get(ofQuery, computeType(q.getElementType()));
  for (Value v : {getLargest(), getLogSum(), getDelta()})
    if (v.getType() != wanted)
      return emitOpError("largest, log_sum and delta are ") << wanted << ", not " << v.getType();
  if (getDq().getType() != q || getDk().getType() != getK().getType() || getDv().getType() != getV().getType())
    return emitOpError("the cotangents differ in type from q, k and v");
  if (getDbias() && (!getBias() || getDbias().getType() != getBias().getType()))
    return emitOpError("dbias is a cotangent of the bias, and has its type");
  return success();
}

/// q, k and v come first, then the mask and the bias where there are any.
template <typename OpT>
static bool isBias(OpT op, unsigned i) {
  return op.getBias() && i == (op.getMask() ? 4u : 3u);
}
bool AttentionOp::isFp32Operand(unsigned i) { return isBias(*this, i); }
bool AttentionGradOp::isFp32Operand(unsigned i) {
  unsigned first = getLargestMutable().getOperandNumber(), last = getDeltaMutable().getOperandNumber();
  return isBias(*this, i) || (i >= first && i <= last);
}
