//===- NormOptimizersTest.cpp - optimizers whose steps depend on norms of whole parameters ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/passes/Numeric/OptimizerSteps.h"

using namespace mpc;
using namespace mpc::test;

namespace {

double norm(const Pair &x) { return std::hypot(x[0], x[1]); }

/// Returns a reference of LARS with a rate of 0.5, a trust coefficient of 0.25, eps of 0.125 and a momentum of 0.75.
WholeReference lars(double decay, bool nesterov, bool adapts = true) {
  return [=](Pair &w, const Pair &g, double (&s)[2][3], int) {
    double ratio = adapts ? 0.25 * norm(w) / (norm(g) + decay * norm(w) + 0.125) : 1;
    for (int i = 0; i < 2; ++i) {
      double d = ratio * (g[i] + decay * w[i]);
      s[i][0] = 0.75 * s[i][0] + d;
      w[i] -= 0.5 * (nesterov ? d + 0.75 * s[i][0] : s[i][0]);
    }
  };
}

const std::string kLars = "lars, lr = 0.5, momentum = 0.75, trust_coefficient = 0.25, eps = 0.125";

TEST(Lars, Defaults) {
  checkWhole("#train.optimizer<lars>", [](Pair &w, const Pair &g, double (&s)[2][3], int) {
    double ratio = 1e-3 * norm(w) / (norm(g) + 1e-8);
    for (int i = 0; i < 2; ++i) {
      s[i][0] = 0.9 * s[i][0] + ratio * g[i];
      w[i] -= s[i][0];
    }
  });
}

TEST(Lars, LargeStepsWithDecay) {
  checkWhole("#train.optimizer<" + kLars + ", weight_decay = 0.5>", lars(0.5, false), 64);
}

TEST(Lars, Nesterov) {
  checkWhole("#train.optimizer<" + kLars + ", nesterov = 1, weight_decay = 0.5>", lars(0.5, true), 64);
}

TEST(Lars, WithoutMomentum) {
  checkWhole("#train.optimizer<lars, lr = 0.5, momentum = 0, trust_coefficient = 0.25>",
             [](Pair &w, const Pair &g, double (&)[2][3], int) {
               double ratio = 0.25 * norm(w) / (norm(g) + 1e-8);
               for (int i = 0; i < 2; ++i)
                 w[i] -= 0.5 * ratio * g[i];
             });
}

const std::string kExempt = ", groups = [#train.group<\"w\", weight_decay = 0>]";

TEST(Lars, GroupsWithoutDecayGetStepsOfTheUsualLength) {
  checkWhole("#train.optimizer<" + kLars + ", weight_decay = 0.5>", lars(0, false, false), 64, kExempt);
  checkWhole("#train.optimizer<" + kLars + ", always_adapt = 1, weight_decay = 0.5>", lars(0, false), 64, kExempt);
  // The step's own decay of zero exempts nothing.
  checkWhole("#train.optimizer<" + kLars + ">", lars(0, false), 64);
}

/// Returns a step that trains @w, which starts as `start`, with loss sum(w * x), so that the gradient is x.
std::string sumStep(const std::string &optimizer, const std::vector<int64_t> &shape, const std::string &start) {
  std::string type = "tensor<", axes;
  for (size_t i = 0; i < shape.size(); ++i) {
    type += std::to_string(shape[i]) + "x";
    axes += (i ? ", " : ": ") + std::to_string(i);
  }
  type += "f32>";
  return "train.variable @w parameter : " + type + " = dense<" + start + "> : " + type +
         "\ntrain.step @main(%x: " + type +
         ") -> tensor<f32> attributes {parameters = [@w], scaler = #train.scaler<none>, optimizer = " + optimizer +
         "} {\n%w = train.read @w : " + type + "\n%p = graph.mul %w, %x : (" + type + ", " + type + ") -> " + type +
         "\n%l = graph.reduce_sum %p {axes = array<i64" + axes + ">, keepdims = false} : (" + type +
         ") -> tensor<f32>\ntrain.yield %l : tensor<f32>\n}";
}

/// Returns @w after one step.
std::vector<double> stepFrom(const std::string &optimizer, const std::vector<int64_t> &shape, const std::string &start,
                             std::vector<double> x) {
  PassRun run(sumStep(optimizer, shape, start), kPasses);
  run.step(std::move(x));
  return run["w"];
}

TEST(Lars, NormsOfZeroSingleNumbersAndNothing) {
  const std::string optimizer = "#train.optimizer<lars, lr = 0.5, momentum = 0, trust_coefficient = 0.25, eps = 0>";
  EXPECT_EQ(stepFrom(optimizer, {2}, "0.0", {3, 4}), (std::vector<double>{-1.5, -2}));
  EXPECT_EQ(stepFrom(optimizer, {2}, "[3.0, 4.0]", {0, 0}), (std::vector<double>{3, 4}));
  EXPECT_EQ(stepFrom(optimizer, {2}, "[3.0, 4.0]", {0, 2}), (std::vector<double>{3, 3.375}));
  EXPECT_EQ(stepFrom(optimizer, {}, "-2.0", {-8}), (std::vector<double>{-1.75}));
  EXPECT_EQ(stepFrom(optimizer, {}, "0.0", {-8}), (std::vector<double>{4}));
  EXPECT_EQ(stepFrom(optimizer, {0}, "", {}), std::vector<double>());
}

/// Returns a reference of LAMB.
WholeReference lamb(double lr, double beta1, double beta2, double eps, double decay, bool adapts = true) {
  return [=](Pair &w, const Pair &g, double (&s)[2][3], int t) {
    double u[2];
    for (int i = 0; i < 2; ++i) {
      s[i][0] = beta1 * s[i][0] + (1 - beta1) * g[i];
      s[i][1] = beta2 * s[i][1] + (1 - beta2) * g[i] * g[i];
      u[i] = s[i][0] / (1 - std::pow(beta1, t)) / (std::sqrt(s[i][1] / (1 - std::pow(beta2, t))) + eps) + decay * w[i];
    }
    double ratio = adapts ? norm(w) / norm(u) : 1;
    for (int i = 0; i < 2; ++i)
      w[i] -= lr * ratio * u[i];
  };
}

const std::string kLamb = "lamb, lr = 0.1, beta1 = 0.5, beta2 = 0.9, eps = 1.0e-3";

TEST(Lamb, Defaults) { checkWhole("#train.optimizer<lamb>", lamb(1e-3, 0.9, 0.999, 1e-6, 0.01)); }

TEST(Lamb, LargeSteps) {
  checkWhole("#train.optimizer<" + kLamb + ", weight_decay = 0.5>", lamb(0.1, 0.5, 0.9, 1e-3, 0.5), 64);
  checkWhole("#train.optimizer<" + kLamb + ", weight_decay = 0>", lamb(0.1, 0.5, 0.9, 1e-3, 0), 64);
}

TEST(Lamb, GroupsWithoutDecayGetStepsOfTheUsualLength) {
  checkWhole("#train.optimizer<" + kLamb + ">", lamb(0.1, 0.5, 0.9, 1e-3, 0, false), 64, kExempt);
  checkWhole("#train.optimizer<" + kLamb + ", always_adapt = 1>", lamb(0.1, 0.5, 0.9, 1e-3, 0), 64, kExempt);
}

TEST(Lamb, NormsOfZeroSingleNumbersAndNothing) {
  // The first step of Adam is the gradient's sign, so the norms are those of the parameter and of sqrt(2).
  const std::string optimizer = "#train.optimizer<lamb, lr = 0.5, eps = 0, weight_decay = 0>";
  auto near = [&](const std::vector<int64_t> &shape, const std::string &start, std::vector<double> x,
                  std::vector<double> expected) {
    std::vector<double> w = stepFrom(optimizer, shape, start, std::move(x));
    ASSERT_EQ(w.size(), expected.size());
    for (size_t i = 0; i < w.size(); ++i)
      EXPECT_NEAR(w[i], expected[i], 16 * 0x1p-24 * std::abs(expected[i])) << start;
  };
  near({2}, "0.0", {3, -4}, {-0.5, 0.5});
  near({2}, "2.0", {3, -4}, {1, 3});
  near({}, "-2.0", {-8}, {-1});
  near({0}, "", {}, {});
  // No gradient and no decay: eps keeps 0/0 away.
  EXPECT_EQ(stepFrom("#train.optimizer<lamb, weight_decay = 0>", {2}, "2.0", {0, 0}), (std::vector<double>{2, 2}));
}

/// Adafactor of matrices, or of vectors for matrices of one row, as torch.optim.Adafactor computes it.
struct Adafactor {
  double lr = 1e-2, beta2Decay = -0.8, eps1 = 0x1p-23, eps2 = 1e-3, threshold = 1, decay = 0;
  size_t matrices, rows, columns;
  bool factored;
  std::vector<double> row = {}, col = {}, variance = {};

