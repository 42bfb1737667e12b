//===- PlanArena.cpp - gives every tensor a fixed offset in one arena ------------===//
//
// See Passes.td. The pass runs on entries that consist of dispatches, views (graph.reshape), train.reads and
// train.assigns.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Graph/IR/Storage.h"
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

namespace mpc::memory {
#define GEN_PASS_DEF_PLANARENAPASS
#include "passes/Memory/Passes.h.inc"
} // namespace mpc::memory

namespace {

/// Plans one entry. Positions number its dispatches in program order; the terminator comes after all of them.
class EntryPlanner {
public:
  EntryPlanner(FunctionOpInterface entry, const train::VariableTable &variables) : entry(entry), variables(variables) {}

  /// Adds launches that copy for assignments and results that cannot be in place. Returns the number of
  /// copies.
  int64_t insertCopies();
  /// Decides buffers and lifetimes. Returns the number of results that took over a buffer.
  int64_t assignBuffers();
  /// Places the temporaries from `base` on; returns the end of the last one.
  int64_t place(int64_t base) { return packIntervals(intervals, base, kAlignment); }
  void annotate();
  /// The bytes of temporaries that the forward pass (everything that the first result needs) leaves to other
  /// launches.
  int64_t savedBytes();

private:
  void hoistReads();
  kernel::DispatchOp copy(OpBuilder &builder, Value v, StringRef name);
  void number();
  int64_t lastUse(Value storage);
  bool canAssignInPlace(train::AssignOp assign);
  int64_t offsetOf(Value v);
  train::VariableOp variableOf(train::ReadOp read) const { return variables.lookup(read.getVariableAttr()); }

  FunctionOpInterface entry;
  const train::VariableTable &variables;
  DenseMap<Operation *, int64_t> positions;
  /// Keyed by the variable.
  DenseMap<Attribute, SmallVector<train::ReadOp, 1>> reads;
  int64_t numLaunches = 0;
  SmallVector<Interval> intervals;
  /// Maps a storage value to its interval; values that lie in a variable's own buffer are in `homes` instead.
  llvm::MapVector<Value, unsigned> buffers;
  DenseMap<Value, train::VariableOp> homes;
  DenseMap<Operation *, unsigned> scratches;
};

} // namespace

/// Checks that the entry consists of the ops that have a place in the arena, or that only launches and assignments use.
static LogicalResult verifyDispatched(FunctionOpInterface entry) {
  for (Operation &op : entry.getFunctionBody().front().without_terminator())
    if (!isa<kernel::DispatchOp, ReshapeOp, ConstantOp, train::ReadOp, train::AssignOp>(op))
      return emitErrorWithHint(op.getLoc(), "'" + op.getName().getStringRef() + "' op is in no dispatch, so its tensors have no place in the arena",
                               "run mpc-form-dispatches before mpc-plan-arena");
  return success();
}

kernel::DispatchOp EntryPlanner::copy(OpBuilder &builder, Value v, StringRef name) {
  auto dispatch = kernel::DispatchOp::create(builder, v.getLoc(), TypeRange(v.getType()), builder.getStringAttr(name), ValueRange(v), UnitAttr());
  // A copy reads each element just before it writes it.
  dispatch.setMayReuseAttr(builder.getArrayAttr(builder.getDenseI64ArrayAttr(0)));
  Block &body = dispatch.getBody().emplaceBlock();
  OpBuilder inner = OpBuilder::atBlockBegin(&body);
  kernel::YieldOp::create(inner, v.getLoc(), ValueRange(body.addArgument(v.getType(), v.getLoc())));
  return dispatch;
}

void EntryPlanner::number() {
  numLaunches = 0;
  positions.clear();
  for (Operation &op : entry.getFunctionBody().front())
    if (isa<kernel::DispatchOp>(op))
      positions[&op] = numLaunches++;
}

/// The last launch that reads a storage, directly or through views; the number of launches if the entry
/// returns it.
int64_t EntryPlanner::lastUse(Value storage) {
  int64_t last = -1;
  for (Operation *user : storage.getUsers()) {
    if (auto view = dyn_cast<ReshapeOp>(user))
      last = std::max(last, lastUse(view));
    else if (user->hasTrait<OpTrait::IsTerminator>())
      last = numLaunches;
    else if (isa<kernel::DispatchOp>(user))
      last = std::max(last, positions.lookup(user));
  }
  return last;
}

