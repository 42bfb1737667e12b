//===- BadInputTest.cpp - a located error or a valid result, never a crash ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ModelBuilder.h"
#include "compiler/Pipeline/Check.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <sys/resource.h>
#include <unistd.h>

using namespace mpc;
using namespace mpc::test;
using L = std::vector<int64_t>;

/// Imports broken bytes. The result must be problems, or a module that verifies.
static bool importsOrFails(const std::string &bytes) {
  alarm(20);
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  mlir::ScopedDiagnosticHandler handler(&context, [](mlir::Diagnostic &) { return mlir::success(); });
  ImportReport report;
  auto module = importOnnxBytes(context, bytes, "broken.onnx", "", {}, &report);
  if (module)
    EXPECT_TRUE(succeeded(mlir::verify(*module)));
  else
    EXPECT_FALSE(report.problems.empty());
  return bool(module);
}

/// Limits of one process: a mutant that asks for more memory or takes longer ends the test.
class Limits {
public:
  Limits() {
    getrlimit(RLIMIT_AS, &before);
    rlimit limited = before;
    limited.rlim_cur = std::min<rlim_t>(before.rlim_max, addressSpace() + (rlim_t(2) << 30));
    setrlimit(RLIMIT_AS, &limited);
  }
  ~Limits() {
    alarm(0);
    setrlimit(RLIMIT_AS, &before);
  }
  /// Limits the time of the next case, after which SIGALRM ends the process.
  static void nextCase(unsigned seconds = 20) { alarm(seconds); }

private:
  static rlim_t addressSpace() {
    unsigned long pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return rlim_t(pages) * rlim_t(sysconf(_SC_PAGESIZE));
  }
  rlimit before;
};

/// Runs all that `mpc check` does on broken bytes. The result must be located problems with hints, or a network
/// that can be trained.
static bool checksOrFails(const std::string &bytes) {
  Limits::nextCase();
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  mlir::ScopedDiagnosticHandler handler(&context, [](mlir::Diagnostic &diagnostic) {
    ADD_FAILURE() << "a diagnostic instead of a problem: " << diagnostic.str();
    return mlir::success();
  });
  TrainingOptions training;
  training.precision = "fp16";
  training.optLevel = "O2";
  ImportReport report = checkTrainingBytes(context, bytes, "broken.onnx", "", {}, training);
  for (const ImportProblem &problem : report.problems) {
    EXPECT_FALSE(problem.node.empty());
    EXPECT_FALSE(problem.why.empty());
    EXPECT_FALSE(problem.hint.empty()) << problem.node << ": " << problem.why;
  }
  return report.ok();
}

TEST(BadInput, SoundLeNetIsAccepted) { EXPECT_TRUE(checksOrFails(lenet().bytes())); }

TEST(BadInput, Truncated) {
  Limits limits;
  std::string bytes = lenet().bytes();
  int accepted = 0;
  for (size_t length = 0; length < bytes.size(); length += 97)
    accepted += checksOrFails(bytes.substr(0, length));
  EXPECT_EQ(accepted, 0); // no prefix is accepted, because the outputs are at the end of the file
}

TEST(BadInput, FlippedBits) {
  Limits limits;
  const std::string bytes = lenet().bytes();
  std::mt19937 random(2024);
  // Most of the file is weights, so half of the flips are made in its structure. `make campaigns` makes many more (the
  // fuzz target `import`).
  size_t weights = bytes.find("conv1.weight");
  const int flips = 500;
  int accepted = 0;
  for (int i = 0; i < flips; ++i) {
    std::string flipped = bytes;
    size_t range = i % 2 ? weights : bytes.size();
    flipped[random() % range] ^= char(1 << (random() % 8));
    accepted += checksOrFails(flipped);
  }
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, flips);
}

