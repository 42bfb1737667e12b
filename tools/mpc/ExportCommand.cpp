//===- ExportCommand.cpp - mpc export: a checkpoint's values in an ONNX model -----------------------------===//
#include "compiler/Export/Onnx/Exporter.h"
#include "compiler/Package/ProgramFile.h"
#include "runtime/core/state/Network.h"
#include "runtime/support/AtomicFile.h"
#include "runtime/support/Error.h"
#include "tools/mpc/Common.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <CLI/CLI.hpp>
#include <optional>

using namespace mlir;

namespace mpc::tool {
namespace {

struct ExportFlags {
  std::string model, checkpoint, output;
};

/// The tensors of a checkpoint that belong to the network, or the floats of plain weights. Throws Error.
std::vector<TrainedTensor> trainedTensors(const rt::SafetensorsReader &reader) {
  std::vector<TrainedTensor> tensors;
  auto add = [&](const std::string &name, const rt::Origin &origin, bool required) {
    const rt::Array &array = reader.tensors().at(name);
    auto values = [&array] {
      std::vector<double> values(size_t(array.elements()));
      for (size_t i = 0; i < values.size(); ++i)
        values[i] = rt::loadDouble(array.dtype, array.data, i);
      return values;
    };
    tensors.push_back(
        {origin.name, origin.node, origin.input, required, name, array.dtype, array.shape, values});
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

int exportModel(const ExportFlags &flags) {
  std::optional<rt::SafetensorsReader> reader;
  std::vector<TrainedTensor> tensors;
  auto read = [&] {
    reader.emplace(flags.checkpoint);
    rt::verify(*reader);
    tensors = trainedTensors(*reader);
  };
  if (auto error = rt::attempt(read)) {
    llvm::errs() << error->text();
    return 1;
  }
  Session session;
  ExportedModel model;
  ExportError error;
  if (!exportOnnx(session.context(), flags.model, flags.output, tensors, model, error))
    return fail(error.where, error.what, error.hint);
  llvm::SmallString<256> data(llvm::sys::path::parent_path(flags.output));
  llvm::sys::path::append(data, model.dataFile);
  std::vector<std::string> outputs = {flags.output};
  if (!model.dataFile.empty())
    outputs.push_back(data.str().str());
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
  llvm::outs() << flags.output << ": " << model.replaced << " tensors from " << flags.checkpoint << '\n';
  return 0;
}

} // namespace

void addExportCommand(CLI::App &app, int &status) {
  auto flags = std::make_shared<ExportFlags>();
  CLI::App *command = app.add_subcommand("export", "Writes an ONNX model with the trained values of a checkpoint");
  command->add_option("model", flags->model, "The ONNX file that the program was compiled from")->required();
  command->add_option("--checkpoint", flags->checkpoint, "safetensors file")->required();
  command->add_option("-o,--output", flags->output, "ONNX file to write")->required();
  command->callback([flags, &status] { status = exportModel(*flags); });
}

} // namespace mpc::tool
