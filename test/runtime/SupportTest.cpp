// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Element types, random numbers, schedules, threads, transposition, output files.

#include "LogisticProgram.h"
#include "runtime/core/Schedule.h"
#include "runtime/core/Transpose.h"
#include "runtime/host/Threads.h"
#include "runtime/support/AtomicFile.h"
#include "runtime/support/DType.h"
#include "runtime/support/Nearest.h"
#include "runtime/support/Outputs.h"
#include "runtime/support/Random.h"
#include "runtime/support/Terminal.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>
#include <utility>

using namespace mpc::rt;
using namespace mpc::rt::test;

/// While it holds a value, the calls of fsync and rename by this program are noted in it.
static std::optional<std::vector<std::string>> diskCalls;

// These stand in for the functions of libc, for the tests and the runtime in them.
extern "C" int fsync(int file) {
  if (diskCalls)
    diskCalls->push_back("fsync");
  return int(syscall(SYS_fsync, file));
}

extern "C" int rename(const char *from, const char *to) noexcept {
  if (diskCalls)
    diskCalls->push_back("rename");
  return int(syscall(SYS_rename, from, to));
}

TEST(DType, EveryHalfSurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    float value = halfToFloat(uint16_t(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(halfToFloat(floatToHalf(value))));
      continue;
    }
    EXPECT_EQ(floatToHalf(value), bits);
    EXPECT_EQ(doubleToHalf(value), bits);
  }
  EXPECT_EQ(halfToFloat(0x3c00), 1.0f);
  EXPECT_EQ(halfToFloat(0x7bff), 65504.0f);
  EXPECT_EQ(halfToFloat(0x0001), 0x1p-24f);
}

TEST(DType, HalfRoundsToNearestEven) {
  // For each pair of neighbours, the midpoint goes to the even one, and numbers next to the midpoint go to the
  // nearer one.
  for (uint32_t bits = 0; bits < 0x7bff; ++bits) {
    double low = halfToFloat(uint16_t(bits)), high = halfToFloat(uint16_t(bits + 1)), middle = (low + high) / 2;
    uint32_t even = bits & 1 ? bits + 1 : bits;
    EXPECT_EQ(floatToHalf(float(middle)), even);
    EXPECT_EQ(floatToHalf(std::nextafter(float(middle), 0.0f)), bits);
    EXPECT_EQ(floatToHalf(std::nextafter(float(middle), 1e9f)), bits + 1);
    EXPECT_EQ(doubleToHalf(std::nextafter(middle, 0.0)), bits); // rounding twice would give the even one
    EXPECT_EQ(doubleToHalf(std::nextafter(middle, 1e9)), bits + 1);
    EXPECT_EQ(floatToHalf(float(-middle)), even | 0x8000);
  }
  EXPECT_EQ(floatToHalf(65519.99f), 0x7bff);
  EXPECT_EQ(floatToHalf(65520.0f), 0x7c00);
}

TEST(DType, BfloatRoundsToNearestEven) {
  EXPECT_EQ(floatToBfloat(1.0f), 0x3f80);
  EXPECT_EQ(floatToBfloat(1.0f + 0x1p-8f), 0x3f80);
  EXPECT_EQ(floatToBfloat(1.0f + 3 * 0x1p-8f), 0x3f82);
  EXPECT_EQ(doubleToBfloat(1.0 + 0x1p-8 + 0x1p-40), 0x3f81);
  EXPECT_EQ(bfloatToFloat(0x4049), 3.140625f);
  EXPECT_TRUE(std::isnan(bfloatToFloat(floatToBfloat(NAN))));
}

TEST(DType, ConversionsBetweenAllTypes) {
  const uint8_t values[] = {0, 1, 1, 0, 1};
  for (int from = MPC_F16; from <= MPC_BOOL; ++from)
    for (int to = MPC_F16; to <= MPC_BOOL; ++to) {
      std::byte source[40], target[40];
      convert(MPC_U8, values, mpc_dtype(from), source, 5);
      convert(mpc_dtype(from), source, mpc_dtype(to), target, 5);
      for (size_t i = 0; i < 5; ++i)
        EXPECT_EQ(loadDouble(mpc_dtype(to), target, i), values[i]) << nameOf(mpc_dtype(from)) << nameOf(mpc_dtype(to));
    }
  int64_t big[] = {INT64_MAX, INT64_MIN, (int64_t(1) << 53) + 1};
  uint64_t out[3];
  convert(MPC_I64, big, MPC_U64, out, 3); // exact, which it would not be by way of double
  EXPECT_EQ(std::memcmp(big, out, sizeof big), 0);
  uint8_t pixels[] = {0, 255};
  float scaled[2];
  convert(MPC_U8, pixels, MPC_F32, scaled, 2, {1 / 255.0, -0.5});
  EXPECT_FLOAT_EQ(scaled[0], -0.5f);
  EXPECT_FLOAT_EQ(scaled[1], 0.5f);
}