/// Flips bits in every op's node test, which covers the ops that LeNet does not have.
TEST(BadInput, FlippedNodeTests) {
  const std::string root = "/usr/share/libonnx-testdata/data/node";
  std::vector<std::string> files;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(root, error), end; !error && it != end; it.increment(error))
    files.push_back(it->path() + "/model.onnx");
  if (files.empty())
    GTEST_SKIP() << "no " << root << " (package libonnx-testdata)";
  llvm::sort(files);
  std::mt19937 random(7);
  const char *flips = std::getenv("MPC_FLIPS");
  int perFile = flips ? std::atoi(flips) : 6, imported = 0;
  for (const std::string &file : files) {
    std::ifstream stream(file, std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(stream)), {});
    for (int i = 0; i < perFile && !bytes.empty(); ++i) {
      std::string flipped = bytes;
      flipped[random() % bytes.size()] ^= char(1 << (random() % 8));
      imported += importsOrFails(flipped);
    }
  }
  EXPECT_GT(imported, 0);
}

static void expectError(const ModelBuilder &m, const std::string &message, const ImportOptions &options = {},
                        const std::string &folder = "") {
  Imported r = import(m.bytes(), options, folder);
  EXPECT_FALSE(r.ok());
  EXPECT_NE(r.diagnostics.find(message), std::string::npos) << message << "\nnot in\n" << r.diagnostics;
}

static ModelBuilder relu() {
  ModelBuilder m;
  m.input("x", {int64_t(2), int64_t(3)}).output("y");
  m.node("Relu", {"x"}, {"y"});
  return m;
}

TEST(BadInput, Files) {
  EXPECT_NE(import(std::string()).diagnostics.find("the file is empty"), std::string::npos);
  EXPECT_NE(import(std::string("PK\3\4 not a model at all")).diagnostics.find("not an ONNX model"), std::string::npos);
  ModelBuilder m = relu();
  m.model.clear_graph();
  expectError(m, "model.onnx: error: the model has no graph");
  m = relu();
  m.model.clear_opset_import();
  expectError(m, "does not say which opset");
  m = ModelBuilder(kMaxOpset + 1);
  m.output("y");
  expectError(m, "opset " + std::to_string(kMaxOpset + 1) + " is not supported");
  mlir::MLIRContext context;
  ImportReport report = checkOnnx(context, "/nonexistent/model.onnx", {});
  ASSERT_EQ(report.problems.size(), 1u);
  EXPECT_NE(report.problems[0].why.find("cannot read"), std::string::npos);
}

TEST(BadInput, Graphs) {
  ModelBuilder m = relu();
  m.node("Relu", {"nowhere"}, {"z"});
  expectError(m, "z: error: 'Relu' (opset 17): input 'nowhere' is made by no node");
  m = relu();
  m.node("Tanh", {"x"}, {"y"});
  expectError(m, "value 'y' is made twice");
  m = relu();
  m.node("Tanh", {"b"}, {"a"});
  m.node("Tanh", {"a"}, {"b"});
  expectError(m, "a: error: 'Tanh' (opset 17): depends on its own result: the graph has a cycle");
  m = relu();
  m.output("z");
  expectError(m, "z: error: this graph output is made by no node");
  m = relu();
  m.model.mutable_graph()->clear_output();
  expectError(m, "the graph has no outputs");
  m = relu();
  m.model.mutable_graph()->mutable_node(0)->set_domain("com.example");
  expectError(m, "domain 'com.example' is not supported");
  m = relu();
  m.model.mutable_graph()->mutable_input(0)->clear_type();
  expectError(m, "x: error: this graph input is no tensor");
  m = relu();
  m.model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(8);
  expectError(m, "x: error: element type STRING is not supported");
  m = relu();
  m.model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(17);
  expectError(m, "x: error: element type FLOAT8E4M3FN is not supported");
  m = ModelBuilder();
  m.input("x", {int64_t(1) << 40, int64_t(1) << 40}).node("Relu", {"x"}, {"y"});
  m.output("y");
  expectError(m, "x: error: has a negative dimension or more than 2^33 elements");
}

