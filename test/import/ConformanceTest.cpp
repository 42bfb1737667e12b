//===- ConformanceTest.cpp - ONNX's node tests, imported and evaluated ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each folder holds model.onnx and test_data_set_N with inputs and outputs. Models that can be imported are
// run by the reference evaluator, which rounds as the target does, and the results are compared. The folders
// are in MPC_ONNX_TESTDATA (several are separated by ":"), or in Debian's libonnx-testdata.
//
//===----------------------------------------------------------------------===//
#include "ModelBuilder.h"
#include "compiler/Evaluator/Evaluator.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <cmath>
#include <gtest/gtest.h>
#include <map>

using namespace mpc;
using namespace mpc::test;

static std::string readFile(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, false, false);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

/// Reads a tensor file as a tensor of the evaluator.
static mlir::FailureOr<HostTensor> readTensor(mlir::MLIRContext &context, const std::string &path) {
  auto data = readOnnxTensor(context, readFile(path), path);
  if (failed(data))
    return mlir::failure();
  mlir::Type element = data->type.getElementType();
  if (element.isInteger(1)) {
    llvm::SmallVector<bool> bits;
    for (char c : data->bytes)
      bits.push_back(c != 0);
    return HostTensor::fromAttr(
        mlir::cast<mlir::ElementsAttr>(mlir::DenseElementsAttr::get(data->type, llvm::ArrayRef<bool>(bits))));
  }
  if (data->bytes.empty())
    return HostTensor(data->type);
  return HostTensor::fromAttr(
      mlir::cast<mlir::ElementsAttr>(mlir::DenseElementsAttr::getFromRawBuffer(data->type, data->bytes)));
}

/// Converts bfloat16 results, which ONNX 1.12 stores as the uint16 of their bits.
static HostTensor asBFloat16(const HostTensor &bits, mlir::Type bf16) {
  HostTensor result = bits;
  result.element = bf16;
  for (double &v : result.values)
    v = llvm::APFloat(llvm::APFloat::BFloat(), llvm::APInt(16, uint64_t(v))).convertToDouble();
  return result;
}

/// Compares with the tolerances of ONNX's backend test runner (rtol 1e-3, atol 1e-7); atol is widened to the
/// type's epsilon.
static std::string compare(const HostTensor &got, const HostTensor &want) {
  if (got.shape != want.shape || got.element != want.element) {
    std::string text;
    llvm::raw_string_ostream(text) << "type " << got.type() << ", not " << want.type();
    return text;
  }
  double rtol = want.element.isF16() ? 2e-3 : want.element.isBF16() ? 1.6e-2 : 1e-3;
  double atol = want.element.isF16() ? 1e-3 : want.element.isBF16() ? 1e-2 : 1e-6;
  for (int64_t i = 0; i < got.size(); ++i) {
    double a = got.values[i], b = want.values[i];
    bool same = a == b || (std::isnan(a) && std::isnan(b)) || std::fabs(a - b) <= atol + rtol * std::fabs(b);
    if (!same)
      return "element " + std::to_string(i) + " is " + std::to_string(a) + ", not " + std::to_string(b);
  }
  return "";
}

/// Returns the names of the graph inputs, in order.
static std::vector<std::string> graphInputs(const std::string &path) {
  onnx::ModelProto model;
  std::vector<std::string> names;
  if (model.ParseFromString(readFile(path)))
    for (const auto &input : model.graph().input())
      names.push_back(input.name());
  return names;
}

namespace {
enum class Outcome { Passed, Failed, Skipped };
}

/// Cuts a result whose number of rows the data say to the shape of what is expected; the rows behind mean nothing.
static HostTensor firstRows(const HostTensor &all, int64_t rows, mlir::RankedTensorType want) {
  HostTensor cut(mlir::RankedTensorType::get(want.getShape(), all.element));
  for (size_t d = 0; d < all.shape.size(); ++d)
    if (all.shape[d] != cut.shape[d] && (cut.shape[d] != rows || all.shape[d] < rows))
      return all;
  const auto to = stridesOf(cut.shape), from = stridesOf(all.shape);
  for (int64_t i = 0; i < cut.size(); ++i) {
    int64_t rest = i, at = 0;
    for (auto [t, f] : llvm::zip(to, from)) {
      at += rest / t * f;
      rest %= t;
    }
    cut.values[i] = all.values[at];
  }
  return cut;
}

