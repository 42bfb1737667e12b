//===- OpsCommand.cpp - mpc ops: what is supported, printed from the tables ----------------------===//
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Interfaces/Differentiable.h"
#include "dialects/Interfaces/Precision.h"
#include "tools/mpc/Common.h"
#include "llvm/Support/FormatVariadic.h"
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

using namespace mlir;
using nlohmann::json;

namespace mpc::tool {
namespace {

struct GraphOp {
  std::string name, gradient, precision;
};

/// What the graph ops state about themselves, by name.
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

std::string opsets(const SupportedOp &op) {
  std::string until = op.until >= kMaxOpset ? "" : std::to_string(op.until);
  return until == std::to_string(op.since) ? until : std::to_string(op.since) + "–" + until;
}

void printMarkdown(const std::vector<SupportedOp> &onnx, const std::vector<GraphOp> &graph) {
  auto &out = llvm::outs();
  out << "# Supported ops\n\nPrinted by `mpc ops --markdown` from the tables in `compiler/Import/Onnx/Ops` and the definitions in `dialects/Graph/IR`.\n\n"
      << "## ONNX ops\n\nOf the default domain, up to opset " << kMaxOpset << ". Opsets: the first and, where the op ended or changed, the last one of the row.\n\n"
      << "| op | family | opsets | limits |\n|---|---|---|---|\n";
  for (const SupportedOp &op : onnx)
    out << "| " << op.name << " | " << op.family << " | " << opsets(op) << " | " << op.limits << " |\n";
  out << "\n## Graph ops\n\nWhat ONNX ops are imported as, and what the backward pass is made of; the names follow ONNX's, and composed ONNX ops "
         "(Selu, Mish, LpPool ...) become several of them.\n\n"
         "- gradient: *yes* (its vector-Jacobian product is in `dialects/Graph/Gradients`); *zero* wherever it exists; *none*, and why: an error on a path to a "
         "parameter.\n"
         "- class under autocast (O1): *low* computes in the low type, *fp32* in fp32, *promote* in the widest type of its operands, *follow* in the type it is "
         "given; *neutral* is not about floats. See [precision.md](precision.md).\n\n| op | gradient | class |\n|---|---|---|\n";
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
    report["onnx"].push_back({{"op", op.name.str()}, {"family", op.family.str()}, {"since", op.since}, {"until", op.until}, {"limits", op.limits.str()}});
  for (const GraphOp &op : graph)
    report["graph"].push_back({{"op", op.name}, {"gradient", op.gradient}, {"class", op.precision}});
  llvm::outs() << report.dump(2) << '\n';
}

} // namespace

void addOpsCommand(CLI::App &app, int &status) {
  struct Flags {
    bool markdown = false, json = false;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App *command = app.add_subcommand("ops", "Lists the ONNX ops that are supported, and the gradient and precision class of graph ops");
  auto *markdown = command->add_flag("--markdown", flags->markdown, "As docs/ops.md");
  command->add_flag("--json", flags->json, "As JSON")->excludes(markdown);
  command->callback([flags, &status] {
    Session session;
    std::vector<SupportedOp> onnx = supportedOps();
    std::vector<GraphOp> graph = graphOps(session.context());
    flags->markdown ? printMarkdown(onnx, graph) : flags->json ? printJson(onnx, graph) : printText(onnx, graph);
    status = 0;
  });
}

} // namespace mpc::tool
