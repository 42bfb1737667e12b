//===- Dispatch.cpp - what one launch computes: verifiers and questions ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Graph/IR/Storage.h"
#include "dialects/Kernel/Analysis/Form.h"
#include "dialects/Kernel/Analysis/LoopsFit.h"
#include "dialects/Kernel/Analysis/Reuse.h"
#include "dialects/Kernel/IR/Kernel.h"
#include "dialects/Support/Diagnostics.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mpc::kernel;

void DispatchOp::build(OpBuilder &builder, OperationState &state, TypeRange results, Form form, StringRef name,
                       ValueRange inputs) {
  state.addTypes(results);
  state.addOperands(inputs);
  state.getOrAddProperties<Properties>().setForm(FormAttr::get(builder.getContext(), form));
  state.getOrAddProperties<Properties>().setName(builder.getStringAttr(name));
  state.addRegion();
}

//===-- Effects ----------------------------------------------------------------------------===//

/// The results of a member are part of its batch, which yields those of every member, so members count as
/// placed from the start.
static bool hasPlaces(DispatchOp dispatch) { return dispatch.getArgs() || dispatch.isMember(); }

void DispatchOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  if (!hasPlaces(*this))
    return;
  for (OpOperand &input : getInputsMutable())
    effects.emplace_back(MemoryEffects::Read::get(), &input, ArenaResource::get());
  for (OpResult result : getOperation()->getResults())
    effects.emplace_back(MemoryEffects::Write::get(), result, ArenaResource::get());
}

Speculation::Speculatability DispatchOp::getSpeculatability() {
  return hasPlaces(*this) ? Speculation::NotSpeculatable : Speculation::Speculatable;
}

LogicalResult mpc::kernel::verifyNotPlanned(ModuleOp module, StringRef pass) {
  if (!PlanAttr::of(module))
    return success();
  return emitErrorWithHint(module.getLoc(),
                           "the memory of this module is planned (" + PlanAttr::name +
                               "), so its dispatches keep their order",
                           "run " + pass + " before mpc-plan-arena");
}

mpc::ContractionOpInterface DispatchOp::getContraction() {
  return *getBody().front().getOps<ContractionOpInterface>().begin();
}

//===-- Verifiers --------------------------------------------------------------------------===//

/// The loops that follow a product in its launch, and the library that computes it, write no buffer that
/// the launch reads.
LogicalResult DispatchOp::verifyContraction() {
  if (!isContraction() && !isAttention())
    return getSchedule() ? emitOpError("has the schedule of a contraction, but is a loop dispatch") : success();
  if (getMayReuse() || getInPlace())
    return emitOpError(isAttention() ? "is an attention" : "is a contraction")
           << ", whose results have buffers of their own, and has " << (getInPlace() ? "in_place" : "may_reuse");
  return success();
}

/// Verifies that results share buffers only with inputs that the kernel has read when it writes them. This
/// needs a valid body.
LogicalResult DispatchOp::verifyReuse() {
  if (!getMayReuse() && !getInPlace())
    return success();
  Reuses reuses = reusableInputs(*this);
  for (auto [number, reusable] : llvm::enumerate(reuses)) {
    SmallVector<int64_t> inputs;
    if (getMayReuse())
      llvm::append_range(inputs, cast<DenseI64ArrayAttr>((*getMayReuse())[number]).asArrayRef());
    if (int64_t input = inPlaceInput(number); input >= 0)
      inputs.push_back(input);
    for (int64_t input : inputs)
      if (!llvm::is_contained(reusable, input))
        return emitOpError("lets result ") << number << " take over the buffer of input " << input
                                           << ", of which the kernel may read elements that it has overwritten";
  }
  return success();
}

LogicalResult DispatchOp::verifyRegions() {
  return failure(failed(verifyForm(*this)) || failed(verifyLoops(*this, gpuOf(*this))) || failed(verifyReuse()));
}

