// Every allocation fails once: nothing is lost, no process ends, and nothing takes a failed allocation for something else.

#include "LogisticProgram.h"
#include "runtime/core/Log.h"
#include "runtime/core/data/Batches.h"
#include "runtime/core/data/Npz.h"

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <new>

using namespace mpc::rt;
using namespace mpc::rt::test;

/// The number of allocations, of all threads, up to the one that fails; 0 or less when none does.
static std::atomic<int64_t> remaining = 0;

void *operator new(size_t bytes) {
  if (remaining.load(std::memory_order_relaxed) > 0 && --remaining == 0)
    throw std::bad_alloc();
  if (void *memory = std::malloc(std::max<size_t>(bytes, 1)))
    return memory;
  throw std::bad_alloc();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }

namespace {
/// Calls `work` again and again, where its first, second, ... allocation fails, until it makes fewer. `check(failed)` is called after each time.
void failEach(FunctionRef<void()> work, FunctionRef<void(bool failed)> check) {
  for (int64_t n = 1; n < 100000; ++n) {
    remaining = n;
    bool failed = attempt(work).has_value(), came = remaining <= 0;
    remaining = 0;
    check(failed);
    if (::testing::Test::HasFailure() || !came)
      return;
  }
  ADD_FAILURE() << "allocates without end";
}
} // namespace

TEST(ShortOfMemory, AResumedLogLosesNoLine) {
  TemporaryFolder folder;
  std::string path = folder / "run.jsonl", lines;
  for (int step = 1; step <= 3; ++step)
    lines += "{\"step\":" + std::to_string(step) + ",\"note\":\"" + std::string(40, 'x') + "\"}\n";
  std::ofstream(path) << lines;
  failEach([&] { RunLog log(path, 3); }, [&](bool) { EXPECT_EQ(readFile(path), lines); });
}

TEST(ShortOfMemory, TheThreadThatFillsBatchesReportsIt) {
  TemporaryFolder folder;
  DataOptions options;
  options.files = {writeLogisticData(folder / "train.npz", 12)};
  auto program = logisticProgram();
  std::vector<const Entry *> entries{program->manifest().entryOfKind("train")};
  Dataset data(options, inputsOf(entries), 4);
  int64_t count = 0;
  auto readAll = [&] {
    count = 0;
    Batches batches(data, entries, {});
    while (batches.next())
      ++count;
  };
  failEach(readAll, [&](bool failed) { EXPECT_TRUE(failed || count == 3) << count; });
}

TEST(ShortOfMemory, AnUnfinishedArchiveIsRemoved) {
  TemporaryFolder folder;
  std::string path = folder / "out.npz";
  Tensor tensor(MPC_F32, {2, 3});
  auto write = [&] {
    NpzWriter writer(path);
    writer.add("y", tensor);
    writer.finish();
  };
  failEach(write, [&](bool failed) {
    size_t files = size_t(std::distance(std::filesystem::directory_iterator(folder.path()), {}));
    EXPECT_EQ(files, failed ? 0u : 1u);
    std::filesystem::remove(path);
  });
}
