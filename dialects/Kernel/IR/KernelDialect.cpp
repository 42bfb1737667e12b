#include "dialects/Kernel/IR/Kernel.h"
#include "dialects/Graph/IR/Storage.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mpc::kernel;

#include "dialects/Kernel/IR/KernelDialect.cpp.inc"
#include "dialects/Kernel/IR/KernelEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Kernel/IR/KernelAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/Kernel/IR/KernelOps.cpp.inc"

void KernelDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Kernel/IR/KernelAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Kernel/IR/KernelOps.cpp.inc"
      >();
}

/// What memory planning has said of the values.
LogicalResult DispatchOp::verifyPlaces() {
  if (auto places = getInPlace()) {
    if (places->size() != getNumResults())
      return emitOpError("in_place has ") << places->size() << " entries for " << getNumResults() << " results";
    for (auto [result, input] : llvm::zip_equal(getResults(), *places)) {
      if (input < -1 || input >= int64_t(getInputs().size()))
        return emitOpError("in_place names input ") << input << " of " << getInputs().size();
      if (input >= 0 && graph::bytesOf(getInputs()[input].getType()) != graph::bytesOf(result.getType()))
        return emitOpError("in_place lets result ") << result.getResultNumber() << " share the buffer of input " << input << ", which is of another size";
    }
  }
  if (getArgs() && getArgs()->size() != getNumOperands() + getNumResults())
    return emitOpError("args has ") << getArgs()->size() << " entries for " << getNumOperands() + getNumResults() << " inputs and results";
  if (getScratchOffset() && !getScratchBytes())
    return emitOpError("has a scratch_offset, but no scratch_bytes");
  return success();
}

LogicalResult DispatchOp::verify() {
  Block &block = getBody().front();
  if (block.getArgumentTypes() != getInputs().getTypes())
    return emitOpError("block arguments differ from the inputs");
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || yield.getOperandTypes() != getResultTypes())
    return emitOpError("results differ from what is yielded");
  if (failed(verifyPlaces()))
    return failure();
  if (!isBatch())
    return success();
  llvm::SmallVector<Value> results;
  for (Operation &op : block.without_terminator()) {
    auto member = dyn_cast<DispatchOp>(op);
    if (!member || member.getLibrary() || member.isBatch())
      return op.emitOpError("is in a batch, which has dispatches that are loops");
    if (!llvm::all_of(member.getInputs(), [](Value v) { return isa<BlockArgument>(v); }))
      return member.emitOpError("reads another member of its batch");
    llvm::append_range(results, member.getResults());
  }
  if (yield.getValues() != ValueRange(results))
    return emitOpError("is a batch, which yields all results of its members in order");
  return success();
}

SmallVector<int64_t> DispatchOp::inPlaceInputs() {
  return getInPlace() ? SmallVector<int64_t>(*getInPlace()) : SmallVector<int64_t>(getNumResults(), -1);
}

std::pair<DispatchOp, unsigned> DispatchOp::memberOf(unsigned result) {
  auto computed = cast<OpResult>(getBody().front().getTerminator()->getOperand(result));
  return {cast<DispatchOp>(computed.getOwner()), computed.getResultNumber()};
}

std::vector<DispatchOp> DispatchOp::members() {
  auto all = getBody().front().getOps<DispatchOp>();
  return std::vector<DispatchOp>(all.begin(), all.end());
}
