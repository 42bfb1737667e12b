//===- VerifyArena.cpp - executes a memory plan symbolically -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Passes.td. The check does not use the plan's own bookkeeping: it reads the offsets that code and manifest use,
// and asks of every launch whether what it reads still lies where it reads.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/Storage.h"
#include "dialects/Support/Diagnostics.h"
#include "dialects/Train/IR/VariableTable.h"
#include "passes/Memory/EntryPlanner.h"
#include "passes/Memory/Passes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/MathExtras.h"
#include <limits>
#include <map>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::memory;
using kernel::kOffsetAttr;

namespace mpc::memory {
#define GEN_PASS_DEF_VERIFYARENAPASS
#include "passes/Memory/Passes.h.inc"
} // namespace mpc::memory

/// Adds the hint of errors that only a defect of mpc causes.
static LogicalResult defect(InFlightDiagnostic &&error) {
  error.attachNote() << "hint: this is a defect of mpc; report it with the model";
  return error;
}

/// Checks that variables and constants lie apart. Two constants may share a place only if they have the same value.
static LogicalResult verifyDisjoint(ModuleOp module) {
  struct Placed {
    int64_t offset, end;
    Operation *op;
    Attribute value; ///< of a constant
  };
  std::vector<Placed> placed;
  auto add = [&](Operation *op, Type type, Attribute value) {
    if (auto offset = op->getAttrOfType<IntegerAttr>(kOffsetAttr))
      placed.push_back({offset.getInt(), offset.getInt() + std::max<int64_t>(bytesOf(type), 1), op, value});
  };
  for (auto variable : module.getOps<train::VariableOp>())
    add(variable, variable.getType(), {});
  module.walk([&](ConstantOp constant) {
    if (!constant->getParentOfType<kernel::DispatchOp>())
      add(constant, constant.getType(), constant.getValue());
  });
  llvm::stable_sort(placed, [](const Placed &a, const Placed &b) { return a.offset < b.offset; });
  for (size_t i = 1; i < placed.size(); ++i) {
    const Placed &a = placed[i - 1], &b = placed[i];
    if (a.end <= b.offset || (a.value && a.value == b.value && a.offset == b.offset))
      continue;
    InFlightDiagnostic error = b.op->emitOpError("lies at bytes ")
                               << b.offset << " to " << b.end << ", where another constant or variable lies";
    error.attachNote(a.op->getLoc()) << "the other one, at bytes " << a.offset << " to " << a.end;
    return defect(std::move(error));
  }
  return success();
}

namespace {

/// What bytes of the arena hold: the tensor that `of` stands for (a value, a variable's state before the entry, a
/// constant), as iteration `trip` of a loop made it. A null `of` is scratch, which nobody may read.
struct Content {
  const void *of = nullptr;
  int64_t trip = 0;
  bool operator==(const Content &other) const { return of == other.of && trip == other.trip; }
};

/// The bytes of the arena, as launches leave them.
class Arena {
public:
  void write(int64_t offset, int64_t bytes, Content content, Operation *writer);
  /// Succeeds if these bytes hold the content, from byte `from` of it on.
  LogicalResult expect(int64_t offset, int64_t bytes, Content content, int64_t from,
                       llvm::function_ref<InFlightDiagnostic()> error) const;

private:
  struct Piece {
    int64_t end;
    Content content;
    int64_t origin; ///< where the content's first byte lies
    Operation *writer;
  };
  void split(int64_t offset);
  std::map<int64_t, Piece> pieces; ///< by their first byte
};

/// Executes one entry.
class EntryVerifier {
public:
  EntryVerifier(FunctionOpInterface entry, const train::VariableTable &variables)
      : entry(entry), variables(variables) {}
  LogicalResult run();

private:
  LogicalResult execute(kernel::DispatchOp dispatch, int64_t trip);
  LogicalResult execute(ScanOp scan);
  LogicalResult execute(train::AllReduceOp reduce);
  LogicalResult executeBody(ScanOp scan, int64_t trip);
  void carryOn(ScanOp scan);
  bool inTrail(ScanOp scan, unsigned stack);
  void defineTrail(ScanOp scan, unsigned carried, const DenseMap<Value, int64_t> &begins);
  /// Defines the content of a storage.
  void define(Value storage, Content content) { contents[storage] = content; }
  Content contentOf(Value v) const;