  static double rms(const std::vector<double> &x) {
    double sum = 0;
    for (double v : x)
      sum += v * v;
    return std::sqrt(sum / double(x.size()));
  }

  /// Returns the second moments.
  std::vector<double> moments(const std::vector<double> &g, double share) {
    variance.resize(g.size()), row.resize(matrices * rows), col.resize(matrices * columns);
    if (!factored) {
      for (size_t i = 0; i < g.size(); ++i)
        variance[i] += share * (g[i] * g[i] - variance[i]);
      return variance;
    }
    std::vector<double> ofRow(row.size()), ofCol(col.size()), result(g.size());
    for (size_t i = 0; i < g.size(); ++i) {
      ofRow[i / columns] += g[i] * g[i] / double(columns);
      ofCol[i / columns / rows * columns + i % columns] += g[i] * g[i] / double(rows);
    }
    for (size_t i = 0; i < row.size(); ++i)
      row[i] += share * (ofRow[i] - row[i]);
    for (size_t i = 0; i < col.size(); ++i)
      col[i] += share * (ofCol[i] - col[i]);
    for (size_t i = 0; i < g.size(); ++i) {
      size_t matrix = i / columns / rows;
      double mean = 0;
      for (size_t r = 0; r < rows; ++r)
        mean += row[matrix * rows + r] / double(rows);
      result[i] = row[i / columns] * col[matrix * columns + i % columns] / std::max(mean, eps1);
    }
    return result;
  }

