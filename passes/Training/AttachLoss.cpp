//===- AttachLoss.cpp - @forward to train.steps, @eval and @predict ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every entry is a copy of @forward that keeps what it needs; see Passes.td for the IR before and after.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphBuilder.h"
#include "dialects/Support/Diagnostics.h"
#include "dialects/Support/Pattern.h"
#include "dialects/Train/IR/Alternation.h"
#include "dialects/Train/IR/Carried.h"
#include "dialects/Train/IR/Groups.h"
#include "dialects/Train/IR/Names.h"
#include "dialects/Train/IR/VariableTable.h"
#include "passes/Training/Assumptions.h"
#include "passes/Training/EvalForm.h"
#include "passes/Training/LossForms.h"
#include "passes/Training/Metrics.h"
#include "passes/Training/ParameterKinds.h"
#include "passes/Training/Passes.h"
#include "passes/Training/PerSample.h"
#include "passes/Training/SampleLoss.h"
#include "passes/Training/Specs.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include <cmath>

namespace mpc {
#define GEN_PASS_DEF_ATTACHLOSSPASS
#include "passes/Training/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;
using namespace mpc::training;

namespace {

/// The variable that random ops draw from.
constexpr llvm::StringLiteral kRngCounter = "rng.step";

class AttachLossPass : public mpc::impl::AttachLossPassBase<AttachLossPass> {
public:
  using Base::Base;

  void runOnOperation() override {
    forward = getOperation().lookupSymbol<func::FuncOp>("forward");
    if (!forward)
      return; // already attached, or nothing to train
    variables.emplace(forward);
    if (failed(attach()))
      return signalPassFailure();
    forward.erase();
  }

private:
  /// Reports all mistakes that it finds, not only the first.
  LogicalResult attach() {
    StepSpec defaults{"main", loss, parameters, optimizer, scaler};
    SmallVector<StepSpec> specs;
    llvm::StringSet<> names;
    bool ok = true;
    auto require = [&](LogicalResult result) { ok &= succeeded(result); };
    for (const std::string &text : steps) {
      FailureOr<StepSpec> spec = parseStepSpec(forward.getLoc(), text, defaults);
      require(spec);
      if (failed(spec))
        continue;
      if (!names.insert(spec->name).second)
        require(emitErrorWithHint(forward.getLoc(), "two steps are named '" + spec->name + "'",
                                  "give each step its own name"));
      specs.push_back(*spec);
    }
    if (steps.empty())
      specs.push_back(defaults);
    if (accumulate < 1)
      require(emitErrorWithHint(forward.getLoc(), "cannot accumulate " + Twine(int64_t(accumulate)) + " micro-batches",
                                "1 or more"));
    if (!specs.empty() && specs.front().every > 1)
      require(emitErrorWithHint(forward.getLoc(),
                                "the first step '" + specs.front().name +
                                    "' does not run on each batch (every=" + Twine(specs.front().every) + ")",
                                "put a step without every= first: it draws each batch's random numbers"));
    require(readGroups());
    require(checkClipping());
    require(checkNames(specs));
    require(checkStates(specs.size()));
    if (specs.empty())
      return failure();

    OpBuilder at(forward);
    bool losses = true;
    for (auto [i, spec] : llvm::enumerate(specs))
      losses &= succeeded(buildStep(at, spec, i == 0, specs.size() > 1));
    // Without a loss there is nothing to evaluate; the names of what predict returns are checked all the same.
    require(success(losses && succeeded(buildEval(at, specs.front()))));
    require(buildPredict(at, specs.front(), losses));
    if (!ok)
      return failure();
    if (specs.size() > 1)
      forward.walk([&](train::AssignOp assign) {
        if (isBuffer(assign) && !claimed.contains(assign.getVariable()))
          assign.emitWarning() << "no step's loss depends on what updates @"
                               << train::userName(variables->lookup(assign.getVariableAttr()))
                               << ": it keeps its initial value";
      });
    if (!assumed.empty())
      getOperation()->setAttr(kAssumedAttr, at.getStrArrayAttr(llvm::to_vector_of<StringRef>(assumed)));
    return success();
  }

