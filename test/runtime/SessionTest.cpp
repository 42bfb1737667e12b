// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A session that runs hand-written kernels: its state, inputs, steps and results.

#include "LogisticKernels.h"
#include "LogisticProgram.h"
#include "runtime/core/Evaluate.h"
#include "runtime/core/Trace.h"
#include "runtime/core/data/Npz.h"
#include "runtime/support/Random.h"

#include <cmath>
#include <gtest/gtest.h>
#include <sys/mman.h>

using namespace mpc::rt;
using namespace mpc::rt::test;

namespace {
/// Computes the whole training in double by the formulas, on samples in logical order.
struct Reference {
  double w[6] = {0.1f, 0.2f, 0.3f, 0.4f, 0.5f, 0.6f}, slot[6] = {};
  double step(const float *x, const int64_t *target, double lr, double momentum, double *gradient) {
    double loss = 0;
    for (int i = 0; i < 6; ++i)
      gradient[i] = 0;
    for (int n = 0; n < 4; ++n) {
      double p = 0, sign = target[n] ? 1 : -1;
      for (int i = 0; i < 6; ++i)
        p += halfToFloat(floatToHalf(float(w[i]))) * x[6 * n + i];
      loss += std::log1p(std::exp(-sign * p)) / 4;
      for (int i = 0; i < 6; ++i)
        gradient[i] += -sign / (1 + std::exp(sign * p)) / 4 * x[6 * n + i];
    }
    for (int i = 0; i < 6; ++i) {
      slot[i] = momentum * slot[i] + gradient[i];
      w[i] -= lr * slot[i];
    }
    return loss;
  }
};
} // namespace

TEST(Session, InitialStateIsLogicalAndCopiesAreRounded) {
  Session session(logisticProgram());
  Tensor w = session.variable("w"), copy = session.variable("w/f16");
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(w.at(i), double(float(0.1 * double(i + 1))));
    EXPECT_EQ(copy.at(i), halfToFloat(floatToHalf(float(0.1 * double(i + 1)))));
  }
  EXPECT_EQ(session.variableScalar("main/scale"), 65536);
}

TEST(Session, SetVariableRefreshesCopies) {
  Session session(logisticProgram());
  Tensor w(MPC_F64, {3, 2});
  for (size_t i = 0; i < 6; ++i)
    w.as<double>()[i] = 1.0 / 3 * double(i);
  session.setVariable("w", w);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(session.variable("w").at(i), double(float(1.0 / 3 * double(i))));
    EXPECT_EQ(session.variable("w/f16").at(i), halfToFloat(floatToHalf(float(1.0 / 3 * double(i)))));
  }
  Error error = errorOf([&] { session.setVariable("w", Tensor(MPC_F32, {2, 3})); });
  EXPECT_STREQ(error.what(), "variable 'w' has shape [3,2], not [2,3]");
}

TEST(Session, InputsThatTheirTypeCannotHoldAreRefused) {
  Session session(logisticProgram());
  const Entry &entry = session.entryOfKind("predict");
  Tensor x(MPC_F64, {4, 3, 2});
  x.as<double>()[5] = -1e39;
  Error error = errorOf([&] { session.setInput(entry, "x", x); });
  EXPECT_STREQ(error.what(), "input 'x': element 5 holds -1e+39, which f32 cannot represent");
  x.as<double>()[5] = INFINITY; // an infinity is passed on as given
  session.setInput(entry, "x", x);
}

TEST(Session, LabelsAreCheckedWhereverTheyComeFrom) {
  Session session(logisticProgram());
  const Entry &entry = session.entryOfKind("eval");
  Tensor target(MPC_I64, {4});
  target.as<int64_t>()[2] = 2;
  EXPECT_STREQ(errorOf([&] { session.setInput(entry, "target", target); }).what(),
               "input 'target': element 2 is label 2, not in [0, 2)");
  Tensor floats(MPC_F64, {4});
  for (double value : {0.7, double(NAN), 1e300, double(INFINITY)}) {
    floats.as<double>()[3] = value;
    EXPECT_EQ(errorOf([&] { session.setInput(entry, "target", floats); }).what(),
              concat("input 'target': element 3 holds ", value, ", which i64 cannot represent"));
  }
  floats.as<double>()[3] = 1;
  session.setInput(entry, "target", floats);
}

