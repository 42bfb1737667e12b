// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/differential/Work.h"
#include "compiler/Evaluator/Evaluator.h"
#include "compiler/Pipeline/Check.h"
#include "dialects/Support/Diagnostics.h"
#include "dialects/Train/IR/Names.h"
#include "dialects/Train/IR/Train.h"
#include "runtime/core/Session.h"
#include "runtime/core/Trace.h"
#include "runtime/core/data/Npz.h"
#include "runtime/support/Error.h"
#include "tools/mpc/Common.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mpc;
using nlohmann::json;

namespace {

std::string textOf(const json &object, const char *key, const char *otherwise = "") {
  auto entry = object.find(key);
  return entry == object.end() ? otherwise : entry->get<std::string>();
}

/// One item of work. It has a context of its own, so that nothing of an earlier item is left.
class Task {
public:
  Task(const json &request, const json &work, std::vector<double> &values)
      : request(request), work(work), values(values) {
    DialectRegistry registry;
    registerAllDialects(registry);
    registerEvaluatorModels(registry);
    context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
    context->loadAllAvailableDialects();
    handler = std::make_unique<ScopedDiagnosticHandler>(context.get(), [this](Diagnostic &d) { return note(d); });
    training.loss = textOf(request, "loss");
    training.precision = textOf(work, "precision", "fp32");
    training.optLevel = textOf(work, "level", "O1");
    training.scaler = textOf(work, "scale");
    importing.trainable = textOf(request, "trainable");
    mode = textOf(work, "mode", "exact") == "exact" ? EvalMode::Exact : EvalMode::Rounded;
    answer = {{"ok", false}, {"errors", json::array()}, {"tensors", json::array()}};
  }

  json perform() {
    std::string kind = textOf(work, "kind");
    if (auto error = rt::attempt([&] {
          if (kind == "check")
            check();
          else if (kind == "forward")
            answer["ok"] = succeeded(forward());
          else if (kind == "evaluate")
            answer["ok"] = succeeded(evaluate());
          else if (kind == "run")
            answer["ok"] = succeeded(run());
        }))
      answer["errors"].push_back(
          {{"where", error->where()}, {"what", error->clause()}, {"hints", json::array({error->hint()})}});
    if (!answer["errors"].empty())
      answer["ok"] = false;
    return answer;
  }

private:
  LogicalResult note(Diagnostic &d) {
    if (d.getSeverity() != DiagnosticSeverity::Error)
      return success();
    json hints = json::array(), notes = json::array();
    for (Diagnostic &n : d.getNotes()) {
      std::string text = n.str();
      StringRef(text).starts_with("hint: ") ? hints.push_back(text.substr(6)) : notes.push_back(text);
    }
    answer["errors"].push_back(
        {{"where", locationName(d.getLocation())}, {"what", d.str()}, {"hints", hints}, {"notes", notes}});
    return success();
  }

  std::string model() const { return textOf(request, "model"); }

  void add(StringRef name, ArrayRef<int64_t> shape, ArrayRef<double> elements) {
    answer["tensors"].push_back({{"name", name.str()}, {"shape", shape.vec()}, {"offset", values.size()}});
    llvm::append_range(values, elements);
  }

  void check() {
    ImportReport report = checkTraining(*context, model(), importing, training);
    for (const ImportProblem &p : report.problems)
      answer["errors"].push_back({{"where", p.node}, {"what", p.why}, {"op", p.op}, {"hints", json::array({p.hint})}});
    answer["ok"] = report.ok();
  }

  OwningOpRef<ModuleOp> imported() { return importOnnx(*context, model(), importing); }

  /// Reads the entry's inputs from the data file and returns them in stored order.
  SmallVector<HostTensor> inputsOf(FunctionOpInterface entry) {
    rt::NpzReader data(textOf(request, "data"));
    SmallVector<HostTensor> inputs;
    for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
      HostTensor tensor(cast<RankedTensorType>(entry.getArgument(i).getType()));
      std::string name = entry.getArgAttrOfType<StringAttr>(i, train::kNameAttr).str();
      rt::Array array = data.read(name);
      auto permutation = entry.getArgAttrOfType<DenseI64ArrayAttr>(i, train::kPermutationAttr);
      // Stored dimension d is dimension permutation[d] of the array.
      SmallVector<int64_t> arrayStrides = stridesOf(array.shape), storedStrides = stridesOf(tensor.shape);
      if (array.shape.size() != tensor.shape.size() || array.elements() != tensor.size())
        rt::fail(name, "the data have another shape than the entry's argument",
                 "look at the importer and the layout pass");
      for (int64_t at = 0; at < tensor.size(); ++at) {
        int64_t from = 0;
        for (auto [d, stride] : llvm::enumerate(storedStrides))
          from += at / stride % tensor.shape[d] * arrayStrides[permutation ? permutation[d] : d];
        tensor.values[at] = rt::loadDouble(array.dtype, array.data, size_t(from));
      }
      if (mode == EvalMode::Rounded)
        tensor.round();
      inputs.push_back(std::move(tensor));
    }
    return inputs;
  }