TEST(BadInput, MoreInputsOrOutputsThanTheOpHas) {
  auto with = [](int64_t opset, const std::string &op, const std::vector<std::string> &inputs,
                 const std::vector<std::string> &outputs) {
    ModelBuilder m(opset);
    m.input("x", {int64_t(2), int64_t(3)}).scalar("s", 1).ints("axes", {0}).output("y");
    m.node(op, inputs, outputs);
    return m;
  };
  expectError(with(17, "Relu", {"x", "x", "x"}, {"y"}),
              "y: error: 'Relu' (opset 17): is given 3 inputs; at this opset it has at most 1");
  expectError(with(17, "Relu", {"x"}, {"y", "z"}),
              "y: error: 'Relu' (opset 17): is given 2 outputs; at this opset it has at most 1");
  expectError(with(17, "Add", {"x", "x", "s"}, {"y"}), "is given 3 inputs");
  // The limits depend on the opset, because ops have changed.
  expectError(with(10, "Clip", {"x", "s"}, {"y"}),
              "'Clip' (opset 10): is given 2 inputs; at this opset it has at most 1");
  EXPECT_TRUE(import(with(11, "Clip", {"x", "s"}, {"y"})).ok());
  expectError(with(12, "ReduceSum", {"x", "axes"}, {"y"}), "is given 2 inputs");
  EXPECT_TRUE(import(with(13, "ReduceSum", {"x", "axes"}, {"y"})).ok());
  // Sum takes any number of inputs, and trailing names may be empty.
  EXPECT_TRUE(import(with(17, "Sum", {"x", "x", "s", "x", "x"}, {"y"})).ok());
  EXPECT_TRUE(import(with(17, "Relu", {"x", "", ""}, {"y", ""})).ok());
}

TEST(BadInput, NodesAreSortedFirst) {
  ModelBuilder m;
  m.input("x", {int64_t(2), int64_t(3)}).output("y");
  m.node("Relu", {"t"}, {"y"});
  m.node("Tanh", {"x"}, {"t"});
  EXPECT_TRUE(import(m).ok());
}

TEST(BadInput, Attributes) {
  ModelBuilder m = relu();
  ModelBuilder::set(*m.model.mutable_graph()->mutable_node(0)->add_attribute(), "alpha", 1.0);
  expectError(m, "y: error: 'Relu' (opset 17): attribute 'alpha' is not supported at this opset");
  m = ModelBuilder();
  m.input("x", {int64_t(2), int64_t(3)}).output("y");
  m.node("LeakyRelu", {"x"}, {"y"}, {{"alpha", int64_t(1)}});
  expectError(m, "attribute 'alpha' has the wrong type");
  for (L kernel : {L{0, 2}, L{-1, 2}, L{int64_t(1) << 40, 2}, L{2}, L{9, 9}}) {
    m = ModelBuilder();
    m.input("x", {int64_t(1), int64_t(3), int64_t(8), int64_t(8)}).output("y");
    m.node("MaxPool", {"x"}, {"y"}, {{"kernel_shape", kernel}});
    expectError(m, "y: error: 'MaxPool' (opset 17): ");
  }
  m = ModelBuilder();
  m.input("x", {int64_t(1), int64_t(3), int64_t(8), int64_t(8)}).weight("w", {4, 5, 3, 3}).output("y");
  m.node("Conv", {"x", "w"}, {"y"});
  expectError(m, "y: error: 'Conv' (opset 17): x has 3 channels, w takes 5 x 1 groups");
  m = ModelBuilder();
  m.input("a", {int64_t(2), int64_t(3)}).input("b", {int64_t(4)}).output("y");
  m.node("Add", {"a", "b"}, {"y"});
  expectError(m, "y: error: 'Add' (opset 17): shapes [2, 3] and [4] do not broadcast");
}

