//===- BatchDispatches.cpp - small independent dispatches share a launch ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Passes.td. The pass walks a block from its end to its start. A batch stands where its last member
// stood. An earlier dispatch may join it if all readers of its results come after that place, where the
// readers in batches count as standing where their batches do. So no member reads another, there is no path
// between two members, and each moves down only as far as it may. A launch that updates a variable comes after
// all that read it, since otherwise the variable would have to be copied.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/Storage.h"
#include "dialects/Train/IR/Train.h"
#include "passes/Fusion/Grouping.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include <numeric>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

namespace mpc::fusion {
#define GEN_PASS_DEF_BATCHDISPATCHESPASS
#include "passes/Fusion/Passes.h.inc"
} // namespace mpc::fusion
using namespace mpc::fusion;
using kernel::DispatchOp;

/// The most bytes that a dispatch reads and writes, unless it updates variables. A GPU of 4.8 TB/s moves that
/// much in the time of a launch; two larger dispatches in one launch fill a GPU no better than one does.
static constexpr int64_t mostBytes = 8 << 20;
/// The most buffers of a launch (parameters of a kernel have 4096 bytes, PTX ISA 7.0), and the most members,
/// since their code adds up.
static constexpr size_t mostBuffers = 256, mostMembers = 64;
/// The bytes by which moving dispatches down may raise the peak of an entry, which are for flags and the like, and of a
/// scan's body, which is launched in each iteration.
static constexpr int64_t smallBytes = 4096, smallBytesOfBody = 1 << 20;
/// The bytes of all results that are computed at the start of an entry.
static constexpr int64_t mostBytesAtStart = 1 << 20;
/// The number of batches, the nearest ones, that a dispatch tries to join: after so many places there is a
/// reader that it must not pass.
static constexpr size_t mostSearched = 16;

namespace {

struct Batch {
  SmallVector<DispatchOp> members; ///< the last member comes first
  llvm::SmallDenseSet<Value> inputs;
  llvm::SmallDenseSet<Attribute> reads, updates; ///< variables
  size_t results = 0;
  int64_t position = 0;
};

class Batcher {
public:
  explicit Batcher(Block &block)
      : block(block), mayRise(isa<ScanOp>(block.getParentOp()) ? smallBytesOfBody : smallBytes) {
    for (auto [i, op] : llvm::enumerate(block))
      positions[&op] = int64_t(i);
    if (auto scan = dyn_cast<ScanOp>(block.getParentOp()))
      for (auto [carried, yielded] : llvm::zip(scan.carried(), scan.yielded()))
        if (Operation *writer = storageOf(yielded).getDefiningOp())
          successors[carried] = writer;
    for (auto assign : block.getOps<train::AssignOp>())
      if (Operation *writer = storageOf(assign.getValue()).getDefiningOp()) {
        writers[assign.getVariableAttr()] = writer;
        updated[writer].push_back(assign.getVariableAttr());
      }
    countLive();
  }
  /// Returns the batches that have at least two members.
  std::vector<Batch> run();

private:
  bool mayBeMember(DispatchOp dispatch) const;
  /// Returns the variables that the dispatch reads and others update.
  SmallVector<Attribute> readOf(DispatchOp dispatch) const;
  bool mayJoin(const Batch &batch, DispatchOp dispatch) const;
  int64_t lastReader(Value storage) const;
  /// Counts the bytes that are live at each position.
  void countLive();
  /// By how much these change when the dispatch moves to a later position: an entry for each position from
  /// its own to the later one.
  using Change = SmallVector<int64_t>;
  Change changeOf(DispatchOp dispatch, int64_t later) const;
  /// Returns whether the peak rises by no more than `mayRise`.
  bool mayComeLater(DispatchOp dispatch, int64_t later) const;
  void comeLater(DispatchOp dispatch, int64_t later);
  int64_t firstReader(DispatchOp dispatch) const;