  FunctionOpInterface entry;
  const train::VariableTable &variables;
  Arena arena;
  DenseMap<Value, Content> contents;
  /// In the body of a scan: how many bytes behind the content's first byte a slice begins.
  DenseMap<Value, int64_t> starts;
  /// Where results of dispatches in a body begin, which are slices of the scan's results.
  DenseMap<Value, int64_t> places;
};

} // namespace

void Arena::split(int64_t offset) {
  auto next = pieces.lower_bound(offset);
  if (next == pieces.begin() || (next != pieces.end() && next->first == offset))
    return;
  Piece &piece = std::prev(next)->second;
  if (piece.end <= offset)
    return;
  Piece rest = piece;
  piece.end = offset;
  pieces.emplace(offset, rest);
}

/// Returns where the bytes end. A plan that was written by hand may put them beyond the largest number that there is.
static int64_t endOf(int64_t offset, int64_t bytes) {
  int64_t end;
  return llvm::AddOverflow(offset, bytes, end) ? std::numeric_limits<int64_t>::max() : end;
}

void Arena::write(int64_t offset, int64_t bytes, Content content, Operation *writer) {
  if (bytes == 0)
    return;
  int64_t end = endOf(offset, bytes);
  split(offset);
  split(end);
  pieces.erase(pieces.lower_bound(offset), pieces.lower_bound(end));
  pieces.insert_or_assign(offset, Piece{end, content, offset, writer});
}

LogicalResult Arena::expect(int64_t offset, int64_t bytes, Content content, int64_t from,
                            llvm::function_ref<InFlightDiagnostic()> error) const {
  int64_t at = offset, end = endOf(offset, bytes);
  while (at < end) {
    auto found = pieces.upper_bound(at);
    const Piece *piece = found == pieces.begin() ? nullptr : &std::prev(found)->second;
    if (piece && piece->end > at && piece->content == content && piece->content.of && offset - piece->origin == from) {
      at = piece->end;
      continue;
    }
    InFlightDiagnostic diagnostic = error();
    bool written = piece && piece->end > at, same = written && piece->content == content;
    diagnostic << " at bytes " << offset << " to " << end << ", where at byte " << at
               << (!written ? " nothing has been written"
                   : same   ? " lies another part of the tensor"
                            : " lies another tensor");
    if (written && piece->writer)
      diagnostic.attachNote(piece->writer->getLoc()) << "it was written here";
    return defect(std::move(diagnostic));
  }
  return success();
}

Content EntryVerifier::contentOf(Value v) const {
  Value storage = storageOf(v);
  if (auto constant = storage.getDefiningOp<ConstantOp>())
    return {constant.getValue().getAsOpaquePointer()};
  return contents.lookup(storage);
}

