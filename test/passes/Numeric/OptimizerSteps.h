//===- OptimizerSteps.h - ten steps of an optimizer beside a reference in double -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_TEST_PASSES_NUMERIC_OPTIMIZERSTEPS_H
#define MPC_TEST_PASSES_NUMERIC_OPTIMIZERSTEPS_H
#include "test/passes/Numeric/PassRun.h"
#include <cmath>
#include <functional>
#include <gtest/gtest.h>

namespace mpc::test {

inline constexpr const char *kPasses = "mpc-autodiff,mpc-loss-scaling,mpc-optimizers,mpc-simplify";
inline constexpr int kSteps = 10;

/// Returns gradients that change sign and size, element by element.
inline double gradient(int t, int element) {
  return element == 0 ? 0.7 * std::cos(1.3 * t) + 0.1 : 1e-3 * (t % 3 - 1.2);
}

using Pair = double[2];
/// Updates a parameter of two elements as a whole, for optimizers whose steps depend on all elements. The state of an
/// element is state[element].
using WholeReference = std::function<void(Pair &w, const Pair &g, double (&state)[2][3], int t)>;

/// Checks that ten steps in fp32 stay within (roundings per step) * steps * 2^-24 of the largest intermediate value,
/// which here is the parameter. `attributes` are further ones of the step.
inline void checkWhole(const std::string &optimizer, const WholeReference &reference, int roundings = 16,
                       const std::string &attributes = "") {
  PassRun run(linearStep("optimizer = " + optimizer + ", scaler = #train.scaler<none>" + attributes), kPasses);
  double w[2] = {1, -2}, state[2][3] = {};
  for (int t = 1; t <= kSteps; ++t) {
    const double g[2] = {double(float(gradient(t, 0))), double(float(gradient(t, 1)))};
    run.step({g[0], g[1]});
    reference(w, g, state, t);
    for (int i = 0; i < 2; ++i)
      EXPECT_NEAR(run["w"][i], w[i], t * roundings * 0x1p-24 * std::max(1.0, std::abs(w[i])))
          << optimizer << " step " << t;
  }
  EXPECT_EQ(run["main/step"][0], kSteps);
}

} // namespace mpc::test
#endif
