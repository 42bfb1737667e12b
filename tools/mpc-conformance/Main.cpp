//===- Main.cpp - mpc-conformance: ONNX backend test folders on the host target ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each folder holds model.onnx and test_data_set_N with input_K.pb and output_K.pb. The tool imports a model, compiles
// it for this CPU and runs it in process; it compares results with tolerances near those of ONNX's own backend test
// runner. A model that mpc says it does not support (an op that its table lacks, a limit that the op's row states, an
// element type) is a skip that names the reason. So is a result that is random by definition, of which only shape and
// type are compared. Everything else that goes wrong is a failure, also a case that compares nothing. Cases are spread
// over forked workers: one that crashes or hangs is one failure.
//
//===----------------------------------------------------------------------------------------------------===//
#include "compiler/Package/Elements.h"
#include "runtime/core/Session.h"
#include "runtime/support/Error.h"
#include "tools/mpc-conformance/Workers.h"
#include "tools/mpc/Common.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <onnx/onnx_pb.h>
#include <set>
#include <thread>

using namespace mlir;
using namespace mpc;

namespace {

enum class Outcome { Passed, Failed, Skipped };

std::string readFile(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, false, false);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

/// What the model's file says about the model.
struct Outline {
  std::vector<std::string> inputs;                      // in the order in which the test data number them
  std::map<std::string, std::vector<int64_t>> declared; // shapes of those inputs whose dimensions are all numbers
  std::set<std::string> ops;                            // op types
  bool otherTypes = false;                              // an input or output has a type that mpc's tensors lack
  bool random() const {
    return llvm::any_of(ops, [](const std::string &op) {
      return op == "Bernoulli" || op == "Multinomial" || StringRef(op).starts_with("Random");
    });
  }
};

/// Returns true for sequences, optionals and maps; strings, complex numbers, types narrower than a byte, and
/// floats of 8 bits.
bool isOtherType(const onnx::TypeProto &type) {
  using Tensor = onnx::TensorProto;
  static const std::set<int> known = {Tensor::FLOAT,  Tensor::FLOAT16, Tensor::BFLOAT16, Tensor::DOUBLE, Tensor::BOOL,
                                      Tensor::INT8,   Tensor::INT16,   Tensor::INT32,    Tensor::INT64,  Tensor::UINT8,
                                      Tensor::UINT16, Tensor::UINT32,  Tensor::UINT64};
  return !type.has_tensor_type() || !known.count(type.tensor_type().elem_type());
}

Outline outlineOf(const std::string &model) {
  onnx::ModelProto proto;
  Outline outline;
  if (proto.ParseFromString(readFile(model))) {
    for (const auto &input : proto.graph().input()) {
      outline.inputs.push_back(input.name());
      outline.otherTypes |= isOtherType(input.type());
      const auto &dims = input.type().tensor_type().shape().dim();
      if (llvm::all_of(dims, [](const auto &dim) { return dim.has_dim_value(); }))
        for (auto &shape = outline.declared[input.name()]; const auto &dim : dims)
          shape.push_back(dim.dim_value());
    }
    for (const auto &output : proto.graph().output())
      outline.otherTypes |= isOtherType(output.type());
    for (const auto &node : proto.graph().node())
      outline.ops.insert(node.op_type());
  }
  return outline;
}

/// Says why a model is not imported. For a problem of a value, such as an input that is a sequence, it adds the ops
/// that the model is about.
std::string reasonOf(const ImportReport &report, const std::string &diagnostics, const Outline &outline) {
  if (report.problems.empty())
    return diagnostics;
  const ImportProblem &problem = report.problems.front();
  if (!problem.op.empty())
    return problem.op + ": " + problem.why;
  return llvm::join(outline.ops, ", ") + ": " + problem.node + ": " + problem.why;
}

/// Returns whether the problem is about a limit that the op's row states, which is assumed if they share a word.
bool namesLimit(StringRef limits, const ImportProblem &problem) {
  std::string said = StringRef(problem.why + " " + problem.attribute).lower();
  std::string words = limits.lower();
  for (char &c : words)
    if (!llvm::isAlnum(c))
      c = ' ';
  SmallVector<StringRef> list;
  StringRef(words).split(list, ' ', -1, /*KeepEmpty=*/false);
  return llvm::any_of(list, [&](StringRef word) {
    word.consume_back("s"); // removes the s of plurals
    return word.size() > 3 && StringRef(said).contains(word);
  });
}

/// Returns whether mpc states that it does not support the cause of a problem.
bool isStated(const ImportProblem &problem, const Outline &outline) {
  if (problem.op.empty())
    return outline.otherTypes;
  static const std::vector<SupportedOp> table = supportedOps();
  auto row = llvm::find_if(table, [&](const SupportedOp &op) {
    return op.name == problem.op && op.since <= problem.opset && problem.opset <= op.until;
  });
  return row == table.end() || namesLimit(row->limits, problem);
}

/// Says how the results differ, or returns "". As in onnx.backend.test.runner rtol is 1e-3 and atol 1e-7; both are
/// widened to the precision of 16-bit results. For random numbers only shape and type are compared. A transform's
/// expected numbers come from numpy, which adds in fp32, so where they cancel they are right to half a unit of the
/// largest one.
std::string compare(const rt::Tensor &got, const rt::TensorView &want, const Outline &outline) {
  if (got.shape != want.shape)
    return "shape " + rt::toString(got.shape) + ", not " + rt::toString(want.shape);
  // ONNX 1.12 stores bfloat16 results as the uint16 of their bits.
  mpc_dtype type = got.dtype == MPC_BF16 && want.dtype == MPC_U16 ? MPC_BF16 : want.dtype;
  if (type != got.dtype)
    return "another element type";
  if (outline.random())
    return "";
  double rtol = type == MPC_F16 ? 2e-3 : type == MPC_BF16 ? 1.6e-2 : 1e-3;
  double atol = type == MPC_F16 ? 1e-3 : type == MPC_BF16 ? 1e-2 : 1e-7;
  if (outline.ops.count("DFT"))
    for (int64_t i = 0, e = got.elements(); i < e; ++i)
      atol = std::max(atol, 0x1p-24 * std::fabs(rt::loadDouble(type, want.data, i)));
  for (int64_t i = 0, e = got.elements(); i < e; ++i) {
    double a = got.at(i), b = rt::loadDouble(type, want.data, i);
    if (!(a == b || (std::isnan(a) && std::isnan(b)) || std::fabs(a - b) <= atol + rtol * std::fabs(b)))
      return "element " + std::to_string(i) + " is " + std::to_string(a) + ", not " + std::to_string(b);
  }
  return "";
}

/// Cuts a result whose number of rows the data say to those that are there. `count` is the value of the output
/// NAME.count that the import adds; the rows lie along the dimension in which the result is longer than `want`.
void cutToCount(rt::Tensor &got, int64_t count, ArrayRef<int64_t> want) {
  auto longer = [&](size_t d) { return got.shape[d] != want[d]; };
  if (got.shape.size() != want.size())
    return;
  const auto dims = llvm::seq<size_t>(0, want.size());
  auto at = llvm::find_if(dims, longer);
  if (at == dims.end() || count > got.shape[*at])
    return;
  const int64_t extent = got.shape[*at], outer = llvm::product_of(ArrayRef(got.shape).take_front(*at));
  const size_t row = got.bytes.size() / size_t(std::max<int64_t>(outer * extent, 1));
  for (int64_t o = 0; o < outer; ++o)
    std::memmove(got.bytes.data() + size_t(o * count) * row, got.bytes.data() + size_t(o * extent) * row,
                 size_t(count) * row);
  got.shape[*at] = count;
  got.bytes.resize(size_t(outer * count) * row);
}

/// Runs one folder; `why` receives what went wrong or is unsupported.
Outcome runCase(const std::string &folder, std::string &why) {
  tool::Session session(/*remarks=*/false);
  MLIRContext &context = session.context();
  std::string diagnostics;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &d) {
    if (d.getSeverity() == DiagnosticSeverity::Error)
      diagnostics += d.str() + "; ";
    return success();
  });
  std::string model = folder + "/model.onnx";
  const Outline outline = outlineOf(model);
  const std::vector<std::string> &names = outline.inputs;
  auto dataFile = [&](int set, StringRef kind, size_t i) {
    return folder + "/test_data_set_" + std::to_string(set) + "/" + kind.str() + "_" + std::to_string(i) + ".pb";
  };
  if (!llvm::sys::fs::is_directory(folder + "/test_data_set_0")) {
    why = "there is no test_data_set_0 to compare with";
    return Outcome::Failed;
  }
  auto position = [&](const std::string &name) { return size_t(llvm::find(names, name) - names.begin()); };

  ImportOptions options;
  options.forwardOnly = true;
  ImportReport report;
  auto module = importOnnx(context, model, options, &report);
  // Shapes and axes that are inputs must be known, because they are compiled in.
  for (int round = 0; round < 4 && !module && !report.neededConstants.empty(); ++round) {
    for (const std::string &name : report.neededConstants) {
      std::string path = dataFile(0, "input", position(name));
      if (auto data = readOnnxTensor(context, readFile(path), path); succeeded(data))
        options.constants[name] = *data;
    }
    report = {};
    diagnostics.clear();
    module = importOnnx(context, model, options, &report);
  }
  if (!module) {
    why = reasonOf(report, diagnostics, outline);
    bool stated = !report.problems.empty() && llvm::all_of(report.problems, [&](const ImportProblem &problem) {
      return isStated(problem, outline);
    });
    return stated ? Outcome::Skipped : Outcome::Failed;
  }
  HostOptions host = tool::hostOptions();
  host.cpus = {HostCpu::native()};
  host.threads = 1;
  FailureOr<CompiledProgram> program = failure();
  if (succeeded(buildInference(*module)))
    program = compileProgram(*module, {.host = host}, llvm::sys::path::filename(folder), nullptr);
  if (failed(program)) {
    why = "does not compile: " + diagnostics;
    return Outcome::Failed;
  }
  std::string mismatch;
  auto execute = [&] {
    std::string manifest = std::move(program->sections["manifest.json"]);
    program->sections.erase("manifest.json");
    rt::Session running(rt::Program::fromMemory(manifest, std::move(program->sections)));
    const rt::Entry &entry = running.entryOfKind("predict");
    for (int set = 0; why.empty() && llvm::sys::fs::is_directory(folder + "/test_data_set_" + std::to_string(set));
         ++set) {
      auto read = [&](StringRef kind, size_t i) {
        std::string path = dataFile(set, kind, i);
        auto data = readOnnxTensor(context, readFile(path), path);
        if (failed(data))
          rt::fail(path, "cannot be read", "fetch the test data again");
        return *data;
      };
      auto view = [](const TensorData &data) {
        return rt::TensorView(dtypeOf(data.type.getElementType()), data.type.getShape().vec(), data.bytes.data());
      };
      for (const rt::Port &input : entry.inputs) {
        TensorData data = read("input", position(input.name));
        rt::TensorView value = view(data);
        if (input.dtype == MPC_BF16 && value.dtype == MPC_U16) // the same holds for results, see compare
          value.dtype = MPC_BF16;
        if (auto declared = outline.declared.find(input.name);
            declared != outline.declared.end() && value.shape != declared->second) {
          mismatch = llvm::join(outline.ops, ", ") + ": the test data of '" + input.name +
                     "' have another shape than the model's input";
          return;
        }
        running.setInput(entry, input.name, value);
      }
      running.run(entry);
      std::map<std::string, int64_t> counts; // of the outputs whose number of rows the data say
      const size_t results = entry.outputs.size() - size_t(llvm::count_if(entry.outputs, [&](const rt::Port &port) {
                               return StringRef(port.name).ends_with(".count");
                             }));
      for (size_t i = results; i < entry.outputs.size(); ++i)
        counts[StringRef(entry.outputs[i].name).drop_back(6).str()] = int64_t(running.read(entry.outputs[i]).at(0));
      for (size_t i = 0; i < results && why.empty(); ++i) {
        TensorData data = read("output", i);
        rt::Tensor got = running.read(entry.outputs[i]);
        if (auto count = counts.find(entry.outputs[i].name); count != counts.end())
          cutToCount(got, count->second, data.type.getShape());
        if (std::string difference = compare(got, view(data), outline); !difference.empty())
          why = "output " + std::to_string(i) + ": " + difference;
      }
      if (why.empty() && llvm::sys::fs::exists(dataFile(set, "output", results)))
        why = "set " + std::to_string(set) + " has more outputs than the program";
      if (why.empty() && entry.outputs.empty())
        why = "the program has no outputs to compare";
    }
  };
  if (auto error = rt::attempt(execute))
    why = error->text();
  if (outline.random())
    mismatch = llvm::join(outline.ops, ", ") + ": what it draws is random; shape and type are as expected";
  if (why.empty() && !mismatch.empty()) {
    why = mismatch;
    return Outcome::Skipped;
  }
  return why.empty() ? Outcome::Passed : Outcome::Failed;
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app("Runs ONNX backend test folders on the host target; prints failures and skips with their reasons",
               "mpc-conformance");
  std::vector<std::string> roots;
  bool verbose = false;
  unsigned jobs = std::max(1u, std::thread::hardware_concurrency()), seconds = 120;
  app.add_option("folders", roots, "Folders of tests (each test a folder with model.onnx), or tests")->required();
  app.add_flag("-v,--verbose", verbose, "Print skips too");
  app.add_option("-j,--jobs", jobs, "Processes that run cases")->check(CLI::Range(1u, 256u))->capture_default_str();
  app.add_option("--case-seconds", seconds, "A case that takes longer fails (0: no limit)")->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  std::vector<std::string> cases;
  for (const std::string &root : roots) {
    if (llvm::sys::fs::exists(root + "/model.onnx")) {
      cases.push_back(root);
      continue;
    }
    std::error_code code;
    for (llvm::sys::fs::directory_iterator it(root, code), end; it != end && !code; it.increment(code))
      if (llvm::sys::fs::exists(it->path() + "/model.onnx"))
        cases.push_back(it->path());
    if (code)
      return tool::fail(root, code.message(), "give a folder of ONNX backend tests");
  }
  std::sort(cases.begin(), cases.end());
  int counts[3] = {};
  auto count = [&](size_t i, Outcome outcome, StringRef why) {
    ++counts[int(outcome)];
    if (outcome == Outcome::Failed || (verbose && outcome == Outcome::Skipped))
      llvm::outs() << (outcome == Outcome::Failed ? "FAIL " : "SKIP ") << llvm::sys::path::filename(cases[i]) << ": "
                   << why << '\n';
    llvm::outs().flush();
  };
  // An answer consists of the outcome and the reason.
  auto work = [&](size_t i) {
    std::string why;
    Outcome outcome = runCase(cases[i], why);
    return std::string(1, char('0' + int(outcome))) + why;
  };
  bool ran = tool::runInWorkers(
      cases.size(), jobs, seconds, work,
      [&](size_t i, const std::string &answer) { count(i, Outcome(answer[0] - '0'), StringRef(answer).drop_front()); },
      [&](size_t i, const std::string &why) { count(i, Outcome::Failed, why); });
  if (!ran)
    return tool::fail("mpc-conformance", "cannot start a process", "close other programs");
  llvm::outs() << counts[0] << " passed, " << counts[1] << " failed, " << counts[2] << " skipped\n";
  return counts[1] || cases.empty() ? 1 : 0;
}
