//===- OptimizersTest.cpp - ten steps against the formulas in double ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/passes/Numeric/OptimizerSteps.h"

using namespace mpc;
using namespace mpc::test;

namespace {

/// Updates one parameter element and its optimizer state; t counts from 1.
using Reference = std::function<void(double &w, double g, double (&state)[3], int t)>;

/// Checks ten steps of an optimizer that updates each element by itself.
void check(const std::string &optimizer, const Reference &reference) {
  checkWhole(optimizer, [&](Pair &w, const Pair &g, double (&state)[2][3], int t) {
    for (int i = 0; i < 2; ++i)
      reference(w[i], g[i], state[i], t);
  });
}

TEST(Sgd, Plain) {
  check("#train.optimizer<sgd, lr = 0.1>", [](double &w, double g, double (&)[3], int) { w -= 0.1 * g; });
}

TEST(Sgd, MomentumAndDecay) {
  check("#train.optimizer<sgd, lr = 0.1, momentum = 0.9, weight_decay = 0.01>",
        [](double &w, double g, double (&s)[3], int t) {
          g += 0.01 * w;
          s[0] = t == 1 ? g : 0.9 * s[0] + g;
          w -= 0.1 * s[0];
        });
}

TEST(Sgd, Dampening) {
  check("#train.optimizer<sgd, lr = 0.1, momentum = 0.9, dampening = 0.5>",
        [](double &w, double g, double (&s)[3], int t) {
          s[0] = t == 1 ? g : 0.9 * s[0] + 0.5 * g;
          w -= 0.1 * s[0];
        });
}

TEST(Sgd, Nesterov) {
  check("#train.optimizer<sgd, lr = 0.1, momentum = 0.9, nesterov = 1>",
        [](double &w, double g, double (&s)[3], int t) {
          s[0] = t == 1 ? g : 0.9 * s[0] + g;
          w -= 0.1 * (g + 0.9 * s[0]);
        });
}

void adamStep(double &w, double g, double (&s)[3], int t, double lr, double beta1, double beta2, double eps) {
  s[0] = beta1 * s[0] + (1 - beta1) * g;
  s[1] = beta2 * s[1] + (1 - beta2) * g * g;
  w -= lr * (s[0] / (1 - std::pow(beta1, t))) / (std::sqrt(s[1] / (1 - std::pow(beta2, t))) + eps);
}

TEST(Adam, Defaults) {
  check("#train.optimizer<adam>",
        [](double &w, double g, double (&s)[3], int t) { adamStep(w, g, s, t, 1e-3, 0.9, 0.999, 1e-8); });
}

TEST(Adam, LargeStepsWithL2) {
  check("#train.optimizer<adam, lr = 0.1, beta1 = 0.5, beta2 = 0.9, eps = 1.0e-3, weight_decay = 0.1>",
        [](double &w, double g, double (&s)[3], int t) { adamStep(w, g + 0.1 * w, s, t, 0.1, 0.5, 0.9, 1e-3); });
}

TEST(AdamW, DecoupledDecay) {
  check("#train.optimizer<adamw, lr = 0.1, weight_decay = 0.1>", [](double &w, double g, double (&s)[3], int t) {
    w *= 1 - 0.1 * 0.1;
    adamStep(w, g, s, t, 0.1, 0.9, 0.999, 1e-8);
  });
}

TEST(Adagrad, Defaults) {
  check("#train.optimizer<adagrad>", [](double &w, double g, double (&s)[3], int) {
    s[0] += g * g;
    w -= 1e-2 * g / (std::sqrt(s[0]) + 1e-10);
  });
}

TEST(Adagrad, LargeStepsWithL2) {
  check("#train.optimizer<adagrad, lr = 0.5, eps = 1.0e-3, weight_decay = 0.1>",
        [](double &w, double g, double (&s)[3], int) {
          g += 0.1 * w;
          s[0] += g * g;
          w -= 0.5 * g / (std::sqrt(s[0]) + 1e-3);
        });
}

TEST(RMSprop, Defaults) {
  check("#train.optimizer<rmsprop>", [](double &w, double g, double (&s)[3], int) {
    s[0] = 0.99 * s[0] + (1 - 0.99) * g * g;
    w -= 1e-2 * g / (std::sqrt(s[0]) + 1e-8);
  });
}

TEST(RMSprop, MomentumAndL2) {
  check("#train.optimizer<rmsprop, lr = 0.1, alpha = 0.5, eps = 1.0e-3, momentum = 0.9, weight_decay = 0.1>",
        [](double &w, double g, double (&s)[3], int) {
          g += 0.1 * w;
          s[0] = 0.5 * s[0] + 0.5 * g * g;
          s[1] = 0.9 * s[1] + g / (std::sqrt(s[0]) + 1e-3);
          w -= 0.1 * s[1];
        });
}

TEST(RMSprop, Centered) {
  // The difference s - a^2 has few correct bits where the gradients hardly vary; a large eps keeps it from being all of
  // the divisor.
  check("#train.optimizer<rmsprop, lr = 0.1, alpha = 0.5, eps = 0.1, momentum = 0.5, centered = 1>",
        [](double &w, double g, double (&s)[3], int) {
          s[0] = 0.5 * s[0] + 0.5 * g * g;
          s[1] = 0.5 * s[1] + 0.5 * g;
          s[2] = 0.5 * s[2] + g / (std::sqrt(s[0] - s[1] * s[1]) + 0.1);
          w -= 0.1 * s[2];
        });
}

/// Returns a reference of NAdam. Its last state is the product of mu over the updates, where zero stands for the first.
Reference nadam(double lr, double beta1, double beta2, double eps, double momentumDecay, double decay,
                bool decoupled = false) {
  return [=](double &w, double g, double (&s)[3], int t) {
    auto mu = [&](int step) { return beta1 * (1 - 0.5 * std::pow(0.96, step * momentumDecay)); };
    if (decoupled)
      w *= 1 - lr * decay;
    else
      g += decay * w;
    s[0] = beta1 * s[0] + (1 - beta1) * g;
    s[1] = beta2 * s[1] + (1 - beta2) * g * g;
    s[2] = t == 1 ? mu(t) : s[2] * mu(t);
    double denominator = std::sqrt(s[1] / (1 - std::pow(beta2, t))) + eps;
    w -= lr * (1 - mu(t)) / (1 - s[2]) * g / denominator;
    w -= lr * mu(t + 1) / (1 - s[2] * mu(t + 1)) * s[0] / denominator;
  };
}

TEST(NAdam, Defaults) { check("#train.optimizer<nadam>", nadam(2e-3, 0.9, 0.999, 1e-8, 4e-3, 0)); }

TEST(NAdam, LargeStepsWithL2) {
  check("#train.optimizer<nadam, lr = 0.1, beta1 = 0.5, beta2 = 0.9, eps = 1.0e-3, momentum_decay = 2, weight_decay = "
        "0.1>",
        nadam(0.1, 0.5, 0.9, 1e-3, 2, 0.1));
}

TEST(NAdam, DecoupledDecay) {
  check("#train.optimizer<nadam, lr = 0.1, beta1 = 0.5, beta2 = 0.9, eps = 1.0e-3, momentum_decay = 2, weight_decay = "
        "0.5, decoupled_weight_decay = 1>",
        nadam(0.1, 0.5, 0.9, 1e-3, 2, 0.5, true));
}

double signOf(double x) { return (x > 0) - (x < 0); }

TEST(Lion, Defaults) {
  check("#train.optimizer<lion>", [](double &w, double g, double (&s)[3], int) {
    w -= 1e-4 * signOf(0.9 * s[0] + (1 - 0.9) * g);
    s[0] = 0.99 * s[0] + (1 - 0.99) * g;
  });
}

TEST(Lion, LargeStepsWithDecay) {
  check("#train.optimizer<lion, lr = 0.1, beta1 = 0.5, beta2 = 0.75, weight_decay = 0.1>",
        [](double &w, double g, double (&s)[3], int) {
          w = w * (1 - 0.1 * 0.1) - 0.1 * signOf(0.5 * s[0] + 0.5 * g);
          s[0] = 0.75 * s[0] + 0.25 * g;
        });
}

TEST(Lion, NoGradientMovesNothing) {
  PassRun run(linearStep("optimizer = #train.optimizer<lion, lr = 0.1>, scaler = #train.scaler<none>"), kPasses);
  run.step({0, 1});
  EXPECT_EQ(run["w"][0], 1);
  EXPECT_NEAR(run["w"][1], -2.1, 0x1p-22);
}

TEST(Optimizers, LearningRateIsReadFromTheDevice) {
  PassRun run(linearStep("optimizer = #train.optimizer<sgd, lr = 0.5>, scaler = #train.scaler<none>"), kPasses);
  run.step({1, 1});
  EXPECT_EQ(run["w"][0], 0.5);
  run["main/lr"][0] = 0.25;
  run.step({1, 1});
  EXPECT_EQ(run["w"][0], 0.25);
}

TEST(Optimizers, Groups) {
  PassRun run(
      linearStep("optimizer = #train.optimizer<sgd, lr = 0.5, weight_decay = 1.0>, scaler = #train.scaler<none>, "
                 "groups = [#train.group<\"v\", lr = 9>, #train.group<\"w\", lr = 0.5, weight_decay = 0>]"),
      kPasses);
  run.step({1, 1});
  EXPECT_EQ(run["w"], (std::vector<double>{0.75, -2.25}));
}

} // namespace