static Outcome runCase(const std::string &folder, std::string &why) {
  mlir::DialectRegistry registry;
  registry.insert<graph::GraphDialect>();
  registerEvaluatorModels(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  std::string diagnostics;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &d) {
    diagnostics += d.str() + "; ";
    return mlir::success();
  });
  ImportOptions options;
  options.forwardOnly = true;
  ImportReport report;
  auto module = importOnnx(context, folder + "/model.onnx", options, &report);
  // Node tests give shapes and axes as inputs. Where the import needs their values, they become constants.
  std::vector<std::string> inputNames = graphInputs(folder + "/model.onnx");
  for (int round = 0; round < 4 && !module && !report.neededConstants.empty(); ++round) {
    for (const std::string &name : report.neededConstants) {
      size_t position = size_t(llvm::find(inputNames, name) - inputNames.begin());
      std::string path = folder + "/test_data_set_0/input_" + std::to_string(position) + ".pb";
      if (auto data = readOnnxTensor(context, readFile(path), path); succeeded(data))
        options.constants[name] = *data;
    }
    report = {};
    diagnostics.clear();
    module = importOnnx(context, folder + "/model.onnx", options, &report);
  }
  if (!module) {
    const ImportProblem &p = report.problems.at(0);
    why = (p.op.empty() ? p.node : p.op) + ": " + p.why;
    return Outcome::Skipped;
  }
  auto forward = module->lookupSymbol<mlir::func::FuncOp>("forward");
  for (int set = 0; llvm::sys::fs::is_directory(folder + "/test_data_set_" + std::to_string(set)); ++set) {
    std::string data = folder + "/test_data_set_" + std::to_string(set) + "/";
    std::map<std::string, HostTensor> byName;
    llvm::SmallVector<HostTensor> inputs, results;
    for (unsigned i = 0; i < forward.getNumArguments(); ++i) {
      auto name = forward.getArgAttrOfType<mlir::StringAttr>(i, train::kNameAttr).str();
      size_t position = size_t(llvm::find(inputNames, name) - inputNames.begin());
      auto tensor = readTensor(context, data + "input_" + std::to_string(position) + ".pb");
      if (failed(tensor) || tensor->type() != forward.getArgumentTypes()[i]) {
        why = "input " + std::to_string(i) + ": " + diagnostics;
        return Outcome::Skipped;
      }
      inputs.push_back(*tensor);
    }
    Evaluator evaluator(*module, EvalMode::Rounded);
    if (failed(evaluator.run("forward", inputs, results))) {
      why = "evaluator: " + diagnostics;
      return Outcome::Failed;
    }
    std::map<std::string, int64_t> counts; // NAME.count is the number of rows of NAME
    auto nameOf = [&](size_t i) {
      return forward.getResultAttrOfType<mlir::StringAttr>(unsigned(i), train::kNameAttr).str();
    };
    for (; llvm::StringRef(nameOf(results.size() - 1)).ends_with(".count"); results.pop_back())
      counts[llvm::StringRef(nameOf(results.size() - 1)).drop_back(6).str()] = int64_t(results.back().values[0]);
    for (size_t i = 0; i < results.size(); ++i) {
      auto want = readTensor(context, data + "output_" + std::to_string(i) + ".pb");
      if (failed(want)) {
        why = "output " + std::to_string(i) + ": " + diagnostics;
        return Outcome::Skipped;
      }
      if (results[i].element.isBF16() && want->element.isUnsignedInteger(16))
        want = asBFloat16(*want, results[i].element);
      if (auto count = counts.find(nameOf(i)); count != counts.end())
        results[i] = firstRows(results[i], count->second, want->type());
      std::string difference = compare(results[i], *want);
      if (!difference.empty()) {
        why = "output " + std::to_string(i) + ": " + difference;
        return Outcome::Failed;
      }
    }
  }
  return Outcome::Passed;
}

TEST(Conformance, NodeTests) {
  const char *variable = std::getenv("MPC_ONNX_TESTDATA");
  std::string roots = variable ? variable : "/usr/share/libonnx-testdata/data/node";
  std::vector<std::string> folders;
  llvm::SmallVector<llvm::StringRef> list;
  llvm::StringRef(roots).split(list, ':');
  for (llvm::StringRef root : list) {
    std::error_code error;
    for (llvm::sys::fs::directory_iterator it(root, error), end; !error && it != end; it.increment(error))
      if (llvm::sys::fs::exists(it->path() + "/model.onnx"))
        folders.push_back(it->path());
  }
  if (folders.empty())
    GTEST_SKIP() << "no ONNX test data in " << roots << " (package libonnx-testdata)";
  llvm::sort(folders);
  int counts[3] = {};
  for (const std::string &folder : folders) {
    std::string why;
    std::string name = llvm::sys::path::filename(folder).str();
    // The expected numbers come from another random generator.
    bool isRandom = llvm::StringRef(name).starts_with("test_bernoulli");
    Outcome outcome = isRandom ? Outcome::Skipped : runCase(folder, why);
    if (isRandom)
      why = "its results are random";
    ++counts[int(outcome)];
    if (outcome == Outcome::Failed)
      ADD_FAILURE() << name << ": " << why;
    if (outcome == Outcome::Skipped && std::getenv("MPC_VERBOSE"))
      std::cout << "skipped " << name << ": " << why << "\n";
  }
  std::cout << counts[0] << " passed, " << counts[1] << " failed, " << counts[2] << " skipped\n";
  EXPECT_GE(counts[0], 400);
}
