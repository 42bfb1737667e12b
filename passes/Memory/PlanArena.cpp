//===- PlanArena.cpp - gives every tensor a fixed offset in one arena ------------===//
//
// See Passes.td. The pass runs on entries that consist of dispatches, views, train.reads,
// train.assigns, and scans, whose bodies consist of dispatches and views.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Graph/IR/Storage.h"
#include "dialects/Kernel/Analysis/Reuse.h"
#include "dialects/Support/Diagnostics.h"
#include "dialects/Train/IR/VariableTable.h"
#include "passes/Memory/Offsets.h"
#include "passes/Memory/Passes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::memory;
using kernel::kOffsetAttr;

namespace mpc::memory {
#define GEN_PASS_DEF_PLANARENAPASS
#include "passes/Memory/Passes.h.inc"
} // namespace mpc::memory

namespace {

/// The place of a value that has no buffer of its own: that of a variable, or that of another value, from some byte on.
/// In the body of a scan the place of a slice moves by `step` bytes from one iteration to the next.
struct Home {
  Operation *variable = nullptr;
  Value of;
  int64_t start = 0, step = 0;
  bool operator==(const Home &other) const {
    return std::tie(variable, of, start, step) == std::tie(other.variable, other.of, other.start, other.step);
  }
};

/// An offset in the arena in the first iteration, and by how much it moves to the next.
struct Place {
  int64_t offset, step;
};

/// Plans one entry. Positions number its dispatches in program order, those in the bodies of scans among them; a scan
/// has one more at its begin and one at its end. The terminator comes after all of them.
class EntryPlanner {
public:
  EntryPlanner(FunctionOpInterface entry, const train::VariableTable &variables) : entry(entry), variables(variables) {}

  /// Adds launches that copy for assignments and results that cannot be in place. Returns the number of copies.
  int64_t insertCopies();
  /// Decides buffers and lifetimes. Returns the number of results that took over a buffer.
  int64_t assignBuffers();
  /// Places the temporaries from `base` on; returns the end of the last one.
  int64_t place(int64_t base) { return packIntervals(intervals, base, kTensorAlignment); }
  void annotate();
  /// The bytes of temporaries that the forward pass (everything that the first result needs) leaves to other launches.
  int64_t savedBytes();

private:
  void hoistReads();
  kernel::DispatchOp copy(OpBuilder &builder, Value v, StringRef name);
  void number();
  int64_t lastUse(Value storage, Operation *besides = nullptr);
  bool canComputeInPlace(Value v, ValueRange olds);
  int64_t insertScanCopies(ScanOp scan);
  bool ownsBuffer(OpOperand &init);
  void assignBuffers(ScanOp scan);
  int64_t assignBuffers(kernel::DispatchOp dispatch);
  unsigned newInterval(int64_t bytes, int64_t first, int64_t last);
  Place placeOf(Value v);
  /// Calls `fn` for each dispatch that is launched, and for each scan before its dispatches.
  void
  forEach(llvm::function_ref<void(kernel::DispatchOp)> dispatch, llvm::function_ref<void(ScanOp)> scan = [](ScanOp) {});
  train::VariableOp variableOf(train::ReadOp read) const { return variables.lookup(read.getVariableAttr()); }

  FunctionOpInterface entry;
  const train::VariableTable &variables;
  DenseMap<Operation *, int64_t> positions;
  /// Keyed by the variable.
  DenseMap<Attribute, SmallVector<train::ReadOp, 1>> reads;
  int64_t numLaunches = 0;
  SmallVector<Interval> intervals;
  /// Maps a storage value to its interval; values that lie elsewhere are in `homes` instead.
  llvm::MapVector<Value, unsigned> buffers;
  DenseMap<Value, Home> homes;
  /// The positions of a scan's begin and end.
  DenseMap<Operation *, std::pair<int64_t, int64_t>> spans;
  DenseMap<Operation *, unsigned> scratches;
};

} // namespace

/// Checks that an entry, or the body of a scan, consists of the ops that have a place in the arena, or that only
/// launches and assignments use.
static LogicalResult verifyDispatched(Block &block) {
  for (Operation &op : block.without_terminator())
    if (auto scan = dyn_cast<ScanOp>(op)) {
      if (failed(verifyDispatched(scan.getBlock())))
        return failure();
    } else if (!isView(&op) && !op.hasTrait<PermanentStorage>() && !isa<kernel::DispatchOp, train::AssignOp>(op)) {
      return emitErrorWithHint(op.getLoc(),
                               "'" + op.getName().getStringRef() +
                                   "' op is in no dispatch, so its tensors have no place in the arena",
                               "run mpc-form-dispatches before mpc-plan-arena");
    }
  return success();
}

