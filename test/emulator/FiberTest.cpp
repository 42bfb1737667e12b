// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The switch between fibers: their order, their registers, and the floating-point control words of each.
#include "runtime/emulator/Fiber.h"
#include <cfenv>
#include <cmath>
#include <gtest/gtest.h>
#include <sys/mman.h>
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
  double x = double(i) + 0.5; // kept in a register across switches
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

//===-- Stacks leave no marks on memory that is used again later ------------------------===//

static Context home, left;

/// Leaves an array on its stack, around which AddressSanitizer marks memory as inaccessible, and never returns to
/// remove the marks.
static void leaveForGood(void *sum) {
  contextStarted();
  volatile char marked[512];
  for (size_t i = 0; i < sizeof marked; ++i)
    marked[i] = char(i);
  *static_cast<int *>(sum) += marked[7];
  switchContext(left, home);
}

TEST(Fiber, LeavesNoMarksOnMemoryThatOthersGet) {
  int sum = 0;
  char *begin, *end;
  {
    Stacks stacks(1);
    left = makeContext(stacks, 0, leaveForGood, &sum);
    switchContext(home, left);
    begin = static_cast<char *>(stacks.bottom(0)), end = static_cast<char *>(stacks.top(0));
  }
  EXPECT_EQ(sum, 7);
  void *again = mmap(begin, size_t(end - begin), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  ASSERT_EQ(again, begin) << "the place is taken";
  for (char *at = begin; at != end; ++at) // AddressSanitizer reports a mark that was left
    *at = 1;
  munmap(again, size_t(end - begin));
}