  /// Runs an entry. Its loss, outputs and gradients become tensors of the answer.
  LogicalResult runEntry(ModuleOp module, StringRef name) {
    auto entry = dyn_cast_or_null<FunctionOpInterface>(module.lookupSymbol(name));
    if (!entry)
      return module.emitError("no entry @") << name;
    Evaluator evaluator(module, mode);
    SmallVector<HostTensor> results;
    if (failed(evaluator.run(name, inputsOf(entry), results)))
      return failure();
    for (auto [i, result] : llvm::enumerate(results)) {
      auto role = entry.getResultAttrOfType<StringAttr>(i, train::kRoleAttr);
      auto called = entry.getResultAttrOfType<StringAttr>(i, train::kNameAttr);
      if (role && (role == "loss" || role == "grad" || role == "output"))
        add(role == "loss" ? "loss" : called.str(), result.shape, result.values);
    }
    for (const auto &gradient : evaluator.gradients())
      add("grad/" + train::userName(train::lookupVariable(module, gradient.getKey())).str(), gradient.getValue().shape,
          gradient.getValue().values);
    return success();
  }

  LogicalResult forward() {
    importing.forwardOnly = true;
    importing.trainable.clear();
    OwningOpRef<ModuleOp> module = imported();
    if (!module || failed(buildInference(*module)))
      return failure();
    if (textOf(work, "at") == "planned" && failed(planForHost(*module, host())))
      return failure();
    return runEntry(*module, "predict");
  }

  LogicalResult evaluate() {
    OwningOpRef<ModuleOp> module = imported();
    if (!module)
      return failure();
    std::string at = textOf(work, "at", "autodiff");
    LogicalResult evaluated = success();
    Watch watch;
    watch.stage = [&](StringRef stage, ModuleOp m) {
      if (stage == at)
        evaluated = runEntry(m, "main");
    };
    if (failed(buildTraining(*module, training, watch)) || failed(evaluated))
      return failure();
    if (at == "autodiff")
      return success();
    if (at == "planned" && failed(planForHost(*module, host())))
      return failure();
    // A graph without any gradient has no trace entry.
    return runEntry(*module, module->lookupSymbol("main.trace") ? "main.trace" : "main");
  }

  HostOptions host() const {
    HostOptions options = tool::hostOptions();
    options.cpus = {HostCpu::native()};
    options.threads = 1;
    return options;
  }

  LogicalResult run() {
    OwningOpRef<ModuleOp> module = imported();
    if (!module || failed(buildTraining(*module, training)))
      return failure();
    FailureOr<CompiledProgram> program = compileProgram(*module, {.host = host()}, "graph", &training);
    if (failed(program))
      return failure();
    std::string manifest = std::move(program->sections["manifest.json"]);
    program->sections.erase("manifest.json");
    rt::SessionOptions options;
    options.threads = 1;
    rt::Session session(rt::Program::fromMemory(manifest, std::move(program->sections)), options);
    rt::DataOptions files;
    files.files = {textOf(request, "data")};
    rt::Dataset data(files, rt::inputsOf({&session.entry("main")}), session.manifest().batch);
    for (const auto &[name, tensor] : rt::trace(session, data, 1)) {
      if (StringRef(name).starts_with("state/"))
        continue;
      std::vector<double> elements(size_t(tensor.elements()));
      for (size_t i = 0; i < elements.size(); ++i)
        elements[i] = tensor.at(i);
      add(name, tensor.shape, elements);
    }
    return success();
  }

  const json &request, &work;
  std::vector<double> &values;
  std::unique_ptr<MLIRContext> context;
  std::unique_ptr<ScopedDiagnosticHandler> handler;
  TrainingOptions training;
  ImportOptions importing;
  EvalMode mode;
  json answer;
};

} // namespace

json mpc::test::perform(const json &request, const json &work, std::vector<double> &values) {
  return Task(request, work, values).perform();
}