kernel::DispatchOp EntryPlanner::copy(OpBuilder &builder, Value v, StringRef name) {
  auto dispatch = kernel::DispatchOp::create(builder, v.getLoc(), TypeRange(v.getType()), kernel::Form::Pointwise, name,
                                             ValueRange(v));
  // A copy reads each element just before it writes it.
  dispatch.setMayReuseAttr(builder.getArrayAttr(builder.getDenseI64ArrayAttr(0)));
  Block &body = dispatch.getBody().emplaceBlock();
  OpBuilder inner = OpBuilder::atBlockBegin(&body);
  kernel::YieldOp::create(inner, v.getLoc(), ValueRange(body.addArgument(v.getType(), v.getLoc())));
  return dispatch;
}

void EntryPlanner::forEach(llvm::function_ref<void(kernel::DispatchOp)> dispatch,
                           llvm::function_ref<void(ScanOp)> scan) {
  for (Operation &op : entry.getFunctionBody().front())
    if (auto own = dyn_cast<kernel::DispatchOp>(op)) {
      dispatch(own);
    } else if (auto repeated = dyn_cast<ScanOp>(op)) {
      scan(repeated);
      llvm::for_each(repeated.getBlock().getOps<kernel::DispatchOp>(), dispatch);
    }
}

void EntryPlanner::number() {
  numLaunches = 0;
  positions.clear();
  for (Operation &op : entry.getFunctionBody().front()) {
    if (auto scan = dyn_cast<ScanOp>(op)) {
      int64_t begin = numLaunches++;
      for (auto inner : scan.getBlock().getOps<kernel::DispatchOp>())
        positions[inner] = numLaunches++;
      spans[scan] = {begin, numLaunches++};
    } else if (isa<kernel::DispatchOp, train::AllReduceOp>(op)) {
      positions[&op] = numLaunches++;
    }
  }
}

/// Returns whether a variable is assigned the content of a storage, directly or through views, but for what reads it
/// through `besides`.
static bool isAssigned(Value storage, Operation *besides) {
  return llvm::any_of(storage.getUsers(), [&](Operation *user) {
    return user != besides && (isa<train::AssignOp>(user) || (isView(user) && user->getOperand(0) == storage &&
                                                              isAssigned(user->getResult(0), besides)));
  });
}

