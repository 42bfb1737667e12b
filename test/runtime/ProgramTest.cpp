// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The packaged program, which consists of a runner and sections, is opened and run as a user does.

#include "PackedProgram.h"
#include "runtime/core/data/Npz.h"
#include "runtime/core/state/Checkpoint.h"
#include "runtime/host/Kernels.h"

#include <array>
#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>

using namespace mpc::rt;
using namespace mpc::rt::test;

TEST_F(PackedProgram, TrainsEvaluatesPredictsAndTraces) {
  Outcome info = run("info --json");
  ASSERT_EQ(info.status, 0) << info.text;
  auto json = nlohmann::json::parse(info.text);
  EXPECT_EQ(json["model"], "logistic");
  EXPECT_EQ(json["parameters"]["values"], 6);
  EXPECT_EQ(json["plans"][0]["entries"][0]["kernel_launches"], 4);
  EXPECT_NE(run("info").text.find("target [0, 2)") == std::string::npos, false);

  Outcome train = run("train --data d.npz --val d.npz --epochs 4 --lr 0.3 --momentum 0.8 --schedule cosine --warmup 3 "
                      "--checkpoint-dir ckpt --log run.jsonl --log-every 5 --threads 2");
  ASSERT_EQ(train.status, 0) << train.text;
  EXPECT_NE(train.text.find("done: 40 steps, 0 skipped"), std::string::npos) << train.text;
  std::string checkpoint = "--checkpoint ckpt/step-00000040.safetensors";
  Outcome eval = run("eval --data d.npz " + checkpoint);
  EXPECT_NE(eval.text.find("samples: 42\nloss: 0."), std::string::npos) << eval.text;
  EXPECT_NE(eval.text.find("/42)"), std::string::npos) << eval.text;
  ASSERT_EQ(run("predict --data d.npz --out p.npz " + checkpoint).status, 0);
  EXPECT_EQ(NpzReader(folder / "p.npz").read("logits").shape, (Shape{42, 2}));
  // `predict` does not need labels.
  ASSERT_EQ(run("predict --data x=d.npz,target=nowhere.npz --out p2.npz " + checkpoint).status, 0);
  ASSERT_EQ(run("trace --data d.npz --steps 3 --lr 0.2 --out t.npz").status, 0);
  NpzReader traced(folder / "t.npz");
  EXPECT_EQ(traced.read("loss").shape, (Shape{3}));
  EXPECT_EQ(traced.read("grad/w").shape, (Shape{3, 2}));
  EXPECT_TRUE(traced.contains("state/w/momentum"));
  // The compiled object and the C++ functions compute the same values.
  Session session(logisticProgram());
  DataOptions options;
  options.files = {data};
  EXPECT_EQ(run("trace --data d.npz --steps 1 --out one.npz --library generic").status, 0);
}

TEST_F(PackedProgram, ASignalIsSaidByTheStatusOfATrainingThatWasSaved) {
  for (auto [signal, status] : {std::pair("INT", 130), std::pair("TERM", 143), std::pair("HUP", 129)}) {
    // `exec` makes the signal reach the program and not a shell. `env` is needed because under nohup the tests
    // themselves ignore HUP. Each signal has a file of its own, whose first line shows that the handlers are set.
    const std::string out = concat("out", signal, ".txt");
    std::string command =
        concat("cd ", folder.path(),
               "; (exec env --default-signal=HUP ./model train --data d.npz --steps 1000000000 --log-every 10 "
               "--checkpoint-every 1000000000 --checkpoint-dir ckpt",
               signal, " > ", out, " 2>&1) & for i in $(seq 1000); do grep -qs step ", out,
               " && break; sleep 0.02; done; kill -", signal, " $!; wait $!");
    int ended = std::system(command.c_str());
    Outcome outcome{WIFEXITED(ended) ? WEXITSTATUS(ended) : -1, readFile(folder / out)};
    std::string end = outcome.text.substr(outcome.text.size() - std::min<size_t>(outcome.text.size(), 1000));
    EXPECT_EQ(outcome.status, status) << end;
    EXPECT_NE(outcome.text.find("the checkpoint is written, continue with --resume"), std::string::npos) << end;
    EXPECT_FALSE(CheckpointFolder(folder / concat("ckpt", signal), 3).empty());
  }
}

