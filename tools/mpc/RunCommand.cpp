//===- RunCommand.cpp - mpc run: runs the forward pass in process -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/Session.h"
#include "runtime/core/data/Npz.h"
#include "runtime/core/data/Preprocessing.h"
#include "runtime/runner/Help.h"
#include "runtime/support/Error.h"
#include "tools/mpc/Common.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <CLI/CLI.hpp>
#include <optional>

using namespace mlir;

namespace mpc::tool {
namespace {

struct RunFlags {
  std::string model, data, out;
  std::vector<std::string> dims;
  bool noPreprocess = false;
  rt::SessionOptions session;
  ImportOptions import;
};

[[noreturn]] void failMissing(const RunFlags &flags, StringRef input) {
  rt::fail(flags.data, "has no array '" + input.str() + "'", "the model's inputs are arrays of the file, by name");
}

/// Sets an open batch to the extent that the data has for an input whose leading dimension is open: "x[0] (batch)".
void bindBatch(RunFlags &flags, const rt::NpzReader &data, const std::vector<std::string> &openDims) {
  const std::vector<std::string> names = data.names();
  for (StringRef open : openDims) {
    auto name = llvm::find_if(names, [&](const std::string &name) { return open.starts_with(name + "["); });
    if (name == names.end())
      failMissing(flags, open.take_until([](char c) { return c == '['; }));
    const rt::Shape shape = data.shapeOf(*name);
    if (!flags.import.batch && !shape.empty() && open.starts_with(*name + "[0]"))
      flags.import.batch = shape.front();
  }
}

/// Does to an array what the model's training did to that input, in the same arithmetic. Throws Error.
rt::Tensor preprocessed(const rt::Array &array, const rt::Port &port, const rt::InputSteps &steps,
                        const std::string &where) {
  const std::vector<rt::Affine> maps = steps.maps();
  const size_t channels = maps.size(), count = size_t(array.elements());
  const bool perChannel = channels > 1;
  if (!rt::isFloat(port.dtype) || (perChannel && (port.shape.size() < 2 || port.shape[1] != int64_t(channels))))
    rt::fail(where,
             "the preprocessing of the model (" + steps.text() + ") does not suit input '" + port.name + "' " +
                 std::string(rt::nameOf(port.dtype)) + rt::toString(port.shape),
             "leave it out with --no-preprocess");
  rt::Tensor result(port.dtype, port.shape);
  const size_t part = perChannel ? count / size_t(port.shape[0]) / channels : count;
  for (size_t at = 0, c = 0; at < count; at += part, c = (c + 1) % channels) {
    const std::byte *from = array.data + at * rt::sizeOf(array.dtype);
    if (size_t bad = rt::firstMisfit(array.dtype, from, port.dtype, part, maps[c]); bad < part)
      rt::fail(where,
               "element " + std::to_string(at + bad) + " becomes a number that " + std::string(rt::nameOf(port.dtype)) +
                   " cannot represent",
               "check the data, or leave the model's preprocessing out with --no-preprocess");
    rt::convert(array.dtype, from, port.dtype, result.bytes.data() + at * rt::sizeOf(port.dtype), part, maps[c]);
  }
  return result;
}

int run(RunFlags &flags) {
  if (!parseDims(flags.dims, flags.import))
    return 1;
  flags.import.forwardOnly = true;
  std::optional<rt::NpzReader> data;
  int status = 0;
  Session session(/*remarks=*/false);
  auto prepare = [&] {
    if (size_t equals = flags.data.find('='); equals != flags.data.npos && !llvm::sys::fs::exists(flags.data))
      rt::fail(flags.data, "is no file, and the arrays of 'mpc run' are not named one by one",
               "give one .npz that holds an array '" + flags.data.substr(0, equals) + "'");
    data.emplace(flags.data);
    if (!flags.import.batch)
      bindBatch(flags, *data, checkOnnx(session.context(), flags.model, flags.import).unboundDims);
  };
  if (auto error = rt::attempt(prepare)) {
    say(error->text());
    return 1;
  }
  ImportReport report;
  OwningOpRef<ModuleOp> module = importOnnx(session.context(), flags.model, flags.import, &report);
  report.files.push_back(flags.data);
  if (!module || !outputsAreFree(flags.out, report.files) || failed(buildInference(*module)))
    return 1;
  HostOptions host = hostOptions();
  host.cpus = {HostCpu::native()};
  FailureOr<CompiledProgram> program =
      compileProgram(*module, {.host = host}, llvm::sys::path::stem(flags.model), nullptr);
  if (failed(program))
    return 1;
  auto execute = [&] {
    flags.session.note = [](const std::string &line) { say("note: " + line + "\n"); };
    rt::Session running(programInMemory(std::move(*program)), flags.session);
    const rt::Entry &entry = running.entryOfKind("predict");
    rt::Preprocessing trained;
    if (!flags.noPreprocess)
      trained = rt::Preprocessing::parse(report.preprocessing, flags.model).value_or(rt::Preprocessing());
    for (auto &[name, steps] : trained.inputs)
      steps.transform.clear(); // is done to pictures in files, and the data here are arrays
    trained = trained.effective();
    if (!trained.inputs.empty())
      say("note: preprocessing of the model: " + trained.text() + " (--no-preprocess leaves it out)\n");
    for (const rt::Port &input : entry.inputs) {
      if (!data->contains(input.name))
        failMissing(flags, input.name);
      // The shape is checked first, because a small file may unpack to more than the memory holds.
      rt::Array array = data->read(
          input.name, [&](mpc_dtype, const rt::Shape &shape) { running.inputFor(entry, input.name, shape); });
      auto steps = trained.inputs.find(input.name);
      if (steps == trained.inputs.end())
        running.setInput(entry, input.name, array.view());
      else
        running.setInput(entry, input.name, preprocessed(array, input, steps->second, flags.data + ": " + input.name));
    }
    running.run(entry);
    rt::NpzWriter writer(flags.out);
    for (const rt::Port &output : entry.outputs)
      writer.add(output.name, running.read(output));
    writer.finish();
  };
  if (auto error = rt::attempt(execute)) {
    say(error->text());
    status = 1;
  }
  return status;
}

} // namespace

void addRunCommand(CLI::App &app, int &status) {
  auto flags = std::make_shared<RunFlags>();
  CLI::App *command = app.add_subcommand("run", "Runs a network forward on arrays of a file");
  command->add_option("model", flags->model, "ONNX file")->required();
  command->add_option("--data", flags->data, "npz file: an array for each input")->required();
  command->add_option("--out", flags->out, "npz file for the outputs")->required();
  command->add_flag("--no-preprocess", flags->noPreprocess,
                    "Take the inputs as they are, although the model says what its training did to them");
  addHostOptions(*command, flags->session);
  addImportOptions(*command, flags->import, flags->dims);
  rt::setExample(*command, "run model.onnx --data inputs.npz --out outputs.npz");
  command->callback([flags, &status] { status = run(*flags); });
}

} // namespace mpc::tool
