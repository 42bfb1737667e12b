// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Pipeline/Check.h"
#include "dialects/Support/Diagnostics.h"
#include "dialects/Train/IR/Carried.h"
#include "dialects/Train/IR/Groups.h"
#include "dialects/Train/IR/Names.h"
#include "dialects/Train/IR/Ranges.h"
#include "dialects/Train/IR/Train.h"
#include "passes/Training/Assumptions.h"
#include "passes/Training/LossForms.h"
#include "passes/Training/Specs.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace mpc;

/// Turns an error with its hint and notes into a problem.
static ImportProblem problemOf(Diagnostic &diagnostic) {
  ImportProblem problem;
  problem.node = locationName(diagnostic.getLocation());
  problem.why = diagnostic.str();
  for (Diagnostic &note : diagnostic.getNotes()) {
    std::string text = note.str();
    if (StringRef(text).starts_with("hint: "))
      problem.hint = text.substr(6);
    else
      problem.path.push_back(text);
  }
  if (problem.hint.empty())
    problem.hint = "choose another loss, precision or part of the network to train";
  return problem;
}

/// Returns the line that stands for `count` warnings about a module with stand-ins. They follow from the errors that
/// were reported, because everything that depends on an unsupported node is missing in that module.
static std::string consequences(int64_t count) {
  return count == 1 ? "a warning about the rest of the network follows from these errors, and is left out"
                    : std::to_string(count) +
                          " warnings about the rest of the network follow from these errors, and are left out";
}

/// Emits errors about the names of losses where there is no module in which the training passes could find them.
static void checkLosses(Location loc, const ImportReport &report, const TrainingOptions &options) {
  SmallVector<training::StatedOutput> outputs;
  for (const OutputStatement &output : report.outputs) {
    outputs.push_back({output.name, output.isFloat, std::nullopt});
    if (output.shape)
      outputs.back().shape.emplace(output.shape->begin(), output.shape->end());
  }
  if (outputs.empty())
    return; // nothing is known about the graph
  SmallVector<std::string> losses;
  training::StepSpec defaults;
  defaults.loss = options.loss;
  for (const std::string &text : options.steps)
    if (FailureOr<training::StepSpec> step = training::parseStepSpec(loc, text, defaults); succeeded(step))
      losses.push_back(step->loss);
  if (options.steps.empty())
    losses.push_back(options.loss);
  for (const std::string &loss : losses)
    (void)training::checkLossNames(loc, loss, outputs);
}

static TrainingReport checkWith(MLIRContext &context, StringRef name, const ImportOptions &given,
                                const TrainingOptions &training,
                                function_ref<OwningOpRef<ModuleOp>(const ImportOptions &, ImportReport &)> import) {
  ImportOptions options = given;
  options.keepGoing = true;
  TrainingReport report;
  OwningOpRef<ModuleOp> module;
  {
    ScopedDiagnosticHandler silent(&context, [](Diagnostic &) { return success(); }); // the report has all of them
    module = import(options, report);
  }
  const bool whole = report.ok();
  int64_t numConsequences = 0;
  ScopedDiagnosticHandler collect(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      report.problems.push_back(problemOf(diagnostic));
    else if (diagnostic.getSeverity() == DiagnosticSeverity::Warning && !whole)
      ++numConsequences;
    else if (diagnostic.getSeverity() == DiagnosticSeverity::Warning)
      report.notes.push_back(locationName(diagnostic.getLocation()) + ": " + diagnostic.str());
    return success();
  });
  if (!module) {
    checkLosses(NameLoc::get(StringAttr::get(&context, name)), report, training);
    return report;
  }
  LogicalResult built = buildTraining(*module, training);
  if (numConsequences > 0)
    report.notes.push_back(consequences(numConsequences));
  if (failed(built) || !report.ok())
    return report;
  llvm::append_range(report.assumed, assumedLosses(*module));
  for (auto variable : module->getOps<train::VariableOp>())
    if (StringAttr output = train::carriedOutput(variable))
      for (TensorVerdict &tensor : report.tensors)
        if (tensor.name == train::userName(variable)) {
          tensor.role = train::kStateRole;
          tensor.why = "carried from '" + output.str() + "' of the batch before";
        }
  if (!training.groups.empty())
    report.groups = parameterGroups(*module);
  report.data = dataArrays(*module);
  // The plan for the host finds what the host's lowering refuses; it costs no code generation.
  (void)planForHost(*module, HostOptions());
  return report;
}

TrainingReport mpc::checkTraining(MLIRContext &context, StringRef path, const ImportOptions &options,
                                  const TrainingOptions &training) {
  return checkWith(context, path, options, training, [&](const ImportOptions &own, ImportReport &report) {
    return importOnnx(context, path, own, &report);
  });
}

TrainingReport mpc::checkTrainingBytes(MLIRContext &context, StringRef bytes, StringRef name, StringRef folder,
                                       const ImportOptions &options, const TrainingOptions &training) {
  return checkWith(context, name, options, training, [&](const ImportOptions &own, ImportReport &report) {
    return importOnnxBytes(context, bytes, name, folder, own, &report);
  });
}