  Block &block;
  const int64_t mayRise;                                    ///< the bytes by which the peak may rise
  DenseMap<Operation *, int64_t> positions;                 ///< for a member, the position of its batch
  DenseMap<Attribute, Operation *> writers;                 ///< those of variables
  DenseMap<Operation *, SmallVector<Attribute, 1>> updated; ///< the variables that each of the writers updates
  DenseMap<Value, Operation *> successors;                  ///< what computes a scan's next carried values
  std::vector<int64_t> live;
  int64_t peak = 0;
};

} // namespace

SmallVector<Attribute> Batcher::readOf(DispatchOp dispatch) const {
  SmallVector<Attribute> variables;
  for (Value input : dispatch.getInputs())
    if (auto read = storageOf(input).getDefiningOp<train::ReadOp>())
      if (Operation *writer = writers.lookup(read.getVariableAttr()); writer && writer != dispatch)
        variables.push_back(read.getVariableAttr());
  return variables;
}

/// A member is a pointwise, movement, transposing or reduction loop that is small, or that updates variables. A
/// dispatch whose results are all empty is not launched at all.
bool Batcher::mayBeMember(DispatchOp dispatch) const {
  if (dispatch.isContraction() || dispatch.isAttention() || dispatch.computesNothing())
    return false;
  int64_t bytes = 0;
  for (Operation &op : dispatch.getBody().front().without_terminator())
    if (!isArithmetic(&op) && !isFree(&op) && !isOfKind(&op, LoopKind::Reduction) &&
        !isOfKind(&op, LoopKind::Movement) && !isOfKind(&op, LoopKind::Permutation))
      return false;
  for (Value input : dispatch.getInputs())
    bytes += bytesOf(input.getType());
  for (Type type : dispatch.getResultTypes())
    bytes += bytesOf(type);
  return bytes <= mostBytes || updated.contains(dispatch);
}

int64_t Batcher::firstReader(DispatchOp dispatch) const {
  SmallVector<Operation *> readers;
  for (Value result : dispatch->getResults())
    usersThroughViews(result, readers);
  int64_t first = INT64_MAX;
  for (Operation *reader : readers)
    if (!isa<train::AssignOp>(reader)) // an assignment takes effect at the end, wherever it stands
      first = std::min(first, positions.lookup(reader));
  return first;
}

static bool isAssigned(Value result) {
  SmallVector<Operation *> readers;
  usersThroughViews(result, readers);
  return llvm::any_of(readers, [](Operation *reader) { return isa<train::AssignOp>(reader); });
}

int64_t Batcher::lastReader(Value storage) const {
  SmallVector<Operation *> readers;
  usersThroughViews(storage, readers);
  int64_t last = -1;
  for (Operation *reader : readers)
    last = std::max(last, positions.lookup(reader));
  return last;
}

void Batcher::countLive() {
  // The changes at each position are collected first, then summed up.
  live.assign(positions.size() + 1, 0);
  auto add = [&](Value v, int64_t first) {
    int64_t last = lastReader(v);
    if (last < first || isAssigned(v)) // it lies in the variable
      return;
    live[first] += bytesOf(v.getType());
    live[last + 1] -= bytesOf(v.getType());
  };
  for (BlockArgument argument : block.getArguments())
    add(argument, 0);
  for (auto dispatch : block.getOps<DispatchOp>())
    for (Value result : dispatch.getResults())
      add(result, positions.lookup(dispatch));
  std::partial_sum(live.begin(), live.end(), live.begin());
  live.pop_back();
  peak = *llvm::max_element(live);
}

Batcher::Change Batcher::changeOf(DispatchOp dispatch, int64_t later) const {
  int64_t now = positions.lookup(dispatch);
  Change change(later - now + 1, 0);
  llvm::SmallDenseSet<Value> seen;
  for (Value input : dispatch.getInputs()) {
    Value storage = storageOf(input);
    if (!seen.insert(storage).second || isPermanent(storage))
      continue;
    for (int64_t at = std::max(lastReader(storage), now) + 1; at <= later; ++at)
      change[at - now] += bytesOf(storage.getType());
  }
  for (Value result : dispatch.getResults())
    if (!isAssigned(result))
      for (int64_t at = now; at < later; ++at)
        change[at - now] -= bytesOf(result.getType());
  return change;
}