  /// Reads the parameter groups, and checks that each names at least one parameter: one that does not
  /// is a typing error.
  LogicalResult readGroups() {
    if (llvm::any_of(groups, train::namesKinds))
      markParameterKinds(forward, *variables);
    for (const std::string &text : groups) {
      train::GroupAttr group = parseGroup(forward.getLoc(), text);
      if (!group)
        return failure();
      StringRef match = group.getMatch();
      SmallVector<StringRef> parts;
      if (train::namesKinds(match))
        match.split(parts, ','); // each kind has to match on its own
      else
        parts.push_back(match);
      for (StringRef part : parts)
        if (failed(checkMatches(part)))
          return failure();
      groupAttrs.push_back(group);
    }
    return success();
  }

  LogicalResult checkMatches(StringRef pattern) {
    train::GroupPattern group(pattern);
    if (llvm::any_of(getOperation().getOps<train::VariableOp>(), [&](train::VariableOp variable) {
          return variable.getRole() == train::Role::parameter && group.matches(variable);
        }))
      return success();
    const auto *kind = llvm::find_if(train::parameterKinds(), [&](const auto &each) { return each.name == pattern; });
    return emitErrorWithHint(forward.getLoc(), "parameter group '" + pattern + "' matches no parameter",
                             kind == train::parameterKinds().end() ? "`mpc check` lists what is trained"
                                                                   : "the network has no " + kind->doc.str() +
                                                                         "; leave it out, or name them by a regular "
                                                                         "expression");
  }

  /// Checks the bounds of clipping, where 0 leaves a bound out.
  LogicalResult checkClipping() {
    for (auto [name, value] : {std::pair<StringRef, double>("--clip-norm", clipNorm),
                               std::pair<StringRef, double>("--clip-value", clipValue)})
      if (!(value >= 0) || std::isinf(value))
        return emitErrorWithHint(forward.getLoc(), name + " takes a positive number",
                                 "leave the option out to train without clipping");
    return success();
  }

  /// State that the compiler makes is called `step/what` and `parameter/what`, and entries
  /// are called `step` and `step.trace`: the model and the user must not use those names.
  LogicalResult checkNames(ArrayRef<StepSpec> specs) {
    llvm::StringSet<> taken;
    for (train::VariableOp variable : getOperation().getOps<train::VariableOp>())
      taken.insert(variable.getSymName());
    llvm::StringSet<> entries = {"eval", "predict", "forward", "init"};
    for (const StepSpec &spec : specs) {
      StringRef name = spec.name;
      if (entries.contains(name) || taken.contains(name) || name.contains('/') || name.ends_with(train::kTraceSuffix))
        return emitErrorWithHint(forward.getLoc(), "a step cannot be called '" + name + "'",
                                 "choose a name that no entry, no step and no parameter of the model has, without '/'");
      entries.insert(name);
      entries.insert((name + train::kTraceSuffix).str());
    }
    for (train::VariableOp variable : getOperation().getOps<train::VariableOp>()) {
      auto [owner, what] = variable.getSymName().rsplit('/');
      if (!what.empty() && (taken.contains(owner) || entries.contains(owner)))
        return emitErrorWithHint(variable.getLoc(),
                                 "'" + train::userName(variable) + "' is a name for state of '" + owner +
                                     "' that the compiler makes",
                                 "rename the initializer");
    }
    return success();
  }

  /// Each step would compute the next state from that of the step before, on the same batch.
  LogicalResult checkStates(size_t numSteps) {
    for (train::VariableOp variable : getOperation().getOps<train::VariableOp>())
      if (StringAttr output = train::carriedOutput(variable); output && numSteps > 1)
        return emitErrorWithHint(forward.getLoc(),
                                 "the state '" + train::userName(variable) + "' would become '" + output.getValue() +
                                     "' once in each of " + Twine(numSteps) + " steps of one batch",
                                 "train a network with a carried state (--carry) in one step");
    return success();
  }

  bool isBuffer(train::AssignOp assign) const {
    train::VariableOp variable = variables->lookup(assign.getVariableAttr());
    return variable && variable.getRole() == train::Role::buffer;
  }

