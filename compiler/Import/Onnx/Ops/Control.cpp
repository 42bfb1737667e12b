//===- Control.cpp - branches and repetition ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Import/Onnx/Import.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::onnx_import;

/// An If whose condition is known at import is replaced by the branch.
static void ifOp(Node &n) {
  if (Entry &known = n.entry(0); !known.constant) {
    if (known.value)
      n.import.needConstants(known.value);
    n.fail("the condition (input 0, '" + printable(n.proto.input(0)) + "') is not known at compile time",
           "compute both branches and choose between them with Where, or make the condition a constant of the model",
           "the condition");
  }
  bool condition = n.constantNumber(0, "the condition") != 0;
  auto *branch = n.attribute(condition ? "then_branch" : "else_branch", {onnx::AttributeProto::GRAPH});
  n.ignore({"then_branch", "else_branch"});
  if (!branch || !branch->has_g())
    n.fail("the branch is missing");
  std::vector<Entry> results = n.import.inlineGraph(*branch->mutable_g(), n.opset, n.loc);
  if (results.size() < n.numOutputs())
    n.fail("the branch has " + Twine(results.size()) + " outputs, the node " + Twine(n.numOutputs()));
  n.adopt(results);
}

namespace {
/// The scan in which a body is built before its results are known. It is erased when it goes out of scope, also where
/// the body cannot be imported: it has no terminator, so it may not stay in the module.
class Draft {
public:
  Draft(Import &import, ScanOp scan) : import(import), scan(scan) {}
  Draft(const Draft &) = delete;
  ~Draft() {
    moveIndependent();
    import.dropAssignments(scan);
    scan.erase();
  }
  ScanOp operator*() { return scan; }
  Block &block() { return scan.getBlock(); }

  /// Moves what does not depend on the arguments before the scan: the import remembers reads and constants that were
  /// first needed here, and gives them to later nodes.
  void moveIndependent() {
    llvm::DenseSet<Value> dependent(llvm::from_range, block().getArguments());
    for (Operation &inner : llvm::make_early_inc_range(block()))
      if (llvm::any_of(inner.getOperands(), [&](Value v) { return dependent.contains(v); }))
        dependent.insert_range(inner.getResults());
      else
        inner.moveBefore(scan);
  }

private:
  Import &import;
  ScanOp scan;
};
} // namespace

/// The directions or axes of a scan's operands or results: one for each, 0 where the attribute is absent.
static Shape oneForEach(Node &n, StringRef name, size_t count) {
  Shape values = n.intsAttribute(name).value_or(Shape(count, 0));
  if (values.size() != count)
    n.fail(Twine(name) + " has " + Twine(values.size()) + " entries for " + Twine(count) + " tensors", "", name);
  return values;
}

/// The directions of a scan's operands or results: 0 is forward, 1 backward.
static Shape directionsOf(Node &n, StringRef name, size_t count) {
  Shape directions = oneForEach(n, name, count);
  for (int64_t direction : directions)
    if (direction != 0 && direction != 1)
      n.fail(Twine(name) + " has " + Twine(direction) + "; a direction is 0 (forward) or 1 (backward)",
             "give 0 or 1 for each tensor", name);
  return directions;
}

/// Checks that an iteration has no effects but its results.
static void checkEffects(Node &n, ScanOp scan) {
  scan.getBody().walk([&](Operation *inner) {
    if (drawsNumbers(inner))
      n.fail("its body draws random numbers, which would be the same in each iteration",
             "draw them before the Scan, and pass them as a scan input");
    if (isa<train::AssignOp>(inner))
      n.fail("its body has a normalisation that updates its running statistics, which an iteration cannot",
             "keep normalisations in their inference form with --mode=as-exported, or write the iterations out");
  });
}

static Value moveAxis(Node &n, Value x, int64_t from, int64_t to) {
  Shape order;
  for (int64_t i = 0; i < typeOf(x).getRank(); ++i)
    if (i != from)
      order.push_back(i);
  order.insert(order.begin() + to, from);
  return from == to ? x : n.transpose(x, order);
}

static Value reversed(Node &n, Value x) {
  Shape starts(typeOf(x).getRank(), 0), strides(starts.size(), 1);
  starts[0] = std::max<int64_t>(shapeOf(x)[0] - 1, 0);
  strides[0] = -1;
  return n.slice(x, starts, shapeOf(x), strides);
}