TEST(Session, VariablesThatCannotHoldAValueKeepTheirs) {
  Session session(logisticProgram());
  Tensor before = session.variable("w"), w(MPC_F64, {3, 2});
  w.as<double>()[4] = 1e300;
  EXPECT_STREQ(errorOf([&] { session.setVariable("w", w); }).what(),
               "variable 'w': element 4 holds 1e+300, which f32 cannot represent");
  EXPECT_EQ(session.variable("w").bytes, before.bytes);
}

TEST(Session, TraceMatchesTheFormulas) {
  TemporaryFolder folder;
  DataOptions options;
  options.files = {writeLogisticData(folder / "d.npz", 4)};
  for (int threads : {1, 2, 3}) {
    SessionOptions sessionOptions;
    sessionOptions.threads = threads;
    Session session(logisticProgram(), sessionOptions);
    Dataset data(options, inputsOf({&session.entry("main")}), 4);
    auto result = trace(session, data, 5, {{"lr", 0.25}});
    NpzReader reader(options.files[0]);
    Array x = reader.read("x"), target = reader.read("target");
    std::vector<float> xs(24);
    std::vector<int64_t> targets(4);
    convert(MPC_F32, x.data, MPC_F32, xs.data(), 24);
    convert(MPC_I64, target.data, MPC_I64, targets.data(), 4);
    Reference reference;
    for (int step = 0; step < 5; ++step) {
      double gradient[6];
      double loss = reference.step(xs.data(), targets.data(), 0.25, 0.9, gradient);
      // f32 rounds a handful of operations on numbers near 1, and f16 rarely rounds w to another neighbour.
      EXPECT_NEAR(result.at("loss").at(size_t(step)), loss, 2e-4);
      for (size_t i = 0; step == 0 && i < 6; ++i)
        EXPECT_NEAR(result.at("grad/w").at(i), gradient[i], 1e-6);
      EXPECT_EQ(result.at("scale").at(size_t(step)), 65536);
      EXPECT_EQ(result.at("skipped").at(size_t(step)), 0);
    }
    for (size_t i = 0; i < 6; ++i) {
      EXPECT_NEAR(result.at("state/w").at(i), reference.w[i], 2e-4);
      EXPECT_NEAR(result.at("state/w/momentum").at(i), reference.slot[i], 1e-3);
    }
    EXPECT_LT(result.at("loss").at(4), result.at("loss").at(0));
  }
}

TEST(Session, ThreadsDoNotChangeBits) {
  TemporaryFolder folder;
  DataOptions options;
  options.files = {writeLogisticData(folder / "d.npz", 4)};
  std::vector<std::byte> first;
  for (int threads : {1, 2, 4}) {
    SessionOptions sessionOptions;
    sessionOptions.threads = threads;
    Session session(logisticProgram(), sessionOptions);
    Dataset data(options, inputsOf({&session.entry("main")}), 4);
    auto bytes = trace(session, data, 50).at("state/w").bytes;
    if (first.empty())
      first = bytes;
    EXPECT_EQ(bytes, first);
  }
}

TEST(Session, EvaluationCountsPaddedBatchesExactly) {
  TemporaryFolder folder;
  std::string path = writeLogisticData(folder / "d.npz", 11);
  Session session(logisticProgram());
  DataOptions options;
  options.files = {path};
  Dataset data(options, inputsOf({&session.entry("eval")}), 4);
  Evaluation evaluation = evaluate(session, data);
  NpzReader reader(path);
  Array x = reader.read("x"), target = reader.read("target");
  double loss = 0;
  int64_t correct = 0;
  for (size_t n = 0; n < 11; ++n) {
    double p = 0, sign = loadInteger(MPC_I64, target.data, n) ? 1 : -1;
    for (size_t i = 0; i < 6; ++i)
      p += halfToFloat(floatToHalf(float(0.1 * double(i + 1)))) * loadDouble(MPC_F32, x.data, 6 * n + i);
    loss += std::log1p(std::exp(-sign * p)) / 11;
    correct += (p > 0) == (sign > 0);
  }
  EXPECT_EQ(evaluation.samples, 11);
  EXPECT_NEAR(*evaluation.loss, loss, 1e-6);
  ASSERT_EQ(evaluation.metrics.size(), 1u);
  EXPECT_EQ(evaluation.metrics[0].correct, correct);
  EXPECT_EQ(evaluation.metrics[0].counted, 11);
}

