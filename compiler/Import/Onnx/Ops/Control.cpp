//===- Control.cpp - branches, and the rows of repetition ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Import/Onnx/Ops/Control.h"
#include "compiler/Import/Onnx/Counted.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::onnx_import;

/// Keeps the gradient of a branch that is not chosen away from the values that it reads. That gradient is zero, but a
/// product with a derivative that is infinite or NaN there (log of 0) would make it NaN. So a float x that the branch
/// reads becomes select(condition, x, stop_gradient(x)), which is x, and whose gradient is chosen, not multiplied. Once
/// the gradients are built both operands are x, and the select folds away.
static void guardGradients(Node &n, ArrayRef<Operation *> branch, Value condition, bool isThen) {
  llvm::DenseSet<Operation *> own;
  Operation *first = nullptr;
  for (Operation *op : branch)
    if (!isa<train::ReadOp, ConstantOp>(op)) {
      own.insert(op);
      first = first ? first : op;
    }
  // The import remembers reads and constants, and gives them to nodes behind the branch.
  for (Operation *op : branch)
    if (first && !own.contains(op))
      op->moveBefore(first);
  llvm::DenseMap<Value, Value> guarded;
  for (Operation *op : branch)
    for (OpOperand &operand : op->getOpOperands()) {
      Value x = operand.get();
      Operation *maker = x.getDefiningOp();
      if (!isFloat(x) || (maker && (own.contains(maker) || isa<ConstantOp>(maker))))
        continue;
      Value &safe = guarded[x];
      if (!safe) {
        OpBuilder::InsertionGuard guard(n.b);
        n.b.setInsertionPoint(first);
        Value stopped = n.unary<StopGradientOp>(x);
        safe = isThen ? n.select(condition, x, stopped) : n.select(condition, stopped, x);
      }
      operand.set(safe);
    }
}

/// An If whose condition is known only when the program runs: both branches are computed, and the condition chooses
/// between their results.
static void choose(Node &n) {
  // Where the branches cannot stand beside each other, a condition that the user gives still chooses one.
  auto refuse = [&](const Twine &why, const Twine &hint) {
    n.import.needConstants(n.entry(0).value);
    n.limit("the condition (input 0, '" + printable(n.proto.input(0)) + "') is not known at compile time, and " + why,
            hint, "the condition");
  };
  if (!n.element(0).isInteger(1) || n.type(0).getNumElements() != 1)
    n.fail("the condition (input 0) must be one truth value", "reduce it to one (ReduceMax), or use Where",
           "the condition");
  Value condition = n.reshape(n.in(0), {});
  SmallVector<Value> results[2];
  for (bool isThen : {true, false}) {
    const StringRef name = isThen ? "then_branch" : "else_branch";
    Block *block = n.b.getInsertionBlock();
    Operation *last = block->empty() ? nullptr : &block->back();
    std::vector<Entry> made = n.import.inlineGraph(bodyOf(n, name), n.opset, n.loc);
    refuseCounted(n, made);
    if (made.size() < n.numOutputs())
      n.fail(Twine(name) + " has " + Twine(made.size()) + " outputs, the node " + Twine(n.numOutputs()));
    for (Entry &entry : llvm::MutableArrayRef(made).take_front(n.numOutputs())) {
      if (entry.poison)
        throw FollowsFailure();
      if (entry.sequence)
        refuse("a branch returns a sequence", "make the condition a constant of the model");
      results[isThen].push_back(n.import.materialize(entry));
    }
    SmallVector<Operation *> branch;
    for (Operation &op : llvm::make_range(last ? std::next(last->getIterator()) : block->begin(), block->end()))
      branch.push_back(&op);
    if (llvm::any_of(branch, llvm::IsaPred<train::AssignOp>))
      refuse("a branch updates a buffer, which both branches would do",
             "keep normalisations in their inference form with --mode=as-exported, or take them out of the branch");
    if (!n.import.options.forwardOnly)
      guardGradients(n, branch, condition, isThen);
  }
  for (auto [i, pair] : llvm::enumerate(llvm::zip(results[true], results[false]))) {
    auto [yes, no] = pair;
    if (yes.getType() != no.getType()) {
      std::string text;
      llvm::raw_string_ostream(text) << yes.getType() << " and " << no.getType();
      refuse("the branches make values of different types for output " + Twine(i) + ", " + text,
             "give both branches results of one shape and type, or make the condition a constant of the model");
    }
    n.out(i, n.select(condition, yes, no));
  }
  n.import.note("both branches are computed, and the condition chooses between their results", n.loc);
}

/// An If whose condition is known at import is replaced by the branch.
static void ifOp(Node &n) {
  n.ignore({"then_branch", "else_branch"});
  if (!n.entry(0).constant)
    return choose(n);
  const bool condition = n.constantNumber(0, "the condition") != 0;
  std::vector<Entry> results =
      n.import.inlineGraph(bodyOf(n, condition ? "then_branch" : "else_branch"), n.opset, n.loc);
  if (results.size() < n.numOutputs())
    n.fail("the branch has " + Twine(results.size()) + " outputs, the node " + Twine(n.numOutputs()));
  n.adopt(results);
}

OpFamily onnx_import::controlOps() {
  static const OpRow rows[] = {
      {"If", 7, kMaxOpset, 1, kAnyNumber, "",
       "where the condition is not known at compile time, both branches are computed; their results have the same "
       "types, "
       "are no sequences, and come from nodes that update no buffer",
       ifOp},
      {"Loop", 1, kMaxOpset, kAnyNumber, kAnyNumber, "",
       "a number of iterations that is known at compile time; no random numbers and no training batch norm in its body",
       loopOp},
      {"Scan", 9, kMaxOpset, kAnyNumber, kAnyNumber, "", "no Scan in its body, and no dropout or training batch norm",
       scanOp},
  };
  return {"Control", rows};
}
