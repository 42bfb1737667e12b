//===- mpc-interpret.cpp - runs an entry with the reference evaluator, for tests -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mpc-interpret FILE.mlir [--entry=main] [--mode=rounded|exact] [--steps=N] [--variables] [--wide]
//
// The entry takes no arguments: inputs are graph.constants in it. The tool prints one line for each result, "0:
// tensor<2xf32> = [1, 0.5]", and with --variables also one for each variable of the module. Each number is the shortest
// one that reads back as itself: as a number of f32 where it is one and the type has no more digits, and with --wide
// always as a number of f64.
//
//===----------------------------------------------------------------------===//
#include "compiler/Evaluator/Evaluator.h"
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Kernel/IR/Kernel.h"
#include "dialects/Train/IR/Train.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include <charconv>

using namespace mlir;
using namespace mpc;

/// Returns the shortest decimal that reads back as v: as a number of f32 where v is one and the element type has no
/// more digits, unless `wide`.
static std::string text(double v, Type element, bool wide) {
  char buffer[64];
  bool single = !wide && isa<FloatType>(element) && !element.isF64() && double(float(v)) == v;
  auto end = single ? std::to_chars(buffer, buffer + sizeof buffer, float(v))
                    : std::to_chars(buffer, buffer + sizeof buffer, v);
  return std::string(buffer, end.ptr);
}

static void printElements(const HostTensor &t, bool wide, size_t dimension, int64_t &next) {
  if (dimension == t.shape.size()) {
    llvm::outs() << text(t.values[next++], t.element, wide);
    return;
  }
  llvm::outs() << '[';
  for (int64_t i = 0; i < t.shape[dimension]; ++i) {
    if (i)
      llvm::outs() << ", ";
    printElements(t, wide, dimension + 1, next);
  }
  llvm::outs() << ']';
}

static void print(StringRef name, const HostTensor &t, bool wide) {
  llvm::outs() << name << ": " << t.type() << " = ";
  int64_t next = 0;
  printElements(t, wide, 0, next);
  llvm::outs() << '\n';
}

int main(int argc, char **argv) {
  llvm::cl::opt<std::string> file(llvm::cl::Positional, llvm::cl::desc("<module>"), llvm::cl::init("-"));
  llvm::cl::opt<std::string> entry("entry", llvm::cl::desc("function or step to run"), llvm::cl::init("main"));
  llvm::cl::opt<EvalMode> mode(
      "mode", llvm::cl::desc("rounding"), llvm::cl::init(EvalMode::Rounded),
      llvm::cl::values(clEnumValN(EvalMode::Rounded, "rounded", "at each op, to the IR's type"),
                       clEnumValN(EvalMode::Exact, "exact", "none: float64")));
  llvm::cl::opt<int> steps("steps", llvm::cl::desc("runs of the entry, one after the other"), llvm::cl::init(1));
  llvm::cl::opt<bool> variables("variables", llvm::cl::desc("print the variables too"));
  llvm::cl::opt<bool> wide("wide", llvm::cl::desc("print each number with as many digits as float64 needs: with "
                                                  "--mode=exact, a number of f32 may differ from one beside it"));
  llvm::cl::ParseCommandLineOptions(argc, argv, "mpc reference evaluator\n");

  DialectRegistry registry;
  registry.insert<func::FuncDialect, graph::GraphDialect, train::TrainDialect, kernel::KernelDialect>();
  registerEvaluatorModels(registry);
  MLIRContext context(registry);

  std::string message;
  auto buffer = openInputFile(file, &message);
  if (!buffer) {
    llvm::errs() << message << '\n';
    return 1;
  }
  auto sources = std::make_shared<llvm::SourceMgr>();
  sources->AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  SourceMgrDiagnosticHandler diagnostics(*sources, &context);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, &context);
  if (!module)
    return 1;

  Evaluator evaluator(*module, mode);
  SmallVector<HostTensor> results;
  for (int i = 0; i < steps; ++i)
    if (failed(evaluator.run(entry, {}, results)))
      return 1;
  for (auto [i, result] : llvm::enumerate(results))
    print(std::to_string(i), result, wide);
  if (variables)
    for (auto variable : module->getOps<train::VariableOp>())
      print(variable.getSymName(), evaluator.variable(variable.getSymName()), wide);
  return 0;
}
