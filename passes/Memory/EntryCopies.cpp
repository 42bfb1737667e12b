//===- EntryCopies.cpp - the copies without which values would not lie where they must ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Kernel/Analysis/Reuse.h"
#include "passes/Memory/EntryPlanner.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::memory;

/// Adds a launch that copies `v`.
static kernel::DispatchOp copy(OpBuilder &builder, Value v, StringRef name) {
  auto dispatch = kernel::DispatchOp::create(builder, v.getLoc(), TypeRange(v.getType()), kernel::Form::Pointwise, name,
                                             ValueRange(v));
  // A copy reads each element just before it writes it.
  dispatch.setMayReuseAttr(builder.getArrayAttr(builder.getDenseI64ArrayAttr(0)));
  Block &body = dispatch.getBody().emplaceBlock();
  OpBuilder inner = OpBuilder::atBlockBegin(&body);
  kernel::YieldOp::create(inner, v.getLoc(), ValueRange(body.addArgument(v.getType(), v.getLoc())));
  return dispatch;
}

/// Returns whether a variable is assigned the content of a storage, directly or through views, but for what reads it
/// through `besides`.
static bool isAssigned(Value storage, Operation *besides) {
  return llvm::any_of(storage.getUsers(), [&](Operation *user) {
    return user != besides && (isa<train::AssignOp>(user) || (isView(user) && user->getOperand(0) == storage &&
                                                              isAssigned(user->getResult(0), besides)));
  });
}

/// Returns whether a value that is assigned to a variable, or carried to the next iteration, can be computed into the
/// buffer of the old values `olds`. Every reader of them has to run before, or to be the same kernel and to read each
/// element before it writes it.
bool EntryPlanner::canComputeInPlace(Value v, ValueRange olds) {
  v = storageOf(v);
  auto dispatch = v.getDefiningOp<kernel::DispatchOp>();
  if (!dispatch || homes.contains(v))
    return false;
  int64_t position = positions[dispatch];
  for (Value old : olds) {
    if (lastUse(old) > position)
      return false;
    if (lastUse(old) < position)
      continue;
    if (kernel::readsTwice(dispatch, old))
      return false;
    for (auto [i, input] : llvm::enumerate(dispatch.getInputs()))
      if (storageOf(input) == old && !dispatch.mayReuse(cast<OpResult>(v).getResultNumber(), i))
        return false;
  }
  return true;
}

/// Returns whether the buffer of a scan's operand can become that of the carried value. This is so if the entry
/// computes the operand and nothing else needs it from the scan on.
bool EntryPlanner::ownsBuffer(OpOperand &init) {
  Value storage = storageOf(init.get());
  if (!storage.getDefiningOp<kernel::DispatchOp>() && !storage.getDefiningOp<ScanOp>())
    return false;
  Operation *scan = init.getOwner();
  return !homes.contains(storage) && lastUse(storage) == spans.at(scan).second &&
         llvm::count_if(scan->getOperands(), [&](Value v) { return storageOf(v) == storage; }) == 1;
}