/// Whether two inputs are views of the storage. A kernel that writes through one of them could assume that
/// nothing writes the other.
static bool readsTwice(kernel::DispatchOp dispatch, Value storage) {
  return llvm::count_if(dispatch.getInputs(), [&](Value input) { return storageOf(input) == storage; }) > 1;
}

/// Whether the assigned value can be computed into the variable's own buffer: every reader of the old value runs before, or is the same kernel and
/// reads each element before it writes it.
bool EntryPlanner::canAssignInPlace(train::AssignOp assign) {
  Value v = storageOf(assign.getValue());
  auto dispatch = v.getDefiningOp<kernel::DispatchOp>();
  if (!dispatch || homes.contains(v))
    return false;
  int64_t position = positions[dispatch];
  for (train::ReadOp read : reads.lookup(assign.getVariableAttr())) {
    if (lastUse(read) > position)
      return false;
    if (lastUse(read) < position)
      continue;
    if (readsTwice(dispatch, read.getValue()))
      return false;
    for (auto [i, input] : llvm::enumerate(dispatch.getInputs()))
      if (storageOf(input) == read.getValue() && !dispatch.mayReuse(cast<OpResult>(v).getResultNumber(), i))
        return false;
  }
  return true;
}

/// Moves reads, and views of them, to the entry's start. Wherever a read stands, it reads the state before
/// the entry; but a copy that saves this state is placed behind the read, and must come before any launch
/// that computes into the variable.
void EntryPlanner::hoistReads() {
  Block &block = entry.getFunctionBody().front();
  Operation *last = nullptr;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    bool view = isa<ReshapeOp>(op) && storageOf(op.getResult(0)).getDefiningOp<train::ReadOp>();
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
    if (!storageOf(operand.get()).getDefiningOp<kernel::DispatchOp>()) {
      operand.set(copy(back, operand.get(), "result").getResult(0));
      ++copies;
    }
  number();
  SmallVector<train::AssignOp> assigns(block.getOps<train::AssignOp>());
  for (train::AssignOp assign : assigns) {
    train::VariableOp variable = variables.lookup(assign.getVariableAttr());
    if (canAssignInPlace(assign)) {
      homes[storageOf(assign.getValue())] = variable;
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
    homes[last.getResult(0)] = variable;
    ++copies;
  }
  number();
  return copies;
}

int64_t EntryPlanner::assignBuffers() {
  Block &block = entry.getFunctionBody().front();
  int64_t shared = 0;
  for (auto read : block.getOps<train::ReadOp>())
    homes[read.getValue()] = variableOf(read);
  auto newInterval = [&](int64_t bytes, int64_t first, int64_t last) {
    intervals.push_back({std::max<int64_t>(bytes, 1), first, std::max(first, last)});
    return unsigned(intervals.size() - 1);
  };
  for (BlockArgument arg : block.getArguments())
    buffers[arg] = newInterval(bytesOf(arg.getType()), -1, lastUse(arg));

  for (auto dispatch : block.getOps<kernel::DispatchOp>()) {
    int64_t position = positions[dispatch];
    llvm::SmallDenseSet<unsigned> taken;
    SmallVector<int64_t> inPlace;
    for (OpResult result : dispatch->getResults()) {
      int64_t sharedInput = -1;
      auto home = homes.find(result);
      for (auto [i, input] : llvm::enumerate(dispatch.getInputs())) {
        Value storage = storageOf(input);
        if (home != homes.end()) {
          // The assignment is in place; if the kernel also reads the old value, `in_place` has to name that
          // input.
          if (auto read = storage.getDefiningOp<train::ReadOp>(); read && variableOf(read) == home->second)
            sharedInput = i;
          continue;
        }
        auto buffer = buffers.find(storage);
        if (buffer == buffers.end() || isa<BlockArgument>(storage) || taken.contains(buffer->second) ||
            bytesOf(result.getType()) != intervals[buffer->second].bytes || intervals[buffer->second].last != position)
          continue;
        if (!readsTwice(dispatch, storage) && dispatch.mayReuse(result.getResultNumber(), i)) {
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
  }
  return shared;
}

int64_t EntryPlanner::offsetOf(Value v) {
  Value storage = storageOf(v);
  if (train::VariableOp variable = homes.lookup(storage))
    return variable->getAttrOfType<IntegerAttr>(kOffsetAttr).getInt();
  if (auto constant = storage.getDefiningOp<ConstantOp>())
    return constant->getAttrOfType<IntegerAttr>(kOffsetAttr).getInt();
  auto it = buffers.find(storage);
  assert(it != buffers.end() && "every stored value has a buffer");
  return intervals[it->second].offset;
}

void EntryPlanner::annotate() {
  Block &block = entry.getFunctionBody().front();
  Builder builder(entry->getContext());
  auto i64 = [&](int64_t value) { return builder.getI64IntegerAttr(value); };
  for (BlockArgument arg : block.getArguments())
    entry.setArgAttr(arg.getArgNumber(), kOffsetAttr, i64(offsetOf(arg)));
  for (auto [i, v] : llvm::enumerate(block.getTerminator()->getOperands()))
    entry.setResultAttr(i, kOffsetAttr, i64(offsetOf(v)));
  for (auto dispatch : block.getOps<kernel::DispatchOp>()) {
    SmallVector<int64_t> args;
    for (Value v : dispatch.getInputs())
      args.push_back(offsetOf(v));
    for (Value v : dispatch.getResults())
      args.push_back(offsetOf(v));
    dispatch.setArgs(args);
    if (auto scratch = scratches.find(dispatch); scratch != scratches.end())
      dispatch.setScratchOffset(intervals[scratch->second].offset);
  }
}

/// The dispatches that compute the results of a launch: the members of a batch, or else the dispatch itself.
static std::vector<kernel::DispatchOp> unitsOf(kernel::DispatchOp dispatch) {
  if (dispatch.isBatch())
    return dispatch.members();
  return {dispatch};
}
static kernel::DispatchOp unitOf(Value v) {
  auto dispatch = v.getDefiningOp<kernel::DispatchOp>();
  return dispatch && dispatch.isBatch() ? dispatch.memberOf(cast<OpResult>(v).getResultNumber()).first : dispatch;
}
/// The storages that such a dispatch reads.
static SmallVector<Value> storagesOf(kernel::DispatchOp unit) {
  auto batch = dyn_cast<kernel::DispatchOp>(unit->getParentOp());
  SmallVector<Value> storages;
  for (Value v : unit.getInputs())
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
    if (kernel::DispatchOp unit = unitOf(storage))
      forward.insert(unit);
  };
  reach(storageOf(terminator->getOperand(0)));
  for (size_t i = 0; i < forward.size(); ++i)
    llvm::for_each(storagesOf(cast<kernel::DispatchOp>(forward[i])), reach);
  llvm::SmallDenseSet<unsigned> saved;
  for (auto dispatch : entry.getFunctionBody().front().getOps<kernel::DispatchOp>())
    for (kernel::DispatchOp unit : unitsOf(dispatch)) {
      if (forward.contains(unit))
        continue;
      for (Value storage : storagesOf(unit)) {
        auto buffer = buffers.find(storage);
        if (buffer != buffers.end() && (isa<BlockArgument>(storage) || forward.contains(unitOf(storage))))
          saved.insert(buffer->second);
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
      if (!entry.isExternal() && failed(verifyDispatched(entry)))
        return signalPassFailure();
    Builder builder(&getContext());
    int64_t offset = 0;
    // A tensor without elements gets a place of its own too, because other code distinguishes constants and
    // variables by their offsets.
    auto reserve = [&](Operation *op, int64_t bytes) {
      op->setAttr(kOffsetAttr, builder.getI64IntegerAttr(offset));
      offset = llvm::alignTo(offset + std::max<int64_t>(bytes, 1), kAlignment);
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
    auto i64 = [&](StringRef name, int64_t value) { return builder.getNamedAttr(name, builder.getI64IntegerAttr(value)); };
    getOperation()->setAttr(kPlanAttr, builder.getDictionaryAttr({i64("arena_bytes", end), i64("state_bytes", stateBytes),
                                                                  i64("constant_bytes", base - stateBytes), i64("saved_bytes", saved),
                                                                  i64("temporary_bytes", peak - base), i64("peak_bytes", peak)}));
  }
};
} // namespace
