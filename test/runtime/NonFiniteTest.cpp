// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Steps that are not finite: which ones count, what a training does about them, and which launch an error names.

#include "runtime/core/NonFinite.h"
#include "LogisticProgram.h"
#include "runtime/core/SkipWatch.h"
#include "runtime/core/Train.h"
#include "runtime/core/data/Npz.h"
#include "runtime/core/state/Checkpoint.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace mpc::rt;
using namespace mpc::rt::test;

static constexpr double kNan = std::numeric_limits<double>::quiet_NaN(),
                        kInfinity = std::numeric_limits<double>::infinity();

static std::string replaced(std::string text, const std::string &old, const std::string &with) {
  size_t at = text.find(old);
  EXPECT_NE(at, text.npos) << old;
  return text.replace(at, old.size(), with);
}

static SessionOptions oneThread() {
  SessionOptions options;
  options.threads = 1;
  return options;
}

//===-- Which steps count ----------------------------------------------------------------------===//

namespace {
/// A watch of two optimizers, of which the second has a dynamic scale.
struct Watch {
  Watch(int64_t accumulate = 1, int64_t hysteresis = 1) {
    manifest.steps.resize(2);
    manifest.steps[1].scaler = Scaler{"dynamic", "s", "", "", 1, {}, {}, hysteresis};
    for (Step &step : manifest.steps)
      step.accumulate = accumulate;
    watch.emplace(manifest);
  }
  /// Takes one iteration. The second step has the scale `before` and afterwards `after`; it overflowed if
  /// `after` is not 0.
  void take(double loss0, double loss1, double before = 1, double after = 0) {
    IterationReport report{iteration++, std::vector<StepReport>(2)};
    report.steps[0].loss = loss0;
    report.steps[0].skipped = !std::isfinite(loss0);
    report.steps[1].loss = loss1;
    report.steps[1].scale = before;
    report.steps[1].scaleAfter = after != 0 ? after : before;
    report.steps[1].overflowed = report.steps[1].skipped = after != 0;
    report.steps[1].skipped |= !std::isfinite(loss1);
    watch->take(report);
  }
  const SkipWatch::Count &count(size_t i) { return watch->counts()[i]; }
  Manifest manifest;
  std::optional<SkipWatch> watch;
  int64_t iteration = 0;
};
} // namespace

TEST(SkipWatch, AScaleThatFallsToItsPlaceDoesNotCount) {
  Watch watch;
  double scale = 0x1p24;
  for (int i = 0; i < 24; ++i, scale /= 2)
    watch.take(1, 1, scale, scale / 2);
  EXPECT_EQ(watch.count(1).lost, 0);
  EXPECT_EQ(watch.count(1).skipped, 24);
  for (int i = 0; i < 3; ++i)
    watch.take(1, 1, 1, 1); // the scale stays at its lower bound
  EXPECT_EQ(watch.count(1).lost, 3);
  EXPECT_EQ(watch.count(0).updates, 27);
  watch.take(1, 1);
  EXPECT_EQ(watch.count(1).lost, 0);
  EXPECT_EQ(watch.count(1).updates, 1);
  watch.take(1, 1, 0x1p-14, 0x1p-15); // a scale this small leaves nothing of any gradient
  EXPECT_EQ(watch.count(1).lost, 1);
}

TEST(SkipWatch, HysteresisKeepsAScaleThatMayYetShrink) {
  Watch watch(1, 4);
  for (int i = 0; i < 3; ++i)
    watch.take(1, 1, 64, 64);
  EXPECT_EQ(watch.count(1).lost, 0);
  watch.take(1, 1, 64, 32);
  watch.take(1, 1, 32, 32);
  EXPECT_EQ(watch.count(1).lost, 0);
  for (int i = 0; i < 4; ++i)
    watch.take(1, 1, 32, 32);
  EXPECT_EQ(watch.count(1).lost, 2);
}

TEST(SkipWatch, EveryOptimizerHasItsOwnCount) {
  Watch watch;
  for (int i = 0; i < 12; ++i)
    i % 2 ? watch.take(kNan, 1) : watch.take(1, kNan);
  EXPECT_LE(watch.count(0).lost, 1);
  EXPECT_LE(watch.count(1).lost, 1);
  EXPECT_EQ(watch.count(0).skipped, 6);
  EXPECT_EQ(watch.count(1).skipped, 6);
  for (int i = 0; i < 10; ++i)
    watch.take(kInfinity, 1);
  EXPECT_EQ(watch.count(0).lost, 11);
  EXPECT_EQ(watch.count(1).lost, 0);
  EXPECT_TRUE(watch.count(0).grew);
  EXPECT_FALSE(watch.count(1).grew);
}

