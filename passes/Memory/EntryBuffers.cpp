//===- EntryBuffers.cpp - the buffers of values, and the attributes that say where they lie ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Kernel/Analysis/Reuse.h"
#include "passes/Memory/EntryPlanner.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::memory;
using kernel::kOffsetAttr;

unsigned EntryPlanner::newInterval(int64_t bytes, int64_t first, int64_t last) {
  intervals.push_back({std::max<int64_t>(bytes, 1), first, std::max(first, last)});
  return unsigned(intervals.size() - 1);
}

std::optional<unsigned> EntryPlanner::intervalOf(Value storage) const {
  if (auto home = homes.find(storage); home != homes.end() && home->second.inTrail)
    return trails.lookup(home->second.of);
  auto buffer = buffers.find(storage);
  return buffer == buffers.end() ? std::nullopt : std::optional<unsigned>(buffer->second);
}

/// A carried value keeps one buffer, from the operand to the result, or has a trail.
void EntryPlanner::assignBuffers(ScanOp scan) {
  auto [begin, end] = spans.at(scan);
  for (auto [i, result] : llvm::enumerate(scan.getResults()))
    if (auto home = homes.find(result); scan.isCarried(i) && home != homes.end() && home->second.inTrail) {
      Operation *init = storageOf(scan.getInits()[i]).getDefiningOp();
      trails[result] = newInterval(bytesOf(result.getType()) * (int64_t(scan.getTrips()) + 1), positions.at(init), end);
    }
  for (auto [i, result] : llvm::enumerate(scan.getResults())) {
    int64_t last = std::max(end, lastUse(result));
    if (auto home = homes.find(result); home != homes.end() && home->second.inTrail) {
      int64_t &trailLast = intervals[trails.at(home->second.of)].last;
      trailLast = std::max(trailLast, last);
      continue;
    }
    if (!scan.isCarried(i)) {
      buffers[result] = newInterval(bytesOf(result.getType()), begin, last);
      continue;
    }
    unsigned buffer = buffers[result] = buffers.lookup(storageOf(scan.getInits()[i]));
    intervals[buffer].last = std::max(intervals[buffer].last, last);
  }
  for (auto [i, argument] : llvm::enumerate(scan.getBlock().getArguments())) {
    int64_t bytes = bytesOf(argument.getType());
    if (scan.isCarried(i)) // in a trail it has its home already
      homes.try_emplace(argument, Home{nullptr, scan.getResult(i)});
    else if (scan.isInvariant(i))
      homes[argument] = {nullptr, scan.getOperand(i)};
    else
      homes[argument] = {nullptr, scan.getOperand(i), scan.getReverse() ? (int64_t(scan.getTrips()) - 1) * bytes : 0,
                         scan.getReverse() ? -bytes : bytes};
  }
}

/// Returns the number of results that took over a buffer.
int64_t EntryPlanner::assignBuffers(kernel::DispatchOp dispatch) {
  int64_t position = positions[dispatch], shared = 0;
  llvm::SmallDenseSet<unsigned> taken;
  SmallVector<int64_t> inPlace;
  for (OpResult result : dispatch->getResults()) {
    int64_t sharedInput = -1;
    auto home = homes.find(result);
    for (auto [i, input] : llvm::enumerate(dispatch.getInputs())) {
      Value storage = storageOf(input);
      if (home != homes.end()) {
        // The result is computed into the buffer of an old value; if the kernel also reads that value, `in_place` has
        // to name that input.
        if (auto old = homes.find(storage); old != homes.end() && old->second == home->second)
          sharedInput = i;
        continue;
      }
      auto buffer = buffers.find(storage);
      if (buffer == buffers.end() || isa<BlockArgument>(storage) || taken.contains(buffer->second) ||
          storage.getParentBlock() != dispatch->getBlock() || !sameCells(result.getType(), input.getType()) ||
          intervals[buffer->second].last != position)
        continue;
      if (!kernel::readsTwice(dispatch, storage) && dispatch.mayReuse(result.getResultNumber(), i)) {
        sharedInput = i;
        taken.insert(buffer->second);
        intervals[buffer->second].last = std::max(position, lastUse(result));
        buffers[result] = buffer->second;
        break;
      }
    }
    if (home == homes.end() && sharedInput < 0)
      buffers[result] = newInterval(bytesOf(result.getType()), position, lastUse(result));
    shared += sharedInput >= 0 || home != homes.end();
    inPlace.push_back(sharedInput);
  }
  if (llvm::any_of(inPlace, [](int64_t i) { return i >= 0; }))
    dispatch.setInPlace(inPlace);
  if (int64_t bytes = dispatch.getScratchBytes().value_or(0); bytes > 0)
    scratches[dispatch] = newInterval(bytes, position, position);
  return shared;
}

int64_t EntryPlanner::assignBuffers() {
  Block &block = entry.getFunctionBody().front();
  int64_t shared = 0;
  for (auto read : block.getOps<train::ReadOp>())
    homes[read.getValue()] = {variableOf(read), {}};
  for (BlockArgument arg : block.getArguments())
    buffers[arg] = newInterval(bytesOf(arg.getType()), -1, lastUse(arg));
  forEach([&](kernel::DispatchOp dispatch) { shared += assignBuffers(dispatch); },
          [&](ScanOp scan) { assignBuffers(scan); });
  return shared;
}

Place EntryPlanner::placeOf(Value v) {
  Value storage = storageOf(v);
  if (auto home = homes.find(storage); home != homes.end()) {
    const Home &at = home->second;
    if (at.variable)
      return {at.variable->getAttrOfType<IntegerAttr>(kOffsetAttr).getInt(), 0};
    int64_t begin = at.inTrail ? intervals[trails.at(at.of)].offset : placeOf(at.of).offset;
    return {begin + at.start, at.step};
  }
  if (auto constant = storage.getDefiningOp<ConstantOp>())
    return {constant->getAttrOfType<IntegerAttr>(kOffsetAttr).getInt(), 0};
  auto it = buffers.find(storage);
  assert(it != buffers.end() && "every stored value has a buffer");
  return {intervals[it->second].offset, 0};
}

void EntryPlanner::annotate() {
  Block &block = entry.getFunctionBody().front();
  Builder builder(entry->getContext());
  auto i64 = [&](int64_t value) { return builder.getI64IntegerAttr(value); };
  for (BlockArgument arg : block.getArguments())
    entry.setArgAttr(arg.getArgNumber(), kOffsetAttr, i64(placeOf(arg).offset));
  for (auto [i, v] : llvm::enumerate(block.getTerminator()->getOperands()))
    entry.setResultAttr(i, kOffsetAttr, i64(placeOf(v).offset));
  for (auto reduce : block.getOps<train::AllReduceOp>())
    reduce->setAttr(kOffsetAttr, i64(placeOf(reduce.getX()).offset));
  forEach([&](kernel::DispatchOp dispatch) {
    SmallVector<int64_t> args, steps;
    for (ValueRange values : {ValueRange(dispatch.getInputs()), ValueRange(dispatch.getResults())})
      for (Value v : values) {
        Place place = placeOf(v);
        args.push_back(place.offset);
        steps.push_back(place.step);
      }
    dispatch.setArgs(args);
    if (llvm::any_of(steps, [](int64_t step) { return step != 0; }))
      dispatch.setArgSteps(steps);
    if (auto scratch = scratches.find(dispatch); scratch != scratches.end())
      dispatch.setScratchOffset(intervals[scratch->second].offset);
  });
}
