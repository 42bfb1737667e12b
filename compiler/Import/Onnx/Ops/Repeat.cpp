//===- Repeat.cpp - builds a scan from a body of the model -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Import/Onnx/Counted.h"
#include "compiler/Import/Onnx/Ops/Control.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::onnx_import;

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

/// Checks that an iteration has no effects but its results.
static void checkEffects(Node &n, ScanOp scan) {
  scan.getBody().walk([&](Operation *inner) {
    if (drawsNumbers(inner))
      n.fail("its body draws random numbers, which would be the same in each iteration",
             "draw them before the node for all iterations, and pass them in");
    if (isa<train::AssignOp>(inner))
      n.fail("its body has a normalisation that updates its running statistics, which an iteration cannot",
             "keep normalisations in their inference form with --mode=as-exported, or write the iterations out");
  });
}

onnx::GraphProto &onnx_import::bodyOf(Node &n, StringRef name) {
  auto *attribute = n.attribute(name, {onnx::AttributeProto::GRAPH});
  if (!attribute || !attribute->has_g())
    n.fail("the graph '" + Twine(name) + "' is missing", "export the model again", name);
  return *attribute->mutable_g();
}

ScanOp onnx_import::repeat(Node &n, onnx::GraphProto &graph, const Repetition &r,
                           llvm::function_ref<std::vector<Entry>(ArrayRef<BlockArgument>)> inputsOf,
                           llvm::function_ref<void(std::vector<Entry> &)> results) {
  // The body is built in a scan without results, whose arguments it reads. Once its results are known, the
  // scan is made anew.
  const size_t numCarried = r.inits.size();
  Draft draft(n.import, ScanOp::create(n.b, n.loc, r.trips, r.backward, r.inits, ValueRange(), r.stacked, TypeRange()));
  SmallVector<Value> yielded;
  {
    OpBuilder::InsertionGuard guard(n.b);
    n.b.setInsertionPointToEnd(&draft.block());
    std::vector<Entry> made = n.import.inlineGraph(graph, n.opset, n.loc, inputsOf(draft.block().getArguments()));
    results(made);
    refuseCounted(n, made);
    for (Entry &entry : made) {
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
      stacks.push_back(ScanOp::stackType(r.trips, v.getType()));
    else if (v.getType() != r.inits[i].getType())
      n.fail("state variable " + Twine(i) + " changes its shape or type from one iteration to the next");
  draft.moveIndependent();
  llvm::SetVector<Value> outside;
  getUsedValuesDefinedAbove((*draft).getBody(), outside);
  for (Value v : yielded)
    if (v.getParentBlock() != &draft.block())
      outside.insert(v);

  n.b.setInsertionPointAfter(*draft);
  auto scan = ScanOp::create(n.b, n.loc, r.trips, r.backward, r.inits, outside.getArrayRef(), r.stacked, stacks);
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
  return scan;
}
