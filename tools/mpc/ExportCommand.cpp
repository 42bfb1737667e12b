//===- ExportCommand.cpp - mpc export: a checkpoint's values in an ONNX model -----------------------------===//
#include "compiler/Export/Onnx/Exporter.h"
#include "compiler/Package/ProgramFile.h"
#include "runtime/core/state/Safetensors.h"
#include "runtime/support/AtomicFile.h"
#include "runtime/support/Error.h"
#include "tools/mpc/Common.h"
#include <CLI/CLI.hpp>
#include <filesystem>

using namespace mlir;

namespace mpc::tool {
namespace {

struct ExportFlags {
  std::string model, checkpoint, output;
};

int exportModel(const ExportFlags &flags) {
  std::map<std::string, TrainedTensor> tensors;
  auto read = [&] {
    rt::SafetensorsReader reader(flags.checkpoint);
    reader.verify();
    std::string names = reader.metadata("network");
    llvm::SmallVector<llvm::StringRef> network;
    llvm::StringRef(names).split(network, '\n', -1, /*KeepEmpty=*/false);
    for (const auto &[name, array] : reader.tensors()) {
      if (array.dtype != MPC_F32 && array.dtype != MPC_F16 && array.dtype != MPC_BF16 && array.dtype != MPC_F64)
        continue;
      TrainedTensor &tensor = tensors[name];
      tensor.required = llvm::is_contained(network, name);
      tensor.shape = array.shape;
      for (int64_t i = 0, e = array.elements(); i < e; ++i)
        tensor.values.push_back(float(rt::loadDouble(array.dtype, array.data, i)));
    }
  };
  if (auto error = rt::attempt(read)) {
    llvm::errs() << error->text();
    return 1;
  }
  std::string bytes;
  ExportError error;
  std::error_code code;
  bool elsewhere = !std::filesystem::equivalent(std::filesystem::absolute(flags.model).parent_path(),
                                                std::filesystem::absolute(flags.output).parent_path(), code);
  int64_t replaced = exportOnnx(flags.model, tensors, elsewhere, bytes, error);
  if (replaced < 0)
    return fail(error.where, error.what, error.hint);
  Session session;
  if (failed(writeFileAtomically(NameLoc::get(StringAttr::get(&session.context(), flags.output)), flags.output, bytes)))
    return 1;
  llvm::outs() << flags.output << ": " << replaced << " tensors from " << flags.checkpoint << '\n';
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
