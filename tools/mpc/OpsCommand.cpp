//===- OpsCommand.cpp - mpc ops: prints from the tables what is supported ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Interfaces/Differentiable.h"
#include "dialects/Interfaces/Precision.h"
#include "dialects/Train/IR/Train.h"
#include "runtime/runner/Help.h"
#include "tools/mpc/Common.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <set>

using namespace mlir;
using nlohmann::json;

namespace mpc::tool {
namespace {

struct GraphOp {
  std::string name, gradient, precision;
};

/// Returns what the graph ops state about themselves, sorted by name.
std::vector<GraphOp> graphOps(MLIRContext &context) {
  std::vector<GraphOp> ops;
  for (RegisteredOperationName name : context.getRegisteredOperations()) {
    if (name.getDialectNamespace() != "graph")
      continue;
    GraphOp op;
    op.name = name.stripDialect().str();
    if (auto *none = name.getInterface<NoGradientOpInterface>())
      op.gradient = "none: " + none->getNoGradientReason().str();
    else if (name.hasTrait<ZeroGradient>())
      op.gradient = "zero";
    else if (name.hasInterface<DifferentiableOpInterface>())
      op.gradient = "yes";
    if (auto *precision = name.getInterface<PrecisionOpInterface>())
      op.precision = stringify(precision->getPrecisionClass()).str();
    ops.push_back(op);
  }
  llvm::sort(ops, [](const GraphOp &a, const GraphOp &b) { return a.name < b.name; });
  return ops;
}

/// The graph ops that the examples of an ONNX op became.
struct Example {
  std::set<std::string> ops;
  std::string gradient = "zero";
};
using Examples = std::map<std::string, Example>;

/// Returns whether a derivative reaches a float input of @forward from its results: yes, zero or none (an op without a
/// derivative stands between).
StringRef gradientOf(ModuleOp module) {
  auto forward = module.lookupSymbol<FunctionOpInterface>("forward");
  if (!forward)
    return "zero";
  SmallVector<Value> work(forward.getFunctionBody().front().getTerminator()->getOperands());
  DenseSet<Value> seen;
  bool blocked = false;
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (!graph::isFloat(value) || !seen.insert(value).second)
      continue;
    Operation *op = value.getDefiningOp();
    if (!op || isa<train::ReadOp>(op))
      return "yes";
    if (isa<NoGradientOpInterface>(op))
      blocked = true;
    else if (isa<DifferentiableOpInterface>(op))
      llvm::append_range(work, op->getOperands());
  }
  return blocked ? "none" : "zero";
}

/// Imports every model of one op type in DIR/*/model.onnx (ONNX's backend node tests) and records which ops it became.
/// Shapes and axes that are inputs are taken from the test data, whose tensors are named after them.
Examples readExamples(const std::string &directory, int64_t &count) {
  Examples examples;
  std::error_code code;
  for (llvm::sys::fs::directory_iterator it(directory, code), end; it != end && !code; it.increment(code)) {
    std::string folder = it->path(), model = folder + "/model.onnx";
    if (!llvm::sys::fs::exists(model))
      continue;
    ++count;
    Session session(/*remarks=*/false);
    MLIRContext &context = session.context();
    ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) { return success(); });
    ImportOptions options;
    for (int i = 0;; ++i) {
      auto file =
          llvm::MemoryBuffer::getFile(folder + "/test_data_set_0/input_" + std::to_string(i) + ".pb", false, false);
      if (!file)
        break;
      if (auto data = readOnnxTensor(context, (*file)->getBuffer(), "input"); succeeded(data) && !data->name.empty())
        options.constants[data->name] = *data;
    }
    ImportReport report;
    // Values are fixed only if they must be.
    auto all = std::move(options.constants);
    options.constants.clear();
    auto module = importOnnx(context, model, options, &report);
    for (int round = 0; round < 4 && !module && !report.neededConstants.empty(); ++round) {
      for (const std::string &name : report.neededConstants)
        if (auto found = all.find(name); found != all.end())
          options.constants[name] = found->second;
      report = {};
      module = importOnnx(context, model, options, &report);
    }
    if (!module || report.opCount.size() != 1)
      continue;
    Example &example = examples[report.opCount.begin()->first];
    if (StringRef gradient = gradientOf(*module); gradient == "yes" || example.gradient == "zero")
      example.gradient = gradient.str();
    module->walk([&](Operation *op) {
      if (op->getName().getDialectNamespace() == "graph")
        example.ops.insert(op->getName().stripDialect().str());
    });
  }
  // Ops that only move or convert elements say nothing about an op that does more.
  for (auto &[name, example] : examples) {
    std::set<std::string> &ops = example.ops;
    ops.erase("constant");
    std::set<std::string> essential = ops;
    for (const char *move : {"cast", "reshape", "broadcast", "transpose"})
      essential.erase(move);
    if (!essential.empty())
      ops = essential;
  }
  return examples;
}

/// Returns gradient, class and graph ops of an ONNX op, as table cells.
std::string exampleCells(const Example &example, const std::map<std::string, const GraphOp *> &graph) {
  if (example.ops.empty())
    return " – | – | folds away |";
  std::set<std::string> classes;
  for (const std::string &name : example.ops)
    if (graph.at(name)->precision != "neutral")
      classes.insert(graph.at(name)->precision);
  return " " + example.gradient + " | " + (classes.empty() ? "neutral" : llvm::join(classes, ", ")) + " | " +
         llvm::join(example.ops, ", ") + " |";
}

