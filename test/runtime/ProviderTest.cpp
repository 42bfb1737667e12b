// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Library calls, from the manifest through a provider to their results.

#include "PackedProgram.h"
#include "runtime/core/data/Npz.h"
#include "runtime/host/Trust.h"

#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace mpc::rt;
using namespace mpc::rt::test;

namespace {
/// Returns the manifest of y [2,2] = relu(x [2,3] @ w [3,2] + bias [2]) as one library call with `scratchBytes` in the
/// plan, repeated `times` times.
std::string matmulManifest(const std::string &fields, int64_t scratchBytes, int times = 1) {
  const std::string launch = R"({"name":"gemm","loc":"Gemm_7","library":{)" + fields +
                             R"(},"args":[64,0,24,128],"scratch":4096,"scratch_bytes":)" +
                             std::to_string(scratchBytes) + "}";
  std::string launches = launch;
  for (int i = 1; i < times; ++i)
    launches += "," + launch;
  return R"({"format":1,"model":"m","batch":2,"variables":[],"plans":[{"target":"host","arena_bytes":1048576,
    "storage":[],"constants":[{"offset":0,"bytes":32,"data_offset":0}],"entries":[{"name":"p","kind":"predict",
    "inputs":[{"name":"x","dtype":"f32","shape":[2,3],"offset":64,"bytes":24,"batched":true}],
    "outputs":[{"name":"y","role":"output","dtype":"f32","shape":[2,2],"offset":128,"bytes":16}],
    "launches":[)" +
         launches + "]}]}]}";
}
std::string matmulData() {
  const float values[] = {1, 2, 3, 4, 5, 6, /*bias:*/ 0.5f, -100};
  return {reinterpret_cast<const char *>(values), sizeof values};
}
std::shared_ptr<const Program> matmulProgram(const std::string &fields, int64_t scratchBytes, int times = 1) {
  return Program::fromMemory(matmulManifest(fields, scratchBytes, times), {{"data", matmulData()}});
}
// Operations and types may be given by name or by number, as runtime/abi/README.md allows.
const char *const kNamed =
    R"("op":"matmul","type_a":"f32","type_b":"f32","type_out":"f32","type_bias":"f32","has_bias":true,
    "activation":"relu","batch":1,"m":2,"n":2,"k":3)";
const char *const kNumbered = R"("op":1,"type_a":3,"type_b":3,"type_out":3,"type_bias":3,"has_bias":1,
    "activation":1,"batch":1,"m":2,"n":2,"k":3)";

void expectProduct(Session &session) {
  const Entry &entry = session.entryOfKind("predict");
  Tensor x(MPC_F32, {2, 3});
  for (size_t i = 0; i < 6; ++i)
    x.as<float>()[i] = float(i + 1);
  session.setInput(entry, "x", x);
  session.run(entry);
  Tensor y = session.output(entry, "y");
  EXPECT_EQ(y.at(0), 22.5); // 1*1 + 2*3 + 3*5 + 0.5
  EXPECT_EQ(y.at(1), 0);    // relu gives 0
  EXPECT_EQ(y.at(2), 49.5);
  EXPECT_EQ(y.at(3), 0);
}
} // namespace

TEST(Provider, RunsAMatmulWithItsEpilogue) {
  for (const char *fields : {kNamed, kNumbered})
    for (const char *library : {"generic", "auto"})
      for (int threads : {1, 2}) {
        SessionOptions options;
        options.library = library;
        options.threads = threads;
        Session session(matmulProgram(fields, 1 << 19), options);
        EXPECT_NE(session.device().description().find(','), std::string::npos) << "names the library";
        expectProduct(session);
      }
}