TEST(SkipWatch, BatchesThatAreOnlyAccumulatedNeitherCountNorEndARow) {
  Watch watch(2);
  for (int i = 0; i < 3; ++i) {
    watch.take(1, 1);
    watch.take(1, 1, 1, 1);
  }
  EXPECT_EQ(watch.count(1).lost, 3);
  EXPECT_EQ(watch.count(0).updates, 3);
}

//===-- Where it comes from --------------------------------------------------------------------===//

namespace {
/// A session in which all elements of x are `value` and those of w are `weight`; the labels are 1.
struct Filled {
  Filled(float value, float weight) : session(logisticProgram(), oneThread()), entry(session.entry("main")) {
    std::vector<float> x(24, value), w(6, weight);
    const int64_t labels[4] = {1, 1, 1, 1};
    session.setVariable("w", {MPC_F32, {3, 2}, w.data()});
    session.setInput(entry, "x", {MPC_F32, {4, 3, 2}, x.data()});
    session.setInput(entry, "target", {MPC_I64, {4}, labels});
  }
  Session session;
  const Entry &entry;
};
} // namespace

TEST(NonFinite, TheDispatchThatMadeItOfFiniteNumbersIsNamed) {
  Filled overflow(3e38f, -1); // the product is -inf and the loss is inf
  EXPECT_EQ(firstNonFinite(overflow.session, overflow.entry),
            "the first result that is not finite is that of 'forward' (nodes 'Gemm_0', 'Loss'): 8 of 8 f32 numbers are "
            "infinite and "
            "0 are NaN; it read f16 'w' from -1 to -1, f32 'x' from 3e+38 to 3e+38");
  Filled gradient(1e36f, 0); // the loss is log 2, and the scaled gradient overflows
  EXPECT_EQ(firstNonFinite(gradient.session, gradient.entry),
            "the first result that is not finite is that of 'gradient' (node 'Gemm_0'): 6 of 6 f32 numbers are "
            "infinite and 0 are NaN; "
            "it read f32 from 0 to 0, f32 'x' from 1e+36 to 1e+36, f32 'main/scale' from 65536 to 65536");
  Filled fine(1, 1);
  EXPECT_EQ(firstNonFinite(fine.session, fine.entry), "");
}

TEST(NonFinite, WhatWasNotFiniteBeforeIsSaid) {
  Filled poisoned(1, NAN);
  std::string text = firstNonFinite(poisoned.session, poisoned.entry);
  EXPECT_NE(text.find("'forward' (nodes 'Gemm_0', 'Loss'): 0 of 8 f32 numbers are infinite and 8 are NaN; it read f16 "
                      "'w' with 6 NaN, f32 'x' from 1 to 1"),
            text.npos)
      << text;
}

TEST(NonFinite, AnInfinityThatLeadsToNothingIsNotNamed) {
  // The manifest says that 'forward' writes a mask, which only 'forward' reads; the test fills it with -inf.
  std::string manifest =
      replaced(logisticManifest(), R"([[576, "f32", 8], [640)", R"([[832, "f32", 4], [576, "f32", 8], [640)");
  Session session(logisticProgram(manifest), oneThread());
  const Entry &entry = session.entry("main");
  std::vector<float> x(24, 1e36f), w(6, 0);
  const int64_t labels[4] = {};
  session.setVariable("w", {MPC_F32, {3, 2}, w.data()});
  session.setInput(entry, "x", {MPC_F32, {4, 3, 2}, x.data()});
  session.setInput(entry, "target", {MPC_I64, {4}, labels});
  for (int64_t i = 0; i < 4; ++i)
    session.setFirst(Port{"mask", "", "", MPC_F32, {4}, 832 + 4 * i, 4, {}, false, false, {}, {}}, -kInfinity);
  std::string text = firstNonFinite(session, entry);
  EXPECT_NE(text.find("that of 'gradient'"), text.npos) << text;
}