/// A Scan becomes a graph.scan: the state variables are carried, the scan inputs and outputs are stacked, and what the
/// body takes from the graph around it is invariant.
static void scanOp(Node &n) {
  auto *body = n.attribute("body", {onnx::AttributeProto::GRAPH});
  if (!body || !body->has_g())
    n.fail("the body is missing");
  onnx::GraphProto &graph = *body->mutable_g();
  const int64_t numStacked = n.intAttribute("num_scan_inputs");
  if (numStacked < 1 || numStacked > int64_t(n.numInputs()))
    n.fail("it has " + Twine(n.numInputs()) + " inputs, of which " + Twine(numStacked) + " are scanned",
           "give it one scan input or more", "num_scan_inputs");
  const size_t numCarried = n.numInputs() - size_t(numStacked);
  if (size_t(graph.input_size()) != n.numInputs() || size_t(graph.output_size()) < std::max(numCarried, n.numOutputs()))
    n.fail("the body has " + Twine(graph.input_size()) + " inputs and " + Twine(graph.output_size()) +
           " outputs, the node " + Twine(n.numInputs()) + " and " + Twine(n.numOutputs()));
  const size_t numStacks = size_t(graph.output_size()) - numCarried;
  Shape inputAxes = oneForEach(n, "scan_input_axes", size_t(numStacked)),
        inputDirections = directionsOf(n, "scan_input_directions", size_t(numStacked));
  Shape outputAxes = oneForEach(n, "scan_output_axes", numStacks),
        outputDirections = directionsOf(n, "scan_output_directions", numStacks);
  // Where all tensors are read and written from the last element to the first, so are the iterations.
  auto isBackward = [](int64_t direction) { return direction == 1; };
  const bool backward = llvm::all_of(inputDirections, isBackward) && llvm::all_of(outputDirections, isBackward);

  SmallVector<Value> inits, stacked;
  for (size_t i = 0; i < numCarried; ++i)
    inits.push_back(n.in(i));
  std::optional<int64_t> trips;
  for (size_t i = 0; i < size_t(numStacked); ++i) {
    Value x = n.in(numCarried + i);
    const int64_t axis = n.axis(inputAxes[i], typeOf(x).getRank());
    x = moveAxis(n, x, axis, 0);
    if (trips && shapeOf(x)[0] != *trips)
      n.fail("the scan inputs have " + Twine(*trips) + " and " + Twine(shapeOf(x)[0]) + " elements to scan");
    trips = shapeOf(x)[0];
    stacked.push_back(isBackward(inputDirections[i]) && !backward ? reversed(n, x) : x);
  }

  // The body is built in a scan without results, whose arguments it reads. Once its results are known, the
  // scan is made anew.
  Draft draft(n.import, ScanOp::create(n.b, n.loc, *trips, backward, inits, ValueRange(), stacked, TypeRange()));
  SmallVector<Value> yielded;
  {
    OpBuilder::InsertionGuard guard(n.b);
    n.b.setInsertionPointToEnd(&draft.block());
    std::vector<Entry> arguments;
    for (auto [i, argument] : llvm::enumerate(draft.block().getArguments())) {
      Entry &entry = arguments.emplace_back();
      entry.type = typeOf(argument);
      entry.value = argument;
      entry.fromData = n.entry(i).fromData || i < numCarried;
    }
    std::vector<Entry> results = n.import.inlineGraph(graph, n.opset, n.loc, arguments);
    for (Entry &entry : results) {
      if (entry.poison)
        throw FollowsFailure();
      if (entry.sequence)
        n.fail("its body returns a sequence");
      yielded.push_back(n.import.materialize(entry));
    }
  }
  checkEffects(n, *draft);
  SmallVector<Type> stacks;
  for (auto [i, v] : llvm::enumerate(yielded))
    if (i >= numCarried)
      stacks.push_back(ScanOp::stackType(*trips, v.getType()));
    else if (v.getType() != inits[i].getType())
      n.fail("state variable " + Twine(i) + " changes its shape or type from one iteration to the next");
  draft.moveIndependent();
  llvm::SetVector<Value> outside;
  getUsedValuesDefinedAbove((*draft).getBody(), outside);
  for (Value v : yielded)
    if (v.getParentBlock() != &draft.block())
      outside.insert(v);

  n.b.setInsertionPointAfter(*draft);
  auto scan = ScanOp::create(n.b, n.loc, *trips, backward, inits, outside.getArrayRef(), stacked, stacks);
  Block &from = draft.block(), &to = scan.getBlock();
  for (auto [i, each] : llvm::enumerate(outside)) {
    Value v = each;
    v.replaceUsesWithIf(scan.invariantArguments()[i],
                        [&](OpOperand &use) { return use.getOwner()->getParentOp() == *draft; });
    llvm::replace(yielded, v, Value(scan.invariantArguments()[i]));
  }
  for (auto [i, argument] : llvm::enumerate(from.getArguments())) {
    Value now = i < numCarried ? scan.carried()[i] : scan.slices()[i - numCarried];
    argument.replaceAllUsesWith(now);
    llvm::replace(yielded, Value(argument), now);
  }
  to.getOperations().splice(to.end(), from.getOperations());
  {
    OpBuilder::InsertionGuard guard(n.b);
    n.b.setInsertionPointToEnd(&to);
    ScanYieldOp::create(n.b, n.loc, yielded);
  }
  if (failed(mlir::verify(scan)))
    n.fail("its body has nodes with effects, or repeats other nodes", "write the repeated nodes out");
  for (size_t i = 0; i < n.numOutputs(); ++i) {
    Value v = scan.getResult(unsigned(i));
    if (i >= numCarried) {
      v = isBackward(outputDirections[i - numCarried]) && !backward ? reversed(n, v) : v;
      v = moveAxis(n, v, 0, n.axis(outputAxes[i - numCarried], typeOf(v).getRank()));
    }
    n.out(i, v);
  }
}

OpFamily onnx_import::controlOps() {
  static const OpRow rows[] = {
      {"If", 7, kMaxOpset, 1, kAnyNumber, "", "a condition that is known at compile time", ifOp},
      {"Scan", 9, kMaxOpset, kAnyNumber, kAnyNumber, "", "no Scan in its body, and no dropout or training batch norm",
       scanOp},
  };
  return {"Control", rows};
}
