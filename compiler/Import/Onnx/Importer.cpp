//===- Importer.cpp - the entry points and their diagnostics --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Import/Onnx/Importer.h"
#include "compiler/Import/Onnx/Import.h"
#include "dialects/Support/Diagnostics.h"
#include "dialects/Support/InputFile.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Regex.h"
#include <climits>

using namespace mlir;
using namespace mpc;
using namespace mpc::onnx_import;

static void addHints(ImportReport &report);

static void stateOutputs(const onnx::GraphProto &graph, ImportReport &report) {
  for (const auto &output : graph.output()) {
    OutputStatement &stated = report.outputs.emplace_back();
    stated.name = printable(output.name());
    if (!output.type().has_tensor_type())
      continue;
    const auto &type = output.type().tensor_type();
    stated.isFloat = llvm::is_contained(
        {onnx::TensorProto::FLOAT, onnx::TensorProto::FLOAT16, onnx::TensorProto::BFLOAT16, onnx::TensorProto::DOUBLE},
        onnx::TensorProto::DataType(type.elem_type()));
    if (!type.has_shape())
      continue;
    stated.shape.emplace();
    for (const auto &dim : type.shape().dim())
      stated.shape->push_back(dim.has_dim_value() ? dim.dim_value() : -1);
  }
}

/// Reports what torch's exporter had changed and is restored; what is lost for training is an error.
static void reportRestored(const Model &model, const ImportOptions &options, ImportReport &report) {
  const torch::Restored &restored = model.restored;
  llvm::append_range(report.notes, restored.notes);
  if (restored.lost.empty())
    return;
  constexpr size_t kListed = 5;
  std::string text = "torch's exporter rewrote what would be trained: ";
  for (size_t i = 0; i < std::min(restored.lost.size(), kListed); ++i)
    text += (i > 0 ? "; " : "") + printable(restored.lost[i]);
  if (restored.lost.size() > kListed)
    text += "; and " + std::to_string(restored.lost.size() - kListed) + " more";
  if (options.acceptExported)
    return report.notes.push_back(text);
  ImportProblem problem;
  problem.node = model.name;
  problem.why = text;
  problem.hint =
      std::string("export it with tools/torch/export.py, or torch.onnx.export(model.train(), args, \"model.onnx\", ") +
      (restored.known ? "dynamo=True, optimize=False)"
                      : "dynamo=False, training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False)") +
      ", or train it as it is with --accept-exported";
  report.problems.push_back(problem);
}

/// Notes what the module may have had that a file of torch's exporters does not tell.
static void noteUnknown(const Model &model, ImportReport &report) {
  if (model.proto.producer_name() != "pytorch" || report.byTool)
    return;
  report.notes.push_back(
      std::string(
          model.restored.known
              ? "the file does not say which parts of the module are in torch.no_grad or have requires_grad=False"
              : "the file does not say where gradients end (detach, torch.no_grad), which parameters have "
                "requires_grad=False, and which buffers forward updates") +
      ": tools/torch/export.py writes these, --stop-gradient and --freeze say them, and `mpc verify` compares a step "
      "with PyTorch's");
}

/// Reads what the export of a trained model says about its inputs. A new training is to be told of it.
static void readPreprocessing(const Model &model, const ImportOptions &options, ImportReport &report) {
  for (const auto &entry : model.proto.metadata_props())
    if (entry.key() == kPreprocessingKey && entry.value() != "none")
      report.preprocessing = entry.value();
  if (report.preprocessing.empty() || options.forwardOnly)
    return;
  std::string words = printable(report.preprocessing);
  for (StringRef control : {"\\x09", "\\x0A"})
    for (size_t at = 0; (at = words.find(control.str(), at)) != std::string::npos;)
      words.replace(at, control.size(), control == "\\x09" ? " " : "; ");
  report.notes.push_back("the model was trained on preprocessed inputs (" + words +
                         "); to train it further, give its program the same --scale and --normalize");
}

