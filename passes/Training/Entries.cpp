// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Training/Entries.h"
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Train/IR/Carried.h"
#include "dialects/Train/IR/Ranges.h"
#include "passes/Training/PerSample.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/StringSet.h"
#include <algorithm>

using namespace mlir;
using namespace mpc;
using namespace mpc::training;

Value training::stripViews(Value x) {
  while (Operation *op = x.getDefiningOp()) {
    if (!isOfKind(op, LoopKind::View) && !isa<graph::CastOp>(op))
      break;
    x = op->getOperand(0);
  }
  return x;
}

EntryBuilder::EntryBuilder(func::FuncOp forward) : loc(forward.getLoc()), builder(forward.getContext()) {
  IRMapping mapping;
  forward.getBody().cloneInto(&region, mapping);
  Operation *terminator = region.front().getTerminator();
  for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
    auto name = forward.getResultAttrOfType<StringAttr>(i, train::kNameAttr);
    networkOutputs.emplace_back(name ? name.str() : "output" + std::to_string(i), value);
    if (forward.getResultAttr(i, train::kBatchedAttr))
      statedSamples.insert(value);
  }
  terminator->erase();
  llvm::StringSet<> carried; // outputs
  for (auto variable : forward->getParentOfType<ModuleOp>().getOps<train::VariableOp>())
    if (StringAttr output = train::carriedOutput(variable)) {
      carriedStates.insert(FlatSymbolRefAttr::get(variable.getSymNameAttr()));
      carried.insert(output.getValue());
    }
  auto firstCarried = std::stable_partition(networkOutputs.begin(), networkOutputs.end(),
                                            [&](const auto &output) { return !carried.contains(output.first); });
  numCarried = size_t(networkOutputs.end() - firstCarried);
  for (unsigned i = 0; i < forward.getNumArguments(); ++i) {
    NamedAttrList attributes(forward.getArgAttrDict(i));
    if (!attributes.get(train::kNameAttr))
      attributes.set(train::kNameAttr, builder.getStringAttr("input" + Twine(i)));
    argumentAttributes.push_back(std::move(attributes));
  }
  builder.setInsertionPointToEnd(&region.front());
}

Value EntryBuilder::output(StringRef name) const {
  for (const auto &[outputName, value] : networkOutputs)
    if (outputName == name)
      return value;
  return {};
}

Value EntryBuilder::argument(StringRef name) {
  for (BlockArgument argument : block().getArguments())
    if (argumentName(argument) == name)
      return argument;
  return {};
}

void EntryBuilder::replace(Value from, Value to) {
  from.replaceAllUsesWith(to);
  for (auto &[name, value] : networkOutputs)
    if (value == from)
      value = to;
}

StringRef EntryBuilder::argumentName(Value v) const {
  auto argument = dyn_cast<BlockArgument>(v);
  if (!argument)
    return "";
  return cast<StringAttr>(argumentAttributes[argument.getArgNumber()].get(train::kNameAttr)).getValue();
}

Value EntryBuilder::addArgument(StringRef name, RankedTensorType type, bool batched) {
  StringAttr nameAttr = builder.getStringAttr(name);
  NamedAttrList attributes;
  attributes.set(train::kNameAttr, nameAttr);
  if (batched)
    attributes.set(train::kBatchedAttr, builder.getUnitAttr());
  argumentAttributes.push_back(std::move(attributes));
  return block().addArgument(type, NameLoc::get(nameAttr));
}

void EntryBuilder::boundLabels(Value labels, int64_t classes, std::optional<int64_t> ignored) {
  auto argument = dyn_cast<BlockArgument>(stripViews(labels));
  if (!argument || !isa<IntegerType>(graph::elementOf(argument)))
    return;
  train::boundLabels(argumentAttributes[argument.getArgNumber()], builder.getContext(), classes, ignored);
}