/// Gives a carried value a trail where the scan also returns a stack of what it carries on, or of what it was given:
/// then the stacks lie in the trail, and no iteration copies the value. Returns the number of copies, or -1 where there
/// is no trail.
int64_t EntryPlanner::layTrail(ScanOp scan, unsigned carried) {
  Value argument = scan.carried()[carried], result = scan.getResult(carried);
  Value next = storageOf(scan.yielded()[carried]);
  const int64_t bytes = bytesOf(argument.getType()), trips = int64_t(scan.getTrips());
  if (bytes == 0 || bytes % kTensorAlignment != 0 || !next.getDefiningOp<kernel::DispatchOp>() || homes.contains(next))
    return -1;
  std::optional<unsigned> before, after; // the stacks of what iterations are given, and of what they carry on
  for (unsigned i = scan.getInits().size(); i < scan.getNumResults(); ++i) {
    Value storage = storageOf(scan.yielded()[i]);
    if (storage == argument && !before)
      before = i;
    else if (storage == next && !after)
      after = i;
  }
  if (!before && !after)
    return -1;
  // The slot of iteration t's value; in a reverse scan the slots go down, as the slices of stacks do.
  const bool reverse = scan.getReverse();
  auto home = [&](int64_t slot, int64_t step) {
    return Home{nullptr, result, slot * bytes, step * bytes, /*inTrail=*/true};
  };
  const int64_t step = reverse ? -1 : 1, first = reverse ? trips : 0;
  homes[argument] = home(first, step);
  homes[next] = home(first + step, step);
  homes[result] = home(trips - first, 0);
  if (before)
    homes[scan.getResult(*before)] = home(reverse ? 1 : 0, 0);
  if (after)
    homes[scan.getResult(*after)] = home(reverse ? 0 : 1, 0);
  OpOperand &init = scan->getOpOperand(carried);
  const bool inPlace = storageOf(init.get()).getDefiningOp<kernel::DispatchOp>() && ownsBuffer(init);
  if (!inPlace) {
    OpBuilder builder(scan);
    init.set(copy(builder, init.get(), "carry").getResult(0));
  }
  homes[storageOf(init.get())] = home(first, 0);
  return inPlace ? 0 : 1;
}

/// Adds the copies that make every carried value end in the buffer in which the next iteration reads it, and every
/// slice of a result in its place. Returns their number.
int64_t EntryPlanner::insertScanCopies(ScanOp scan) {
  Block &body = scan.getBlock();
  Operation *yield = body.getTerminator();
  OpBuilder early(scan.getContext()), late(yield), before(scan);
  Operation *lastEarly = nullptr;
  int64_t copies = 0;
  auto isComputed = [](Value v) { return bool(storageOf(v).getDefiningOp<kernel::DispatchOp>()); };
  // What the iteration is given is copied first, before a carried value may be overwritten.
  auto copyOut = [&](Value v, StringRef name) -> Value {
    Value storage = storageOf(v);
    if (!isa<BlockArgument>(storage))
      return copy(late, v, name).getResult(0);
    lastEarly ? early.setInsertionPointAfter(lastEarly) : early.setInsertionPointToStart(&body);
    lastEarly = copy(early, storage, name);
    return reshapeTo(late, v.getLoc(), lastEarly->getResult(0), shapeOf(v));
  };
  for (OpOperand &init : scan->getOpOperands().take_front(scan.getInits().size())) {
    if (int64_t trail = layTrail(scan, init.getOperandNumber()); trail >= 0) {
      copies += trail;
    } else if (!ownsBuffer(init)) {
      init.set(copy(before, init.get(), "carry").getResult(0));
      ++copies;
    }
  }
  auto hasTrail = [&](Value v) {
    auto home = homes.find(v);
    return home != homes.end() && home->second.inTrail;
  };
  for (auto [i, result] : llvm::enumerate(scan.getResults())) {
    if (scan.isCarried(i) || hasTrail(result))
      continue;
    OpOperand &yielded = yield->getOpOperand(i);
    if (!isComputed(yielded.get()) || homes.contains(storageOf(yielded.get()))) {
      yielded.set(copyOut(yielded.get(), "stack"));
      ++copies;
    }
    int64_t bytes = bytesOf(yielded.get().getType());
    homes[storageOf(yielded.get())] = {nullptr, result, scan.getReverse() ? (int64_t(scan.getTrips()) - 1) * bytes : 0,
                                       scan.getReverse() ? -bytes : bytes};
  }
  number();
  for (auto [i, argument] : llvm::enumerate(scan.carried())) {
    OpOperand &yielded = yield->getOpOperand(i);
    Value v = yielded.get();
    if (storageOf(v) == argument || hasTrail(argument))
      continue;
    Home home{nullptr, scan.getResult(i)};
    if (canComputeInPlace(v, argument)) {
      homes[storageOf(v)] = home;
      continue;
    }
    // Another carried value may be overwritten before this one takes it over.
    if (auto other = dyn_cast<BlockArgument>(storageOf(v)); other && scan.isCarried(other.getArgNumber())) {
      v = copyOut(v, "save");
      ++copies;
    }
    yielded.set(copy(late, v, "carry").getResult(0));
    homes[yielded.get()] = home;
    ++copies;
    number();
  }
  return copies;
}

