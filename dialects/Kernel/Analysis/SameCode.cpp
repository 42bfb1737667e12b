// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Kernel/Analysis/SameCode.h"
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
