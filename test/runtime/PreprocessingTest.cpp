// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What happens to inputs, as options say it and as checkpoints keep it.

#include "runtime/core/data/Preprocessing.h"
#include "LogisticProgram.h"
#include "PackedProgram.h"
#include "runtime/core/data/Dataset.h"
#include "runtime/core/data/Npy.h"
#include "runtime/core/data/Npz.h"
#include "runtime/core/state/Checkpoint.h"

#include <filesystem>
#include <gtest/gtest.h>

using namespace mpc::rt;
using namespace mpc::rt::test;

namespace {
Preprocessing said(const std::vector<std::string> &scale, const std::vector<std::string> &normalize,
                   const Preprocessing &base = {}) {
  return withOptions(base, {{}, scale, normalize}, {"x", "y"}, {});
}
} // namespace

TEST(Preprocessing, IsKeptExactly) {
  Preprocessing all = said({"x=0.1"}, {"x=0.485:0.456,0.229:0.224", "y=1e-300,3"});
  EXPECT_EQ(all.text(), "x: scale 0.1, normalize 0.485:0.456/0.229:0.224; y: normalize 1e-300/3");
  EXPECT_EQ(all.metadata(), "x\tscale\t0.10000000000000001\nx\tnormalize\t0.48499999999999999\t0.45600000000000002\t"
                            "0.22900000000000001\t0.224\ny\tnormalize\t1e-300\t3");
  EXPECT_EQ(Preprocessing::parse(all.metadata(), "c"), all);
  // Steps that change nothing are not kept, but that there are none is.
  EXPECT_EQ(said({"x=1"}, {"y=0,1"}).metadata(), "none");
  EXPECT_EQ(Preprocessing::parse("none", "c"), Preprocessing());
  EXPECT_EQ(Preprocessing::parse("", "c"), std::nullopt);
}

TEST(Preprocessing, WhatIsNotUnderstoodIsAnError) {
  for (const char *text : {"x\tcrop\t3", "x", "x\tscale", "x\tscale\tone", "x\tscale\t1\t2", "x\tnormalize\t1\t0",
                           "x\tnormalize\t1\t2\t3", "x\tscale\tinf", "x\tnormalize\t0\t2\nx\tscale\t2", "\n"})
    EXPECT_NE(errorOf([&] { Preprocessing::parse(text, "c.safetensors"); })
                  .text()
                  .find("error: c.safetensors: its preprocessing has '"),
              std::string::npos)
        << text;
}

TEST(Preprocessing, OptionsReplaceTheStepsThatTheyName) {
  const Preprocessing base = said({"x=0.5"}, {"x=1,2", "y=3,4"});
  EXPECT_EQ(said({"x=0.25"}, {}, base).text(), "x: scale 0.25, normalize 1/2; y: normalize 3/4");
  EXPECT_EQ(said({"none"}, {}, base).effective().text(), "x: normalize 1/2; y: normalize 3/4");
  EXPECT_EQ(said({}, {"x=none"}, base).effective().text(), "x: scale 0.5; y: normalize 3/4");
  EXPECT_EQ(said({"none"}, {"none"}, base).effective().text(), "none");
  EXPECT_NE(errorOf([&] { said({"z=1"}, {}); }).text().find("--scale: there is no input 'z'"), std::string::npos);
  EXPECT_NE(errorOf([&] { said({"x"}, {}); }).text().find("--scale: 'x' has no '='\nhint: write INPUT="),
            std::string::npos);
}

namespace {
/// A data file of bytes, and its dataset.
struct Bytes {
  Bytes() {
    options.files = {folder / "d.npz"};
    port.name = "x";
    port.shape = {2, 3};
    port.batched = true;
    Tensor x(MPC_U8, {4, 3});
    for (size_t i = 0; i < x.bytes.size(); ++i)
      x.bytes[i] = std::byte(i * 20);
    NpzWriter writer(options.files[0]);
    writer.add("x", x);
    writer.finish();
  }
  Dataset dataset() const { return Dataset(options, {&port}, 2); }
  TemporaryFolder folder;
  Port port;
  DataOptions options;
};
} // namespace

TEST(Preprocessing, ADatasetSaysWhatItUsesOfACheckpoint) {
  Bytes bytes;
  EXPECT_EQ(bytes.dataset().preprocessingNote(), "");
  bytes.options.stored = said({"x=0.5"}, {});
  EXPECT_EQ(bytes.dataset().preprocessingNote(),
            "preprocessing of the checkpoint: x: scale 0.5 (--scale and "
            "--normalize change it, --scale=none and --normalize=none turn it off)");
  EXPECT_EQ(bytes.dataset().preprocessing().text(), "x: scale 0.5");
  bytes.options.scale = {"x=0.5"};
  EXPECT_EQ(bytes.dataset().preprocessingNote(), "");
  bytes.options.scale = {"none"};
  EXPECT_EQ(bytes.dataset().preprocessingNote(), "preprocessing: none; the checkpoint was trained with: x: scale 0.5");
  bytes.options.scale = {};
  bytes.options.stored = said({"y=2"}, {});
  EXPECT_EQ(bytes.dataset().preprocessingNote(), "preprocessing of the checkpoint; not used here: y: scale 2");
  bytes.options.stored = Preprocessing();
  EXPECT_EQ(bytes.dataset().preprocessingNote(), "");
}