/// Moves reads, and views of them, to the entry's start. Wherever a read stands, it reads the state before
/// the entry; but a copy that saves this state is placed behind the read, and must come before any launch
/// that computes into the variable.
void EntryPlanner::hoistReads() {
  Block &block = entry.getFunctionBody().front();
  Operation *last = nullptr;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    bool view = isView(&op) && op.getNumOperands() == 1 && storageOf(op.getResult(0)).getDefiningOp<train::ReadOp>();
    if (!view && !isa<train::ReadOp>(op))
      continue;
    last ? op.moveAfter(last) : op.moveBefore(&block, block.begin());
    last = &op;
    if (auto read = dyn_cast<train::ReadOp>(op))
      reads[read.getVariableAttr()].push_back(read);
  }
}

int64_t EntryPlanner::insertCopies() {
  hoistReads();
  number();
  Block &block = entry.getFunctionBody().front();
  int64_t copies = 0;
  OpBuilder back = OpBuilder::atBlockTerminator(&block);
  llvm::SmallDenseSet<Attribute> assigned;
  for (auto assign : block.getOps<train::AssignOp>())
    assigned.insert(assign.getVariableAttr());

  // A launch of the entry must compute each result: an argument's buffer may be taken over, a constant does
  // not belong to the entry, and a variable that is read may be assigned. (Where that launch computes into a
  // variable's own buffer, the result lies there until the next entry.)
  for (OpOperand &operand : block.getTerminator()->getOpOperands())
    if (Operation *producer = storageOf(operand.get()).getDefiningOp();
        !isa_and_nonnull<kernel::DispatchOp, ScanOp>(producer)) {
      operand.set(copy(back, operand.get(), "result").getResult(0));
      ++copies;
    }
  number();
  // The ranks' sum takes the place of the operand, so it must be the entry's own tensor, and nothing else may need the
  // operand from then on. This comes before the assignments, because the tensor that is assigned may be the sum.
  for (auto reduce : llvm::make_early_inc_range(block.getOps<train::AllReduceOp>())) {
    Value storage = storageOf(reduce.getX());
    bool own = storage.getDefiningOp<kernel::DispatchOp>();
    if (own && lastUse(storage, reduce) < positions[reduce] && !isAssigned(storage, reduce))
      continue;
    OpBuilder before(reduce);
    reduce.getXMutable().assign(copy(before, reduce.getX(), "all_reduce").getResult(0));
    ++copies;
  }
  number();
  SmallVector<train::AssignOp> assigns(block.getOps<train::AssignOp>());
  for (train::AssignOp assign : assigns) {
    train::VariableOp variable = variables.lookup(assign.getVariableAttr());
    SmallVector<Value> olds;
    for (train::ReadOp read : reads.lookup(assign.getVariableAttr()))
      olds.push_back(read.getValue());
    if (canComputeInPlace(assign.getValue(), olds)) {
      homes[storageOf(assign.getValue())] = {variable, {}};
      continue;
    }
    Value v = assign.getValue();
    // A value that another assignment is about to overwrite is saved first.
    if (auto read = storageOf(v).getDefiningOp<train::ReadOp>(); read && assigned.contains(read.getVariableAttr())) {
      OpBuilder early(&block, std::next(Block::iterator(v.getDefiningOp())));
      v = copy(early, v, "save").getResult(0);
      ++copies;
    }
    auto last = copy(back, v, "assign");
    assign->moveAfter(last);
    assign.getValueMutable().assign(last.getResult(0));
    homes[last.getResult(0)] = {variable, {}};
    ++copies;
  }
  number();
  for (auto scan : llvm::make_early_inc_range(block.getOps<ScanOp>()))
    copies += insertScanCopies(scan);
  number();
  return copies;
}