  void operator()(std::vector<double> &w, const std::vector<double> &g, int t) {
    std::vector<double> v = moments(g, std::pow(t, beta2Decay)), u(g);
    for (size_t i = 0; i < g.size(); ++i)
      u[i] /= std::sqrt(std::max(v[i], eps1 * eps1));
    double length = std::max(eps2, rms(w)) * std::min(lr, 1 / std::sqrt(double(t))) / std::max(1.0, rms(u) / threshold);
    for (size_t i = 0; i < g.size(); ++i)
      w[i] = w[i] * (1 - lr * decay) - length * u[i];
  }
};

/// Compares ten steps with the reference.
void checkAdafactor(const std::string &optimizer, const std::vector<int64_t> &shape, double start,
                    Adafactor reference) {
  PassRun run(sumStep(optimizer, shape, std::to_string(start)), kPasses);
  std::vector<double> w(reference.matrices * reference.rows * reference.columns, start), g(w);
  for (int t = 1; t <= kSteps; ++t) {
    for (size_t i = 0; i < g.size(); ++i)
      g[i] = float(gradient(t + int(i), int(i) % 2) * double(1 + i));
    run.step(g);
    reference(w, g, t);
    for (size_t i = 0; i < w.size(); ++i)
      EXPECT_NEAR(run["w"][i], w[i], t * 64 * 0x1p-24 * std::max(1.0, std::abs(w[i]))) << "step " << t << ", " << i;
  }
}

TEST(Adafactor, MatricesHaveASlotOfRowsAndOneOfColumns) {
  checkAdafactor("#train.optimizer<adafactor>", {3, 4}, 2, {.matrices = 1, .rows = 3, .columns = 4, .factored = true});
  checkAdafactor("#train.optimizer<adafactor>", {2, 1, 3, 2}, 2,
                 {.matrices = 2, .rows = 3, .columns = 2, .factored = true});
  PassRun run(sumStep("#train.optimizer<adafactor>", {2, 3, 4}, "1.0"), kPasses);
  EXPECT_EQ(run["w/row_var"].size(), 6u);
  EXPECT_EQ(run["w/col_var"].size(), 8u);
}

TEST(Adafactor, VectorsAndSingleNumbers) {
  checkAdafactor("#train.optimizer<adafactor>", {5}, -1, {.matrices = 1, .rows = 1, .columns = 5, .factored = false});
  checkAdafactor("#train.optimizer<adafactor>", {}, -1, {.matrices = 1, .rows = 1, .columns = 1, .factored = false});
}

TEST(Adafactor, LargeStepsWithDecay) {
  checkAdafactor("#train.optimizer<adafactor, lr = 0.5, beta2_decay = -0.5, eps1 = 0.125, eps2 = 0.25, d = 1.5, "
                 "weight_decay = 0.25>",
                 {3, 4}, 0.125,
                 {.lr = 0.5,
                  .beta2Decay = -0.5,
                  .eps1 = 0.125,
                  .eps2 = 0.25,
                  .threshold = 1.5,
                  .decay = 0.25,
                  .matrices = 1,
                  .rows = 3,
                  .columns = 4,
                  .factored = true});
}

TEST(Adafactor, NothingAndNoGradient) {
  EXPECT_EQ(stepFrom("#train.optimizer<adafactor>", {0}, "", {}), std::vector<double>());
  PassRun run(sumStep("#train.optimizer<adafactor>", {2, 0}, ""), kPasses);
  run.step({});
  EXPECT_EQ(run["w/row_var"], std::vector<double>(2));
  EXPECT_EQ(stepFrom("#train.optimizer<adafactor>", {2, 1}, "2.0", {0, 0}), (std::vector<double>{2, 2}));
}

} // namespace