TEST(Preprocessing, BytesThatEnterAsTheyAreAreNoted) {
  Bytes bytes;
  auto notes = [&] { return bytes.dataset().notesOnBytes({&bytes.port, &bytes.port}); };
  EXPECT_EQ(notes(), std::vector<std::string>{"input 'x' has bytes 0…220 and enters as it is; --scale=x=0.00392157 "
                                              "makes 255 one, --normalize=x=MEAN,STD standardizes"});
  bytes.options.scale = {"none"}; // somebody wants it so
  EXPECT_TRUE(notes().empty());
  bytes.options.scale = {};
  bytes.port.dtype = MPC_I64;
  EXPECT_TRUE(notes().empty());
}

TEST_F(PackedProgram, ATrainingsPreprocessingComesWithItsCheckpoint) {
  const std::string made = "x: scale 0.125, normalize 0.5/0.25", options = " --scale x=0.125 --normalize x=0.5,0.25";
  Outcome train = run("train --data d.npz --val d.npz --steps 8 --checkpoint-dir c --log run.jsonl" + options);
  ASSERT_EQ(train.status, 0) << train.text;
  const std::string checkpoint = folder / "c/step-00000008.safetensors";
  ASSERT_TRUE(preprocessingOf(checkpoint));
  EXPECT_EQ(preprocessingOf(checkpoint)->text(), made);
  const std::string with = "eval --data d.npz --json --checkpoint " + checkpoint;
  Outcome plain = run(with), same = run(with + options), other = run(with + " --scale x=1"),
          off = run(with + " --scale none --normalize none");
  EXPECT_NE(plain.text.find("note: preprocessing of the checkpoint: " + made + " (--scale"), std::string::npos);
  EXPECT_EQ(same.text.find("note: preprocessing"), std::string::npos) << same.text;
  EXPECT_NE(other.text.find("note: preprocessing: x: normalize 0.5/0.25; the checkpoint was trained with: " + made),
            std::string::npos)
      << other.text;
  auto result = [](const Outcome &outcome) { return outcome.text.substr(outcome.text.find('{')); };
  EXPECT_EQ(result(plain), result(same));
  EXPECT_NE(result(plain), result(other));
  EXPECT_NE(result(plain), result(off));
  Outcome predicted = run("predict --data d.npz --out p.npz --checkpoint " + checkpoint);
  EXPECT_NE(predicted.text.find("note: preprocessing of the checkpoint"), std::string::npos) << predicted.text;
  Outcome traced = run("trace --data d.npz --steps 1 --out t.npz --checkpoint " + checkpoint);
  EXPECT_NE(traced.text.find("note: preprocessing of the checkpoint"), std::string::npos) << traced.text;
  // A training goes on as it was.
  Outcome resumed = run("train --data d.npz --steps 9 --resume --checkpoint-dir c");
  EXPECT_EQ(resumed.status, 0) << resumed.text;
  EXPECT_NE(resumed.text.find("note: preprocessing of the checkpoint: " + made), std::string::npos) << resumed.text;
  EXPECT_EQ(preprocessingOf(folder / "c/step-00000009.safetensors")->text(), made);
  EXPECT_EQ(run("train --data d.npz --steps 10 --resume --checkpoint-dir c" + options).status, 0);
  expectError("train --data d.npz --steps 11 --resume --checkpoint-dir c --scale x=0.25",
              "the checkpoint comes from training with the preprocessing " + made +
                  ", not x: scale 0.25, normalize 0.5/0.25\nhint: leave --transform, --scale and --normalize out");
  expectError("train --data d.npz --steps 11 --resume --checkpoint-dir c --scale none", "not x: normalize 0.5/0.25");
  // A new training is told of it.
  Outcome begun = run("train --data d.npz --steps 1 --init " + checkpoint);
  EXPECT_NE(begun.text.find("was trained with the preprocessing " + made + "; this training has none"),
            std::string::npos)
      << begun.text;
}

TEST(Preprocessing, OlderCheckpointsLoadWithoutIt) {
  TemporaryFolder folder;
  Session session(logisticProgram());
  saveCheckpoint(session, Cursor{}, folder / "old");
  EXPECT_EQ(preprocessingOf(folder / "old"), std::nullopt);
  EXPECT_EQ(loadCheckpoint(session, folder / "old").preprocessing, std::nullopt);
  Cursor raw;
  raw.preprocessing = Preprocessing();
  saveCheckpoint(session, raw, folder / "raw");
  EXPECT_EQ(loadCheckpoint(session, folder / "raw").preprocessing, Preprocessing());
  EXPECT_EQ(newestSound(folder / "none"), "");
}