/// The last launch that reads a storage, directly or through views; the number of launches if the entry returns it. A
/// scan reads its operands until its end, and what an iteration yields is needed until then. What reads it through
/// `besides` does not count.
int64_t EntryPlanner::lastUse(Value storage, Operation *besides) {
  int64_t last = -1;
  for (OpOperand &use : storage.getUses()) {
    Operation *user = use.getOwner();
    if (user == besides)
      continue;
    if (isView(user) && use.getOperandNumber() == 0)
      last = std::max(last, lastUse(user->getResult(0), besides));
    if (isa<ScanYieldOp>(user))
      last = std::max(last, spans.at(user->getParentOp()).second);
    else if (user->hasTrait<OpTrait::IsTerminator>())
      last = numLaunches;
    else if (isa<ScanOp>(user))
      last = std::max(last, spans.at(user).second);
    else if (auto position = positions.find(user); position != positions.end())
      last = std::max(last, position->second);
  }
  return last;
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
  for (OpOperand &init : scan->getOpOperands().take_front(scan.getInits().size()))
    if (!ownsBuffer(init)) {
      init.set(copy(before, init.get(), "carry").getResult(0));
      ++copies;
    }
  for (auto [i, result] : llvm::enumerate(scan.getResults())) {
    if (scan.isCarried(i))
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
    if (storageOf(v) == argument)
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

unsigned EntryPlanner::newInterval(int64_t bytes, int64_t first, int64_t last) {
  intervals.push_back({std::max<int64_t>(bytes, 1), first, std::max(first, last)});
  return unsigned(intervals.size() - 1);
}

/// A carried value keeps one buffer, from the operand to the result.
void EntryPlanner::assignBuffers(ScanOp scan) {
  auto [begin, end] = spans.at(scan);
  for (auto [i, result] : llvm::enumerate(scan.getResults())) {
    int64_t last = std::max(end, lastUse(result));
    if (!scan.isCarried(i)) {
      buffers[result] = newInterval(bytesOf(result.getType()), begin, last);
      continue;
    }
    unsigned buffer = buffers[result] = buffers.lookup(storageOf(scan.getInits()[i]));
    intervals[buffer].last = std::max(intervals[buffer].last, last);
  }
  for (auto [i, argument] : llvm::enumerate(scan.getBlock().getArguments())) {
    int64_t bytes = bytesOf(argument.getType());
    if (scan.isCarried(i))
      homes[argument] = {nullptr, scan.getResult(i)};
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
    return {placeOf(at.of).offset + at.start, at.step};
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

/// The ops that compute the results of a launch or scan: the members of a batch, or else the op itself.
static SmallVector<Operation *> unitsOf(Operation *op) {
  if (auto batch = dyn_cast<kernel::DispatchOp>(op); batch && batch.isBatch())
    return llvm::to_vector_of<Operation *>(batch.members());
  return {op};
}
/// The op that computes a storage; null for what is read or given.
static Operation *unitOf(Value v) {
  if (auto dispatch = v.getDefiningOp<kernel::DispatchOp>())
    return dispatch.isBatch() ? dispatch.memberOf(cast<OpResult>(v).getResultNumber()).first : dispatch;
  return v.getDefiningOp<ScanOp>();
}
/// The storages that such an op reads.
static SmallVector<Value> storagesOf(Operation *unit) {
  auto batch = dyn_cast<kernel::DispatchOp>(unit->getParentOp());
  SmallVector<Value> storages;
  for (Value v : unit->getOperands())
    storages.push_back(storageOf(batch ? batch.getInputs()[cast<BlockArgument>(v).getArgNumber()] : v));
  return storages;
}

int64_t EntryPlanner::savedBytes() {
  Operation *terminator = entry.getFunctionBody().front().getTerminator();
  if (terminator->getNumOperands() == 0)
    return 0;
  // The forward pass is found by dependence, not by order: no launch waits for the loss, so it may be the
  // last one.
  llvm::SetVector<Operation *> forward;
  auto reach = [&](Value storage) {
    if (Operation *unit = unitOf(storage))
      forward.insert(unit);
  };
  reach(storageOf(terminator->getOperand(0)));
  for (size_t i = 0; i < forward.size(); ++i)
    llvm::for_each(storagesOf(forward[i]), reach);
  llvm::SmallDenseSet<unsigned> saved;
  for (Operation &op : entry.getFunctionBody().front()) {
    if (!isa<kernel::DispatchOp, ScanOp>(op))
      continue;
    for (Operation *unit : unitsOf(&op)) {
      if (forward.contains(unit))
        continue;
      for (Value storage : storagesOf(unit)) {
        auto buffer = buffers.find(storage);
        if (buffer != buffers.end() && (isa<BlockArgument>(storage) || forward.contains(unitOf(storage))))
          saved.insert(buffer->second);
      }
    }
  }
  int64_t bytes = 0;
  for (unsigned i : saved)
    bytes += intervals[i].bytes;
  return bytes;
}

namespace {
struct PlanArena : memory::impl::PlanArenaPassBase<PlanArena> {
  void runOnOperation() override {
    for (auto entry : getOperation().getOps<FunctionOpInterface>())
      if (!entry.isExternal() && failed(verifyDispatched(entry.getFunctionBody().front())))
        return signalPassFailure();
    Builder builder(&getContext());
    int64_t offset = 0;
    // A tensor without elements gets a place of its own too, because other code distinguishes constants and
    // variables by their offsets.
    auto reserve = [&](Operation *op, int64_t bytes) {
      op->setAttr(kOffsetAttr, builder.getI64IntegerAttr(offset));
      offset = llvm::alignTo(offset + std::max<int64_t>(bytes, 1), kTensorAlignment);
    };
    for (auto variable : getOperation().getOps<train::VariableOp>())
      reserve(variable, bytesOf(variable.getType()));
    int64_t stateBytes = offset;
    DenseMap<Attribute, Attribute> constants;
    getOperation().walk([&](ConstantOp constant) {
      if (constant->getParentOfType<kernel::DispatchOp>())
        return;
      auto [it, isNew] = constants.try_emplace(constant.getValue());
      if (isNew) {
        reserve(constant, bytesOf(constant.getType()));
        it->second = constant->getAttr(kOffsetAttr);
      }
      constant->setAttr(kOffsetAttr, it->second);
    });

    train::VariableTable variables(getOperation());
    int64_t base = offset, end = base, peak = base, saved = 0;
    for (auto entry : getOperation().getOps<FunctionOpInterface>()) {
      if (entry.isExternal())
        continue;
      EntryPlanner planner(entry, variables);
      numCopies += planner.insertCopies();
      numInPlace += planner.assignBuffers();
      int64_t entryEnd = planner.place(base);
      end = std::max(end, entryEnd);
      planner.annotate();
      // A trace entry keeps every gradient to its end; training never touches those pages.
      if (entry->hasAttr("trace"))
        continue;
      peak = std::max(peak, entryEnd);
      if (isa<train::StepOp>(entry))
        saved = std::max(saved, planner.savedBytes());
    }
    getOperation()->setAttr(kernel::PlanAttr::name,
                            kernel::PlanAttr::get(&getContext(), end, stateBytes, /*constant_bytes=*/base - stateBytes,
                                                  /*temporary_bytes=*/peak - base, peak, saved));
  }
};
} // namespace
