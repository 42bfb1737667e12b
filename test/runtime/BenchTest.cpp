// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/Bench.h"
#include "LogisticProgram.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace mpc::rt;
using namespace mpc::rt::test;

TEST(Bench, TimesEveryStepAndEveryLaunch) {
  SessionOptions options;
  options.threads = 1;
  Session session(logisticProgram(), options);
  BenchResult result = bench(session, {.steps = 5, .warmup = 2, .profile = true});
  ASSERT_EQ(result.seconds.size(), 5u);
  EXPECT_GT(result.minimum(), 0);
  EXPECT_LE(result.minimum(), result.median());
  EXPECT_GT(result.loss, 0);
  EXPECT_GT(result.residentBytes, 1 << 20);
  const Entry &entry = session.entryOfKind("train");
  ASSERT_EQ(result.launches.size(), entry.launches.size());
  double launches = 0, steps = 0;
  for (size_t i = 0; i < result.launches.size(); ++i) {
    launches += result.launches[i].seconds;
    if (i > 0) {
      EXPECT_LE(result.launches[i].seconds, result.launches[i - 1].seconds);
    }
  }
  for (double seconds : result.seconds)
    steps += seconds;
  EXPECT_LE(launches, steps / 5);

  auto json = nlohmann::json::parse(describeBench(session, result, 0, /*json=*/true));
  EXPECT_EQ(json.at("steps"), 5);
  EXPECT_EQ(json.at("planned_bytes"), session.plan().peakBytes);
  EXPECT_EQ(json.at("launches").size(), entry.launches.size());
}

TEST(Bench, WithoutProfileNoLaunches) {
  SessionOptions options;
  options.threads = 1;
  Session session(logisticProgram(), options);
  EXPECT_TRUE(bench(session, {.steps = 1, .warmup = 0}).launches.empty());
}