  /// Returns whether a loss depends on a buffer that `assign` updates; `slice` has all ops that the loss is computed
  /// from. The loss depends on a running statistic through its norm, and on a buffer that the network updates itself
  /// through the old or the new value.
  static bool dependsOnBuffer(const SetVector<Operation *> &slice, train::AssignOp assign) {
    if (auto barrier = assign.getValue().getDefiningOp<graph::BarrierOp>())
      return slice.contains(barrier) || llvm::any_of(slice, [&](Operation *op) {
               auto read = dyn_cast<train::ReadOp>(op);
               return read && read.getVariableAttr() == assign.getVariableAttr();
             });
    return llvm::any_of(normsBehind(assign.getValue()), [&](Operation *norm) { return slice.contains(norm); });
  }

  /// With several steps, each buffer is updated by the first step whose loss depends on it or on the norm that feeds
  /// it.
  void keepOwnBuffers(EntryBuilder &entry, Value loss) {
    BackwardSliceOptions options;
    options.inclusive = true;
    SetVector<Operation *> slice;
    (void)getBackwardSlice(loss, &slice, options);
    for (train::AssignOp assign : llvm::make_early_inc_range(entry.block().getOps<train::AssignOp>())) {
      train::VariableOp variable = variables->lookup(assign.getVariableAttr());
      if (!variable || variable.getRole() != train::Role::buffer)
        continue;
      if (dependsOnBuffer(slice, assign) && claimed.insert(assign.getVariable()).second)
        continue;
      assign.erase();
    }
  }

  FailureOr<ArrayAttr> trainedParameters(StringRef pattern) {
    FailureOr<llvm::Regex> regex = compilePattern(forward.getLoc(), pattern);
    if (failed(regex))
      return failure();
    SmallVector<Attribute> names;
    bool any = false;
    for (train::VariableOp variable : getOperation().getOps<train::VariableOp>()) {
      if (variable.getRole() != train::Role::parameter)
        continue;
      any = true;
      if (regex->match(train::userName(variable)))
        names.push_back(FlatSymbolRefAttr::get(variable.getSymNameAttr()));
    }
    if (!any)
      return emitErrorWithHint(
          forward.getLoc(), "the network has no parameter: there is nothing to train",
          "`mpc check` lists its tensors; --trainable=REGEX trains initializers wherever they stand");
    if (names.empty())
      return emitErrorWithHint(forward.getLoc(), "no parameter matches '" + pattern + "': there is nothing to train",
                               "`mpc check` lists what is trained");
    return ArrayAttr::get(&getContext(), names);
  }

  /// Returns the attribute that a text stands for, or null. Steps share texts, and a mistake in one is reported once.
  template <typename AttrT>
  AttrT parseOnce(llvm::StringMap<AttrT> &parsed, StringRef text, AttrT (*parse)(Location, StringRef)) {
    auto [it, isNew] = parsed.try_emplace(text);
    if (isNew)
      it->second = parse(forward.getLoc(), text);
    return it->second;
  }

  void assume(ArrayRef<std::string> choices) {
    for (const std::string &choice : choices)
      if (!llvm::is_contained(assumed, choice)) // entries may share a loss
        assumed.push_back(choice);
  }

  /// The parts of a loss are numbers of a whole batch, which predict cannot put together from several.
  void leaveOutNumbers(EntryBuilder &entry, SmallVectorImpl<std::pair<std::string, Value>> &returned) {
    auto isNumber = [&](const auto &output) {
      return graph::typeOf(output.second).getRank() == 0 && entry.dependsOnSamples(output.second);
    };
    if (llvm::none_of(returned, isNumber) || llvm::all_of(returned, isNumber))
      return;
    llvm::erase_if(returned, isNumber);
    auto names = llvm::map_range(returned, [](const auto &output) { return output.first; });
    assume("--outputs=" + llvm::join(names, ",") + ": the others are numbers of a whole batch");
  }

