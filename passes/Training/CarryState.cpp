//===- CarryState.cpp - mpc-carry-state ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Turns inputs of the network into states that its outputs become; see Passes.td for the IR before and after.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphBuilder.h"
#include "dialects/Support/Diagnostics.h"
#include "dialects/Train/IR/Carried.h"
#include "dialects/Train/IR/Names.h"
#include "passes/Training/LossForms.h"
#include "passes/Training/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"

namespace mpc {
#define GEN_PASS_DEF_CARRYSTATEPASS
#include "passes/Training/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

namespace {

static std::string text(Type type) {
  std::string result;
  llvm::raw_string_ostream(result) << type;
  return result;
}

/// What the user wrote: OUTPUT:INPUT, or OUTPUT:INPUT:RESET.
struct Carry {
  std::string output, input, reset;
};

class CarryStatePass : public mpc::impl::CarryStatePassBase<CarryStatePass> {
public:
  using Base::Base;

  void runOnOperation() override {
    forward = getOperation().lookupSymbol<func::FuncOp>("forward");
    if (!forward || carries.empty())
      return;
    const bool counted = countsSamples();
    bool ok = true;
    for (const std::string &text : carries)
      ok &= succeeded(parse(text, [&](const Carry &carry) { return apply(carry); }));
    if (ok && counted && !countsSamples())
      ok = succeeded(emitErrorWithHint(
          forward.getLoc(), "no data input is left whose leading dimension is the batch",
          "the first input of the file gives the batch: export the network with its data before its states"));
    if (!ok)
      signalPassFailure();
  }

private:
  LogicalResult error(const Twine &what, const Twine &hint) {
    return emitErrorWithHint(forward.getLoc(), "--carry: " + what, hint);
  }
  StringRef inputName(unsigned i) {
    auto name = forward.getArgAttrOfType<StringAttr>(i, train::kNameAttr);
    return name ? name.getValue() : StringRef();
  }
  StringRef outputName(unsigned i) {
    auto name = forward.getResultAttrOfType<StringAttr>(i, train::kNameAttr);
    return name ? name.getValue() : StringRef();
  }
  std::optional<unsigned> findInput(StringRef name) {
    for (unsigned i = 0; i < forward.getNumArguments(); ++i)
      if (inputName(i) == name)
        return i;
    return std::nullopt;
  }
  std::optional<unsigned> findOutput(StringRef name) {
    for (unsigned i = 0; i < forward.getNumResults(); ++i)
      if (outputName(i) == name)
        return i;
    return std::nullopt;
  }
  bool countsSamples() { return batchSize().has_value(); }
  std::optional<int64_t> batchSize() {
    for (unsigned i = 0; i < forward.getNumArguments(); ++i)
      if (forward.getArgAttr(i, train::kBatchedAttr))
        return graph::shapeOf(forward.getArgument(i))[0];
    return std::nullopt;
  }
  /// Splits the text; names may contain colons, as those of TensorFlow do.
  LogicalResult parse(StringRef text, function_ref<LogicalResult(const Carry &)> then) {
    auto [output, rest] = training::splitNames(text, [&](StringRef name) { return findOutput(name).has_value(); });
    auto isInput = [&](StringRef name) { return findInput(name) || taken.contains(name); };
    StringRef input = rest, reset;
    if (!isInput(rest))
      std::tie(input, reset) = training::splitNames(rest, isInput);
    if (output.empty() || input.empty() || rest.ends_with(":"))
      return error("'" + text + "' is not OUTPUT:INPUT", "write for example --carry=hn:h0");
    return then({output.str(), input.str(), reset.str()});
  }
  LogicalResult noInput(StringRef name);
  LogicalResult apply(const Carry &carry);
  FailureOr<Value> resettable(graph::GraphBuilder &b, Value state, const Carry &carry);
  std::string freeSymbol(StringRef name);