TEST(BadInput, WhatHasNoName) {
  ModelBuilder m;
  m.input("x", {int64_t(2)}).output("y").output("");
  m.node("Relu", {"x"}, {"y"});
  expectError(m, "model.onnx: error: graph output 1 has no name");
  m = ModelBuilder();
  m.input("x", {int64_t(2)}).output("y");
  m.node("Relu", {"x"}, {"y"});
  m.model.mutable_graph()->add_sparse_initializer();
  expectError(m, "model.onnx: error: sparse initializers are not supported");
}

TEST(BadInput, NumbersThatAreNoIntegers) {
  auto message = [](float depth) {
    ModelBuilder m;
    m.input("x", {int64_t(2)}, onnx::TensorProto::INT64).scalar("depth", depth).floats("values", {2}, {0, 1});
    m.node("OneHot", {"x", "depth", "values"}, {"y"});
    m.output("y");
    return import(m).diagnostics;
  };
  EXPECT_EQ(message(3), "");
  for (float depth : {9.3e18f, -1e30f, 2.5f, INFINITY, NAN})
    EXPECT_NE(message(depth).find("depth (input 1) must be an integer"), std::string::npos) << depth << message(depth);
  EXPECT_NE(message(-1).find("depth -1 is not possible"), std::string::npos);
  for (int64_t k : {INT64_MAX, INT64_MIN}) { // k selects all or nothing of the upper triangle
    ModelBuilder m;
    m.input("x", {int64_t(2), int64_t(2)}).ints("k", {k});
    m.node("Trilu", {"x", "k"}, {"y"});
    m.output("y");
    EXPECT_TRUE(import(m).ok()) << k;
  }
}

TEST(BadInput, Tensors) {
  auto withTensor = [](auto edit) {
    ModelBuilder m;
    m.input("x", {int64_t(2), int64_t(3)}).weight("w", {3}).output("y");
    m.node("Add", {"x", "w"}, {"y"});
    edit(*m.model.mutable_graph()->mutable_initializer(0));
    return m;
  };
  expectError(withTensor([](auto &t) { t.set_raw_data("1234567"); }),
              "w: error: has 7 bytes of data, its shape and type need 12");
  expectError(withTensor([](auto &t) { t.set_dims(0, -3); }), "w: error: has a negative dimension");
  expectError(withTensor([](auto &t) { t.set_dims(0, int64_t(1) << 60); }), "more than 2^33 elements");
  expectError(withTensor([](auto &t) { t.clear_raw_data(); }), "w: error: has 0 elements of data, its shape says 3");
  expectError(withTensor([](auto &t) { t.set_data_type(8); }), "w: error: element type STRING is not supported");
  expectError(withTensor([](auto &t) { t.set_data_type(99); }), "w: error: element type type code 99 is not supported");
}

TEST(BadInput, EverythingAtOnce) {
  ModelBuilder m;
  m.input("x", {int64_t(2), int64_t(3)}).output("y");
  m.node("Compress", {"x"}, {"a"});
  m.node("Relu", {"a"}, {"b"}); // reports nothing, since only its operand is bad
  m.node("Det", {"x"}, {"c"});
  m.node("Add", {"b", "c"}, {"y"});
  mlir::MLIRContext context;
  ImportReport report = checkOnnxBytes(context, m.bytes(), "m", "", {});
  ASSERT_EQ(report.problems.size(), 2u);
  EXPECT_EQ(report.problems[0].op, "Compress");
  EXPECT_EQ(report.problems[1].op, "Det");
  EXPECT_EQ(report.problems[1].node, "c");
  EXPECT_EQ(report.problems[1].opset, 17);
}