OwningOpRef<ModuleOp> mpc::importForTraining(MLIRContext &context, StringRef path, const ImportOptions &given,
                                             const TrainingOptions &training, ImportReport &report) {
  ImportOptions options = given;
  options.keepGoing = true;
  OwningOpRef<ModuleOp> module = importOnnx(context, path, options, &report);
  if (report.ok())
    return module;
  if (module) {
    int64_t numConsequences = 0;
    {
      ScopedDiagnosticHandler errors(&context, [&](Diagnostic &diagnostic) {
        numConsequences += diagnostic.getSeverity() == DiagnosticSeverity::Warning;
        return success(diagnostic.getSeverity() == DiagnosticSeverity::Warning); // the others go on to the user
      });
      (void)buildTraining(*module, training);
    }
    if (numConsequences > 0)
      emitRemark(NameLoc::get(StringAttr::get(&context, path))) << consequences(numConsequences);
  } else {
    checkLosses(NameLoc::get(StringAttr::get(&context, path)), report, training);
  }
  return {};
}

//===-- What is assumed, and which data are read --------------------------------------------===//

std::vector<std::string> mpc::assumedLosses(ModuleOp module) {
  std::vector<std::string> lines;
  if (auto assumed = module->getAttrOfType<ArrayAttr>(training::kAssumedAttr))
    for (auto line : assumed.getAsRange<StringAttr>())
      lines.push_back(line.str());
  return lines;
}

std::vector<std::string> mpc::parameterGroups(ModuleOp module) {
  std::vector<std::string> lines;
  SmallVector<train::StepOp> steps;
  for (auto step : module.getOps<train::StepOp>())
    if (!step.getTrace())
      steps.push_back(step);
  for (train::StepOp step : steps)
    for (const train::GroupMembers &members : train::groupMembers(step)) {
      std::string &line = lines.emplace_back();
      llvm::raw_string_ostream os(line);
      if (steps.size() > 1)
        os << step.getSymName() << ": ";
      if (train::GroupAttr group = members.group) {
        os << "'" << group.getMatch() << "' (lr x " << llvm::format("%g", group.getLr().getValueAsDouble());
        if (FloatAttr decay = group.getWeightDecay())
          os << ", weight_decay " << llvm::format("%g", decay.getValueAsDouble());
        os << "): ";
      } else {
        os << "none: ";
      }
      llvm::interleaveComma(members.parameters, os);
    }
  return lines;
}

/// NumPy's name of an element type.
static std::string numpyName(Type element) {
  unsigned bits = element.getIntOrFloatBitWidth();
  if (isa<FloatType>(element)) // NumPy has no bfloat16, and f32 holds its values
    return "float" + std::to_string(element.isBF16() ? 32 : bits);
  return bits == 1 ? "bool" : (Twine(element.isUnsignedInteger() ? "uint" : "int") + Twine(bits)).str();
}

/// A text such as ", classes 0 to 9, or -100 where a label does not count".
static std::string valuesText(DictionaryAttr attributes, Type element) {
  std::string text;
  if (auto below = attributes.getAs<IntegerAttr>(train::kLabelsBelowAttr))
    text += (", classes 0 to " + Twine(below.getInt() - 1)).str();
  if (auto of = attributes.getAs<DictionaryAttr>(train::kLabelsOfAttr); of && isa<FloatType>(element))
    text += (", probabilities of classes, or for each label the number of a class from 0 to " +
             Twine(of.getAs<DenseI64ArrayAttr>("shape")[of.getAs<IntegerAttr>("axis").getInt()] - 1))
                .str();
  if (auto ignored = attributes.getAs<IntegerAttr>(train::kLabelsIgnoreAttr))
    text += (", or " + Twine(ignored.getInt()) + " where a label does not count").str();
  if (auto below = attributes.getAs<IntegerAttr>(train::kIndicesBelowAttr))
    text += (", indices " + Twine(-below.getInt()) + " to " + Twine(below.getInt() - 1)).str();
  if (auto most = attributes.getAs<IntegerAttr>(train::kLengthsUpToAttr))
    text += (", lengths 0 to " + Twine(most.getInt())).str();
  if (auto of = attributes.getAs<DictionaryAttr>(train::kSequencesAttr))
    text += (", as many classes 0 to " + Twine(of.getAs<IntegerAttr>("classes").getInt() - 1) + " as '" +
             of.getAs<StringAttr>("lengths").getValue() + "' says, without the blank " +
             Twine(of.getAs<IntegerAttr>("blank").getInt()))
                .str();
  return text;
}

std::vector<std::string> mpc::dataArrays(ModuleOp module) {
  std::vector<std::string> lines;
  int64_t batch = 0;
  for (auto step : module.getOps<train::StepOp>()) {
    auto entry = cast<FunctionOpInterface>(step.getOperation());
    for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
      auto type = cast<RankedTensorType>(entry.getArgumentTypes()[i]);
      auto name = entry.getArgAttrOfType<StringAttr>(i, train::kNameAttr);
      bool batched = entry.getArgAttr(i, train::kBatchedAttr) && type.getRank() > 0;
      std::string line;
      llvm::raw_string_ostream os(line);
      os << (name ? name.getValue() : "input") << ' ' << numpyName(type.getElementType()) << " [";
      for (auto [d, extent] : llvm::enumerate(type.getShape())) {
        os << (d == 0 ? "" : ",");
        if (d > 0 || !batched) {
          os << extent;
          continue;
        }
        batch = batch ? batch : extent;
        if (extent != batch)
          os << extent / batch << '*';
        os << "samples";
      }
      os << ']';
      if (DictionaryAttr attributes = entry.getArgAttrDict(i))
        os << valuesText(attributes, type.getElementType());
      if (!llvm::is_contained(lines, line))
        lines.push_back(line);
    }
  }
  return lines;
}
