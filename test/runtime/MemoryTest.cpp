// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every allocation fails once: nothing is lost, no process ends, and nothing takes a failed allocation
// for something else.

#include "FailingNew.h"
#include "LogisticProgram.h"
#include "runtime/core/Log.h"
#include "runtime/core/data/Batches.h"
#include "runtime/core/data/Npy.h"
#include "runtime/core/data/Npz.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace mpc::rt;
using namespace mpc::rt::test;

namespace {
/// Calls `work` again and again, where its first, second, ... allocation fails, until it makes fewer. `check(failed)`
/// is called after each time.
void failEach(FunctionRef<void()> work, FunctionRef<void(bool failed)> check) {
  for (int64_t n = 1; n < 100000; ++n) {
    failNew(n);
    bool failed = attempt(work).has_value(), came = !failNew(0);
    check(failed);
    EXPECT_TRUE(came || !failed);
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
  options.readers = 4; // the allocations for the second and later ones fail while others run already
  Session session(logisticProgram());
  std::vector<const Entry *> entries{&session.entryOfKind("train")};
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

TEST(ShortOfMemory, AReaderOfASliceReportsIt) {
  TemporaryFolder folder;
  writeFile(folder / "x.npy", npyHeader(MPC_U8, {4, 2, 512, 512}) + std::string(4 * 2 * 512 * 512, '\1'));
  Entry entry;
  Port &x = entry.inputs.emplace_back();
  x.name = "x";
  x.dtype = MPC_U8;
  x.shape = {4, 2, 512, 512}; // every sample is larger than the least slice, and reordering it allocates
  x.permutation = {0, 2, 3, 1};
  x.batched = true;
  DataOptions options;
  options.files = {folder / "x.npy"};
  options.readers = 4;
  Dataset data(options, {&x}, 4);
  bool came = false;
  auto readOne = [&] {
    came = false;
    Batches batches(data, {&entry}, {});
    came = batches.next();
  };
  failEach(readOne, [&](bool failed) { EXPECT_TRUE(failed || came); });
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