/// Makes x -> Unique e -> Resize (with two mistakes) -> Gemm -> logits. `stated` says whether the model
/// states the types of values.
static ModelBuilder severalProblems(bool stated) {
  ModelBuilder m;
  m.input("x", {int64_t(2), int64_t(1), int64_t(4), int64_t(4)})
      .weight("w", {3, 64})
      .floats("scales", {4}, {1, 1, 2, 2});
  m.node("Unique", {"x"}, {"e"});
  m.node("Resize", {"e", "", "scales"}, {"r"},
         {{"mode", std::string("linear")},
          {"coordinate_transformation_mode", std::string("somewhere")},
          {"strength", int64_t(3)}});
  m.node("Flatten", {"r"}, {"f"});
  m.node("Gemm", {"f", "w"}, {"logits"}, {{"transB", int64_t(1)}, {"transC", int64_t(1)}});
  m.output("logits");
  auto state = [&](const std::string &name, std::vector<int64_t> dims) {
    auto *info = m.model.mutable_graph()->add_value_info();
    info->set_name(name);
    info->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
    for (int64_t d : dims)
      info->mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(d);
  };
  if (stated)
    state("e", {2, 1, 4, 4});
  return m;
}

static std::vector<std::string> problemsOf(const ModelBuilder &m, const std::string &loss) {
  mlir::MLIRContext context;
  TrainingOptions training;
  training.loss = loss;
  std::vector<std::string> found;
  for (const ImportProblem &problem : checkTrainingBytes(context, m.bytes(), "m", "", {}, training).problems)
    found.push_back(problem.node + ": " + problem.why);
  return found;
}

TEST(BadInput, EverythingAtOnceBehindWhatIsNotSupported) {
  EXPECT_EQ(problemsOf(severalProblems(false), "mse:logits:t"), std::vector<std::string>{"e: is not supported"});
  EXPECT_EQ(problemsOf(severalProblems(true), "hinge:logits:t"),
            (std::vector<std::string>{
                "e: is not supported", "r: coordinate_transformation_mode 'somewhere' is not supported",
                "r: attribute 'strength' is not supported at this opset",
                "logits: attribute 'transC' is not supported at this opset", "m: there is no loss 'hinge'"}));
}

/// Unknown ops and missing gradients are reported together, and a missing gradient names its path.
TEST(BadInput, MissingGradientsWithTheRest) {
  ModelBuilder m;
  m.input("x", {int64_t(2), int64_t(3)}).weight("w", {3, 3});
  for (const char *name : {"scale", "bias", "mean", "var"})
    m.weight(name, {3});
  m.node("MatMul", {"x", "w"}, {"dense"});
  for (const char *norm : {"one", "two"})
    m.node("BatchNormalization", {"dense", "scale", "bias", "mean", "var"},
           {norm, std::string(norm) + ".mean", std::string(norm) + ".var"}, {{"training_mode", int64_t(1)}});
  m.node("Add", {"one.mean", "two.mean"}, {"sum"});
  m.node("Det", {"sum"}, {"d"});
  m.node("ReduceMean", {"d"}, {"loss"}, {{"keepdims", int64_t(0)}});
  m.output("loss");
  auto *info = m.model.mutable_graph()->add_value_info();
  info->set_name("d");
  info->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  info->mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(3);
  mlir::MLIRContext context;
  TrainingOptions training;
  training.loss = "output:loss";
  ImportReport report = checkTrainingBytes(context, m.bytes(), "m", "", {}, training);
  std::vector<std::string> found;
  std::string path;
  for (const ImportProblem &problem : report.problems) {
    found.push_back(problem.node + ": " + problem.why.substr(0, 40));
    for (const std::string &at : problem.path)
      path += at + "; ";
  }
  EXPECT_EQ(found.size(), 5u) << testing::PrintToString(found);
  EXPECT_EQ(found.front(), "d: is not supported");
  for (const char *norm : {"one", "two"})
    EXPECT_EQ(llvm::count_if(found, [&](const std::string &text) { return llvm::StringRef(text).starts_with(norm); }),
              2)
        << testing::PrintToString(found);
  EXPECT_NE(path.find("on the path: 'graph.matmul' (dense); it depends on parameter @w; "), std::string::npos) << path;
}