  LogicalResult buildStep(OpBuilder &at, const StepSpec &spec, bool first, bool several) {
    EntryBuilder entry(forward);
    FailureOr<Value> lossValue = attachLoss(entry, spec.loss, /*differentiated=*/true);
    FailureOr<ArrayAttr> trained = trainedParameters(spec.parameters);
    train::OptimizerAttr optimizerAttr = parseOnce(optimizerAttrs, spec.optimizer, parseOptimizer);
    train::ScalerAttr scalerAttr = parseOnce(scalerAttrs, spec.scaler, parseScaler);
    if (failed(lossValue) || failed(trained) || !optimizerAttr || !scalerAttr)
      return failure();
    assume(entry.assumptions());
    boundLabels(entry, *lossValue);
    if (several)
      keepOwnBuffers(entry, *lossValue);
    for (graph::BarrierOp barrier : llvm::make_early_inc_range(entry.block().getOps<graph::BarrierOp>())) {
      entry.replace(barrier.getY(), barrier.getX()); // it has served the evaluation form, see toEvalForm
      barrier.erase();
    }
    if (first) {
      advanceRng(entry);
    } else {
      for (train::AssignOp assign : llvm::make_early_inc_range(entry.block().getOps<train::AssignOp>()))
        if (variables->lookup(assign.getVariableAttr()).getRole() != train::Role::buffer)
          assign.erase();
      drawAsFirstStep(entry);
    }
    entry.addResult(*lossValue, "loss", "loss");
    train::StepOp step = entry.finishStep(at, spec.name, *trained, optimizerAttr, scalerAttr);
    if (!groupAttrs.empty())
      step.setGroupsAttr(at.getArrayAttr(groupAttrs));
    if (clipNorm > 0)
      step.setClipNormAttr(at.getF64FloatAttr(clipNorm));
    if (clipValue > 0)
      step.setClipValueAttr(at.getF64FloatAttr(clipValue));
    step.setAccumulate(accumulate);
    train::setBatchesPerRun(step, spec.every);
    ++numSteps;
    return success();
  }

  /// Dropout masks are drawn from @"rng.step", which grows by one with every batch, skipped or not.
  void advanceRng(EntryBuilder &entry) {
    train::VariableOp counter = train::lookupVariable(forward, kRngCounter);
    if (!counter || llvm::any_of(entry.block().getOps<train::AssignOp>(),
                                 [](train::AssignOp assign) { return assign.getVariable() == kRngCounter; }))
      return;
    graph::GraphBuilder b(entry.builder, counter.getLoc());
    Value one = b.splat(counter.getTensorType(), 1), drawn = train::readVariable(b.builder, b.loc, counter);
    train::assignVariable(b.builder, b.loc, counter, b.add(drawn, one));
  }

  /// All steps of a batch draw the same numbers, as one forward pass would: noise of a generator, dropout masks. The
  /// first step has advanced the counter already.
  static void drawAsFirstStep(EntryBuilder &entry) {
    for (train::ReadOp read : llvm::make_early_inc_range(entry.block().getOps<train::ReadOp>())) {
      if (read.getVariable() != kRngCounter)
        continue;
      OpBuilder::InsertionGuard guard(entry.builder);
      entry.builder.setInsertionPointAfter(read);
      graph::GraphBuilder b(entry.builder, read.getLoc());
      Value drawn = b.sub(read.getValue(), b.splat(cast<RankedTensorType>(read.getType()), 1));
      read.getValue().replaceAllUsesExcept(drawn, drawn.getDefiningOp());
    }
  }

  static void boundLabels(EntryBuilder &entry, Value lossValue) {
    Classification classification = findClassification(lossValue);
    if (classification.labels)
      entry.boundLabels(classification.labels, classification.classes, classification.ignored);
  }