LogicalResult EntryVerifier::execute(kernel::DispatchOp dispatch, int64_t trip) {
  if (dispatch.computesNothing())
    return success();
  if (!dispatch.getArgs())
    return defect(dispatch.emitOpError("has no place in the arena"));
  size_t inputs = dispatch.getInputs().size();
  auto placeOf = [&](size_t i) {
    return (*dispatch.getArgs())[i] + (dispatch.getArgSteps() ? (*dispatch.getArgSteps())[i] * trip : 0);
  };
  auto bytesAt = [&](size_t i) {
    return bytesOf(i < inputs ? dispatch.getInputs()[i].getType() : dispatch.getResultTypes()[i - inputs]);
  };
  auto overlap = [](int64_t a, int64_t aBytes, int64_t b, int64_t bBytes) { return a < b + bBytes && b < a + aBytes; };

  for (auto [i, v] : llvm::enumerate(dispatch.getInputs()))
    if (failed(arena.expect(placeOf(i), bytesAt(i), contentOf(v), starts.lookup(storageOf(v)),
                            [&, i = i] { return dispatch.emitOpError() << "reads input " << i; })))
      return failure();
  std::optional<int64_t> scratch = dispatch.getScratchOffset();
  int64_t scratchBytes = scratch ? int64_t(*dispatch.getScratchBytes()) : 0;
  for (size_t i = 0; i < inputs + dispatch.getNumResults(); ++i)
    if (scratch && overlap(*scratch, scratchBytes, placeOf(i), bytesAt(i)))
      return defect(dispatch.emitOpError()
                    << "has its scratch over " << (i < inputs ? "input " : "result ") << (i < inputs ? i : i - inputs));
  if (scratch)
    arena.write(*scratch, scratchBytes, {}, dispatch);
  for (OpResult result : dispatch->getResults()) {
    size_t own = inputs + result.getResultNumber();
    int64_t inPlace = dispatch.inPlaceInput(result.getResultNumber());
    for (size_t i = 0; i < inputs + dispatch.getNumResults(); ++i) {
      if (i == own || !overlap(placeOf(i), bytesAt(i), placeOf(own), bytesAt(own)))
        continue;
      if (i < inputs && int64_t(i) == inPlace && placeOf(i) == placeOf(own))
        continue;
      return defect(dispatch.emitOpError() << "writes result " << result.getResultNumber() << " over "
                                           << (i < inputs ? "input " : "result ") << (i < inputs ? i : i - inputs));
    }
  }
  for (OpResult result : dispatch->getResults()) {
    size_t own = inputs + result.getResultNumber();
    define(result, {result.getAsOpaquePointer(), trip});
    places[result] = placeOf(own);
    arena.write(placeOf(own), bytesAt(own), contentOf(result), dispatch);
  }
  return success();
}

/// Executes the launches of one iteration, and checks that the slices of the results that it yields are in their
/// places.
LogicalResult EntryVerifier::executeBody(ScanOp scan, int64_t trip) {
  Block &body = scan.getBlock();
  int64_t index = scan.getReverse() ? int64_t(scan.getTrips()) - 1 - trip : trip;
  for (auto [i, argument] : llvm::enumerate(body.getArguments()))
    if (scan.isStacked(i))
      starts[argument] = starts.lookup(storageOf(scan.getOperand(i))) + index * bytesOf(argument.getType());
  for (auto dispatch : body.getOps<kernel::DispatchOp>())
    if (failed(execute(dispatch, trip)))
      return failure();
  for (auto [i, v] : llvm::enumerate(scan.yielded()))
    if (int64_t bytes = bytesOf(v.getType()); !scan.isCarried(i) && bytes > 0) {
      // What the iteration was given may lie there already: it is a slice of the trail that carried values leave.
      auto given = dyn_cast<BlockArgument>(storageOf(v));
      if (given ? !scan.isCarried(given.getArgNumber()) : !storageOf(v).getDefiningOp<kernel::DispatchOp>())
        return defect(scan.emitOpError() << "yields as a slice of result " << i
                                         << " what the iteration does not write");
      if (failed(arena.expect(places.lookup(storageOf(v)), bytes, contentOf(v), 0,
                              [&, i = i] { return scan.emitOpError() << "yields a slice of result " << i; })))
        return failure();
    }
  return success();
}

/// Gives the next iteration the values that this one carries on.
void EntryVerifier::carryOn(ScanOp scan) {
  SmallVector<std::pair<Content, int64_t>> next; // with its place
  for (Value v : scan.yielded().take_front(scan.getInits().size()))
    next.push_back({contentOf(v), places.lookup(storageOf(v))});
  for (auto [argument, of] : llvm::zip_equal(scan.carried(), next)) {
    define(argument, of.first);
    places[argument] = of.second;
  }
}

