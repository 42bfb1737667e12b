// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Iterations of the step loop, and their reports.

#include "runtime/core/StepLoop.h"
#include "LogisticProgram.h"

#include <gtest/gtest.h>
#include <limits>

using namespace mpc::rt;
using namespace mpc::rt::test;

namespace {
class Loop : public ::testing::Test {
protected:
  Loop() : session(logisticProgram(), one()), loop(session, {}, {}) {}
  static SessionOptions one() {
    SessionOptions options;
    options.threads = 1;
    return options;
  }
  /// Sets all elements of x to `value` and the labels to 0.
  void load(const Entry &entry, float value) {
    std::vector<float> x(24, value);
    const int64_t labels[4] = {};
    session.setInput(entry, "x", {MPC_F32, {4, 3, 2}, x.data()});
    session.setInput(entry, "target", {MPC_I64, {4}, labels});
  }
  StepReport step(int64_t iteration, float value = 1) {
    return loop.run(iteration, [&](const Entry &entry) { load(entry, value); }, [](const Entry &) {})[0];
  }
  static constexpr float infinity = std::numeric_limits<float>::infinity();
  Session session;
  StepLoop loop;
};
} // namespace

TEST_F(Loop, AReportSaysWhichScaleWasUsedAndWhichIsLeft) {
  StepReport good = step(0), bad = step(1, infinity), next = step(2);
  EXPECT_EQ(std::pair(good.scale, good.scaleAfter), std::pair(65536., 65536.));
  EXPECT_EQ(std::pair(bad.scale, bad.scaleAfter), std::pair(65536., 32768.));
  EXPECT_EQ(std::pair(next.scale, next.scaleAfter), std::pair(32768., 32768.));
  EXPECT_FALSE(good.skipped);
  EXPECT_TRUE(bad.skipped);
  EXPECT_FALSE(next.skipped);
}

TEST_F(Loop, StateThatOthersChangeIsReadAnew) {
  step(0);
  session.setVariableScalar("main/scale", 256);
  session.setVariableScalar("main/skipped", 40);
  session.setVariableScalar("main/lr", 99);
  StepReport report = step(1);
  EXPECT_EQ(report.scale, 256);
  EXPECT_FALSE(report.skipped); // the counter changed before the step, not in it
  EXPECT_EQ(float(session.variableScalar("main/lr")), 0.1f);
  // Another loop on the same session changes the state too.
  StepLoop second(session, {{"lr", 0.5}}, {});
  second.run(2, [&](const Entry &entry) { load(entry, infinity); }, [](const Entry &) {});
  EXPECT_EQ(float(session.variableScalar("main/lr")), 0.5f);
  report = step(3);
  EXPECT_EQ(report.scale, 128);
  EXPECT_FALSE(report.skipped);
  EXPECT_EQ(float(session.variableScalar("main/lr")), 0.1f);
}

TEST_F(Loop, ReportsAreTakenOneByOne) {
  EXPECT_EQ(loop.ahead(), 1u); // the host runs a step while we wait
  EXPECT_EQ(loop.waiting(), 0u);
  loop.start(7, [&](const Entry &entry) { load(entry, 1); }, [](const Entry &) {});
  EXPECT_EQ(loop.waiting(), 1u);
  const IterationReport &done = loop.next();
  EXPECT_EQ(done.iteration, 7);
  EXPECT_FLOAT_EQ(float(done.steps[0].rate), 0.1f);
  EXPECT_GT(done.steps[0].loss, 0);
  EXPECT_EQ(loop.waiting(), 0u);
}
