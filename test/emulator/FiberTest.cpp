// The switch between fibers: order, registers, and control words of each its own.
#include "runtime/emulator/Fiber.h"
#include <cfenv>
#include <cmath>
#include <gtest/gtest.h>
#include <vector>

using namespace mpc::rt::emulator;

namespace {
struct Ring {
  static constexpr long count = 3, rounds = 5;
  Context home, fibers[count];
  std::vector<long> order;
  double result[count] = {};
  int rounding[count] = {};
};
Ring ring;

void body(void *argument) {
  contextStarted();
  long i = reinterpret_cast<long>(argument);
  double x = double(i) + 0.5; // lives in a register across switches
  if (i == 1)
    std::fesetround(FE_UPWARD);
  for (long r = 0; r < Ring::rounds; ++r) {
    ring.order.push_back(i);
    x = x * 2 + 1;
    switchContext(ring.fibers[i], i + 1 == Ring::count ? ring.home : ring.fibers[i + 1]);
  }
  ring.result[i] = x;
  ring.rounding[i] = std::fegetround();
  switchContext(ring.fibers[i], ring.home);
}
} // namespace

TEST(Fiber, KeepsRegistersAndControlWords) {
  Stacks stacks(Ring::count);
  for (long i = 0; i < Ring::count; ++i)
    ring.fibers[i] = makeContext(stacks, size_t(i), body, reinterpret_cast<void *>(i));
  std::vector<long> expected;
  for (long r = 0; r < Ring::rounds; ++r) {
    switchContext(ring.home, ring.fibers[0]);
    for (long i = 0; i < Ring::count; ++i)
      expected.push_back(i);
    EXPECT_EQ(std::fegetround(), FE_TONEAREST);
  }
  for (Context fiber : {ring.fibers[0], ring.fibers[1], ring.fibers[2]})
    switchContext(ring.home, fiber);
  EXPECT_EQ(ring.order, expected);
  for (long i = 0; i < Ring::count; ++i) {
    EXPECT_EQ(ring.result[i], (double(i) + 0.5) * 32 + 31);
    EXPECT_EQ(ring.rounding[i], i == 1 ? FE_UPWARD : FE_TONEAREST);
  }
}
