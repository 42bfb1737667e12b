// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Safetensors files and checkpoints: valid ones, damaged ones, and those of other programs.

#include "runtime/core/state/Checkpoint.h"
#include "LogisticProgram.h"
#include "runtime/core/state/Network.h"
#include "runtime/core/state/Safetensors.h"
#include "runtime/support/AtomicFile.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace mpc::rt;
using namespace mpc::rt::test;

namespace {
std::string safetensors(const std::string &header, const std::string &data) {
  uint64_t length = header.size();
  return std::string(reinterpret_cast<const char *>(&length), 8) + header + data;
}
/// Changes all state of a session.
void disturb(Session &session) {
  for (const Variable &v : session.manifest().variables) {
    Tensor value(v.dtype, v.shape);
    for (size_t i = 0; i < size_t(value.elements()); ++i)
      storeDouble(v.dtype, value.bytes.data(), i, double(i) * 3 + double(v.name.size()));
    if (v.role != "copy")
      session.setVariable(v.name, value);
  }
}
} // namespace

TEST(Safetensors, RoundTrip) {
  TemporaryFolder folder;
  Tensor a(MPC_F16, {3}), b(MPC_I64, {});
  a.as<uint16_t>()[2] = 0x3c00;
  b.as<int64_t>()[0] = -7;
  writeSafetensors(folder / "t", {{"a", MPC_F16, {3}, [&] { return a; }}, {"b", MPC_I64, {}, [&] { return b; }}},
                   {{"k", "v\"\n"}});
  SafetensorsReader reader(folder / "t");
  EXPECT_EQ(reader.metadata("k"), "v\"\n");
  EXPECT_EQ(reader.tensors().at("a").shape, (Shape{3}));
  EXPECT_EQ(loadDouble(MPC_F16, reader.tensors().at("a").data, 2), 1);
  EXPECT_EQ(loadInteger(MPC_I64, reader.tensors().at("b").data, 0), -7);
  std::string bytes = readFile(folder / "t");
  EXPECT_EQ(bytes.size() - reader.data().size(),
            (bytes.size() - reader.data().size()) / 8 * 8); // the data is aligned
}

TEST(Safetensors, RefusesATensorWhoseNameIsTheMetadatas) {
  TemporaryFolder folder;
  Tensor a(MPC_F32, {3});
  Error error =
      errorOf([&] { writeSafetensors(folder / "t", {{"__metadata__", MPC_F32, {3}, [&] { return a; }}}, {}); });
  EXPECT_NE(error.text().find("t: a safetensors file cannot hold a tensor called '__metadata__'\nhint: compile"),
            std::string::npos)
      << error.text();
  EXPECT_FALSE(std::filesystem::exists(folder / "t"));
}