/// Imports into a report; neither exceptions nor diagnostics escape.
static OwningOpRef<ModuleOp> importInto(MLIRContext &context, StringRef bytes, StringRef name, StringRef folder,
                                        const ImportOptions &options, ImportReport &report) {
  llvm::scope_exit hints([&] { addHints(report); });
  context.loadDialect<graph::GraphDialect, train::TrainDialect, func::FuncDialect>();
  try {
    Model model(bytes, name, folder);
    report.producer = printable(model.proto.producer_name());
    report.byTool = llvm::any_of(model.proto.metadata_props(),
                                 [](const auto &entry) { return entry.key() == "mpc.training_form"; });
    report.irVersion = model.proto.ir_version();
    report.opset = model.opset;
    readPreprocessing(model, options, report);
    if (!options.forwardOnly) {
      llvm::Regex untied(options.untie);
      std::string malformed; // Roles::analyse reports it
      bool valid = !options.untie.empty() && untied.isValid(malformed);
      bool any = model.restore(&context, [&](StringRef initializer) { return valid && untied.match(initializer); });
      reportRestored(model, options, report);
      noteUnknown(model, report);
      if (valid && !any)
        report.problems.push_back(
            {"--untie", "", 0, "",
             ("'" + llvm::Twine(printable(options.untie)) + "' matches no float initializer with several uses").str(),
             "`mpc check` without the option lists the model's tensors"});
    }
    stateOutputs(model.proto.graph(), report);
    model.flatten(report);
    Import import(&context, options, report);
    auto module = import.run(model);
    for (const std::string &file : model.dataFiles)
      report.files.push_back((folder + "/" + file).str());
    return module;
  } catch (const ImportError &error) {
    report.problems.push_back(error.problem);
  } catch (const std::exception &error) { // out of memory, or protobuf's own errors
    ImportProblem problem;
    problem.node = printable(name);
    problem.why = error.what();
    report.problems.push_back(problem);
  }
  return {};
}

/// Gives every problem a hint; most problems break a rule of ONNX, and their text says which.
static void addHints(ImportReport &report) {
  for (ImportProblem &problem : report.problems)
    if (problem.hint.empty())
      problem.hint = problem.op.empty() ? "correct the model, or export it again"
                                        : "correct the node's inputs and attributes, or export the model again";
}

static OwningOpRef<ModuleOp> importFile(MLIRContext &context, StringRef path, const ImportOptions &options,
                                        ImportReport &report) {
  std::string why;
  std::unique_ptr<llvm::MemoryBuffer> buffer = readRegularFile(path, why);
  if (!buffer) {
    ImportProblem problem;
    problem.node = printable(path);
    problem.why = "cannot read the model: " + why;
    problem.hint = "give the path of an ONNX file";
    report.problems.push_back(problem);
    return {};
  }
  report.files.push_back(path.str());
  StringRef folder = llvm::sys::path::parent_path(path);
  return importInto(context, buffer->getBuffer(), path, folder.empty() ? StringRef(".") : folder, options, report);
}

static void emit(MLIRContext &context, StringRef name, const ImportReport &report) {
  auto at = [&](StringRef text) { return NameLoc::get(StringAttr::get(&context, text)); };
  for (const ImportProblem &problem : report.problems) {
    std::string message;
    if (!problem.op.empty()) {
      message = "'" + problem.op + "'";
      if (problem.opset > 0)
        message += " (opset " + std::to_string(problem.opset) + ")";
      message += ": ";
    }
    message += problem.why;
    Location loc = at(problem.node);
    (void)emitErrorWithHint(loc, message, problem.hint);
  }
  for (const std::string &note : report.notes)
    emitRemark(at(name)) << note;
}

OwningOpRef<ModuleOp> mpc::importOnnx(MLIRContext &context, StringRef path, const ImportOptions &options,
                                      ImportReport *out) {
  ImportReport own, &report = out ? *out : own;
  auto module = importFile(context, path, options, report);
  emit(context, printable(path), report);
  return module;
}

OwningOpRef<ModuleOp> mpc::importOnnxBytes(MLIRContext &context, StringRef bytes, StringRef name, StringRef folder,
                                           const ImportOptions &options, ImportReport *out) {
  ImportReport own, &report = out ? *out : own;
  auto module = importInto(context, bytes, name, folder, options, report);
  emit(context, printable(name), report);
  return module;
}

ImportReport mpc::checkOnnx(MLIRContext &context, StringRef path, const ImportOptions &options) {
  ImportReport report;
  (void)importFile(context, path, options, report);
  return report;
}

ImportReport mpc::checkOnnxBytes(MLIRContext &context, StringRef bytes, StringRef name, StringRef folder,
                                 const ImportOptions &options) {
  ImportReport report;
  (void)importInto(context, bytes, name, folder, options, report);
  return report;
}

FailureOr<TensorData> mpc::readOnnxTensor(MLIRContext &context, StringRef bytes, StringRef name) {
  const std::string shown = printable(name);
  auto loc = NameLoc::get(StringAttr::get(&context, shown));
  try {
    onnx::TensorProto proto;
    if (bytes.size() > size_t(INT_MAX) || !proto.ParseFromArray(bytes.data(), int(bytes.size())))
      return emitErrorWithHint(loc, "this is not an ONNX tensor", "give a serialised TensorProto");
    HostTensor tensor = readTensor(&context, proto, shown, "");
    return TensorData{proto.name(), tensor.type, *tensor.bytes};
  } catch (const ImportError &error) {
    return emitErrorWithHint(loc, error.problem.why, error.problem.hint);
  } catch (const std::exception &error) {
    return emitErrorWithHint(loc, error.what(), "write the file again");
  }
}