TEST(NonFinite, ManifestsWithImpossibleTensorsAreRefused) {
  const std::string good = R"("operands": [[128, "f16", 6])";
  for (const char *bad : {R"("operands": [[1020, "f16", 3])", R"("operands": [[-4, "f16", 6])",
                          R"("operands": [[128, "f16", -1])", R"("operands": [[128, "f32", 4611686018427387904])",
                          R"("operands": [[128, "i32", 6])", R"("operands": [[128, "f16"])", R"("operands": [7)"})
    EXPECT_NE(errorOf([&] { logisticProgram(replaced(logisticManifest(), good, bad)); }).text().find("broken manifest"),
              std::string::npos)
        << bad;
  std::string guarded = replaced(logisticManifest(), R"("entry": "main",)", R"("entry": "main", "nan_guard": "w",)");
  EXPECT_NE(errorOf([&] { logisticProgram(guarded); }).text().find("refers to 'w', which is no stored scalar variable"),
            std::string::npos);
}

//===-- What a training does -------------------------------------------------------------------===//

/// Returns a manifest without a scaler but with a guard.
static std::string guardedManifest() {
  std::string manifest = logisticManifest();
  manifest = replaced(
      manifest, R"({"name": "main/skipped",)",
      R"({"name": "main/nan_guard", "role": "hyper", "dtype": "f32", "shape": [], "init": {"kind": "fill", "value": 1}},
    {"name": "main/skipped",)");
  manifest = replaced(manifest, R"({"variable": "main/skipped",)",
                      R"({"variable": "main/nan_guard", "offset": 212, "bytes": 4}, {"variable": "main/skipped",)");
  manifest =
      replaced(manifest, R"("scaler": {"scale": "main/scale", "tracker": "main/tracker", "skipped": "main/skipped"})",
               R"("nan_guard": "main/nan_guard")");
  return manifest;
}

namespace {
class OnNanTest : public ::testing::Test {
protected:
  void SetUp() override {
    options.data.files = {writeLogisticData(folder / "train.npz", 203)};
    options.steps = 40;
    options.logEvery = 1000000;
    for (int64_t step = 4; step <= 40; ++step)
      options.injectInf.insert(step);
  }
  std::string errorText() {
    return errorOf([&] {
             Session session(logisticProgram(), oneThread());
             train(session, options);
           })
        .text();
  }
  TemporaryFolder folder;
  TrainOptions options;
};
} // namespace

TEST_F(OnNanTest, StopNamesTheStepItsOriginAndTheCheckpoint) {
  std::string text = errorText();
  EXPECT_NE(text.find("the last 10 steps are lost: "), text.npos) << text;
  EXPECT_NE(text.find("; the first result that is not finite is that of 'forward' (nodes 'Gemm_0', 'Loss'): "),
            text.npos)
      << text;
  EXPECT_NE(text.find("f32 'x' from "), text.npos) << text;
  EXPECT_NE(text.find(" with 1 infinite; there"), text.npos) << text;
  EXPECT_NE(text.find("; there is no checkpoint of finite parameters\nhint: lower --lr, check the data, compile with "
                      "--precision=bf16"),
            text.npos)
      << text;
  options.checkpointFolder = folder / "ckpt";
  options.checkpointEvery = 3;
  text = errorText();
  EXPECT_NE(text.find("; the last good checkpoint is " + options.checkpointFolder + "/step-000000"), text.npos) << text;
}

TEST_F(OnNanTest, TheReplayDrawsTheSameMasks) {
  // The kernels here do not advance the counter, but the replay of the newest step sets it back by one.
  Session session(logisticProgram(countingManifest()), oneThread());
  EXPECT_NE(errorOf([&] { train(session, options); }).text().find("the last 10 steps"), std::string::npos);
  EXPECT_EQ(session.variableScalar("rng.step"), 99);
}

TEST_F(OnNanTest, SkipGoesOnWithWhatIsLeft) {
  options.onNan = OnNan::Skip;
  options.injectInf.erase(40);
  Session session(logisticProgram(), oneThread());
  TrainResult result = train(session, options);
  EXPECT_EQ(result.iterations, 40);
  EXPECT_EQ(result.skipped, std::vector<int64_t>{36});
  EXPECT_EQ(result.updates, 4);
}

TEST_F(OnNanTest, TheGuardIsWrittenAndTellsOfSkippedSteps) {
  Session session(logisticProgram(guardedManifest()), oneThread());
  StepLoop loop(session, {}, {});
  EXPECT_TRUE(loop.maySkip());
  EXPECT_FALSE(loop.hasScaler());
  auto step = [&](float x) {
    return loop.run(
        0,
        [&](const Entry &entry) {
          std::vector<float> values(24, x);
          const int64_t labels[4] = {1, 1, 1, 1};
          session.setInput(entry, "x", {MPC_F32, {4, 3, 2}, values.data()});
          session.setInput(entry, "target", {MPC_I64, {4}, labels});
        },
        [](const Entry &) {})[0];
  };
  session.setVariableScalar("main/nan_guard", 0); // a checkpoint of another run may have this value
  EXPECT_FALSE(step(1).skipped);
  EXPECT_EQ(session.variableScalar("main/nan_guard"), 1);
  StepReport bad = step(-float(kInfinity));
  EXPECT_TRUE(bad.skipped);
  EXPECT_FALSE(bad.overflowed);
  loop.setHyper("nan_guard", 0);
  EXPECT_FALSE(step(-float(kInfinity)).skipped);
  EXPECT_EQ(session.variableScalar("main/nan_guard"), 0);
  // `train` ignores non-finite losses when it is told to, and stops otherwise. An infinite logit makes the loss of
  // label 0 infinite.
  Tensor x(MPC_F32, {4, 3, 2}), target(MPC_I64, {4});
  NpzWriter writer(folder / "zero.npz");
  writer.add("x", x);
  writer.add("target", target);
  writer.finish();
  options.data.files = {folder / "zero.npz"};
  options.onNan = OnNan::Ignore;
  TrainResult result = train(session, options);
  EXPECT_EQ(result.iterations, 40);
  EXPECT_EQ(result.skipped, std::vector<int64_t>{0});
  EXPECT_EQ(session.variableScalar("main/nan_guard"), 0);
  options.onNan = OnNan::Stop;
  EXPECT_NE(errorOf([&] { train(session, options); }).text().find("the last 10 steps are lost: the loss is inf"),
            std::string::npos);
  EXPECT_EQ(session.variableScalar("main/nan_guard"), 1);
}

TEST_F(OnNanTest, OneBatchWithoutALossCostsTheWholeUpdate) {
  Session session(logisticProgram(replaced(guardedManifest(), R"("accumulate": 1)", R"("accumulate": 2)")),
                  oneThread());
  StepLoop loop(session, {}, {});
  std::vector<bool> skipped;
  for (int64_t i = 0; i < 6; ++i)
    skipped.push_back(loop.run(
                              i,
                              [&](const Entry &entry) {
                                std::vector<float> values(24, i == 2 ? -float(kInfinity) : 1.f);
                                const int64_t labels[4] = {1, 1, 1, 1};
                                session.setInput(entry, "x", {MPC_F32, {4, 3, 2}, values.data()});
                                session.setInput(entry, "target", {MPC_I64, {4}, labels});
                              },
                              [](const Entry &) {})[0]
                          .skipped);
  EXPECT_EQ(skipped, (std::vector<bool>{false, false, false, true, false, false}));
}

TEST_F(OnNanTest, ACheckpointWithNanIsNotGood) {
  CheckpointFolder checkpoints(folder / "ckpt", 0);
  Session session(logisticProgram(), oneThread());
  EXPECT_EQ(checkpoints.newestFinite(session.manifest()), "");
  Cursor cursor;
  for (int64_t step : {5, 7}) {
    cursor.iteration = step;
    checkpoints.save(session, cursor);
  }
  std::vector<float> w = {1, 2, NAN, 4, 5, 6};
  session.setVariable("w", {MPC_F32, {3, 2}, w.data()});
  cursor.iteration = 9;
  checkpoints.save(session, cursor);
  EXPECT_EQ(checkpoints.newestFinite(session.manifest()), checkpoints.pathOf(7));
  std::string damaged = readFile(checkpoints.pathOf(7));
  writeFile(checkpoints.pathOf(7), damaged.substr(0, damaged.size() - 1));
  EXPECT_EQ(checkpoints.newestFinite(session.manifest()), checkpoints.pathOf(5));
}
