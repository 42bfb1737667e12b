// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DispatchCheck.h"
#include "Enclosure.h"
#include "Executor.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace mpc;
using namespace mpc::test;

/// Returns how far 16-bit results may differ in the mean (root mean square, relative to the values): half an ULP of 1.
/// The enclosure's bounds of sums grow with their length and hold for the worst order and signs of roundings, which do
/// not matter in the mean. A library call that leaves out the inner rounding of its epilogue differs by that rounding,
/// which is ulp/sqrt(12) in the mean. Other results are rounded where the evaluator rounds and hardly differ at all.
/// The mean of few elements says little: where terms cancel, the roundings of a few large terms decide.
static double meanBound(Type element, int64_t elements) {
  return elements < 64 ? INFINITY : element.isF16() ? 0x1p-11 : element.isBF16() ? 0x1p-8 : INFINITY;
}

/// Returns the enclosure for a method whose errors belong to tiles of results: any element may have the largest error
/// that a sum may have before it is rounded.
static Enclosure ofTiles(Enclosure enclosure) {
  const auto &semantics = cast<FloatType>(enclosure.value.element).getFloatSemantics();
  auto ulp = [&](double x) {
    int least = llvm::APFloat::semanticsMinExponent(semantics), exponent = x == 0 ? least : std::ilogb(x);
    return std::ldexp(1.0, std::max(exponent, least) + 1 - int(llvm::APFloat::semanticsPrecision(semantics)));
  };
  double widest = 0;
  for (auto [low, want, high] : llvm::zip_equal(enclosure.low.values, enclosure.value.values, enclosure.high.values))
    if (double distance = std::max(high - want, want - low); std::isfinite(distance))
      widest = std::max(widest, distance - ulp(std::max(std::abs(low), std::abs(high))));
  for (auto [low, want, high] : llvm::zip_equal(enclosure.low.values, enclosure.value.values, enclosure.high.values)) {
    const double rounding = ulp(want) / 2; // of `want`, which is rounded too
    low = std::min(low, want - rounding - widest);
    high = std::max(high, want + rounding + widest);
  }
  enclosure.low.round();
  enclosure.high.round();
  return enclosure;
}

static void report(kernel::DispatchOp dispatch, StringRef how, ArrayRef<Enclosure> expected,
                   ArrayRef<HostTensor> actual, bool verbose, bool exact) {
  for (auto [r, ofElements] : llvm::enumerate(expected)) {
    Enclosure enclosure = how == kTiled ? ofTiles(ofElements) : ofElements;
    Comparison c = compare(enclosure, actual[r]);
    std::string type;
    llvm::raw_string_ostream(type) << enclosure.value.type();
    if (verbose)
      llvm::outs() << llvm::formatv("{0,-8} {1,-56} {2,-26} {3,6:P1} {4,9:f1} {5,9:f1} {6:E1} {7:E1}{8}\n", how,
                                    (dispatch.getName() + (expected.size() > 1 ? "#" + Twine(r) : Twine())).str(), type,
                                    c.elements ? double(c.different) / double(c.elements) : 0.0, c.maxUlps,
                                    c.allowedUlps, c.rms, c.allowedRms, c.outside ? "  FAIL" : "");
    if (c.outside) {
      std::string body;
      llvm::raw_string_ostream(body) << dispatch;
      double want = enclosure.value.values[c.firstOutside];
      ADD_FAILURE() << how.str() << " " << dispatch.getName().str() << ", result " << r << ": " << c.outside << " of "
                    << c.elements << " elements outside; element " << c.firstOutside << " is "
                    << actual[r].values[c.firstOutside] << ", expected " << want << " in ["
                    << enclosure.low.values[c.firstOutside] << ", " << enclosure.high.values[c.firstOutside] << "]\n"
                    << body;
    }
    if (exact) {
      EXPECT_EQ(c.different, 0) << dispatch.getName().str();
    }
    EXPECT_EQ(c.unbounded, 0) << dispatch.getName().str() << ": nothing is known of these elements";
    EXPECT_LE(c.rms, meanBound(enclosure.value.element, c.elements)) << dispatch.getName().str();
  }
}

DispatchCheck::DispatchCheck(Executor &executor, ModuleOp module, ArrayRef<StringRef> entries)
    : executor(executor), evaluator(module, EvalMode::Rounded) {
  for (StringRef entry : entries)
    module.lookupSymbol(entry)->walk<WalkOrder::PreOrder>([&](kernel::DispatchOp dispatch) {
      if (executor.takes(dispatch))
        dispatches.push_back(dispatch);
      return WalkResult::skip(); // the members of a batch are checked with it
    });
  executor.compile(dispatches);
}

void DispatchCheck::evaluate(StringRef entry, ArrayRef<HostTensor> inputs) {
  SmallVector<HostTensor> results;
  ASSERT_TRUE(succeeded(evaluator.run(entry, inputs, results))) << entry.str();
}

void DispatchCheck::compare(StringRef entry, ArrayRef<HostTensor> inputs) {
  if (verbose)
    llvm::outs() << "how      dispatch                                                 result                     "
                    "differ  max ulps   allowed      rms allowed rms\n";
  evaluator.observer = [&](Operation *op, ArrayRef<HostTensor> operands, ArrayRef<HostTensor> results) {
    observe(op, operands, results);
  };
  evaluate(entry, inputs);
  evaluator.observer = {};
  llvm::outs().flush();
}

void DispatchCheck::observe(Operation *op, ArrayRef<HostTensor> operands, ArrayRef<HostTensor> results) {
  auto dispatch = dyn_cast<kernel::DispatchOp>(op);
  if (!dispatch || !executor.takes(dispatch))
    return;
  auto expected = enclose(dispatch, operands);
  ASSERT_TRUE(succeeded(expected)) << dispatch.getName().str();
  for (auto [enclosure, result] : llvm::zip_equal(*expected, results))
    ASSERT_TRUE(llvm::equal(enclosure.value.values, result.values,
                            [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }));
  int ways = 0;
  executor.run(dispatch, operands, [&](StringRef how, ArrayRef<HostTensor> actual) {
    report(dispatch, how, *expected, actual, verbose, exact);
    ++ways;
  });
  EXPECT_GT(ways, 0) << dispatch.getName().str() << ": nothing computes it";
  ++compared;
}

void DispatchCheck::expectAll() const { EXPECT_EQ(compared, dispatches.size()); }
