//===- Import.cpp - fuzz target: an ONNX file becomes a module that verifies, or problems with hints -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Import/Onnx/Importer.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include <cstdio>
#include <cstdlib>

using namespace mpc;

static void finding(const char *what) {
  std::fprintf(stderr, "finding: %s\n", what);
  std::abort();
}

static void import(mlir::MLIRContext &context, llvm::StringRef bytes, bool keepGoing, bool forwardOnly) {
  ImportOptions options;
  options.keepGoing = keepGoing;
  options.forwardOnly = forwardOnly;
  options.batch = 2; // for models that leave their batch open
  ImportReport report;
  auto module = importOnnxBytes(context, bytes, "input.onnx", "", options, &report);
  if (module && failed(mlir::verify(*module)))
    finding("the module does not verify");
  if (!module && report.ok())
    finding("no module and no problem");
  for (const ImportProblem &problem : report.problems)
    if (problem.node.empty() || problem.why.empty() || problem.hint.empty())
      finding("a problem without a place, a reason or a hint");
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef bytes(reinterpret_cast<const char *>(data), size);
  for (bool training : {true, false}) {
    // A context never frees types and attributes, so each input gets its own.
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    mlir::ScopedDiagnosticHandler silent(&context, [](mlir::Diagnostic &) { return mlir::success(); });
    import(context, bytes, /*keepGoing=*/training, /*forwardOnly=*/!training);
  }
  return 0;
}
