//===- Mlir.cpp - fuzz target: what the parser takes of our dialects, it prints and takes again ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Kernel/IR/Kernel.h"
#include "dialects/Train/IR/Train.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include <cstdio>
#include <cstdlib>

using namespace mlir;

static void finding(const char *what, const std::string &text) {
  std::fprintf(stderr, "finding: %s\n%s\n", what, text.c_str());
  std::abort();
}

static std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream(text) << module;
  return text;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string source(reinterpret_cast<const char *>(data), size);
  // Bytecode would test MLIR's own reader, and a NUL ends the text.
  if (source.starts_with("ML\xefR") || source.find('\0') != source.npos)
    return 0;
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<func::FuncDialect, arith::ArithDialect, mpc::graph::GraphDialect, mpc::train::TrainDialect,
                      mpc::kernel::KernelDialect>();
  ScopedDiagnosticHandler silent(&context, [](Diagnostic &) { return success(); });
  auto module = parseSourceString<ModuleOp>(source, &context);
  if (!module)
    return 0;
  std::string first = print(*module);
  auto again = parseSourceString<ModuleOp>(first, &context);
  if (!again)
    finding("what was printed is not parsed", first);
  std::string second = print(*again);
  if (second != first)
    finding("printed and parsed, it prints otherwise", first + second);
  return 0;
}