TEST(Safetensors, RefusesLyingHeaders) {
  TemporaryFolder folder;
  auto message = [&](const std::string &bytes) {
    writeFile(folder / "t", bytes);
    return std::string(errorOf([&] { SafetensorsReader reader(folder / "t"); }).what());
  };
  std::string ok = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  writeFile(folder / "t", safetensors(ok, "12345678"));
  EXPECT_EQ(SafetensorsReader(folder / "t").tensors().size(), 1u);
  EXPECT_NE(message(safetensors(ok, "1234567")).find("truncated"), std::string::npos);
  EXPECT_NE(message(safetensors(ok, "123456789")).find("9 bytes of data"), std::string::npos);
  EXPECT_NE(message(safetensors(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", "12345678"))
                .find("does not fit"),
            std::string::npos);
  EXPECT_NE(message(safetensors(R"({"a":{"dtype":"F12","shape":[2],"data_offsets":[0,8]}})", "12345678")).find("F12"),
            std::string::npos);
  EXPECT_NE(
      message(safetensors(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", "12345678")).find("impossible"),
      std::string::npos);
  EXPECT_NE(message(safetensors(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", "12345678"))
                .find("does not fit"),
            std::string::npos);
  for (const char *shape : {"1e300", "2.0", "18446744073709551615", "\"2\""}) // not integers, or out of range
    EXPECT_NE(message(safetensors(concat(R"({"a":{"dtype":"F32","shape":[)", shape, R"(],"data_offsets":[0,8]}})"),
                                  "12345678"))
                  .find("broken safetensors header"),
              std::string::npos)
        << shape;
  for (const auto &[offsets, bytes] :
       {std::pair("[4,12]", 12), std::pair("[12,20]", 20)}) // they overlap, or leave a gap
    EXPECT_NE(message(safetensors(concat(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32",)",
                                         R"("shape":[2],"data_offsets":)", offsets, "}}"),
                                  std::string(size_t(bytes), 'x')))
                  .find("its tensors overlap or leave gaps"),
              std::string::npos)
        << offsets;
  EXPECT_NE(message(safetensors(R"({"a":7})", "")).find("broken safetensors header"), std::string::npos);
  EXPECT_NE(message("PK\3\4 something else").find("is no safetensors file"), std::string::npos);
  EXPECT_NE(message("").find("empty"), std::string::npos);
}

TEST(Checkpoint, RestoresEveryVariableAndTheCursor) {
  TemporaryFolder folder;
  Session session(logisticProgram()), other(logisticProgram());
  disturb(session);
  Cursor cursor{123, 4, 5, 600, 0xfedcba9876543210, false};
  saveCheckpoint(session, cursor, folder / "c");
  Cursor back = loadCheckpoint(other, folder / "c");
  EXPECT_EQ(back.iteration, 123);
  EXPECT_EQ(back.epoch, 4);
  EXPECT_EQ(back.batch, 5);
  EXPECT_EQ(back.samples, 600);
  EXPECT_EQ(back.seed, 0xfedcba9876543210);
  EXPECT_FALSE(back.shuffle);
  for (const char *name : {"w", "w/momentum", "w/f16", "main/scale", "main/tracker", "main/skipped"})
    EXPECT_EQ(other.variable(name).bytes, session.variable(name).bytes) << name;
  // Tensors have logical order on disk, whatever order the plan stores them in.
  SafetensorsReader reader(folder / "c");
  EXPECT_EQ(std::memcmp(reader.tensors().at("w").data, session.variable("w").bytes.data(), 24), 0);
  EXPECT_FALSE(reader.tensors().count("w/f16"));
}

/// A resumed training draws on where the first one stopped.
TEST(Checkpoint, RestoresTheCounterOfRandomNumbers) {
  TemporaryFolder folder;
  Session session(logisticProgram(countingManifest())), other(logisticProgram(countingManifest()));
  disturb(session);
  saveCheckpoint(session, {}, folder / "c");
  loadCheckpoint(other, folder / "c");
  EXPECT_EQ(other.variableScalar("rng.step"), session.variableScalar("rng.step"));
  EXPECT_NE(other.variableScalar("rng.step"), 100);
}

TEST(Checkpoint, AFlippedBitIsAnErrorOrChangesNothing) {
  TemporaryFolder folder;
  Session saved(logisticProgram()), session(logisticProgram());
  disturb(saved);
  const Cursor cursor{123, 4, 5, 600, 7, false};
  saveCheckpoint(saved, cursor, folder / "c");
  const std::string good = readFile(folder / "c");
  auto stateOf = [](const Session &s, const Cursor &c) {
    std::string all = concat(c.iteration, " ", c.epoch, " ", c.batch, " ", c.samples, " ", c.seed, " ", c.shuffle);
    for (const char *name : {"w", "w/momentum", "main/scale", "main/tracker", "main/skipped"}) {
      Tensor value = s.variable(name);
      all.append(reinterpret_cast<const char *>(value.bytes.data()), value.bytes.size());
    }
    return all;
  };
  const std::string state = stateOf(saved, cursor), initial = stateOf(session, {});
  ASSERT_NE(state, initial);
  int same = 0;
  // Each byte is changed where it is: a file system may wait for the disk where a file is written anew.
  writeFile(folder / "bad", good);
  std::fstream bad(folder / "bad", std::ios::in | std::ios::out | std::ios::binary);
  const auto put = [&](size_t at, char byte) { bad.seekp(std::streamoff(at)).put(byte).flush(); };
  for (size_t at = 0; at < good.size(); put(at, good[at]), ++at)
    for (int bit = 0; bit < 8; ++bit) {
      put(at, char(good[at] ^ (1 << bit)));
      Cursor loaded;
      if (attempt([&] { loaded = loadCheckpoint(session, folder / "bad"); })) {
        ASSERT_EQ(stateOf(session, {}), initial) << "byte " << at << ", bit " << bit;
        continue;
      }
      ++same; // a space of the header became another white space
      ASSERT_EQ(stateOf(session, loaded), state) << "byte " << at << ", bit " << bit << " of " << good.substr(at, 20);
      session.initialize(0);
    }
  EXPECT_LT(same, 16);
  EXPECT_TRUE(bad);
  EXPECT_EQ(readFile(folder / "bad"), good);
  bad.close();
  // A file without its checksums is no checkpoint of this format; one of the first format is still loaded.
  for (std::string key : {"header_crc32", "data_crc32"}) {
    std::string bad = good;
    bad[bad.find(key)] = 'x';
    writeFile(folder / "bad", bad);
    EXPECT_NE(errorOf([&] { loadCheckpoint(session, folder / "bad"); }).text().find("checksum"), std::string::npos);
  }
  std::string first = good;
  first.replace(first.find("mpc-checkpoint-2"), 16, "mpc-checkpoint-1");
  for (const char *key : {"header_crc32", "batch_size", "accumulate"})
    first[first.find(key)] = 'x';
  writeFile(folder / "first", first);
  EXPECT_EQ(stateOf(session, loadCheckpoint(session, folder / "first")), state);
}

TEST(Checkpoint, ResumesWithTheSameBatchesOnly) {
  TemporaryFolder folder;
  Session session(logisticProgram());
  CheckpointFolder checkpoints(folder / "ckpt", 3);
  checkpoints.save(session, {7, 0, 7, 600, 5, true});
  auto message = [&](const std::string &from, const std::string &to) {
    std::string manifest = logisticManifest();
    manifest.replace(manifest.find(from), from.size(), to);
    Session other(logisticProgram(manifest));
    return errorOf([&] { checkpoints.resume(other, {}); }).text();
  };
  EXPECT_NE(message(R"("batch": 4)", R"("batch": 2)")
                .find("step-00000007.safetensors: comes from training with a batch of 4; this program's is 2\nhint: "
                      "resume with a program compiled with that --batch, or start anew from its parameters with "
                      "--init"),
            std::string::npos);
  EXPECT_NE(message(R"("accumulate": 1)", R"("accumulate": 3)").find("an accumulation of 1; this program's is 3"),
            std::string::npos);
  EXPECT_EQ(checkpoints.resume(session, {})->iteration, 7);
}

TEST(Checkpoint, ParametersThatDoNotFitChangeNothing) {
  TemporaryFolder folder;
  std::string manifest = logisticManifest(), storage = R"("storage": [)";
  // A second parameter comes after w.
  manifest.insert(
      manifest.find(R"({"name": "w/momentum")"),
      R"({"name": "late", "role": "parameter", "dtype": "f32", "shape": [1], "init": {"kind": "fill", "value": 1}},)");
  manifest.insert(manifest.find(storage) + storage.size(), R"({"variable": "late", "offset": 212, "bytes": 4},)");
  Session session(logisticProgram(manifest));
  auto before = session.variable("w").bytes;
  const double huge[7] = {1, 2, 3, 4, 5, 6, 1e300};
  writeFile(
      folder / "p",
      safetensors(
          R"({"w":{"dtype":"F64","shape":[3,2],"data_offsets":[0,48]},"late":{"dtype":"F64","shape":[1],"data_offsets":[48,56]}})",
          std::string(reinterpret_cast<const char *>(huge), 56)));
  EXPECT_NE(
      errorOf([&] { loadParameters(session, folder / "p"); }).text().find("variable 'late': element 0 holds 1e+300"),
      std::string::npos);
  EXPECT_EQ(session.variable("w").bytes, before);
}

TEST(Checkpoint, DamageAnywhereIsAnErrorAndChangesNothing) {
  TemporaryFolder folder;
  Session session(logisticProgram()), other(logisticProgram());
  disturb(session);
  saveCheckpoint(session, {}, folder / "c");
  std::string good = readFile(folder / "c");
  auto before = other.variable("w").bytes;
  for (size_t at = 0; at < good.size(); at += 7) {
    std::string cut = good.substr(0, at), flipped = good;
    flipped[at] = char(flipped[at] ^ 0x11);
    writeFile(folder / "bad", cut);
    errorOf([&] { loadCheckpoint(other, folder / "bad"); });
    ASSERT_EQ(other.variable("w").bytes, before);
    if (at >= good.size() - SafetensorsReader(folder / "c").data().size()) { // a checksum covers the data
      writeFile(folder / "bad", flipped);
      EXPECT_NE(errorOf([&] { loadCheckpoint(other, folder / "bad"); }).text().find("checksum"), std::string::npos);
    }
    ASSERT_EQ(other.variable("w").bytes, before);
  }
}

TEST(Checkpoint, ForeignOnesAreRefusedByTensor) {
  TemporaryFolder folder;
  Session session(logisticProgram());
  auto message = [&](const std::string &header, const std::string &data) {
    writeFile(folder / "c", safetensors(header, data));
    return errorOf([&] { loadState(session, folder / "c"); }).text();
  };
  std::string start = R"({"__metadata__":{"format":"mpc-checkpoint-1","model":"lenet"},)";
  EXPECT_NE(message(start + R"("v":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", "1234")
                .find("has no tensor 'w' (f32 [3,2])\nhint: it belongs to model 'lenet'"),
            std::string::npos);
  std::string sameModel =
      R"({"__metadata__":{"format":"mpc-checkpoint-1","model":")" + session.manifest().model + "\"},";
  EXPECT_NE(message(sameModel + R"("v":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", "1234")
                .find("hint: use a checkpoint of a program with the same optimizer and precision"),
            std::string::npos);
  EXPECT_NE(message(start + R"("w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})", std::string(24, 'x'))
                .find("w: has shape [2,3], the program needs [3,2]"),
            std::string::npos);
  EXPECT_NE(message(start + R"("w":{"dtype":"F16","shape":[3,2],"data_offsets":[0,12]}})", std::string(12, 'x'))
                .find("w: is of type f16, the program needs f32"),
            std::string::npos);
  // Plain weights may lack the rest of the state and may have another float type.
  writeFile(folder / "p", safetensors(R"({"w":{"dtype":"F16","shape":[3,2],"data_offsets":[0,12]}})",
                                      std::string("\0\x3c\0\x3c\0\x3c\0\x3c\0\x3c\0\x40", 12)));
  loadState(session, folder / "p");
  EXPECT_EQ(session.variable("w").at(0), 1);
  EXPECT_EQ(session.variable("w/f16").at(5), 2);
  EXPECT_NE(message(R"({"v":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", "1234").find("has no tensor 'w'"),
            std::string::npos);
}

namespace {
std::string tensors(const std::vector<std::string> &names, const std::string &metadata) {
  std::string header = "{" + metadata, data;
  for (size_t i = 0; i < names.size(); ++i) {
    header += (i || !metadata.empty() ? "," : "") +
              concat("\"", names[i], R"(":{"dtype":"F32","shape":[1],"data_offsets":[)", 4 * i, ",", 4 * i + 4, "]}");
    float value = float(i + 1);
    data.append(reinterpret_cast<const char *>(&value), 4);
  }
  return safetensors(header + "}", data);
}
} // namespace

TEST(Network, TensorsAreFoundByWhatTheyAreInTheModel) {
  TemporaryFolder folder;
  auto variable = [](const char *name, Origin origin) {
    Variable v;
    v.name = name;
    v.origin = std::move(origin);
    return v;
  };
  // These are the initializer "main" under another name, and "mean" of two nodes and of one in a function.
  Variable main = variable("main_0", {"main"}), mean = variable("mean", {"mean"}),
           second = variable("mean@bn2", {"mean", "y2", 3}), third = variable("mean@bn3", {"mean", "", 3});
  EXPECT_EQ(main.userName(), "main");
  EXPECT_EQ(second.userName(), "mean@bn2");
  auto found = [&](const std::string &bytes, const Variable &v) {
    writeFile(folder / "t", bytes);
    SafetensorsReader reader(folder / "t");
    const Array *array = NetworkReader(reader).find(v);
    return array ? loadDouble(array->dtype, array->data, 0) : 0;
  };
  // In plain weights, tensors have the initializers' names, whatever the variables are called.
  std::string plain = tensors({"main", "main_0", "mean", "mean@bn2"}, "");
  EXPECT_EQ(found(plain, main), 1);
  EXPECT_EQ(found(plain, second), 3);
  EXPECT_EQ(found(plain, third), 3);
  // In an old checkpoint, tensors have the variables' names.
  std::string old = tensors({"main", "main_0", "mean", "mean@bn2"},
                            R"("__metadata__":{"format":"mpc-checkpoint-1","network":"main_0\nmean"})");
  EXPECT_EQ(found(old, main), 2);
  EXPECT_EQ(found(old, second), 4);
  EXPECT_EQ(found(old, third), 0);
  // This is a checkpoint of another program, whose variables have other names.
  std::string other = tensors(
      {"a", "b", "c", "mean@bn3"},
      R"("__metadata__":{"format":"mpc-checkpoint-1","network":"a\tmain\nb\tmean\nc\tmean\ty2\t3\nmean@bn3\tmean\t\t3\n"})");
  EXPECT_EQ(found(other, main), 1);
  EXPECT_EQ(found(other, mean), 2);
  EXPECT_EQ(found(other, second), 3);
  EXPECT_EQ(found(other, third), 4);
  EXPECT_EQ(found(other, variable("mean@bn4", {"mean", "y4", 3})),
            2); // takes the value that the others share, since it has none of its own
  // Wrong metadata is an error.
  for (const char *wrong : {R"(nowhere\tmain)", R"(a\tmain\ty2)", R"(a\tmain\ty2\tx)", R"(a\tmain\ty2\t-3)"}) {
    writeFile(folder / "t", tensors({"a"}, concat(R"("__metadata__":{"network":")", wrong, "\"}")));
    SafetensorsReader reader(folder / "t");
    EXPECT_NE(errorOf([&] { networkOf(reader); }).text().find("its metadata"), std::string::npos) << wrong;
  }
}

TEST(Checkpoint, SpeaksOfVariablesAsTheModelDoes) {
  TemporaryFolder folder;
  std::string manifest = logisticManifest(), variable = R"({"name": "w", "role": "parameter",)";
  manifest.insert(manifest.find(variable) + variable.size(), R"( "onnx": {"name": "main"},)");
  Session session(logisticProgram(manifest)), old(logisticProgram());
  disturb(session);
  saveCheckpoint(session, {}, folder / "c");
  SafetensorsReader reader(folder / "c");
  auto network = networkOf(reader);
  ASSERT_TRUE(network && network->size() == 1);
  EXPECT_EQ((*network)[0].tensor, "w");
  EXPECT_EQ((*network)[0].origin.name, "main");
  // The tensors' names have not changed, so checkpoints of other programs can be resumed.
  loadCheckpoint(old, folder / "c");
  EXPECT_EQ(old.variable("w").bytes, session.variable("w").bytes);
  auto message = [&](const std::string &header, const std::string &data) {
    writeFile(folder / "t", safetensors(header, data));
    return errorOf([&] { loadState(session, folder / "t"); }).text();
  };
  std::string data(24, '\0');
  EXPECT_NE(message(R"({"w":{"dtype":"F32","shape":[3,2],"data_offsets":[0,24]}})", data).find("has no tensor 'main'"),
            std::string::npos);
  EXPECT_NE(
      message(R"({"main":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})", data).find("t: main: has shape [2,3]"),
      std::string::npos);
  writeFile(folder / "t", safetensors(R"({"main":{"dtype":"F32","shape":[3,2],"data_offsets":[0,24]}})", data));
  loadState(session, folder / "t");
  EXPECT_EQ(session.variable("w").at(5), 0);
}

TEST(CheckpointFolder, KeepsTheNewestAndSkipsDamagedOnes) {
  TemporaryFolder folder;
  Session session(logisticProgram());
  CheckpointFolder checkpoints(folder.path(), 2);
  std::vector<std::string> notes;
  auto note = [&](const std::string &text) { notes.push_back(text); };
  EXPECT_FALSE(checkpoints.resume(session, note).has_value());
  for (int64_t iteration : {8, 9, 10, 11}) {
    session.setVariableScalar("main/skipped", double(iteration));
    checkpoints.save(session, {iteration, 0, iteration, 100, 1, true});
  }
  EXPECT_FALSE(std::filesystem::exists(checkpoints.pathOf(9)));
  EXPECT_TRUE(std::filesystem::exists(folder / "step-00000010.safetensors"));
  std::string newest = readFile(checkpoints.pathOf(11));
  writeFile(checkpoints.pathOf(11), newest.substr(0, newest.size() - 1));
  Session other(logisticProgram());
  EXPECT_EQ(checkpoints.resume(other, note)->iteration, 10);
  EXPECT_EQ(other.variableScalar("main/skipped"), 10);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("step-00000011.safetensors"), std::string::npos);
  // Where no checkpoint is sound, nothing is loaded, and all stay where they are.
  std::string older = readFile(checkpoints.pathOf(10));
  older.back() ^= 1;
  writeFile(checkpoints.pathOf(10), older);
  std::string text = errorOf([&] { checkpoints.resume(other, note); }).text();
  EXPECT_EQ(text.find(concat("error: ", folder.path(), ": all its checkpoints are damaged: ", checkpoints.pathOf(11),
                             ": main/skipped: its data lies behind the end of the file; the file is truncated; ",
                             checkpoints.pathOf(10), ": its data has a wrong checksum\nhint: put a sound copy of one")),
            0u)
      << text;
  EXPECT_EQ(readFile(checkpoints.pathOf(10)), older);
}

TEST(CheckpointFolder, RemovesOnlyWhatDeadProcessesLeft) {
  TemporaryFolder folder;
  std::string path = folder / "step-00000009.safetensors";
  auto temporaries = [&] {
    std::vector<std::string> names;
    for (const auto &file : std::filesystem::directory_iterator(folder.path()))
      names.push_back(file.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  };
  AtomicFile own(path);
  // One process is killed while it writes, and another goes on.
  int ready[2], go[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(go), 0);
  auto writer = [&](bool finishes) {
    pid_t child = fork();
    if (child == 0) {
      AtomicFile file(path);
      file.write("half");
      char byte = 0;
      if (write(ready[1], &byte, 1) != 1 || (finishes && read(go[0], &byte, 1) != 1))
        _exit(1);
      if (!finishes)
        raise(SIGKILL);
      file.commit();
      _exit(0);
    }
    char byte;
    EXPECT_EQ(read(ready[0], &byte, 1), 1);
    return child;
  };
  int status;
  pid_t killed = writer(false), living = writer(true);
  waitpid(killed, &status, 0);
  std::vector<std::string> before = temporaries();
  ASSERT_EQ(before.size(), 3u);
  // These names tell nothing about processes of this host.
  auto mineAt = std::find_if(before.begin(), before.end(), [](const std::string &name) {
    return name.find("-tmp-" + std::to_string(getpid()) + "-") != std::string::npos;
  });
  ASSERT_NE(mineAt, before.end());
  std::string other = *mineAt + "0", foreign = ".step-00000009.safetensors.mpc-tmp-77";
  writeFile(folder / other, "another host's");
  writeFile(folder / foreign, "?");

  CheckpointFolder checkpoints(folder.path(), 2);
  std::vector<std::string> after = temporaries();
  EXPECT_EQ(after.size(), 5u); // the lock is the fifth
  for (const std::string &name : after)
    EXPECT_EQ(name.find(".mpc-tmp-" + std::to_string(killed) + "-"), std::string::npos) << name;
  EXPECT_EQ(write(go[1], "", 1), 1);
  waitpid(living, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(readFile(path), "half");
  own.commit();
  EXPECT_EQ(readFile(path), "");

  // The process number is the same in another run, as in a container that was started again.
  std::string mine = ".f.mpc-tmp-" + std::to_string(getpid());
  EXPECT_FALSE(AtomicFile::isAbandoned(mine));
  size_t run = before[0].find('-', before[0].rfind("-tmp-") + 5), host = before[0].rfind('-');
  EXPECT_FALSE(AtomicFile::isAbandoned(mine + before[0].substr(run))); // child processes share the run's number
  EXPECT_TRUE(AtomicFile::isAbandoned(mine + "-1" + before[0].substr(host)));
  EXPECT_FALSE(AtomicFile::isAbandoned(mine + "-1-1"));
}

TEST(CheckpointFolder, LeavesFilesOfOtherNamesAlone) {
  TemporaryFolder folder;
  Session session(logisticProgram());
  CheckpointFolder checkpoints(folder.path(), 1);
  checkpoints.save(session, {3, 0, 3, 100, 1, true});
  std::string bytes = readFile(checkpoints.pathOf(3));
  const char *const foreign[] = {"step-5.safetensors",         "step-000000005.safetensors",
                                 "step--0000005.safetensors",  "step-00000006.safetensors.old",
                                 "step-00000007x.safetensors", "step-.safetensors"};
  for (const char *name : foreign)
    writeFile(folder / name, bytes);
  auto note = [](const std::string &text) { ADD_FAILURE() << text; };
  EXPECT_EQ(checkpoints.resume(session, note)->iteration, 3);
  checkpoints.save(session, {4, 0, 4, 100, 1, true});
  EXPECT_FALSE(std::filesystem::exists(checkpoints.pathOf(3)));
  for (const char *name : foreign)
    EXPECT_EQ(readFile(folder / name), bytes) << name;
  // The number has more than eight digits.
  checkpoints.save(session, {123456789, 0, 4, 100, 1, true});
  EXPECT_EQ(checkpoints.resume(session, note)->iteration, 123456789);
}