TEST_F(PackedProgram, MistakesAreLocatedErrors) {
  expectError("", "subcommand is required");
  expectError("train", "--data is required");
  expectError("train --data none.npz", "none.npz: cannot open: No such file or directory");
  expectError("train --data d.npz --lr abc", "lr");
  expectError("train --data d.npz --betas 3", "--betas");
  expectError("train --data d.npz --schedule sawtooth", "sawtooth");
  expectError("train --data d.npz --resume", "give --checkpoint-dir");
  expectError("train --data d.npz --log /nowhere/run.jsonl", "/nowhere/run.jsonl: cannot write");
  expectError("train --data d.npz --log /dev/full --log-every 1", "No space left on device");
  expectError("train --data d.npz --checkpoint-dir d.npz", "d.npz: cannot create the checkpoint folder");
  expectError("train --data model", "model: unknown kind of data file");
  expectError("eval --data d.npz --checkpoint d.npz", "d.npz: is no safetensors file");
  expectError("predict --data d.npz --out /nowhere/p.npz", "/nowhere/p.npz: cannot write");
  expectError("predict --data d.npz --out /dev/full", "No space left on device");
  expectError("trace --data d.npz --steps 0 --out t.npz", "--steps");
  expectError("frobnicate", "frobnicate");
  writeLogisticData(folder / "small.npz", 3);
  expectError("trace --data small.npz --steps 1 --out t.npz", "less than one batch of 4");
  EXPECT_FALSE(std::filesystem::exists(folder / "t.npz"));
  EXPECT_EQ(run("--help").status, 0);
  EXPECT_NE(run("train --help").text.find("--momentum"), std::string::npos);
}

TEST_F(PackedProgram, DamageIsALocatedError) {
  // The damaged bytes lie behind the program, so a piece of it is enough: each try writes the whole file, and a runner
  // with a sanitizer has 40 MB.
  const std::string runner = readFile(MPC_RUNNER).substr(0, 1000);
  const std::string good = packed(runner, {{"manifest.json", logisticManifest()},
                                           {"data", logisticData()},
                                           {"host.x86-64-v3.so", readFile(MPC_TEST_KERNELS)}});
  std::string path = folder / "bad";
  auto open = [&] { Program::open(path)->data(), Program::open(path)->kernels(); };
  for (size_t length = runner.size(); length < good.size(); length += 97) {
    writeFile(path, good.substr(0, length));
    EXPECT_EQ(errorOf(open).where(), path);
  }
  size_t start = good.size() - runner.size() > 0 ? (runner.size() + 63) / 64 * 64 : 0;
  int errors = 0, tries = 0;
  for (size_t at = start; at < good.size(); at += 97, ++tries) {
    std::string bad = good;
    bad[at] = char(bad[at] ^ 0x20);
    writeFile(path, bad);
    errors += attempt(open).has_value();
  }
  EXPECT_GE(errors, tries - 2); // no checksum covers the padding between sections
  writeFile(path,
            packed(runner,
                   {{"manifest.json", logisticManifest()}, {"data", logisticData()}, {"host.x86-64-v3.so", "no ELF"}}));
  EXPECT_NE(errorOf(open).text().find("cannot load the kernels"), std::string::npos);
}

TEST(Kernels, TheBestObjectThatTheCpuRuns) {
  auto best = [](const std::map<std::string, std::string_view> &sections) {
    return bestKernelObject(sections, "program");
  };
  EXPECT_EQ(best({}), "");
  EXPECT_EQ(best({{"host.native.so", ""}, {"host.native.cpu", "sse3 popcnt"}, {"host.x86-64-v3.so", ""}}),
            "host.native.so");
  EXPECT_EQ(best({{"host.native.so", ""}, {"host.native.cpu", ""}}), "host.native.so");
  // A feature that no CPU has stands for one that this CPU lacks.
  std::map<std::string, std::string_view> sections = {{"host.native.so", ""},
                                                      {"host.native.cpu", "sse3 avx-7 popcnt sse"}};
  EXPECT_EQ(errorOf([&] { best(sections); }).text(),
            "error: program: this CPU can run none of its kernels: host.native.so needs avx-7, sse\n"
            "hint: run it on a CPU that has that, or compile the model for this one: --cpu=native here, or "
            "--cpu=x86-64-v3\n");
  if (__builtin_cpu_supports("x86-64-v3")) {
    sections["host.x86-64-v3.so"] = "";
    EXPECT_EQ(best(sections), "host.x86-64-v3.so");
  }
  if (__builtin_cpu_supports("x86-64-v4")) {
    sections["host.x86-64-v4.so"] = "";
    EXPECT_EQ(best(sections), "host.x86-64-v4.so");
  }
}

TEST(Runner, WithoutAModelItSaysSo) {
  TemporaryFolder folder;
  std::string command = std::string(MPC_RUNNER) + " info > " + (folder / "out") + " 2>&1";
  int status = std::system(command.c_str());
  EXPECT_EQ(WEXITSTATUS(status), 1);
  EXPECT_NE(readFile(folder / "out").find("carries no model\nhint: make a program with 'mpc compile"),
            std::string::npos);
}

TEST(Runner, IsSmall) {
  // The runner is to stay near 1 MB, so that programs are small enough for embedded use. The last 100 KB came with what
  // a person sees (help in groups and wrapped to the terminal, "did you mean", lines of epochs, tables as logs), the
  // metrics beside accuracy, and preprocessing in checkpoints.
  if (MPC_BUILD_TYPE != std::string("Release"))
    GTEST_SKIP();
  EXPECT_LT(std::filesystem::file_size(MPC_RUNNER), 1'100'000);
}
