// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The learning rate: formulas, the schedulers of torch (schedules/torch_schedules.py), and spans of steps and epochs.

#include "runtime/core/Schedule.h"
#include "LogisticProgram.h"
#include "runtime/core/Watch.h"

#include <cmath>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace mpc::rt;
using namespace mpc::rt::test;

namespace {
const nlohmann::json &recorded() {
  static const nlohmann::json all = nlohmann::json::parse(readFile(MPC_TORCH_SCHEDULES));
  return all;
}

// torch computes most rates from the one before, so that its roundings add up: a few in each of 60 steps.
constexpr double kRelative = 60 * 8 * 0x1p-53;
} // namespace

TEST(Schedule, EveryRateIsThatOfTorch) {
  const double base = recorded()["base"];
  const int64_t steps = recorded()["steps"];
  std::set<std::string> kinds;
  for (const auto &torch : recorded()["schedules"]) {
    Schedule s;
    s.kind = Schedule::kindOf(torch["kind"]);
    s.stepSize = torch.value("step_size", int64_t(0));
    s.stepGamma = torch.value("gamma", s.stepGamma);
    s.minRate = torch.value("min", s.minRate);
    s.restartSteps = torch.value("restart_steps", int64_t(0));
    s.restartFactor = torch.value("restart_factor", s.restartFactor);
    s.pctStart = torch.value("pct_start", s.pctStart);
    s.divFactor = torch.value("div", s.divFactor);
    s.finalDivFactor = torch.value("final_div", s.finalDivFactor);
    s.power = torch.value("power", s.power);
    for (int64_t milestone : torch.value("milestones", std::vector<int64_t>()))
      s.milestones.push_back(milestone);
    s.settle(/*perEpoch=*/1000, steps);
    ASSERT_EQ(int64_t(torch["rates"].size()), steps);
    for (int64_t step = 0; step < steps; ++step) {
      double rate = torch["rates"][size_t(step)];
      EXPECT_NEAR(s.rate(base, step), rate, base * kRelative) << torch["kind"] << " at step " << step;
    }
    kinds.insert(torch["kind"]);
  }
  EXPECT_EQ(kinds.size(), 8u); // all but constant and plateau
}

TEST(Schedule, APlateauIsThatOfTorch) {
  Session session(logisticProgram(), {});
  ASSERT_EQ(recorded()["plateaus"].size(), 3u);
  for (const auto &torch : recorded()["plateaus"]) {
    WatchOptions options;
    options.plateau = true;
    options.plateauMetric = torch.contains("max") ? "accuracy" : "loss";
    options.plateauFactor = torch["factor"];
    options.plateauPatience = torch["patience"];
    std::optional<Watches> watches(std::in_place, options, session, true, false);
    Schedule s;
    s.kind = Schedule::Plateau;
    s.minRate = torch.value("min", 0.0);
    for (size_t i = 0; i < torch["values"].size(); ++i) {
      const auto &value = torch["values"][i];
      Evaluation evaluation;
      evaluation.loss = value.is_null() ? std::nan("") : value.get<double>();
      evaluation.metrics.resize(1);
      evaluation.metrics[0].name = "accuracy";
      evaluation.metrics[0].value = *evaluation.loss;
      EXPECT_FALSE(watches->take(evaluation, int64_t(i)));
      // Each evaluation is followed by a resumption.
      std::string state = watches->state();
      watches.emplace(options, session, true, false);
      watches->restore(state, [](const std::string &text) { FAIL() << text; });
      s.plateauFactor = watches->rateFactor();
      double rate = torch["rates"][i];
      EXPECT_NEAR(s.rate(recorded()["base"], 0), rate, rate * kRelative) << "evaluation " << i;
    }
  }
}