void EntryBuilder::describeLabels(Value labels, const LabelsOf &of) {
  NamedAttrList &attributes = argumentAttributes[cast<BlockArgument>(labels).getArgNumber()];
  if (attributes.get(train::kLabelsOfAttr))
    return; // the first of several losses of one step's network decides
  NamedAttrList description;
  description.set("name", builder.getStringAttr(of.scores));
  description.set("shape", builder.getDenseI64ArrayAttr(of.shape));
  description.set("axis", builder.getI64IntegerAttr(of.axis));
  if (of.assumed)
    description.set("assumed", builder.getUnitAttr());
  attributes.set(train::kLabelsOfAttr, description.getDictionary(builder.getContext()));
}

void EntryBuilder::boundLengths(Value lengths, int64_t most) {
  train::boundLengths(argumentAttributes[cast<BlockArgument>(lengths).getArgNumber()], builder.getContext(), most);
}

void EntryBuilder::describeSequences(Value targets, const SequencesOf &of) {
  NamedAttrList description;
  description.set("lengths", builder.getStringAttr(of.lengths));
  description.set("blank", builder.getI64IntegerAttr(of.blank));
  description.set("classes", builder.getI64IntegerAttr(of.classes));
  description.set("frames", builder.getI64IntegerAttr(of.frames));
  if (!of.inputLengths.empty())
    description.set("input_lengths", builder.getStringAttr(of.inputLengths));
  if (of.zeroInfinity)
    description.set("zero_infinity", builder.getUnitAttr());
  argumentAttributes[cast<BlockArgument>(targets).getArgNumber()].set(train::kSequencesAttr,
                                                                      description.getDictionary(builder.getContext()));
}

std::optional<int64_t> EntryBuilder::batchSize() {
  for (BlockArgument argument : region.getArguments())
    if (argumentAttributes[argument.getArgNumber()].get(train::kBatchedAttr) && graph::typeOf(argument).getRank() > 0)
      return graph::shapeOf(argument)[0];
  return std::nullopt;
}

void EntryBuilder::addResult(Value v, StringRef role, StringRef name) {
  NamedAttrList attributes;
  attributes.set(train::kRoleAttr, builder.getStringAttr(role));
  if (!name.empty())
    attributes.set(train::kNameAttr, builder.getStringAttr(name));
  results.push_back({v, attributes.getDictionary(builder.getContext())});
}

bool EntryBuilder::hasResult(StringRef name) const {
  return llvm::any_of(results, [&](const EntryResult &result) {
    auto attr = result.attributes.getAs<StringAttr>(train::kNameAttr);
    return attr && attr.getValue() == name;
  });
}

PerSample EntryBuilder::perSample() {
  return PerSample(
      block(), batchSize().value_or(0),
      [&](BlockArgument argument) {
        return bool(argumentAttributes[argument.getArgNumber()].get(train::kBatchedAttr));
      },
      [&](Value argument) -> std::optional<int64_t> {
        const NamedAttrList &attributes = argumentAttributes[cast<BlockArgument>(argument).getArgNumber()];
        if (auto below = dyn_cast_or_null<IntegerAttr>(attributes.get(train::kLabelsBelowAttr));
            below && !attributes.get(train::kLabelsIgnoreAttr))
          return below.getInt();
        if (auto upTo = dyn_cast_or_null<IntegerAttr>(attributes.get(train::kLengthsUpToAttr)))
          return upTo.getInt() + 1;
        if (auto sequences = dyn_cast_or_null<DictionaryAttr>(attributes.get(train::kSequencesAttr)))
          return sequences.getAs<IntegerAttr>("classes").getInt();
        return std::nullopt;
      });
}

bool EntryBuilder::countsSamples(Value v) { return statedSamples.contains(v) || perSample().leads(v); }

/// Returns whether a value is computed from a carried state, which other samples decided in earlier batches.
bool EntryBuilder::dependsOnState(Value v) const {
  if (carriedStates.empty())
    return false;
  BackwardSliceOptions options;
  options.inclusive = true;
  SetVector<Operation *> slice;
  (void)getBackwardSlice(v, &slice, options);
  return llvm::any_of(slice, [&](Operation *op) {
    auto read = dyn_cast<train::ReadOp>(op);
    return read && carries(read.getVariableAttr());
  });
}