TEST(Session, ALossOfWholeBatchesSaysWhatItCovers) {
  std::string manifest = logisticManifest();
  std::string split =
      R"({"name": "sample_loss", "role": "sample_loss", "dtype": "f32", "shape": [4], "offset": 640, "bytes": 16})";
  manifest.replace(manifest.find(split), split.size(),
                   R"({"name": "loss", "role": "loss", "dtype": "f32", "shape": [], "offset": 640, "bytes": 4})");
  TemporaryFolder folder;
  auto evaluated = [&](int64_t samples) {
    Session session(logisticProgram(manifest));
    DataOptions options;
    options.files = {writeLogisticData(folder / "d.npz", samples)};
    return evaluate(session, Dataset(options, inputsOf({&session.entry("eval")}), 4));
  };
  Evaluation partial = evaluated(11);
  EXPECT_EQ(partial.samples, 11);
  EXPECT_EQ(partial.lossSamples, 8);
  EXPECT_TRUE(std::isfinite(*partial.loss));
  EXPECT_EQ(partial.lossText("loss", ": "), concat("loss: ", *partial.loss, " (over 8 of 11 samples)"));
  Evaluation whole = evaluated(8);
  EXPECT_EQ(whole.lossText("loss", ": "), concat("loss: ", *whole.loss));
  EXPECT_EQ(*whole.loss, *partial.loss); // both average the same eight samples
  Evaluation none = evaluated(3);
  EXPECT_TRUE(std::isnan(*none.loss)); // present, although no sample counted
  EXPECT_EQ(none.lossSamples, 0);
}

TEST(Session, PredictWritesOneRowPerSample) {
  TemporaryFolder folder;
  Session session(logisticProgram());
  DataOptions options;
  options.files = {writeLogisticData(folder / "d.npz", 6)};
  Dataset data(options, inputsOf({&session.entry("predict")}), 4);
  predict(session, data, {folder / "out.npz"});
  Array logits = NpzReader(folder / "out.npz").read("logits");
  EXPECT_EQ(logits.shape, (Shape{6, 2}));
  for (size_t n = 0; n < 6; ++n)
    EXPECT_EQ(loadDouble(MPC_F32, logits.data, 2 * n), -loadDouble(MPC_F32, logits.data, 2 * n + 1));
}

TEST(Session, PredictRefusesToJoinWhatMixesSamples) {
  TemporaryFolder folder;
  auto run = [&](const std::string &how, int64_t samples) {
    std::string manifest = logisticManifest(), name = R"("name": "predict")",
                joined = R"("bytes": 32, "batched": true)";
    manifest.replace(manifest.find(joined, manifest.find(name)), joined.size(), R"("bytes": 32)" + how);
    Session session(logisticProgram(manifest));
    DataOptions options;
    options.files = {writeLogisticData(folder / "d.npz", samples)};
    Dataset data(options, inputsOf({&session.entry("predict")}), 4);
    predict(session, data, {folder / "out.npz"});
    return NpzReader(folder / "out.npz").read("logits").shape;
  };
  for (int64_t samples : {8, 3, 6}) // whole batches, less than one, one and a half
    EXPECT_NE(errorOf([&] { run("", samples); })
                  .text()
                  .find(concat("output 'logits' [4,2] has no part for each sample: it cannot be put together from ",
                               samples, " samples in batches of 4\nhint: compile with --outputs")),
              std::string::npos);
  EXPECT_EQ(run("", 4), (Shape{4, 2}));
  EXPECT_EQ(run(R"(, "fixed": true)", 10), (Shape{4, 2}));
  EXPECT_EQ(run(R"(, "batched": true)", 10), (Shape{10, 2}));
}