/// Verifies what memory planning has set: the places of the values.
LogicalResult DispatchOp::verifyPlaces() {
  if (auto reuses = getMayReuse()) {
    if (reuses->size() != getNumResults())
      return emitOpError("may_reuse has ") << reuses->size() << " entries for " << getNumResults() << " results";
    for (auto inputs : reuses->getAsRange<DenseI64ArrayAttr>())
      for (int64_t input : inputs.asArrayRef())
        if (input < 0 || input >= int64_t(getInputs().size()))
          return emitOpError("may_reuse names input ") << input << " of " << getInputs().size();
    for (auto [result, inputs] : llvm::zip_equal(getResults(), reuses->getAsRange<DenseI64ArrayAttr>()))
      for (int64_t input : inputs.asArrayRef())
        if (!graph::sameCells(getInputs()[input].getType(), result.getType()))
          return emitOpError("may_reuse lets result ") << result.getResultNumber() << " take over the buffer of input "
                                                       << input << ", whose elements are others in number or size";
  }
  if (auto places = getInPlace()) {
    if (places->size() != getNumResults())
      return emitOpError("in_place has ") << places->size() << " entries for " << getNumResults() << " results";
    for (auto [result, input] : llvm::zip_equal(getResults(), *places)) {
      if (input < -1 || input >= int64_t(getInputs().size()))
        return emitOpError("in_place names input ") << input << " of " << getInputs().size();
      if (input >= 0 && llvm::count(*places, input) > 1)
        return emitOpError("in_place lets two results share the buffer of input ") << input;
      if (input >= 0 && !graph::sameCells(getInputs()[input].getType(), result.getType()))
        return emitOpError("in_place lets result ") << result.getResultNumber() << " share the buffer of input "
                                                    << input << ", whose elements are others in number or size";
      if (input >= 0 && readsTwice(*this, graph::storageOf(getInputs()[input])))
        return emitOpError("in_place lets result ") << result.getResultNumber() << " share the buffer of input "
                                                    << input << ", which another input lies in too";
      if (input >= 0 && getArgs() && getArgs()->size() == getNumOperands() + getNumResults() &&
          (*getArgs())[input] != (*getArgs())[getInputs().size() + result.getResultNumber()])
        return emitOpError("in_place lets result ")
               << result.getResultNumber() << " share the buffer of input " << input << ", which args place elsewhere";
    }
  }
  if (getArgs() && getArgs()->size() != getNumOperands() + getNumResults())
    return emitOpError("args has ") << getArgs()->size() << " entries for " << getNumOperands() + getNumResults()
                                    << " inputs and results";
  if (getArgs() && llvm::any_of(*getArgs(), [](int64_t offset) { return offset < 0; }))
    return emitOpError("args are offsets in the arena, none of them negative");
  if (getArgSteps() && (!getArgs() || getArgSteps()->size() != getArgs()->size()))
    return emitOpError("arg_steps has an entry for each entry of args");
  if (getArgSteps() && !isa<graph::ScanOp>((*this)->getParentOp()))
    return emitOpError("has arg_steps, but does not stand in the body of a graph.scan");
  if (int64_t(getScratchBytes().value_or(0)) < 0 || int64_t(getScratchOffset().value_or(0)) < 0)
    return emitOpError("scratch has a size and an offset that are not negative");
  if (getScratchOffset() && !getScratchBytes())
    return emitOpError("has a scratch_offset, but no scratch_bytes");
  return success();
}

LogicalResult DispatchOp::verifyLaunches() {
  if (!getLaunches())
    return success();
  if (isMember())
    return emitOpError("is a member of a batch, which is launched as a whole, and has launches of its own");
  int64_t positions = getInputs().size() + getNumResults();
  for (auto launch : getLaunches()->getAsRange<LaunchAttr>())
    for (int64_t position : launch.getArgs())
      if (position >= positions)
        return emitOpError("a launch passes argument ") << position << " of " << positions << " inputs and results";
      else if (position < 0 && !getScratchBytes())
        return emitOpError("a launch passes its scratch, but it has no scratch_bytes");
  return success();
}

LogicalResult DispatchOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  if (!getLaunches())
    return success();
  for (auto launch : getLaunches()->getAsRange<LaunchAttr>()) {
    auto function = symbolTable.lookupNearestSymbolFrom<FunctionOpInterface>(*this, launch.getKernel());
    if (!function)
      return emitOpError("launches ") << launch.getKernel() << ", which is no function";
    if (!gpuOf(*this))
      continue;
    if (launch.getArgs().size() != function.getNumArguments())
      return emitOpError("launches ") << launch.getKernel() << " with " << launch.getArgs().size() << " of its "
                                      << function.getNumArguments() << " arguments";
    EntryAttr entry = EntryAttr::of(function);
    if (entry && launch.getGrid()[0] % entry.getCluster() != 0)
      return emitOpError("launches ") << launch.getKernel() << " with " << launch.getGrid()[0]
                                      << " blocks, which are no clusters of " << entry.getCluster();
  }
  return success();
}