bool EntryBuilder::dependsOnSamples(Value v) { return !perSample().fixed(v) || dependsOnState(v); }

std::optional<int64_t> EntryBuilder::samplesDim(Value v) { return perSample().dim(v); }

void EntryBuilder::markSamples() {
  PerSample samples = perSample();
  for (EntryResult &result : results) {
    NamedAttrList attributes(result.attributes);
    if (samples.leads(result.value)) {
      attributes.set(train::kBatchedAttr, builder.getUnitAttr());
    } else if (samples.fixed(result.value) && !dependsOnState(result.value)) {
      attributes.set(train::kFixedAttr, builder.getUnitAttr());
    } else if (statedSamples.contains(result.value)) {
      attributes.set(train::kBatchedAttr, builder.getUnitAttr());
      auto name = dyn_cast_or_null<StringAttr>(attributes.get(train::kNameAttr));
      assume("output '" + (name ? name.str() : std::string()) +
             "' has a row for each sample: the file calls its first dimension the batch, and the compiler cannot see "
             "whether "
             "one sample changes the row of another");
    }
    result.attributes = attributes.getDictionary(builder.getContext());
  }
}

void EntryBuilder::prune() {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block())))
    if (isOpTriviallyDead(&op))
      op.erase();
  for (unsigned i = block().getNumArguments(); i-- > 0;)
    if (block().getArgument(i).use_empty() && !llvm::is_contained(kept, block().getArgument(i))) {
      block().eraseArgument(i);
      argumentAttributes.erase(argumentAttributes.begin() + i);
    }
}

FunctionType EntryBuilder::functionType() {
  SmallVector<Type> types;
  for (const EntryResult &result : results)
    types.push_back(result.value.getType());
  return builder.getFunctionType(block().getArgumentTypes(), types);
}

/// Makes the attribute dictionaries as the function interface wants them.
static ArrayAttr dictionaries(MLIRContext *context, ArrayRef<NamedAttrList> lists) {
  SmallVector<Attribute> all;
  for (const NamedAttrList &list : lists)
    all.push_back(list.getDictionary(context));
  return ArrayAttr::get(context, all);
}
static ArrayAttr dictionaries(MLIRContext *context, ArrayRef<EntryResult> results) {
  SmallVector<Attribute> all;
  for (const EntryResult &result : results)
    all.push_back(result.attributes);
  return ArrayAttr::get(context, all);
}
static SmallVector<Value> values(ArrayRef<EntryResult> results) {
  return llvm::map_to_vector(results, [](const EntryResult &result) { return result.value; });
}

func::FuncOp EntryBuilder::finishFunction(OpBuilder &at, StringRef name) {
  markSamples();
  func::ReturnOp::create(builder, loc, values(results));
  prune();
  auto function = func::FuncOp::create(at, loc, name, functionType());
  function.setArgAttrsAttr(dictionaries(at.getContext(), argumentAttributes));
  function.setResAttrsAttr(dictionaries(at.getContext(), results));
  function.getBody().takeBody(region);
  return function;
}

train::StepOp EntryBuilder::finishStep(OpBuilder &at, StringRef name, ArrayAttr parameters,
                                       train::OptimizerAttr optimizer, train::ScalerAttr scaler) {
  train::YieldOp::create(builder, loc, values(results));
  prune();
  auto step = train::StepOp::create(at, loc, name, functionType(), dictionaries(at.getContext(), argumentAttributes),
                                    dictionaries(at.getContext(), results), parameters, optimizer, scaler,
                                    /*groups=*/ArrayAttr(), /*clip_norm=*/FloatAttr(), /*clip_value=*/FloatAttr());
  step.getBody().takeBody(region);
  return step;
}