TEST(Session, InputsOfAnotherLayoutAreRefused) {
  Session session(logisticProgram());
  const Entry &entry = session.entryOfKind("predict"); // its x is [4,3,2]
  for (Shape shape : {Shape{4, 3, 2}, Shape{4, 6}, Shape{24}, Shape{4, 1, 3, 2}, Shape{1, 4, 3, 2}, Shape{4, 6, 1}})
    session.setInput(entry, "x", Tensor(MPC_F32, shape));
  for (Shape shape : {Shape{4, 2, 3}, Shape{3, 4, 2}, Shape{2, 12}, Shape{6, 4}, Shape{4, 5}})
    EXPECT_EQ(errorOf([&] { session.setInput(entry, "x", Tensor(MPC_F32, shape)); }).what(),
              concat("input 'x' has shape [4,3,2], not ", toString(shape)));
}

TEST(Session, RandomInitialValuesDependOnSeedAndNameOnly) {
  auto program = [](const char *order) {
    std::string
        a = R"({"name":"a","role":"parameter","dtype":"f32","shape":[1000],"init":{"kind":"normal","mean":1,"stddev":2}})",
        b = R"({"name":"b","role":"parameter","dtype":"f32","shape":[1000],"init":{"kind":"uniform","low":-1,"high":3}})",
        c = R"({"name":"c","role":"parameter","dtype":"f32","shape":[1000],"init":{"kind":"normal","mean":1,"stddev":2}})";
    bool swapped = order[0] == 'b';
    return Program::fromMemory(R"({"format":1,"model":"r","batch":1,"variables":[)" +
                               (swapped ? b + "," + a : a + "," + b) + "," + c +
                               R"(],"plans":[{"target":"host","arena_bytes":12288,"storage":[
        {"variable":"a","offset":0,"bytes":4000},{"variable":"b","offset":4032,"bytes":4000},
        {"variable":"c","offset":8064,"bytes":4000}],"entries":[]}]})");
  };
  SessionOptions seven;
  seven.seed = 7;
  Session first(program("ab"), seven), second(program("ba"), seven), other(program("ab"));
  EXPECT_EQ(first.variable("a").bytes, second.variable("a").bytes);
  EXPECT_EQ(first.variable("b").bytes, second.variable("b").bytes);
  EXPECT_NE(first.variable("a").bytes, other.variable("a").bytes);
  EXPECT_NE(first.variable("a").bytes, first.variable("c").bytes) << "variables of one initializer share a stream";
  double mean = 0, square = 0, low = 9, high = -9, uniformMean = 0;
  for (size_t i = 0; i < 1000; ++i) {
    double a = first.variable("a").at(i), b = first.variable("b").at(i);
    mean += a / 1000;
    square += (a - 1) * (a - 1) / 1000;
    low = std::min(low, b);
    high = std::max(high, b);
    uniformMean += b / 1000;
  }
  // The bounds are four standard errors: 2/sqrt(1000) for the mean, 4*sqrt(2/1000) for the variance.
  EXPECT_NEAR(mean, 1, 0.26);
  EXPECT_NEAR(square, 4, 0.72);
  EXPECT_GE(low, -1);
  EXPECT_LT(high, 3);
  EXPECT_NEAR(uniformMean, 1, 0.15);
}