bool Batcher::mayComeLater(DispatchOp dispatch, int64_t later) const {
  int64_t now = positions.lookup(dispatch);
  return llvm::all_of(llvm::enumerate(changeOf(dispatch, later)), [&](auto change) {
    return change.value() <= 0 || live[now + int64_t(change.index())] + change.value() <= peak + mayRise;
  });
}

void Batcher::comeLater(DispatchOp dispatch, int64_t later) {
  int64_t at = positions.lookup(dispatch);
  for (int64_t bytes : changeOf(dispatch, later))
    live[at++] += bytes;
  positions[dispatch] = later;
}

bool Batcher::mayJoin(const Batch &batch, DispatchOp dispatch) const {
  if (batch.position >= firstReader(dispatch) || batch.members.size() == mostMembers)
    return false;
  auto comesTooLate = [&](Attribute variable) {
    return batch.updates.contains(variable) || positions.lookup(writers.lookup(variable)) <= batch.position;
  };
  // A launch that reads a carried value comes before the one that computes the next value, since otherwise the value
  // would have to be copied.
  for (Value input : dispatch.getInputs())
    if (Operation *writer = successors.lookup(storageOf(input));
        writer && writer != dispatch && positions.lookup(writer) <= batch.position)
      return false;
  for (Value input : batch.inputs)
    if (successors.lookup(storageOf(input)) == dispatch)
      return false;
  auto isRead = [&](Attribute variable) { return batch.reads.contains(variable); };
  if (llvm::any_of(readOf(dispatch), comesTooLate) || llvm::any_of(updated.lookup(dispatch), isRead))
    return false;
  size_t buffers = batch.inputs.size() + batch.results + dispatch.getNumResults();
  for (Value input : dispatch.getInputs())
    buffers += !batch.inputs.contains(input);
  return buffers <= mostBuffers && mayComeLater(dispatch, batch.position);
}

/// Moves dispatches that read only what is in memory when the entry starts (transposes of weights) to its start, where
/// they share a launch; each stands in front of the layer that reads it, from where it can come no later.
static void moveToStart(Block &block) {
  auto dispatches = block.getOps<DispatchOp>();
  if (dispatches.empty() || isa<ScanOp>(block.getParentOp()))
    return;
  Operation *start = *dispatches.begin();
  llvm::DenseSet<Operation *> ahead; // the ops in front of `start`
  for (Operation *op = start->getPrevNode(); op; op = op->getPrevNode())
    ahead.insert(op);
  auto isThere = [](Value v) {
    for (; isView(v.getDefiningOp()); v = v.getDefiningOp()->getOperand(0))
      if (v.getDefiningOp()->getNumOperands() > 1) // a barrier, which waits for other values
        return false;
    return isPermanent(v);
  };
  int64_t bytes = 0;
  for (DispatchOp dispatch : llvm::make_early_inc_range(dispatches)) {
    int64_t own = 0;
    for (Value result : dispatch.getResults())
      own += bytesOf(result.getType());
    if (dispatch.getInputs().empty() || !llvm::all_of(dispatch.getInputs(), isThere) ||
        llvm::any_of(dispatch.getResults(), isAssigned) || bytes + own > mostBytesAtStart)
      continue;
    bytes += own;
    if (dispatch == start)
      continue;
    for (Value input : dispatch.getInputs()) {
      SmallVector<Operation *> chain; // the views and the read behind them
      for (Operation *op = input.getDefiningOp(); op; op = isView(op) ? op->getOperand(0).getDefiningOp() : nullptr)
        chain.push_back(op);
      for (Operation *op : llvm::reverse(chain))
        if (ahead.insert(op).second)
          op->moveBefore(start);
    }
    dispatch->moveBefore(start);
  }
}

