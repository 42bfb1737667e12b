//===- SharedModelsTest.cpp - real exported models, where they are at hand ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ModelBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <gtest/gtest.h>

using namespace mpc;
using namespace mpc::test;

static std::string sharedDir() {
  if (const char *dir = std::getenv("MPC_SHARED_DIR"))
    return dir;
  return MPC_SHARED_DIR;
}

static std::vector<std::string> models(const std::string &folder) {
  std::vector<std::string> result;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(sharedDir() + "/" + folder, error), end; !error && it != end;
       it.increment(error))
    if (llvm::StringRef(it->path()).ends_with(".onnx"))
      result.push_back(it->path());
  llvm::sort(result);
  return result;
}

namespace {
struct File {
  bool ok;
  std::string ir, problems;
  ImportReport report;
};
} // namespace

static File importFile(const std::string &path) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  File file;
  mlir::ScopedDiagnosticHandler handler(&context, [](mlir::Diagnostic &) { return mlir::success(); });
  auto module = importOnnx(context, path, {}, &file.report);
  file.ok = bool(module);
  for (const ImportProblem &p : file.report.problems)
    file.problems += "  " + p.node + ": '" + p.op + "' (opset " + std::to_string(p.opset) + "): " + p.why + "\n";
  if (module) {
    llvm::raw_string_ostream stream(file.ir);
    mlir::OpPrintingFlags flags;
    flags.elideLargeElementsAttrs().elideLargeResourceString();
    module->print(stream, flags);
  }
  return file;
}

/// Checks that all models import except for these, whose recurrent ops are not supported.
static void check(const std::string &folder, std::initializer_list<const char *> unsupported) {
  auto files = models(folder);
  if (files.empty())
    GTEST_SKIP() << "no models in " << sharedDir() << "/" << folder;
  for (const std::string &path : files) {
    std::string name = llvm::sys::path::stem(path).str();
    File file = importFile(path);
    bool known = llvm::any_of(unsupported, [&](const char *n) { return name == n; });
    EXPECT_TRUE(file.ok || known) << path << "\n" << file.problems;
    std::cout << (file.ok ? "imported " : "not supported ") << name << "\n" << file.problems;
    if (std::getenv("MPC_DUMP_IMPORTS"))
      std::cout << file.ir;
  }
}

TEST(SharedModels, GradientReferences) {
  check("gradref", {"ref_deepspeech2_ctc_primitives", "ref_gru_lm_ce", "ref_lstm_lm_ce", "ref_seq2seq_attn_ce"});
}
TEST(SharedModels, FullSize) { check("models/full-size", {}); }
TEST(SharedModels, Trained) { check("models/trained", {}); }

/// This is a residual network without weights: parameters are inferred from their positions, and statistics
/// are buffers.
TEST(SharedModels, ResNetParametersAreInferred) {
  std::string path = sharedDir() + "/models/full-size/resnet18_ce.onnx";
  if (!llvm::sys::fs::exists(path))
    GTEST_SKIP() << path << " is missing";
  File file = importFile(path);
  ASSERT_TRUE(file.ok) << file.problems;
  std::map<std::string, int> roles;
  for (const TensorVerdict &v : file.report.tensors)
    ++roles[v.role];
  EXPECT_EQ(roles["data"], 2);       // the image and the label
  EXPECT_EQ(roles["parameter"], 62); // 20 convolutions, 20 norms with two each, and one dense layer with two
  EXPECT_EQ(roles["buffer"], 40);
}