  LogicalResult buildEval(OpBuilder &at, const StepSpec &spec) {
    EntryBuilder entry(forward);
    FailureOr<Value> lossValue = attachLoss(entry, spec.loss, /*differentiated=*/false);
    if (failed(lossValue))
      return failure();
    EvalFormCounts counts = toEvalForm(entry);
    for (graph::BatchNormOp norm : counts.withoutStatistics)
      emitWarning(norm.getLoc(), "'graph.batch_norm' op has no running statistics: evaluation normalises by the batch")
              .attachNote(norm.getLoc())
          << "hint: give the norm a running mean and variance that are initializers; without them what is predicted of "
             "a sample depends on the others of its batch";
    numNorms += counts.norms;
    numDropouts += counts.dropouts;
    boundLabels(entry, *lossValue);
    if (std::optional<SampleLoss> split = splitLoss(entry, *lossValue)) {
      entry.addResult(split->losses, "sample_loss", "sample_loss");
      entry.addResult(split->weights, "sample_weight", "sample_weight");
    } else {
      entry.addResult(*lossValue, "loss", "loss");
    }
    FailureOr<ArrayAttr> measured = addMetrics(entry, metrics, spec.loss, *lossValue);
    if (failed(measured))
      return failure();
    if (!measured->empty())
      getOperation()->setAttr(train::kMetricsAttr, *measured);
    entry.finishFunction(at, "eval");
    return success();
  }

  /// Adds what a loss of the network's own classifies by, unless an output holds it in some shape: scores of tokens
  /// [batch, T, C] are rows [batch * T, C] in their loss. Where an output of another value is called `logits`, the
  /// scores are `loss.logits`. Scores that mix samples, as those of contrasts, are no prediction for any of them.
  static void addLogits(Value logits, SmallVectorImpl<std::pair<std::string, Value>> &returned) {
    auto holds = [&](const auto &output) {
      return stripViews(output.second) == stripViews(logits) &&
             graph::elementOf(output.second) == graph::elementOf(logits);
    };
    if (llvm::any_of(returned, holds))
      return;
    bool taken = llvm::any_of(returned, [](const auto &output) { return output.first == "logits"; });
    returned.emplace_back(taken ? "loss.logits" : "logits", logits);
  }

  LogicalResult buildPredict(OpBuilder &at, const StepSpec &spec, bool losses) {
    EntryBuilder entry(forward);
    toEvalForm(entry);
    std::string lossName = lossOutput(entry, spec.loss);
    SmallVector<std::pair<std::string, Value>> returned;
    for (const auto &[name, value] : entry.outputs())
      if (name != lossName)
        returned.emplace_back(name, value);
    if (!lossName.empty())
      if (Value logits = findClassification(entry.output(lossName)).logits;
          logits && (entry.perSample().leads(logits) || llvm::is_contained(outputs, "logits") ||
                     llvm::is_contained(outputs, "loss.logits")))
        addLogits(logits, returned);
    if (losses)
      addLossOutputs(entry, spec.loss, returned);
    if (!outputs.empty()) {
      bool known = true;
      for (const std::string &name : outputs) {
        bool found = llvm::any_of(returned, [&](const auto &output) { return output.first == name; });
        // An output that a state becomes is returned where it is named.
        if (Value carried = entry.output(name); !found && carried && name != lossName) {
          returned.emplace_back(name, carried);
          found = true;
        }
        if (!found)
          known = succeeded(emitErrorWithHint(
              entry.loc, "predict has no output '" + name + "'",
              "it can return " + llvm::join(llvm::map_range(returned, [](const auto &o) { return o.first; }), ", ")));
      }
      if (!known)
        return failure();
      llvm::erase_if(returned, [&](const auto &output) { return !llvm::is_contained(outputs, output.first); });
    }
    if (outputs.empty())
      leaveOutNumbers(entry, returned);
    if (returned.empty())
      return success(); // there is nothing to predict but a loss that has no logits
    for (const auto &[name, value] : returned)
      entry.addResult(value, "output", name);
    entry.finishFunction(at, "predict");
    assume(entry.assumptions());
    return success();
  }

  func::FuncOp forward;
  std::optional<train::VariableTable> variables;
  llvm::StringSet<> claimed;
  SmallVector<std::string> assumed;
  SmallVector<Attribute> groupAttrs;
  llvm::StringMap<train::OptimizerAttr> optimizerAttrs;
  llvm::StringMap<train::ScalerAttr> scalerAttrs;
};

} // namespace