/// Large variables are drawn in several threads.
TEST(Session, RandomInitialValuesDependOnNoThreads) {
  auto program = [] {
    return Program::fromMemory(
        R"({"format":1,"model":"r","batch":1,"variables":[{"name":"a","role":"parameter","dtype":"f32","shape":[200001],"init":{"kind":"normal","mean":0,"stddev":2}}],
        "plans":[{"target":"host","arena_bytes":800064,"storage":[{"variable":"a","offset":0,"bytes":800004}],"entries":[]}]})");
  };
  SessionOptions one, four;
  one.threads = 1;
  four.threads = 4;
  Tensor alone = Session(program(), one).variable("a");
  EXPECT_EQ(alone.bytes, Session(program(), four).variable("a").bytes);
  const RandomStream random(0, "a");
  for (size_t i : {size_t(0), size_t(65536), size_t(131071), size_t(200000)})
    EXPECT_EQ(alone.at(i), double(float(2 * random.normal(i)))) << i;
}

TEST(Session, BrokenManifestsAreErrors) {
  std::string good = logisticManifest();
  auto broken = [&](const std::string &from, const std::string &to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return std::string(errorOf([&] { Program::fromMemory(text, {{"data", logisticData()}}); }).what());
  };
  EXPECT_NE(broken("\"format\": 1", "\"format\": 2").find("version 2 is unknown"), std::string::npos);
  EXPECT_NE(broken("\"arena_bytes\": 1024", "\"arena_bytes\": 500").find("outside its memory"), std::string::npos);
  EXPECT_NE(broken("\"offset\": 0, \"bytes\": 24}", "\"offset\": 8, \"bytes\": 24}").find("initial value"),
            std::string::npos);
  EXPECT_NE(broken("[1,0]", "[1,1]").find("permutation"), std::string::npos);
  EXPECT_NE(broken("\"entry\": \"main\"", "\"entry\": \"none\"").find("train entry"), std::string::npos);
  EXPECT_NE(broken("\"target\": \"host\"", "\"target\": \"sm_80\"").find("'sm_80' is none of the architectures"),
            std::string::npos);
  EXPECT_NE(broken("\"plans\":", "\"architectures\": [{\"name\": \"host\", \"compute\": 80}], \"plans\":")
                .find("'host' is an architecture"),
            std::string::npos);
  for (const char *batch : {"1e300", "4.0", "9223372036854775808", "null"}) // not integers, or out of range
    EXPECT_NE(broken("\"batch\": 4", concat("\"batch\": ", batch)).find("broken manifest"), std::string::npos) << batch;
  for (const char *count :
       {"\"accumulate\": 0", "\"accumulate\": 1, \"every\": 0", "\"accumulate\": 1, \"every\": 9223372036854775807"})
    EXPECT_NE(broken("\"accumulate\": 1", count).find("runs on each batch of"), std::string::npos) << count;
  // A manifest that is cut anywhere is an error and no crash.
  for (size_t length = 0; length + 1 < good.size(); length += 97)
    errorOf([&] { Program::fromMemory(good.substr(0, length), {{"data", logisticData()}}); });
  Error error = errorOf([&] { Session(Program::fromMemory(good, {{"data", logisticData()}})); });
  EXPECT_NE(std::string(error.what()).find("has no kernel 'logistic_forward'"), std::string::npos);
}

TEST(Session, ChecksEveryLaunchWhenAskedTo) {
  // UBSan itself would report a null pointer, so the kernel faults on a page without access.
  static volatile char *const page =
      static_cast<char *>(mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  static const auto fault = [](void *const *, int64_t, int64_t) { *page = 0; };
  auto program = Program::fromMemory(logisticManifest(), {{"data", logisticData()}},
                                     {{"logistic_forward", logistic_forward},
                                      {"logistic_loss", fault},
                                      {"logistic_gradient", logistic_gradient},
                                      {"logistic_update", logistic_update}});
  SessionOptions options;
  options.threads = 1;
  options.checkLaunches = true;
  EXPECT_EXIT(
      {
        Session session(program, options);
        session.run(session.entry("main"));
      },
      ::testing::ExitedWithCode(1),
      "error: launch 'loss' \\(Loss\\) of entry 'main': its code faulted\nhint: please report it");
  // The check does not disturb correct launches, and times can be taken.
  Session session(logisticProgram(), options);
  session.startProfile(true);
  session.run(session.entry("main"));
  EXPECT_EQ(session.profile(session.entry("main")).size(), session.entry("main").launches.size());
}