TEST(Random, PhiloxMatchesTheReference) {
  // These are the known answers of Random123 (kat_vectors) for philox4x32 with 10 rounds.
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (std::array<uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, ShuffleIsAPermutationFixedBySeedAndEpoch) {
  std::vector<uint32_t> order = shuffledOrder(1000, 5, 3), sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (uint32_t i = 0; i < 1000; ++i)
    EXPECT_EQ(sorted[i], i);
  EXPECT_EQ(order, shuffledOrder(1000, 5, 3));
  EXPECT_NE(order, shuffledOrder(1000, 5, 4));
  EXPECT_NE(order, shuffledOrder(1000, 6, 3));
  // The order is fixed for all platforms and versions, because checkpoints rely on it.
  EXPECT_EQ(shuffledOrder(8, 1, 0), (std::vector<uint32_t>{0, 2, 1, 4, 3, 7, 5, 6}));
  // Each of the 6 orders of 3 comes up about 1000 times in 6000 (6 standard deviations are 173).
  std::map<std::vector<uint32_t>, int> counts;
  for (uint64_t epoch = 0; epoch < 6000; ++epoch)
    ++counts[shuffledOrder(3, 9, epoch)];
  EXPECT_EQ(counts.size(), 6u);
  for (const auto &[permutation, count] : counts)
    EXPECT_NEAR(count, 1000, 173);
}

TEST(Schedule, Values) {
  Schedule s;
  s.total = 110;
  s.warmup = 10;
  EXPECT_DOUBLE_EQ(s.rate(0.5, 0), 0.05);
  EXPECT_DOUBLE_EQ(s.rate(0.5, 9), 0.5);
  EXPECT_DOUBLE_EQ(s.rate(0.5, 100), 0.5);
  s.kind = Schedule::Cosine;
  s.minRate = 0.1;
  EXPECT_DOUBLE_EQ(s.rate(0.5, 10), 0.5);
  EXPECT_DOUBLE_EQ(s.rate(0.5, 60), 0.3);
  EXPECT_DOUBLE_EQ(s.rate(0.5, 110), 0.1);
  EXPECT_DOUBLE_EQ(s.rate(0.5, 500), 0.1);
  s.kind = Schedule::Linear;
  EXPECT_DOUBLE_EQ(s.rate(0.5, 35), 0.4);
  EXPECT_DOUBLE_EQ(s.rate(0.5, 110), 0.1);
  s = {};
  s.kind = Schedule::Step;
  s.stepSize = 30;
  s.stepGamma = 0.5;
  s.minRate = 0.2;
  EXPECT_DOUBLE_EQ(s.rate(1, 29), 1);
  EXPECT_DOUBLE_EQ(s.rate(1, 30), 0.5);
  EXPECT_DOUBLE_EQ(s.rate(1, 60), 0.25);
  EXPECT_DOUBLE_EQ(s.rate(1, 90), 0.2);
  EXPECT_EQ(Schedule::kindOf("linear"), Schedule::Linear);
  EXPECT_THROW(Schedule::kindOf("exotic"), Error);
}

namespace {
void countSlices(void *const *buffers, int64_t begin, int64_t end) {
  auto hits = static_cast<std::atomic<int> *>(buffers[0]);
  static_cast<std::atomic<int> *>(buffers[1])->fetch_add(1);
  for (int64_t i = begin; i < end; ++i)
    hits[i].fetch_add(1);
}
} // namespace

static void slicesCoverTheGridOnce(bool ownPool) {
  for (int count : {1, 2, 3, 5}) {
    Threads threads(count);
    EXPECT_EQ(threads.count(), count);
    EXPECT_TRUE(!ownPool || count == 1 || threads.backend() == std::string("own pool"));
    for (auto [grid, grain] : {std::pair<int64_t, int64_t>{0, 1}, {1, 1}, {7, 1}, {64, 64}, {65, 32}, {1000, 10}}) {
      std::vector<std::atomic<int>> hits(1000);
      std::atomic<int> slices = 0;
      void *buffers[] = {hits.data(), &slices};
      for (int repeat = 0; repeat < 20; ++repeat)
        threads.parallelFor(countSlices, buffers, grid, grain);
      for (int64_t i = 0; i < 1000; ++i)
        ASSERT_EQ(hits[size_t(i)], i < grid ? 20 : 0);
      int64_t most = grid == 0 ? 0 : std::max<int64_t>(1, std::min<int64_t>(count, grid / grain));
      EXPECT_EQ(slices, 20 * most);
    }
  }
}

// Under ThreadSanitizer this test is left out (sanitize_test.py), because it does not understand libgomp's barriers.
TEST(Threads, SlicesCoverTheGridOnceWithLibgomp) {
  const char *given = std::getenv("MPC_NO_LIBGOMP");
  unsetenv("MPC_NO_LIBGOMP");
  slicesCoverTheGridOnce(/*ownPool=*/false);
  if (given)
    setenv("MPC_NO_LIBGOMP", "1", 1);
}

TEST(Threads, SlicesCoverTheGridOnceWithoutLibgomp) {
  const char *given = std::getenv("MPC_NO_LIBGOMP");
  setenv("MPC_NO_LIBGOMP", "1", 1);
  slicesCoverTheGridOnce(/*ownPool=*/true);
  if (!given)
    unsetenv("MPC_NO_LIBGOMP");
}

TEST(Transpose, MatchesTheDefinition) {
  Shape shape = {2, 3, 1, 4, 5};
  std::vector<int64_t> permutation = {0, 1, 2, 3, 4};
  std::vector<float> logical(120), stored(120), back(120);
  std::iota(logical.begin(), logical.end(), 0.0f);
  do {
    Transpose order(shape, permutation);
    order.toStored(logical.data(), stored.data(), 4);
    size_t at = 0;
    int64_t index[5], extent[5];
    for (int i = 0; i < 5; ++i)
      extent[i] = shape[size_t(permutation[size_t(i)])];
    for (index[0] = 0; index[0] < extent[0]; ++index[0])
      for (index[1] = 0; index[1] < extent[1]; ++index[1])
        for (index[2] = 0; index[2] < extent[2]; ++index[2])
          for (index[3] = 0; index[3] < extent[3]; ++index[3])
            for (index[4] = 0; index[4] < extent[4]; ++index[4]) {
              int64_t coordinate[5];
              for (size_t i = 0; i < 5; ++i)
                coordinate[permutation[i]] = index[i];
              int64_t flat = 0;
              for (size_t i = 0; i < 5; ++i)
                flat = flat * shape[i] + coordinate[i];
              ASSERT_EQ(stored[at++], float(flat));
            }
    order.toLogical(stored.data(), back.data(), 4);
    ASSERT_EQ(back, logical);
  } while (std::next_permutation(permutation.begin(), permutation.end()));
  EXPECT_TRUE(Transpose({8, 1, 28, 28}, {0, 2, 3, 1}).identity());
  EXPECT_FALSE(Transpose({8, 2, 28, 28}, {0, 2, 3, 1}).identity());
}

TEST(Attempt, TooManyThreadsAreNoDefect) {
  // std::thread throws this where the system's limit is reached.
  std::optional<Error> error = attempt(
      [] { throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again), "Resource"); });
  ASSERT_TRUE(error);
  EXPECT_NE(error->text().find("no more threads"), std::string::npos) << error->text();
  EXPECT_NE(error->text().find("--threads"), std::string::npos) << error->text();
  error = attempt([] { throw std::system_error(std::make_error_code(std::errc::invalid_argument)); });
  ASSERT_TRUE(error);
  EXPECT_NE(error->text().find("a defect of mpc"), std::string::npos) << error->text();
}