TEST(Schedule, Formulas) {
  Schedule s;
  s.total = 110;
  s.warmup = 10;
  EXPECT_DOUBLE_EQ(s.rate(0.5, 0), 0.05);
  EXPECT_DOUBLE_EQ(s.rate(0.5, 9), 0.5);
  EXPECT_DOUBLE_EQ(s.rate(0.5, 100), 0.5);
  s.kind = Schedule::Exponential; // decays between the multiples of its span, too
  s.stepGamma = 0.25;
  s.stepSize = 50;
  EXPECT_DOUBLE_EQ(s.rate(0.5, 10), 0.5);
  EXPECT_DOUBLE_EQ(s.rate(0.5, 35), 0.25);
  EXPECT_DOUBLE_EQ(s.rate(0.5, 110), 0.03125);
  s.kind = Schedule::OneCycle; // a single step, and parts of none
  s.warmup = 0;
  s.total = 1;
  EXPECT_TRUE(std::isfinite(s.rate(0.5, 0)));
  s.total = 10;
  s.pctStart = 0;
  EXPECT_DOUBLE_EQ(s.rate(0.5, 9), 0.5 / 25 / 1e4);
  EXPECT_DOUBLE_EQ(s.rate(0.5, 99), 0.5 / 25 / 1e4);
  s.kind = Schedule::CosineRestarts; // lengths beyond 64 bits
  s.restartSteps = 1;
  s.restartFactor = 1'000'000'000;
  EXPECT_GT(s.rate(0.5, 1'000'000'000'000), 0);
}

TEST(Schedule, SpansAreStepsOrEpochs) {
  auto text = [](const char *given, bool epochs = false, int64_t least = 1) {
    std::string all;
    for (const Span &span : Span::parse(given, epochs, least))
      all += std::to_string(span.count) + (span.epochs ? "e " : "s ");
    return all;
  };
  EXPECT_EQ(text("500"), "500s ");
  EXPECT_EQ(text("500", true), "500e ");
  EXPECT_EQ(text("500s", true), "500s ");
  EXPECT_EQ(text("500steps", true), "500s ");
  EXPECT_EQ(text("30e"), "30e ");
  EXPECT_EQ(text("30epochs"), "30e ");
  EXPECT_EQ(text("30e,500,7s"), "30e 500s 7s ");
  EXPECT_EQ(text("0", false, 0), "0s ");
  EXPECT_EQ(text("1000000000"), "1000000000s ");
  for (const char *wrong : {"", "e", "0", "-1", "1.5", "30 e", "30x", "30ee", "30e,", ",30e", "30e,0", "1000000001",
                            "99999999999999999999", "nan"})
    EXPECT_EQ(text(wrong), "") << wrong;
  Schedule s;
  s.kind = Schedule::MultiStep;
  s.warmup = Span(1, true);
  s.milestones = {Span(2, true), 150};
  s.settle(/*perEpoch=*/50, /*steps=*/500);
  EXPECT_DOUBLE_EQ(s.rate(1, 49), 1);
  EXPECT_DOUBLE_EQ(s.rate(1, 149), 1);
  EXPECT_DOUBLE_EQ(s.rate(1, 150), 0.1); // 50 steps of warmup come before the 100 of two epochs
  EXPECT_DOUBLE_EQ(s.rate(1, 199), 0.1);
  EXPECT_DOUBLE_EQ(s.rate(1, 200), 0.1 * 0.1);
}

TEST(Schedule, AKindSaysWhatItNeeds) {
  auto message = [](Schedule::Kind kind) {
    Schedule s;
    s.kind = kind;
    return errorOf([&] { s.settle(10, 100); }).text();
  };
  EXPECT_EQ(message(Schedule::Step), "error: --schedule step: does not say when the rate falls\n"
                                     "hint: add --step-size N, the steps between decays\n");
  EXPECT_EQ(message(Schedule::MultiStep), "error: --schedule multi-step: does not say when the rate falls\n"
                                          "hint: add --milestones, for example --milestones 30e,60e\n");
  EXPECT_EQ(message(Schedule::CosineRestarts),
            "error: --schedule cosine-restarts: does not say how long its first cycle is\n"
            "hint: add --restart-steps, for example --restart-steps 10e\n");
}