//===-- External data ------------------------------------------------------------------===//

namespace {
struct Folder {
  llvm::SmallString<128> path;
  Folder() { EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory("mpc-import", path)); }
  ~Folder() { llvm::sys::fs::remove_directories(path); }
  void write(const std::string &name, const std::string &bytes) const {
    std::ofstream((path + "/" + name).str(), std::ios::binary) << bytes;
  }
};
} // namespace

static ModelBuilder external(const std::string &location, const std::string &offset = "",
                             const std::string &length = "") {
  ModelBuilder m;
  m.input("x", {int64_t(2), int64_t(3)}).output("y");
  auto *t = m.tensor("w", {3}, onnx::TensorProto::FLOAT);
  t->set_data_location(onnx::TensorProto::EXTERNAL);
  for (auto [key, value] : {std::pair("location", location), {"offset", offset}, {"length", length}})
    if (!value.empty()) {
      auto *entry = t->add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    }
  m.node("Add", {"x", "w"}, {"y"});
  return m;
}

TEST(BadInput, ExternalData) {
  Folder folder;
  std::string path = folder.path.str().str();
  float values[] = {0, 1, 2, 3};
  folder.write("w.bin", std::string(reinterpret_cast<char *>(values), 16));
  EXPECT_NE(import(external("w.bin", "4", "12").bytes(), {}, path)
                .ir.find("dense<[1.000000e+00, 2.000000e+00, 3.000000e+00]>"),
            std::string::npos);
  expectError(external("missing.bin"), "w: error: external data file 'missing.bin': No such file", {}, path);
  expectError(external("w.bin"), "the model is not in a folder");
  expectError(external("../w.bin"), "lies outside the model's folder", {}, path);
  expectError(external("/etc/passwd"), "is not a relative path", {}, path);
  expectError(external("w.bin", "8"), "has 16 bytes, the tensor stands at 8", {}, path);
  expectError(external("w.bin", "18446744073709551615"), "has 16 bytes", {}, path);
  expectError(external("w.bin", "0", "16"), "the tensor needs 12 bytes, its length is 16", {}, path);
  expectError(external("w.bin", "four"), "external data has offset 'four', not a number", {}, path);
  expectError(external("."), "error", {}, path);
  ASSERT_EQ(symlink("/etc/passwd", (path + "/link").c_str()), 0);
  expectError(external("link"), "leads outside the model's folder", {}, path);
}

//===-- Models that unfold --------------------------------------------------------------===//

TEST(BadInput, FunctionsThatCallThemselves) {
  ModelBuilder m;
  m.input("x", {int64_t(2), int64_t(3)}).output("y");
  m.node("F", {"x"}, {"y"}).set_domain("mine");
  auto *f = m.model.add_functions();
  f->set_name("F");
  f->set_domain("mine");
  f->add_input("in");
  f->add_output("out");
  auto *n = f->add_node();
  n->set_op_type("F");
  n->set_domain("mine");
  n->add_input("in");
  n->add_output("out");
  expectError(m, "function 'F' calls itself");
}

// The functions make 2^40 calls, which do nothing.
TEST(BadInput, FunctionsThatDouble) {
  auto name = [](int i) { return ("F" + llvm::Twine(i)).str(); };
  ModelBuilder m;
  m.input("x", {int64_t(2), int64_t(3)}).output("x");
  m.node("F0", {}, {}).set_domain("mine");
  for (int i = 0; i < 40; ++i) {
    auto *f = m.model.add_functions();
    f->set_name(name(i));
    f->set_domain("mine");
    for (int k = 0; k < (i < 39 ? 2 : 0); ++k) {
      auto *n = f->add_node();
      n->set_op_type(name(i + 1));
      n->set_domain("mine");
    }
  }
  expectError(m, "with this call the model's functions unfold to more than 100000 nodes");
}
