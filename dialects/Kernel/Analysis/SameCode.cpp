// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Kernel/Analysis/SameCode.h"
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Kernel/Analysis/Space.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OperationSupport.h"

using namespace mlir;
using namespace mpc::kernel;

/// The batch's inputs that a member reads. (In another dispatch all operands are inputs of its own.)
static SmallVector<unsigned> batchInputs(DispatchOp member) {
  return llvm::map_to_vector(member.getInputs(), [](Value v) { return cast<BlockArgument>(v).getArgNumber(); });
}

static llvm::hash_code hashOf(DispatchOp dispatch) {
  llvm::hash_code hash = llvm::hash_combine(dispatch.getFormAttr(), dispatch.getScheduleAttr(), dispatch.getLoopsAttr(),
                                            llvm::hash_combine_range(dispatch->getOperandTypes()),
                                            llvm::hash_combine_range(dispatch->getResultTypes()));
  for (Operation &op : dispatch.getBody().front())
    if (auto member = dyn_cast<DispatchOp>(op))
      hash = llvm::hash_combine(hash, hashOf(member), llvm::hash_combine_range(batchInputs(member)));
    else
      hash = llvm::hash_combine(hash, OperationEquivalence::computeHash(&op, OperationEquivalence::ignoreHashValue,
                                                                        OperationEquivalence::ignoreHashValue,
                                                                        OperationEquivalence::IgnoreLocations));
  return hash;
}

/// The members of a batch have the in-place results of the batch, so those of the batch are compared.
static bool sameButInPlace(DispatchOp a, DispatchOp b) {
  if (a.getForm() != b.getForm() || a.getScheduleAttr() != b.getScheduleAttr() ||
      a.getLoopsAttr() != b.getLoopsAttr() || a->getDiscardableAttrDictionary() != b->getDiscardableAttrDictionary() ||
      !llvm::equal(a->getOperandTypes(), b->getOperandTypes()) ||
      !llvm::equal(a->getResultTypes(), b->getResultTypes()))
    return false;
  if (!a.isBatch())
    return OperationEquivalence::isRegionEquivalentTo(&a.getBody(), &b.getBody(),
                                                      OperationEquivalence::IgnoreLocations);
  std::vector<DispatchOp> ofA = a.members(), ofB = b.members();
  return ofA.size() == ofB.size() && llvm::all_of(llvm::zip(ofA, ofB), [](auto pair) {
           auto [memberA, memberB] = pair;
           return batchInputs(memberA) == batchInputs(memberB) && sameButInPlace(memberA, memberB);
         });
}

unsigned SameCode::getHashValue(DispatchOp dispatch) { return unsigned(hashOf(dispatch)); }

bool SameCode::isEqual(DispatchOp a, DispatchOp b) {
  auto isReal = [](DispatchOp op) { return op != getEmptyKey() && op != getTombstoneKey(); };
  return a == b || (isReal(a) && isReal(b) && a.inPlaceInputs() == b.inPlaceInputs() && sameButInPlace(a, b));
}

//===-- Any number of elements ------------------------------------------------------------===//

bool mpc::kernel::isFlat(DispatchOp dispatch) {
  LoopsAttr loops = dispatch.getLoopsAttr();
  if (dispatch.getForm() != Form::Pointwise || !loops || loops.getWalk() != Walk::Points ||
      loops.getOrder().size() != 1 || loops.getVector() != 1 || !loops.getCuts().empty())
    return false;
  int64_t count = countOf(dispatch.yielded().front());
  auto isNumber = [](Value v) { return countOf(v) == 1; };
  auto fits = [&](Value v) { return isNumber(v) || countOf(v) == count; };
  auto isElement = [&](Operation &op) {
    if (op.getNumResults() != 1 || !llvm::all_of(op.getOperands(), fits) || !fits(op.getResult(0)))
      return false;
    if (isOfKind(&op, LoopKind::Elementwise))
      return !drawsNumbers(&op);
    return isOfKind(&op, LoopKind::View) || (op.hasTrait<OpTrait::ConstantLike>() && isNumber(op.getResult(0)));
  };
  Block &body = dispatch.getBody().front();
  return count > 1 && llvm::none_of(dispatch.yielded(), isNumber) && llvm::all_of(body.getArguments(), fits) &&
         llvm::all_of(body.without_terminator(), isElement);
}

/// The types of one value in two kernels, up to the number of elements.
static bool areAlike(Type a, Type b) {
  auto x = cast<RankedTensorType>(a), y = cast<RankedTensorType>(b);
  return x.getElementType() == y.getElementType() && (x.getNumElements() == 1) == (y.getNumElements() == 1);
}

unsigned SameFlatCode::getHashValue(DispatchOp dispatch) {
  llvm::hash_code hash = llvm::hash_combine(dispatch.getNumResults(), dispatch.getNumOperands());
  for (Operation &op : dispatch.getBody().front())
    hash = llvm::hash_combine(hash, op.getName(), op.getNumOperands());
  return unsigned(hash);
}

bool SameFlatCode::isEqual(DispatchOp a, DispatchOp b) {
  auto isReal = [](DispatchOp op) { return op != getEmptyKey() && op != getTombstoneKey(); };
  if (a == b || !isReal(a) || !isReal(b))
    return a == b;
  Block &x = a.getBody().front(), &y = b.getBody().front();
  if (a.inPlaceInputs() != b.inPlaceInputs() ||
      a->getDiscardableAttrDictionary() != b->getDiscardableAttrDictionary() ||
      !llvm::equal(x.getArgumentTypes(), y.getArgumentTypes(), areAlike) ||
      x.getOperations().size() != y.getOperations().size())
    return false;
  IRMapping same;
  same.map(x.getArguments(), y.getArguments());
  for (auto [p, q] : llvm::zip(x, y)) {
    auto isSame = [&](auto pair) { return same.lookup(std::get<0>(pair)) == std::get<1>(pair); };
    if (p.getName() != q.getName() || p.getAttrDictionary() != q.getAttrDictionary() ||
        p.getNumOperands() != q.getNumOperands() || !llvm::equal(p.getResultTypes(), q.getResultTypes(), areAlike) ||
        !llvm::all_of(llvm::zip(p.getOperands(), q.getOperands()), isSame))
      return false;
    same.map(p.getResults(), q.getResults());
  }
  return true;
}