/// Returns whether a stacked result consists of slices that are carried too, before or after an iteration.
bool EntryVerifier::inTrail(ScanOp scan, unsigned stack) {
  Value v = storageOf(scan.yielded()[stack]);
  return llvm::any_of(llvm::seq<unsigned>(0, scan.getInits().size()),
                      [&](unsigned i) { return v == scan.carried()[i] || v == storageOf(scan.yielded()[i]); });
}

/// Where stacks hold what is carried, they and the last value overlap: all of them are parts of one tensor, which has a
/// slice more than iterations.
void EntryVerifier::defineTrail(ScanOp scan, unsigned carried, const DenseMap<Value, int64_t> &begins) {
  Value argument = scan.carried()[carried], next = storageOf(scan.yielded()[carried]);
  const int64_t bytes = bytesOf(argument.getType()), trips = scan.getTrips();
  std::optional<int64_t> begin;
  auto stackOffset = [&](unsigned stack) { // of its first byte in the trail
    bool before = storageOf(scan.yielded()[stack]) == argument;
    return before == bool(scan.getReverse()) ? bytes : 0;
  };
  auto stacks =
      llvm::make_filter_range(llvm::seq<unsigned>(scan.getInits().size(), scan.getNumResults()), [&](unsigned i) {
        Value v = storageOf(scan.yielded()[i]);
        return begins.contains(scan.getResult(i)) && (v == argument || v == next);
      });
  for (unsigned stack : stacks)
    begin = begins.lookup(scan.getResult(stack)) - stackOffset(stack);
  if (!begin)
    return;
  Value result = scan.getResult(carried);
  Content trail{result.getAsOpaquePointer(), 1};
  arena.write(*begin, bytes * (trips + 1), trail, scan);
  for (unsigned stack : stacks) {
    define(scan.getResult(stack), trail);
    starts[scan.getResult(stack)] = stackOffset(stack);
  }
  define(result, trail);
  starts[result] = scan.getReverse() ? 0 : trips * bytes;
}

/// Executes the first iterations; in the others launches read and write the same places, a step further.
LogicalResult EntryVerifier::execute(ScanOp scan) {
  constexpr int64_t most = 3; // what an iteration leaves to the next, and what that leaves to its next
  for (auto [i, argument] : llvm::enumerate(scan.getBlock().getArguments())) {
    define(argument, contentOf(scan.getOperand(i)));
    starts[argument] = starts.lookup(storageOf(scan.getOperand(i)));
    places[argument] = places.lookup(storageOf(scan.getOperand(i)));
  }
  DenseMap<Value, int64_t> begins; // of the stacked results
  int64_t trips = scan.getTrips();
  for (int64_t trip = 0; trip < std::min(trips, most); ++trip) {
    if (failed(executeBody(scan, trip)))
      return failure();
    int64_t index = scan.getReverse() ? trips - 1 - trip : trip;
    for (auto [i, v] : llvm::enumerate(scan.yielded())) {
      if (scan.isCarried(i) || bytesOf(v.getType()) == 0)
        continue;
      int64_t begin = places.lookup(storageOf(v)) - index * bytesOf(v.getType());
      if (auto [known, isNew] = begins.try_emplace(scan.getResult(i), begin); !isNew && known->second != begin)
        return defect(scan.emitOpError() << "puts the slices of result " << i
                                         << " at distances that are not their size");
    }
    carryOn(scan);
  }
  for (auto [i, result] : llvm::enumerate(scan.getResults()))
    if (scan.isCarried(i)) {
      define(result, contentOf(scan.carried()[i]));
    } else {
      define(result, {result.getAsOpaquePointer()});
      if (auto begin = begins.find(result); begin != begins.end() && !inTrail(scan, i))
        arena.write(begin->second, bytesOf(result.getType()), contentOf(result), scan);
    }
  for (unsigned i = 0; i < scan.getInits().size(); ++i)
    defineTrail(scan, i, begins);
  return success();
}