std::vector<Batch> Batcher::run() {
  std::vector<Batch> batches; // sorted by falling position
  SmallVector<DispatchOp> dispatches(block.getOps<DispatchOp>());
  for (DispatchOp dispatch : llvm::reverse(dispatches)) {
    if (!mayBeMember(dispatch))
      continue;
    size_t known = batches.size() - std::min(batches.size(), mostSearched);
    auto batch =
        std::find_if(batches.begin() + known, batches.end(), [&](const Batch &b) { return mayJoin(b, dispatch); });
    if (batch == batches.end()) {
      batches.emplace_back().position = positions.lookup(dispatch);
      batch = std::prev(batches.end());
    }
    comeLater(dispatch, batch->position);
    batch->members.push_back(dispatch);
    batch->inputs.insert_range(dispatch.getInputs());
    batch->reads.insert_range(readOf(dispatch));
    batch->updates.insert_range(updated.lookup(dispatch));
    batch->results += dispatch.getNumResults();
  }
  llvm::erase_if(batches, [](const Batch &batch) { return batch.members.size() == 1; });
  return batches;
}

/// Moves the members into one dispatch, at the place of the last one.
static void form(SmallVector<DispatchOp> members) {
  std::reverse(members.begin(), members.end());
  DispatchOp last = members.back();
  llvm::SetVector<Value> inputs; // the current ones, since batches before this one have replaced values
  SmallVector<Type> types;
  SmallVector<Location> locations;
  SmallVector<Value> results;
  SmallVector<Operation *> views;
  SmallVector<Operation *> readers;
  for (DispatchOp member : members) {
    inputs.insert_range(member.getInputs());
    llvm::append_range(types, member.getResultTypes());
    llvm::append_range(results, member.getResults());
    locations.push_back(member.getLoc());
  }
  for (Value result : results)
    usersThroughViews(result, readers, &views);
  OpBuilder builder(last);
  std::string name = (last.getName() + " and " + Twine(members.size() - 1) + " more").str();
  auto outer = DispatchOp::create(builder, builder.getFusedLoc(locations), types, kernel::Form::Batch, name,
                                  inputs.getArrayRef());
  Block &body = outer.getBody().emplaceBlock();
  IRMapping mapping;
  for (Value input : inputs)
    mapping.map(input, body.addArgument(input.getType(), input.getLoc()));
  OpBuilder inner = OpBuilder::atBlockBegin(&body);
  SmallVector<Value> yielded;
  for (DispatchOp member : members) {
    auto inside = cast<DispatchOp>(inner.clone(*member, mapping));
    inside.removeMayReuseAttr(); // mpc-find-reuse asks the batch
    inside.removeLoopsAttr();    // mpc-plan-loops gives the members of a batch blocks of one size
    llvm::append_range(yielded, inside.getResults());
  }
  kernel::YieldOp::create(inner, outer.getLoc(), yielded);
  for (auto [old, result] : llvm::zip_equal(results, outer.getResults()))
    old.replaceAllUsesWith(result);
  Operation *behind = outer;
  auto moveBehind = [&](Operation *op) {
    op->moveAfter(behind);
    behind = op;
  };
  // A view behind the batch stays: a barrier may wait there for another value.
  llvm::erase_if(views, [&](Operation *view) { return outer->isBeforeInBlock(view); });
  llvm::for_each(views, moveBehind);
  for (Operation *reader : readers)
    if (isa<train::AssignOp>(reader) && reader->isBeforeInBlock(outer))
      moveBehind(reader);
  for (DispatchOp member : members)
    member.erase();
}

namespace {
struct BatchDispatches : fusion::impl::BatchDispatchesPassBase<BatchDispatches> {
  void runOnOperation() override {
    if (failed(kernel::verifyNotPlanned(getOperation(), getArgument())))
      return signalPassFailure();
    for (auto entry : getOperation().getOps<FunctionOpInterface>()) {
      if (entry.isExternal())
        continue;
      SmallVector<Block *> blocks{&entry.getFunctionBody().front()};
      entry->walk([&](ScanOp scan) { blocks.push_back(&scan.getBlock()); });
      for (Block *block : blocks) {
        // A GPU kernel is a function without dispatches, whose values are no tensors.
        if (block->getOps<DispatchOp>().empty())
          continue;
        moveToStart(*block);
        for (Batch &batch : Batcher(*block).run()) {
          numMembers += batch.members.size();
          ++numBatches;
          form(batch.members);
        }
      }
    }
  }
};
} // namespace
