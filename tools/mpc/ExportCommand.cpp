//===- ExportCommand.cpp - mpc export: puts a checkpoint's values into an ONNX model -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Export/Onnx/Exporter.h"
#include "compiler/Package/ProgramFile.h"
#include "runtime/core/state/Checkpoint.h"
#include "runtime/core/state/Network.h"
#include "runtime/runner/Help.h"
#include "runtime/support/AtomicFile.h"
#include "runtime/support/Error.h"
#include "tools/mpc/Common.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <CLI/CLI.hpp>
#include <map>
#include <optional>

using namespace mlir;

namespace mpc::tool {
namespace {

struct ExportFlags {
  std::string model, checkpoint, output, inference, weights;
  bool preprocess = false;
};

/// Returns the tensors of a checkpoint that belong to the network, or the float tensors of plain weights. `averages`
/// names the tensors that are taken instead of others. Throws Error.
std::vector<TrainedTensor> trainedTensors(const rt::SafetensorsReader &reader,
                                          const std::map<std::string, std::string> &averages) {
  std::vector<TrainedTensor> tensors;
  auto add = [&](const std::string &name, const rt::Origin &origin, bool required) {
    auto average = averages.find(name);
    // An average is in fp32, whatever the parameter's type is.
    const rt::Array &array = reader.tensors().at(average == averages.end() ? name : average->second);
    const mpc_dtype type = reader.tensors().at(name).dtype;
    auto values = [&array] {
      std::vector<double> values(size_t(array.elements()));
      for (size_t i = 0; i < values.size(); ++i)
        values[i] = rt::loadDouble(array.dtype, array.data, i);
      return values;
    };
    tensors.push_back({origin.name, origin.node, origin.input, required, name, type, array.shape, values});
  };
  if (auto network = rt::networkOf(reader)) {
    for (const auto &[name, origin] : *network)
      add(name, origin, /*required=*/true);
    return tensors;
  }
  if (rt::isCheckpoint(reader))
    rt::fail(reader.path(), "was written before checkpoints said where in the model their tensors belong",
             "compile the model again, resume from this checkpoint, and export the one that is written then");
  for (const auto &[name, array] : reader.tensors())
    if (rt::isFloat(array.dtype))
      add(name, {name, "", -1}, /*required=*/false);
  return tensors;
}

/// Returns what the model is to know about the inputs of its training: nodes, or a text in its metadata.
TrainedInputs trainedInputs(const rt::Preprocessing &stored, bool nodes) {
  TrainedInputs inputs;
  inputs.metadata = stored.inputs.empty() ? "" : stored.metadata();
  if (!nodes)
    return inputs;
  inputs.metadata = ""; // mpc run would do it twice
  for (const auto &[name, steps] : stored.inputs) {
    InputMap map{name, {}, {}};
    for (const rt::Affine &affine : steps.maps()) {
      map.scale.push_back(affine.scale);
      map.shift.push_back(affine.shift);
    }
    inputs.nodes.push_back(map);
  }
  return inputs;
}

/// Says in one line where the preprocessing of the training went.
std::string preprocessingText(const rt::Preprocessing &stored, const ExportedModel &model, bool nodes) {
  std::string transforms; // are done to pictures in files, before there is an input
  for (const auto &[name, steps] : stored.inputs)
    if (!steps.transform.empty())
      transforms += "; give '" + name + "' pictures of its size (transform " + steps.transform + ")";
  rt::Preprocessing done;
  auto add = [&](const std::string &name) {
    done.inputs[name] = stored.inputs.at(name);
    done.inputs[name].transform.clear();
  };
  if (nodes) {
    for (const std::string &name : model.preprocessed)
      add(name);
    return "preprocessing in the graph: " + done.effective().text() + transforms;
  }
  for (const auto &[name, steps] : stored.inputs)
    add(name);
  return "the training preprocessed its inputs (" + done.effective().text() +
         "); mpc run does the same by the model's metadata, other programs must do it, or --preprocess puts it into "
         "the graph" +
         transforms;
}

/// Says in one line what happened to the training form; "" if there was nothing to do.
std::string inferenceText(const InferenceCounts &counts, Inference form) {
  std::vector<std::string> parts;
  auto add = [&](int64_t count, const char *what, const char *done) {
    if (count > 0)
      parts.push_back(std::to_string(count) + " " + what + (count == 1 ? " " : "s ") + done);
  };
  if (form == Inference::Fold)
    add(counts.folded, "batch norm", "folded");
  else
    add(counts.norms, "batch norm", "set to running statistics");
  add(counts.dropouts, "dropout", form == Inference::Set ? "set to inference" : "removed");
  if (counts.kept > 0)
    parts.push_back(std::to_string(counts.kept) + (counts.kept == 1 ? " batch norm stays" : " batch norms stay") +
                    ", which no convolution or Gemm alone leads to, the first '" + counts.firstKept + "'");
  return llvm::join(parts, ", ");
}

int exportModel(const ExportFlags &flags) {
  Inference form = flags.inference.empty()     ? Inference::Set
                   : flags.inference == "fold" ? Inference::Fold
                                               : Inference::Remove;
  if (flags.checkpoint.empty() && form == Inference::Set)
    return fail("--checkpoint", "is missing",
                "give a safetensors file, or make the model's inference form as it is with --inference");
  std::optional<rt::SafetensorsReader> reader;
  std::vector<TrainedTensor> tensors;
  std::map<std::string, std::string> averages; // that the model gets
  std::optional<rt::Preprocessing> stored;
  TrainedInputs inputs;
  auto read = [&] {
    if (flags.checkpoint.empty())
      return;
    reader.emplace(flags.checkpoint);
    rt::verify(*reader);
    stored = rt::preprocessingOf(flags.checkpoint);
    if (!stored && flags.preprocess)
      rt::fail(flags.checkpoint, "does not say what its training did to the inputs",
               "leave --preprocess out; checkpoints of older programs and of libraries do not say it");
    if (stored)
      inputs = trainedInputs(*stored, flags.preprocess);
    averages = rt::averagesOf(*reader);
    if (averages.empty() && flags.weights == "averaged")
      rt::fail(flags.checkpoint, "has no averages of its weights",
               "leave --weights out, or train a program that was compiled with --ema=0.999");
    if (flags.weights == "raw")
      averages.clear();
    tensors = trainedTensors(*reader, averages);
  };
  if (auto error = rt::attempt(read)) {
    say(error->text());
    return 1;
  }
  Session session;
  ExportedModel model;
  ExportError error;
  std::optional<llvm::ArrayRef<TrainedTensor>> trained;
  if (!flags.checkpoint.empty())
    trained = tensors;
  if (!exportOnnx(session.context(), flags.model, flags.output, trained, form, model, error, INT_MAX, inputs))
    return fail(error.where, error.what, error.hint);
  llvm::SmallString<256> data(llvm::sys::path::parent_path(flags.output));
  llvm::sys::path::append(data, model.dataFile);
  std::vector<std::string> outputs = {flags.output};
  if (!model.dataFile.empty())
    outputs.push_back(data.str().str());
  if (trained)
    model.sources.push_back(flags.checkpoint);
  if (!outputsAreFree(outputs, model.sources))
    return 1;
  auto write = [&](llvm::StringRef path, llvm::StringRef bytes) {
    return writeFileAtomically(NameLoc::get(StringAttr::get(&session.context(), path)), path, bytes);
  };
  if (!model.dataFile.empty() && failed(write(data, model.data)))
    return 1;
  if (failed(write(flags.output, model.bytes))) {
    if (!model.dataFile.empty())
      (void)llvm::sys::fs::remove(data);
    return 1;
  }
  if (trained)
    llvm::outs() << flags.output << ": " << model.replaced << " tensors from " << flags.checkpoint << '\n';
  if (!averages.empty())
    llvm::outs() << flags.output
                 << ": the weights are moving averages (--ema); --weights=raw takes those of the last update\n";
  if (std::string text = inferenceText(model.inference, form); !text.empty() || !trained)
    llvm::outs() << flags.output << ": " << (text.empty() ? "it was in inference form already" : text) << '\n';
  if (stored && !stored->inputs.empty())
    llvm::outs() << flags.output << ": " << preprocessingText(*stored, model, flags.preprocess) << '\n';
  return 0;
}

} // namespace

void addExportCommand(CLI::App &app, int &status) {
  auto flags = std::make_shared<ExportFlags>();
  CLI::App *command =
      app.add_subcommand("export", "Writes an ONNX model with the trained values of a checkpoint, in inference form");
  command->add_option("model", flags->model, "The ONNX file that the program was compiled from")->required();
  CLI::Option *checkpoint =
      command->add_option("--checkpoint", flags->checkpoint, "safetensors file; may be left out with --inference");
  command
      ->add_option("--weights", flags->weights,
                   "averaged: the moving averages of programs compiled with --ema (default where the checkpoint has "
                   "them); raw: the weights after the last update")
      ->check(CLI::IsMember({"averaged", "raw"}))
      ->needs(checkpoint);
  command
      ->add_flag("--preprocess", flags->preprocess,
                 "Put the training's --scale and --normalize into the graph, in front of the inputs. Without it the "
                 "model only says them in its metadata, which mpc run follows")
      ->needs(checkpoint);
  command
      ->add_flag("--inference{remove}", flags->inference,
                 "Remove dropouts from the graph; with --inference=fold, batch norms also become part of the "
                 "convolutions before them. Without it these nodes stay, set to inference")
      ->check(CLI::IsMember({"remove", "fold"}));
  command->add_option("-o,--output", flags->output, "ONNX file to write")->required();
  rt::setExample(*command, "export model.onnx --checkpoint checkpoints/step-00000561.safetensors -o trained.onnx");
  command->callback([flags, &status] { status = exportModel(*flags); });
}

} // namespace mpc::tool