  func::FuncOp forward;
  llvm::StringMap<std::string> taken; // states so far, and the outputs that they become
};

/// Says why an input cannot be found.
LogicalResult CarryStatePass::noInput(StringRef name) {
  if (auto it = taken.find(name); it != taken.end())
    return error("the input '" + name + "' is carried twice: from '" + it->second + "' and once more",
                 "give each input one output");
  for (auto variable : getOperation().getOps<train::VariableOp>())
    if (train::userName(variable) == name)
      return error("'" + name + "' is a " + train::stringifyRole(variable.getRole()) + " of the network, no data input",
                   "name an input that the file gives no value; --params=REGEX says which inputs are parameters");
  SmallVector<std::string> floats;
  for (unsigned i = 0; i < forward.getNumArguments(); ++i)
    if (graph::isFloat(forward.getArgument(i)))
      floats.push_back(("'" + inputName(i) + "'").str());
  return error("the network has no input '" + name + "'",
               floats.empty() ? "it has no float input" : "its float inputs are " + llvm::join(floats, ", "));
}

/// Returns a name that no symbol has and that later stages do not need.
std::string CarryStatePass::freeSymbol(StringRef name) {
  StringRef reserved[] = {"forward", "main", "eval", "predict", "init", "rng.seed", "rng.step", "__metadata__"};
  std::string symbol = name.str();
  for (int i = 0; llvm::is_contained(reserved, symbol) || getOperation().lookupSymbol(symbol); ++i)
    symbol = (name + "_" + Twine(i)).str();
  return symbol;
}

/// Adds a data input that says of each sample whether its state is zero before this step, and returns the state after
/// that.
FailureOr<Value> CarryStatePass::resettable(graph::GraphBuilder &b, Value state, const Carry &carry) {
  std::optional<int64_t> batch = batchSize();
  ArrayRef<int64_t> shape = graph::shapeOf(state);
  if (!batch || llvm::count(shape, *batch) != 1)
    return error("which dimension of '" + carry.input + "' counts the samples is not certain, so '" + carry.reset +
                     "' cannot reset them",
                 "choose a batch that no other dimension of the state equals");
  auto type = RankedTensorType::get({*batch}, b.builder.getI1Type());
  Value flags;
  if (std::optional<unsigned> known = findInput(carry.reset)) {
    flags = forward.getArgument(*known);
    if (flags.getType() != type)
      return error("'" + carry.reset + "' is an input of the network that is no truth value for each sample",
                   "name an array that the network does not read, or one that resets another state");
  } else {
    StringAttr name = b.builder.getStringAttr(carry.reset);
    NamedAttrList attributes;
    attributes.set(train::kNameAttr, name);
    attributes.set(train::kBatchedAttr, b.builder.getUnitAttr());
    unsigned i = forward.getNumArguments();
    if (failed(forward.insertArgument(i, type, attributes.getDictionary(&getContext()), NameLoc::get(name))))
      return failure();
    flags = forward.getArgument(i);
  }
  SmallVector<int64_t> spread(shape.size(), 1);
  spread[llvm::find(shape, *batch) - shape.begin()] = *batch;
  return b.select(b.reshape(flags, spread), 0.0, state);
}

LogicalResult CarryStatePass::apply(const Carry &carry) {
  std::optional<unsigned> input = findInput(carry.input), output = findOutput(carry.output);
  if (!output) {
    SmallVector<std::string> names;
    for (unsigned i = 0; i < forward.getNumResults(); ++i)
      names.push_back(("'" + outputName(i) + "'").str());
    return error("the network has no output '" + carry.output + "'", "its outputs are " + llvm::join(names, ", "));
  }
  if (!input)
    return noInput(carry.input);
  BlockArgument argument = forward.getArgument(*input);
  Operation *terminator = forward.getBody().front().getTerminator();
  Value next = terminator->getOperand(*output);
  if (!graph::isFloat(argument))
    return error("the input '" + carry.input + "' is " + text(argument.getType()) + ", and a state is a float tensor",
                 "carry a float input");
  if (next.getType() != argument.getType())
    return error("the output '" + carry.output + "' is " + text(next.getType()) + ", but the input '" + carry.input +
                     "' is " + text(argument.getType()),
                 "a state has one shape and one type; where only the batch differs, export both with the batch as a "
                 "named dimension");

  OpBuilder at(forward);
  auto loc = NameLoc::get(at.getStringAttr(carry.input));
  std::string symbol = freeSymbol(carry.input);
  auto variable =
      train::VariableOp::create(at, loc, symbol, train::Role::buffer, graph::typeOf(argument),
                                train::FillAttr::get(&getContext(), 0), FlatSymbolRefAttr(), FlatSymbolRefAttr());
  variable->setAttr(train::kCarriedAttr, at.getStringAttr(carry.output));
  if (symbol != carry.input)
    variable->setAttr(train::kNameAttr, at.getStringAttr(carry.input));
  at.setInsertionPointToStart(&forward.getBody().front());
  Value state = train::readVariable(at, loc, variable);
  if (!carry.reset.empty()) {
    graph::GraphBuilder b(at, loc);
    FailureOr<Value> reset = resettable(b, state, carry);
    if (failed(reset))
      return failure();
    state = *reset;
  }
  argument.replaceAllUsesWith(state);
  at.setInsertionPoint(terminator);
  train::assignVariable(at, terminator->getLoc(), variable, terminator->getOperand(*output));
  taken[carry.input] = carry.output;
  ++numStates;
  return forward.eraseArgument(*input);
}

} // namespace