TEST(Provider, TooLittleScratchIsAllocatedAndSaid) {
  std::vector<std::string> notes;
  SessionOptions options;
  options.library = "generic";
  options.note = [&](const std::string &text) { notes.push_back(text); };
  Session enough(matmulProgram(kNamed, 1 << 19), options);
  EXPECT_TRUE(notes.empty());
  Session session(matmulProgram(kNamed, 0, 3), options);
  expectProduct(session);
  ASSERT_EQ(notes.size(), 1u); // the launches share the scratch and the note
  EXPECT_NE(notes[0].find("generic needs more scratch here than was planned for 3 of 3 library calls"),
            std::string::npos)
      << notes[0];
}

TEST(Provider, UnsupportedCallsNameTheOperation) {
  std::string fields = kNamed;
  fields.replace(fields.find("\"type_a\":\"f32\""), 14, "\"type_a\":\"i64\"");
  Error error = errorOf([&] { Session session(matmulProgram(fields, 4096)); });
  EXPECT_EQ(error.where(), "Gemm_7: gemm");
}

TEST(Provider, UnknownOrMissingOnesAreErrors) {
  SessionOptions options;
  options.library = "fast";
  EXPECT_NE(errorOf([&] { Session session(matmulProgram(kNamed, 4096), options); })
                .text()
                .find("use auto, onednn or generic"),
            std::string::npos);
  // Two sessions share the process-wide provider. When one of them is closed, the other keeps its threads.
  options.library = "generic";
  options.threads = 2;
  auto first = std::make_unique<Session>(matmulProgram(kNamed, 1 << 19), options);
  Session second(matmulProgram(kNamed, 1 << 19), options);
  first.reset();
  expectProduct(second);
}

//===-- Where the plugin is looked for --------------------------------------------------------------===//

namespace fs = std::filesystem;

namespace {
constexpr char kPlugin[] = "libmpc_onednn.so";

/// A program in `folder`/bin whose mpc was installed in `folder`/opt/mpc. The plugins here are a shared object without
/// the plugin's entry, so that the error tells which one was opened.
class Plugins : public PackedProgram {
protected:
  void SetUp() override {
    for (const char *name : {"bin", "opt", "opt/mpc", "lib", "lib/mpc", "named"})
      fs::create_directory(folder / name);
    writeFile(folder / "bin/model", packed(readFile(MPC_RUNNER), {{"manifest.json", matmulManifest(kNamed, 1 << 19)},
                                                                  {"data", matmulData()},
                                                                  {"installation", folder / "opt/mpc"}}));
    fs::permissions(folder / "bin/model", fs::perms::owner_all);
    NpzWriter writer(folder / "x.npz");
    writer.add("x", Tensor(MPC_F32, {2, 3}));
    writer.finish();
  }
  void put(const std::string &where) {
    fs::copy_file(MPC_TEST_KERNELS, folder / (where + "/" + kPlugin));
    fs::permissions(folder / (where + "/" + kPlugin), fs::perms(0755));
  }
  /// Returns what the program says about its plugin.
  std::string said(const std::string &environment = "") {
    Outcome outcome = shell(concat("env -u MPC_LIBRARY_PATH ", environment,
                                   " bin/model predict --data x.npz --out y.npz --library onednn"));
    EXPECT_EQ(outcome.status, 1) << outcome.text;
    return outcome.text;
  }
  bool opened(const std::string &text, const std::string &where) {
    return text.find(
               concat("error: --library=onednn: ", folder / (where + "/" + kPlugin), " is no library provider")) == 0;
  }
};
} // namespace

TEST_F(Plugins, LieBesideTheProgramInTheInstallationOrWhereTheUserSays) {
  put("lib/mpc"); // anybody could have put it there, since a folder above may be world-writable
  EXPECT_NE(said().find("libmpc_onednn.so not found\nhint: compile with --bundle, or "), std::string::npos) << said();
  // The user did not ask for the plugin, so its absence is a note with the remedy.
  Outcome outcome = shell("env -u MPC_LIBRARY_PATH bin/model predict --data x.npz --out y.npz");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_NE(outcome.text.find("slower generic loops run matrix products and convolutions; `mpc compile --bundle` puts "
                              "oneDNN beside the program"),
            std::string::npos)
      << outcome.text;
  put("named");
  fs::permissions(folder / "named", fs::perms(0777));
  EXPECT_TRUE(opened(said(concat("MPC_LIBRARY_PATH=/nowhere:", folder / "named")), "named"));
  put("opt/mpc");
  EXPECT_TRUE(opened(said(), "opt/mpc")) << said();
  fs::remove(folder / "opt/mpc/libmpc_onednn.so");
  put("bin");
  EXPECT_TRUE(opened(said(), "bin")) << said();
}