/// The sum is the operand's tensor still, as on one rank; that nothing reads the operand's old elements follows from
/// the plan's copies.
LogicalResult EntryVerifier::execute(train::AllReduceOp reduce) {
  auto offset = reduce->getAttrOfType<IntegerAttr>(kOffsetAttr);
  if (!offset)
    return defect(reduce.emitOpError("has no place in the arena"));
  return arena.expect(offset.getInt(), bytesOf(reduce.getX().getType()), contentOf(reduce.getX()), 0,
                      [&] { return reduce.emitOpError() << "sums its operand"; });
}

LogicalResult EntryVerifier::run() {
  auto module = entry->getParentOfType<ModuleOp>();
  DenseMap<Attribute, Value> assigned;
  for (auto variable : module.getOps<train::VariableOp>()) {
    auto offset = variable->getAttrOfType<IntegerAttr>(kOffsetAttr);
    if (!offset)
      return defect(variable.emitError("has no place in the arena"));
    arena.write(offset.getInt(), bytesOf(variable.getType()), {variable.getOperation()}, nullptr);
  }
  module.walk([&](ConstantOp constant) {
    if (auto offset = constant->getAttrOfType<IntegerAttr>(kOffsetAttr))
      arena.write(offset.getInt(), bytesOf(constant.getType()), {constant.getValue().getAsOpaquePointer()}, nullptr);
  });
  Block &block = entry.getFunctionBody().front();
  for (BlockArgument argument : block.getArguments()) {
    auto offset = entry.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), kOffsetAttr);
    if (!offset)
      return defect(entry.emitError() << "gives argument " << argument.getArgNumber() << " no place in the arena");
    define(argument, {argument.getAsOpaquePointer()});
    arena.write(offset.getInt(), bytesOf(argument.getType()), contentOf(argument), nullptr);
  }
  for (Operation &op : block) {
    LogicalResult result = success();
    if (auto read = dyn_cast<train::ReadOp>(op))
      define(read.getValue(), {variables.lookup(read.getVariableAttr()).getOperation()});
    else if (auto assign = dyn_cast<train::AssignOp>(op))
      assigned[assign.getVariableAttr()] = assign.getValue();
    else if (auto dispatch = dyn_cast<kernel::DispatchOp>(op))
      result = execute(dispatch, 0);
    else if (auto scan = dyn_cast<ScanOp>(op))
      result = execute(scan);
    else if (auto reduce = dyn_cast<train::AllReduceOp>(op))
      result = execute(reduce);
    if (failed(result))
      return failure();
  }
  for (auto [i, v] : llvm::enumerate(block.getTerminator()->getOperands())) {
    auto offset = entry.getResultAttrOfType<IntegerAttr>(i, kOffsetAttr);
    if (!offset)
      return defect(entry.emitError() << "gives result " << i << " no place in the arena");
    if (failed(arena.expect(offset.getInt(), bytesOf(v.getType()), contentOf(v), starts.lookup(storageOf(v)),
                            [&, i = i] { return entry.emitError() << "returns result " << i; })))
      return failure();
  }
  for (auto variable : module.getOps<train::VariableOp>()) {
    Value v = assigned.lookup(FlatSymbolRefAttr::get(variable.getSymNameAttr()));
    Content content = v ? contentOf(v) : Content{variable.getOperation()};
    if (failed(arena.expect(variable->getAttrOfType<IntegerAttr>(kOffsetAttr).getInt(), bytesOf(variable.getType()),
                            content, 0, [&] { return variable.emitError() << "has its state for the next entry"; })))
      return failure();
  }
  return success();
}

namespace {
struct VerifyArena : memory::impl::VerifyArenaPassBase<VerifyArena> {
  void runOnOperation() override {
    if (failed(verifyDisjoint(getOperation())))
      return signalPassFailure();
    train::VariableTable variables(getOperation());
    for (auto entry : getOperation().getOps<FunctionOpInterface>())
      if (!entry.isExternal() && (failed(verifyTakesTensors(entry)) || failed(EntryVerifier(entry, variables).run())))
        return signalPassFailure();
  }
};
} // namespace