std::string opsets(const SupportedOp &op) {
  std::string until = op.until >= kMaxOpset ? "" : std::to_string(op.until);
  return until == std::to_string(op.since) ? until : std::to_string(op.since) + "–" + until;
}

void printMarkdown(const std::vector<SupportedOp> &onnx, const std::vector<GraphOp> &graph, const Examples &examples,
                   int64_t count) {
  std::map<std::string, const GraphOp *> byName;
  for (const GraphOp &op : graph)
    byName[op.name] = &op;
  auto &out = llvm::outs();
  out << "# Supported ops\n\nPrinted by `mpc ops --markdown` from the tables in `compiler/Import/Onnx/Ops` and the "
         "definitions in `dialects/Graph/IR` (`make docs`).\n\n"
      << "- opsets: the first and, where the op ended or changed, the last one of the row.\n"
         "- gradient: *yes* (its vector-Jacobian product is in `dialects/Graph/Gradients`); *zero* wherever it exists; "
         "*none*: an error on a path to a parameter.\n"
         "- class under autocast (O1): *low* computes in the low type, *fp32* in fp32, *promote* in the widest type of "
         "its operands, *follow* in the type it is "
         "given; *neutral* is not about floats. See [precision.md](precision.md).\n"
         "- random ops draw numbers that are a function of the program's `--seed`, the step and the node: new ones in "
         "every step. A factor that such numbers make and whose mean is one is "
         "dropout (stochastic depth, a mask divided by the probability that keeps): `eval`, `predict` and `mpc export` "
         "leave it out. All others stay random there, and each batch draws its own.\n"
      << "\n## ONNX ops\n\nOf the default domain, up to opset " << kMaxOpset << ". ";
  if (count)
    out << "Gradient, class and what an op becomes were read off ONNX's " << count
        << " backend node tests as they are imported; a row without them has no test there.";
  out << "\n";
  StringRef family;
  for (const SupportedOp &op : onnx) {
    if (op.family != family)
      out << "\n### " << op.family
          << "\n\n| op | opsets | gradient | class | becomes | limits |\n|---|---|---|---|---|---|\n";
    family = op.family;
    auto found = examples.find(op.name.str());
    out << "| " << op.name << " | " << opsets(op) << " |"
        << (found == examples.end() ? " | | |" : exampleCells(found->second, byName)) << " " << op.limits << " |\n";
  }
  out << "\n## Graph ops\n\nWhat ONNX ops are imported as, and what the backward pass is made of.\n\n| op | gradient | "
         "class |\n|---|---|---|\n";
  for (const GraphOp &op : graph)
    out << "| " << op.name << " | " << op.gradient << " | " << op.precision << " |\n";
}

void printText(const std::vector<SupportedOp> &onnx, const std::vector<GraphOp> &graph) {
  auto &out = llvm::outs();
  out << "ONNX ops:\n";
  for (const SupportedOp &op : onnx)
    out << llvm::formatv("  {0,-28} {1,-10} opset {2,-8} {3}\n", op.name, op.family, opsets(op), op.limits);
  out << "graph ops:\n";
  for (const GraphOp &op : graph)
    out << llvm::formatv("  {0,-28} {1,-8} gradient: {2}\n", op.name, op.precision, op.gradient);
}

void printJson(const std::vector<SupportedOp> &onnx, const std::vector<GraphOp> &graph) {
  json report = {{"onnx", json::array()}, {"graph", json::array()}};
  for (const SupportedOp &op : onnx)
    report["onnx"].push_back({{"op", op.name.str()},
                              {"family", op.family.str()},
                              {"since", op.since},
                              {"until", op.until},
                              {"limits", op.limits.str()}});
  for (const GraphOp &op : graph)
    report["graph"].push_back({{"op", op.name}, {"gradient", op.gradient}, {"class", op.precision}});
  llvm::outs() << report.dump(2) << '\n';
}

} // namespace

void addOpsCommand(CLI::App &app, int &status) {
  struct Flags {
    bool markdown = false, json = false;
    std::string examples;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App *command = app.add_subcommand(
      "ops", "Lists the ONNX ops that are supported, and the gradient and precision class of graph ops");
  auto *markdown = command->add_flag("--markdown", flags->markdown, "As docs/ops.md");
  command->add_flag("--json", flags->json, "As JSON")->excludes(markdown);
  command->add_option("--examples", flags->examples, "Folder of ONNX's backend node tests: shows what each op becomes")
      ->check(CLI::ExistingDirectory)
      ->needs(markdown);
  rt::setExample(*command, "ops --json");
  command->callback([flags, &status] {
    Session session;
    std::vector<SupportedOp> onnx = supportedOps();
    std::vector<GraphOp> graph = graphOps(session.context());
    int64_t count = 0;
    Examples examples;
    if (!flags->examples.empty())
      examples = readExamples(flags->examples, count);
    flags->markdown ? printMarkdown(onnx, graph, examples, count)
    : flags->json   ? printJson(onnx, graph)
                    : printText(onnx, graph);
    status = 0;
  });
}

} // namespace mpc::tool
