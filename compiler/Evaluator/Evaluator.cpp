// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Evaluator/Evaluator.h"
#include "dialects/Kernel/IR/Kernel.h"
#include "dialects/Support/Diagnostics.h"
#include "dialects/Train/IR/Train.h"

using namespace mlir;
using namespace mpc;

//===-- One op, one block ---------------------------------------------------------===//

LogicalResult Evaluator::evaluateOp(Operation *op, ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results,
                                    EvalMode mode) {
  auto evaluable = dyn_cast<EvaluableOpInterface>(op);
  if (!evaluable)
    return emitErrorWithHint(op->getLoc(), "'" + op->getName().getStringRef() + "' has no evaluator model",
                             "add one in compiler/Evaluator/Ops");
  assert(operands.size() == op->getNumOperands() && "one tensor for each operand");
  results.clear();
  for (Type type : op->getResultTypes())
    results.emplace_back(cast<RankedTensorType>(type));
  Evaluation evaluation{operands, results, mode};
  if (failed(evaluable.evaluate(evaluation)))
    return failure();
  for (HostTensor &result : results)
    if (mode == EvalMode::Rounded || !isa<FloatType>(result.element))
      result.round();
  return success();
}

namespace {
/// The values of a block while it runs; each is dropped after its last use.
class Frame {
public:
  Frame(Block &block, ArrayRef<HostTensor> arguments) {
    for (auto [argument, tensor] : llvm::zip_equal(block.getArguments(), arguments))
      define(argument, tensor);
  }
  void define(Value v, HostTensor tensor) {
    if (!v.use_empty())
      live[v] = {std::move(tensor), unsigned(std::distance(v.use_begin(), v.use_end()))};
  }
  SmallVector<HostTensor> take(OperandRange operands) {
    SmallVector<HostTensor> tensors;
    for (Value v : operands) {
      auto entry = live.find(v);
      assert(entry != live.end() && "operands are computed before");
      if (--entry->second.uses == 0) {
        tensors.push_back(std::move(entry->second.tensor));
        live.erase(entry);
      } else {
        tensors.push_back(entry->second.tensor);
      }
    }
    return tensors;
  }

private:
  struct Entry {
    HostTensor tensor;
    unsigned uses;
  };
  DenseMap<Value, Entry> live;
};
} // namespace

template <typename RunOp>
static LogicalResult runBlock(Block &block, ArrayRef<HostTensor> arguments, SmallVectorImpl<HostTensor> &results,
                              RunOp &&runOp) {
  Frame frame(block, arguments);
  for (Operation &op : block) {
    SmallVector<HostTensor> operands = frame.take(op.getOperands());
    if (op.hasTrait<OpTrait::IsTerminator>()) {
      results.assign(std::make_move_iterator(operands.begin()), std::make_move_iterator(operands.end()));
      return success();
    }
    SmallVector<HostTensor> values;
    if (failed(runOp(&op, operands, values)))
      return failure();
    for (auto [result, value] : llvm::zip_equal(op.getResults(), values))
      frame.define(result, std::move(value));
  }
  llvm_unreachable("blocks have terminators");
}

LogicalResult Evaluator::evaluateBlock(Block &block, ArrayRef<HostTensor> arguments,
                                       SmallVectorImpl<HostTensor> &results, EvalMode mode) {
  return runBlock(block, arguments, results, [&](Operation *op, ArrayRef<HostTensor> operands, auto &values) {
    return evaluateOp(op, operands, values, mode);
  });
}

//===-- Entries and their state -----------------------------------------------------===//

Evaluator::Evaluator(ModuleOp module, EvalMode mode) : module(module), mode(mode) {
  for (auto variable : module.getOps<train::VariableOp>()) {
    FailureOr<HostTensor> value = initialValue(variable, mode);
    if (succeeded(value))
      variables[variable.getSymName()] = std::move(*value);
  }
}

HostTensor &Evaluator::variable(StringRef name) {
  auto entry = variables.find(name);
  assert(entry != variables.end() && "the variable exists and has an initial value");
  return entry->second;
}

LogicalResult Evaluator::runOp(Operation *op, ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  if (auto read = dyn_cast<train::ReadOp>(op)) {
    auto entry = variables.find(read.getVariable());
    if (entry == variables.end())
      return op->emitError("variable has no value that the evaluator knows");
    results.push_back(entry->second);
  } else if (auto assign = dyn_cast<train::AssignOp>(op)) {
    if (!assigned.try_emplace(assign.getVariable(), operands[0]).second)
      return op->emitError("variable is assigned twice");
  } else if (auto update = dyn_cast<train::UpdateOp>(op)) {
    updates[update.getParameter()] = operands[0];
  } else if (isa<train::SeedOp>(op)) {
    results.emplace_back(cast<RankedTensorType>(op->getResult(0).getType()));
    std::fill(results[0].values.begin(), results[0].values.end(), 1.0);
  } else if (isa<train::AllReduceOp>(op)) { // there is one rank
    results.push_back(operands[0]);
  } else {
    return evaluateOp(op, operands, results, mode);
  }
  return success();
}

LogicalResult Evaluator::run(StringRef entry, ArrayRef<HostTensor> inputs, SmallVectorImpl<HostTensor> &results) {
  auto function = dyn_cast_or_null<FunctionOpInterface>(SymbolTable::lookupSymbolIn(module, entry));
  if (!function || function.isExternal())
    return module.emitError("no entry @") << entry;
  if (inputs.size() != function.getNumArguments())
    return function->emitError("entry @")
           << entry << " takes " << function.getNumArguments() << " inputs, not " << inputs.size();
  for (auto [i, input] : llvm::enumerate(inputs))
    if (input.type() != function.getArgument(i).getType())
      return function->emitError("entry @") << entry << ": input " << i << " has type " << input.type() << ", not "
                                            << function.getArgument(i).getType();

  assigned.clear();
  updates.clear();
  auto runOne = [&](Operation *op, ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &values) {
    if (failed(runOp(op, operands, values)))
      return failure();
    if (observer)
      observer(op, operands, values);
    return success();
  };
  if (failed(runBlock(function.getFunctionBody().front(), inputs, results, runOne)))
    return failure();
  for (auto &value : assigned)
    variables[value.getKey()] = std::move(value.getValue());
  assigned.clear();
  return success();
}