/// Verifies the members of a batch, which are not verified themselves yet.
LogicalResult DispatchOp::verifyBatch() {
  Block &block = getBody().front();
  llvm::SmallVector<Value> results;
  for (Operation &op : block.without_terminator()) {
    auto member = dyn_cast<DispatchOp>(op);
    if (!member || (member.getFormAttr() && (member.isContraction() || member.isAttention() || member.isBatch())))
      return op.emitOpError("is in a batch, which has dispatches that are loops");
    if (!llvm::all_of(member.getInputs(), [](Value v) { return isa<BlockArgument>(v); }))
      return member.emitOpError("reads another member of its batch");
    if (member.getArgs() || member.getArgSteps() || member.getMayReuse() || member.getInPlace() ||
        member.getScratchBytes() || member.getScratchOffset())
      return member.emitOpError(
          "is a member of a batch, whose memory is planned as a whole, and has places of its own");
    llvm::append_range(results, member.getResults());
  }
  if (!llvm::equal(yielded(), results))
    return emitOpError("is a batch, which yields all results of its members in order");
  for (auto [r, input] : llvm::enumerate(inPlaceInputs()))
    if (auto [member, own] = memberOf(r); input >= 0 && member.inPlaceInput(own) < 0)
      return emitOpError("in_place lets result ")
             << r << " share the buffer of input " << input << ", which the member that computes it does not read";
  return success();
}

LogicalResult DispatchOp::verify() {
  Block &block = getBody().front();
  if (block.getArgumentTypes() != getInputs().getTypes())
    return emitOpError("block arguments differ from the inputs");
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || yield.getOperandTypes() != getResultTypes())
    return emitOpError("results differ from what is yielded");
  if (failed(verifyContraction()) || failed(verifyPlaces()) || failed(verifyLaunches()))
    return failure();
  if (isMember() && computesNothing())
    return emitOpError("is a member of a batch, which deals out blocks to it, and computes nothing");
  if (isBatch())
    return verifyBatch();
  if (!block.getOps<DispatchOp>().empty())
    return emitOpError("holds a dispatch, but is no batch");
  return success();
}

//===-- Questions --------------------------------------------------------------------------===//

SmallVector<int64_t> DispatchOp::inPlaceInputs() {
  SmallVector<int64_t> places(getNumResults(), -1);
  auto batch = dyn_cast_or_null<DispatchOp>((*this)->getParentOp());
  if (!batch)
    return getInPlace() ? SmallVector<int64_t>(*getInPlace()) : places;
  SmallVector<int64_t> outer = batch.inPlaceInputs();
  for (OpResult result : getOperation()->getResults()) // only the batch's yield uses it
    for (auto [i, input] : llvm::enumerate(getInputs()))
      if (int64_t(cast<BlockArgument>(input).getArgNumber()) == outer[result.use_begin()->getOperandNumber()])
        places[result.getResultNumber()] = i;
  return places;
}

bool DispatchOp::computesNothing() {
  return llvm::all_of(getResultTypes(), [](Type t) { return cast<RankedTensorType>(t).getNumElements() == 0; });
}

bool DispatchOp::mayReuse(unsigned result, unsigned input) {
  return getMayReuse() &&
         llvm::is_contained(cast<DenseI64ArrayAttr>((*getMayReuse())[result]).asArrayRef(), int64_t(input));
}

std::pair<DispatchOp, unsigned> DispatchOp::memberOf(unsigned result) {
  auto computed = cast<OpResult>(yielded()[result]);
  return {cast<DispatchOp>(computed.getOwner()), computed.getResultNumber()};
}

std::vector<DispatchOp> DispatchOp::members() {
  auto all = getBody().front().getOps<DispatchOp>();
  return std::vector<DispatchOp>(all.begin(), all.end());
}