TEST_F(Plugins, AreNotTakenFromWhereAnyoneMayPutThem) {
  put("opt/mpc");
  for (const char *place : {"opt/mpc/libmpc_onednn.so", "opt/mpc", "opt", ""}) {
    const std::string path = *place ? folder / place : folder.path();
    const fs::perms before = fs::status(path).permissions();
    for (unsigned bits : {0777u, 0757u}) {
      fs::permissions(path, fs::perms(bits));
      std::string why = concat(folder / "opt/mpc/libmpc_onednn.so", " is not loaded, because ",
                               fs::canonical(path).string(), " may be written by other users");
      EXPECT_NE(said().find(why), std::string::npos) << said();
    }
    fs::permissions(path, before);
  }
  // In a sticky folder, users cannot remove files of others.
  fs::permissions(folder / "opt", fs::perms(01777));
  EXPECT_TRUE(opened(said(), "opt/mpc")) << said();
  EXPECT_NE(codeFile(folder / "none").distrusted, "");
  EXPECT_EQ(codeFile("/usr/bin/env").distrusted, "");
}

TEST_F(Plugins, OfOtherUsersAreNotLoaded) {
  if (geteuid() != 0)
    GTEST_SKIP() << "only root gives files away";
  constexpr uid_t kSomebody = 54321;
  put("opt/mpc");
  ASSERT_EQ(chown((folder / "opt/mpc").c_str(), kSomebody, 0), 0);
  EXPECT_NE(said().find(concat("because ", folder / "opt/mpc", " belongs to another user")), std::string::npos)
      << said();
  fs::remove_all(folder / "opt/mpc");
  // The program is in a folder like /tmp, and another user puts a plugin beside it.
  fs::permissions(folder / "bin", fs::perms(01777));
  put("bin");
  ASSERT_EQ(chown((folder / "bin/libmpc_onednn.so").c_str(), kSomebody, 0), 0);
  EXPECT_NE(said().find("libmpc_onednn.so belongs to another user"), std::string::npos) << said();
  fs::remove(folder / "bin/libmpc_onednn.so");
  // A link of another user is refused even if it leads to a trusted file, because it may lead elsewhere by the
  // time of loading.
  put("named");
  fs::create_symlink(folder / "named/libmpc_onednn.so", folder / "bin/libmpc_onednn.so");
  EXPECT_TRUE(opened(said(), "named")) << said(); // the resolved path is loaded
  ASSERT_EQ(lchown((folder / "bin/libmpc_onednn.so").c_str(), kSomebody, 0), 0);
  EXPECT_NE(said().find("bin/libmpc_onednn.so belongs to another user"), std::string::npos) << said();
  fs::remove(folder / "bin/libmpc_onednn.so");
  put("bin");
  ASSERT_EQ(chown((folder / "bin/libmpc_onednn.so").c_str(), kSomebody, 0), 0);
  EXPECT_EQ(shell("cp bin/libmpc_onednn.so bin/libgomp.so.1; chown 54321 bin/libgomp.so.1; bin/model predict --data "
                  "x.npz --out y.npz --library generic --threads 2")
                .status,
            0);
  // Program and plugin belong to one user and another one starts the program: this is a bundle that somebody installed.
  ASSERT_EQ(chown((folder / "bin/model").c_str(), kSomebody, 0), 0);
  EXPECT_TRUE(opened(said(), "bin")) << said();
}
