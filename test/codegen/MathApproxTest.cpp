//===- MathApproxTest.cpp - error bounds of the f32 functions ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions are compiled for x86-64-v3 and run on every 509th of all 2^32 bit patterns of f32 (8.4 million, special
// values included). The results are compared with libm in double precision. MathApprox.h (passes/Lowering/MathApprox)
// promises the bounds that are checked here.
//
//===----------------------------------------------------------------------===//
#include "KernelHarness.h"
#include "mlir/IR/MLIRContext.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace mpc;
using namespace mpc::test;

TEST(MathApprox, Ulps) {
  constexpr int64_t count = 1 << 20;
  struct Function {
    const char *op;
    double (*reference)(double);
    double ulps;
    double limit; ///< largest |x| that is checked
  };
  const Function functions[] = {
      {"exp", std::exp, 1, INFINITY},
      {"log", std::log, 1, INFINITY},
      {"tanh", std::tanh, 3, INFINITY},
      {"erf", std::erf, 2, INFINITY},
      {"sin", std::sin, 2, 0x1p48},
      {"cos", std::cos, 2, 0x1p48},
      // The rounding of x^2/2 is magnified by its size, so in the tail it is by far the largest part.
      {"normal_cdf", [](double x) { return 0.5 * std::erfc(-x * M_SQRT1_2); }, 4, 1},
      {"normal_cdf", [](double x) { return 0.5 * std::erfc(-x * M_SQRT1_2); }, 20, 5},
      {"normal_cdf", [](double x) { return 0.5 * std::erfc(-x * M_SQRT1_2); }, 100, INFINITY},
      {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }, 3, INFINITY},
      {"softplus", [](double x) { return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))); }, 3, INFINITY},
      // With alpha = 1, elu is expm1 below 0.
      {"elu {alpha = 1.0 : f64}", [](double x) { return x >= 0 ? x : std::expm1(x); }, 2, INFINITY},
  };
  auto context = makeContext();
  Kernels codegen(context.get());
  std::vector<std::string> symbols;
  std::vector<int64_t> grids;
  std::string x = "tensor<" + std::to_string(count) + "xf32>";
  for (const Function &f : functions) {
    std::string op = f.op, attrs = op.find(' ') == std::string::npos ? "" : op.substr(op.find(' '));
    auto module =
        parseCase(context.get(), {.name = f.op,
                                  .inputs = {x},
                                  .body = "%y = graph." + op.substr(0, op.find(' ')) + " %0" + attrs + " : " + x,
                                  .yields = {"%y : " + x}});
    auto kernel = codegen.add(dispatchOf(*module));
    ASSERT_TRUE(succeeded(kernel));
    symbols.push_back(symbolOf(*kernel)), grids.push_back(kernel->getGrid()[0]);
  }
  auto objects = codegen.compile(HostCpu::oldest());
  ASSERT_TRUE(succeeded(objects));
  Library library(objects->front().bytes);
  std::vector<float> in(count), out(count);
  void *buffers[] = {in.data(), out.data()};
  mlir::Type f32 = mlir::Float32Type::get(context.get());
  for (auto [i, f] : llvm::enumerate(functions)) {
    mpc_kernel_fn kernel = library.find(symbols[i]);
    double worst = 0, at = 0;
    uint64_t bits = 0;
    while (bits < (uint64_t(1) << 32)) {
      for (float &v : in) {
        uint32_t b = uint32_t(std::min<uint64_t>(bits, UINT32_MAX));
        std::memcpy(&v, &b, 4);
        bits += 509;
      }
      kernel(buffers, 0, grids[i]);
      for (int64_t k = 0; k < count; ++k) {
        if (std::fabs(in[k]) > f.limit && !std::isinf(in[k]))
          continue;
        double want = f.reference(double(in[k])), got = out[k];
        if (float(want) == got) // this also covers infinities, where the exact value is beyond f32
          continue;
        double error = ulpDistance(f32, got, want);
        if (error > worst)
          worst = error, at = in[k];
      }
    }
    EXPECT_LE(worst, f.ulps) << f.op << " at " << at;
    RecordProperty(f.op, std::to_string(worst));
    std::printf("%-28s %.3f ulp at %g\n", f.op, worst, at);
  }
}