TEST(Outputs, AreNoInputs) {
  TemporaryFolder folder;
  std::string data = folder / "data", other = folder / "other", link = folder / "link", hard = folder / "hard";
  std::ofstream(data) << "data";
  std::ofstream(other) << "data";
  std::filesystem::create_symlink(data, link);
  std::filesystem::create_hard_link(data, hard);
  std::filesystem::create_directory_symlink(".", folder / "here");
  for (const std::string &output : {data, link, hard, folder / "here/data"}) {
    Error error = errorOf([&] { checkOutput(output, {"", folder / "nowhere", data}); });
    EXPECT_EQ(error.where(), output);
    EXPECT_NE(error.clause().find("is read, so it cannot be written"), std::string::npos) << error.text();
    EXPECT_FALSE(error.hint().empty());
  }
  for (const std::string &output : {other, folder / "nowhere", std::string("/dev/null"), std::string()})
    checkOutput(output, {data, folder / "nowhere", "/dev/null", ""});
}

TEST(AtomicFile, AppearsOnlyWhenCommitted) {
  TemporaryFolder folder;
  std::string path = folder / "f";
  {
    AtomicFile file(path);
    file.write("half");
    EXPECT_FALSE(std::filesystem::exists(path));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  AtomicFile file(path);
  file.write("whole");
  file.commit();
  EXPECT_EQ(readFile(path), "whole");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

/// A file that is renamed before its bytes are on the disk may be empty after a power cut.
TEST(AtomicFile, IsOnTheDiskBeforeItHasItsName) {
  TemporaryFolder folder;
  AtomicFile file(folder / "f");
  file.write("whole");
  diskCalls = std::vector<std::string>();
  file.commit();
  // The second fsync is that of the folder.
  EXPECT_EQ(*std::exchange(diskCalls, std::nullopt), (std::vector<std::string>{"fsync", "rename", "fsync"}));
}

TEST(AtomicFile, FullDiskIsALocatedError) {
  if (!std::filesystem::exists("/dev/full"))
    GTEST_SKIP();
  Error error = errorOf([] {
    AtomicFile file("/dev/full");
    file.write("x");
    file.commit();
  });
  EXPECT_EQ(error.where(), "/dev/full");
  EXPECT_NE(error.text().find("No space left on device\nhint: free some disk space"), std::string::npos);
}

//===-- Threads ---------------------------------------------------------------------------------------===//

/// Returns the CPU time of the process while `work` runs, in milliseconds.
static double cpuMilliseconds(const std::function<void()> &work) {
  auto now = [] {
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    auto of = [](timeval time) { return double(time.tv_sec) * 1e3 + double(time.tv_usec) / 1e3; };
    return of(usage.ru_utime) + of(usage.ru_stime);
  };
  double begin = now();
  work();
  return now() - begin;
}

TEST(Threads, SleepWhileTheyWait) {
  if (std::getenv("OMP_WAIT_POLICY") || std::getenv("GOMP_SPINCOUNT"))
    GTEST_SKIP() << "the user's policy";
  constexpr int kTimes = 50;
  // A thread that spins as long as libgomp does by default takes some 5 of the 10 milliseconds of a wait. A kernel that
  // counts CPU time by its ticks, or a host that takes the CPU away in between, sometimes adds milliseconds to a thread
  // that slept; so the least of several measurements counts.
  constexpr double kLimit = 1.0 * kTimes; // a millisecond for each wait of 10
  constexpr int kAttempts = 10;
  // Under ThreadSanitizer the variable is set for all tests and must stay set.
  const char *value = std::getenv("MPC_NO_LIBGOMP");
  const std::optional<std::string> before = value ? std::optional<std::string>(value) : std::nullopt;
  for (bool own : {false, true}) {
    if (own)
      setenv("MPC_NO_LIBGOMP", "1", 1);
    Threads threads(2);
    before ? setenv("MPC_NO_LIBGOMP", before->c_str(), 1) : unsetenv("MPC_NO_LIBGOMP");
    auto launch = [&](void (*body)(void *, int64_t, int64_t)) { threads.parallelFor(body, nullptr, 2, 1); };
    using Wait = std::function<void()>;
    const std::pair<const char *, Wait> waits[] = {
        {"the workers, for the next launch",
         [&] {
           launch([](void *, int64_t, int64_t) {});
           usleep(10000);
         }},
        {"a worker, for the thread that launched",
         [&] { launch([](void *, int64_t begin, int64_t) { usleep(begin == 0 ? 10000 : 0); }); }},
        {"the thread that launched, for a worker",
         [&] { launch([](void *, int64_t begin, int64_t) { usleep(begin == 0 ? 0 : 10000); }); }},
    };
    for (const auto &[who, wait] : waits) {
      double least = std::numeric_limits<double>::infinity();
      for (int attempt = 0; attempt < kAttempts && least >= kLimit; ++attempt)
        least = std::min(least, cpuMilliseconds([&wait = wait] {
                           for (int i = 0; i < kTimes; ++i)
                             wait();
                         }));
      EXPECT_LT(least, kLimit) << threads.backend() << ": " << who;
    }
  }
}

TEST(Threads, LeaveTheEnvironmentAsItWas) {
  Threads threads(2);
  EXPECT_TRUE(std::getenv("GOMP_SPINCOUNT") == nullptr || std::string(std::getenv("GOMP_SPINCOUNT")) != "4000");
}

TEST(Nearest, DistancesCountTheLettersThatDiffer) {
  EXPECT_EQ(editDistance("", "abc"), 3u);
  EXPECT_EQ(editDistance("abc", ""), 3u);
  EXPECT_EQ(editDistance("kitten", "sitting"), 3u);
  EXPECT_EQ(editDistance("epochs", "epcohs"), 1u); // two neighbours are swapped
  EXPECT_EQ(editDistance("same", "same"), 0u);
}

TEST(Nearest, AMisspeltWordFindsItsName) {
  const std::vector<std::string> names = {"epochs", "eval-every", "checkpoint-dir", "checkpoint-every", "lr"};
  EXPECT_EQ(nearestOf("epoch", names), "epochs");
  EXPECT_EQ(nearestOf("EPCOHS", names), "epochs");
  EXPECT_EQ(nearestOf("eval_evry", names), "eval-every");
  EXPECT_EQ(nearestOf("checkpoint", names), "checkpoint-dir"); // the first that begins so
  EXPECT_EQ(nearestOf("ls", names), "lr");
  for (const char *far : {"", "xyzzy", "momentum", "e"})
    EXPECT_EQ(nearestOf(far, names), "") << far;
  EXPECT_EQ(nearestOf(std::string(100000, 'x'), names), "");
}

TEST(Terminal, LinesBreakAtBlanksAndAreIndented) {
  EXPECT_EQ(wrapped("one two three four", 10, 0), "one two\nthree four");
  EXPECT_EQ(wrapped("one two three", 12, 4), "one two\n    three");
  EXPECT_EQ(wrapped("averyveryverylongword b", 10, 2), "averyveryverylongword\n  b");
  EXPECT_EQ(wrapped("a=one,b=two,c=three d", 14, 2), "a=one,b=two,\n  c=three d");
  EXPECT_EQ(wrapped("", 10, 2), "");
}

TEST(Terminal, AFileHasNeitherColoursNorAWidth) {
  std::FILE *file = std::tmpfile();
  ASSERT_TRUE(file);
  const int descriptor = fileno(file);
  setenv("TERM", "xterm", 1);
  unsetenv("COLUMNS");
  EXPECT_FALSE(redraws(descriptor));
  EXPECT_EQ(columnsOf(descriptor), 80);
  EXPECT_EQ(withPaintedLabels("error: x\nhint: y\n", descriptor), "error: x\nhint: y\n");
  std::fclose(file);
}

TEST(Terminal, ATerminalHasColoursUnlessTheUserWantsNone) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0)
    GTEST_SKIP() << "this machine has no pseudo-terminals";
  setenv("TERM", "xterm", 1);
  unsetenv("NO_COLOR");
  EXPECT_EQ(withPaintedLabels("error: x\nhint: y", terminal), "\x1b[31merror:\x1b[0m x\n\x1b[32mhint:\x1b[0m y");
  winsize size = {};
  size.ws_col = 47;
  ASSERT_EQ(ioctl(terminal, TIOCSWINSZ, &size), 0);
  EXPECT_EQ(columnsOf(terminal), 47);
  setenv("NO_COLOR", "", 1);
  EXPECT_TRUE(hasColours(terminal));
  setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(hasColours(terminal));
  EXPECT_TRUE(redraws(terminal));
  unsetenv("NO_COLOR");
  setenv("TERM", "dumb", 1);
  EXPECT_FALSE(hasColours(terminal));
  EXPECT_FALSE(redraws(terminal));
  close(terminal);
}
