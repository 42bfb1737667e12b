// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The C interface, used wrongly: each mistake is an error with a message. embed/embed.test uses it correctly.

#include "PackedProgram.h"
#include "mpc/program.h"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace mpc::rt::test;

/// The function of that name in the library behind `handle`.
#define MPC(NAME) reinterpret_cast<decltype(&mpc_##NAME)>(dlsym(handle, "mpc_" #NAME))

namespace {
class Embed : public ::testing::Test {
protected:
  void SetUp() override {
    std::string path = folder / "liblogistic.so";
    writeFile(path, packed(readFile(MPC_PROGRAM_LIBRARY), {{"manifest.json", logisticManifest()},
                                                           {"data", logisticData()},
                                                           {"host.x86-64-v3.so", readFile(MPC_TEST_KERNELS)}}));
    handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(handle, nullptr) << dlerror();
    mpc_open_options options = {};
    options.threads = 2;
    session = MPC(open)(nullptr, &options);
    ASSERT_NE(session, nullptr) << error();
  }
  void TearDown() override {
    if (session)
      MPC(close)(session);
    if (handle)
      dlclose(handle);
  }
  std::string error() { return MPC(error)(); }
  void bindAll() {
    ASSERT_EQ(MPC(bind)(session, "x", MPC_F32, x, 24), 0) << error();
    ASSERT_EQ(MPC(bind)(session, "target", MPC_I64, target, 4), 0) << error();
  }
  /// Makes every call that takes a session, with otherwise correct arguments, and checks that each
  /// fails with `message`.
  void expectAllFail(mpc_session *s, const std::string &message);

  TemporaryFolder folder;
  void *handle = nullptr;
  mpc_session *session = nullptr;
  float x[24] = {1, 2, 3};
  int64_t target[4] = {};
  float w[6] = {};
};

void Embed::expectAllFail(mpc_session *s, const std::string &message) {
  std::string path = folder / "c.safetensors";
  mpc_tensor tensor;
  mpc_step_report report;
  auto expect = [&](bool failed, const char *what) {
    EXPECT_TRUE(failed) << what;
    EXPECT_NE(error().find(message), std::string::npos) << what << ": " << error();
    EXPECT_NE(error().find("; "), std::string::npos) << "no hint: " << error();
  };
  expect(MPC(info)(s) == nullptr, "info");
  expect(MPC(input)(s, MPC_TRAIN, 0, &tensor) == -1, "input");
  expect(MPC(output)(s, MPC_TRAIN, 0, &tensor) == -1, "output");
  expect(MPC(variable)(s, 0, &tensor) == -1, "variable");
  expect(MPC(bind)(s, "x", MPC_F32, x, 24) == -1, "bind");
  expect(MPC(get_variable)(s, "w", MPC_F32, w, 6) == -1, "get_variable");
  expect(MPC(set_variable)(s, "w", MPC_F32, w, 6) == -1, "set_variable");
  expect(MPC(optimizer_count)(s) == 0, "optimizer_count");
  expect(MPC(step)(s, &report) == -1, "step");
  expect(MPC(iteration)(s) == -1, "iteration");
  expect(MPC(set_hyper)(s, "lr", 0.1) == -1, "set_hyper");
  expect(MPC(run)(s, MPC_EVAL) == -1, "run");
  expect(MPC(get_output)(s, "loss", MPC_F32, w, 1) == -1, "get_output");
  expect(MPC(save)(s, path.c_str()) == -1, "save");
  expect(MPC(load)(s, path.c_str()) == -1, "load");
}
} // namespace

TEST_F(Embed, WhatIsNoSessionIsAnError) {
  expectAllFail(nullptr, "null is no session");
  expectAllFail(reinterpret_cast<mpc_session *>(x), "this is no session, or it is closed");
  MPC(close)(reinterpret_cast<mpc_session *>(x));
  MPC(close)(nullptr);
  mpc_session *closed = MPC(open)(nullptr, nullptr);
  ASSERT_NE(closed, nullptr) << error();
  MPC(close)(closed);
  expectAllFail(closed, "this is no session, or it is closed");
  MPC(close)(closed);
  EXPECT_NE(error().find("this is no session"), std::string::npos);
  EXPECT_EQ(MPC(iteration)(session), 0); // the other session is not affected
}

TEST_F(Embed, NullIsAnErrorWhateverItStandsFor) {
  auto expect = [&](int result, const char *message) {
    EXPECT_EQ(result, -1) << message;
    EXPECT_NE(error().find(message), std::string::npos) << error();
    EXPECT_EQ(error().find("defect"), std::string::npos) << error();
  };
  expect(MPC(input)(session, MPC_TRAIN, 0, nullptr), "the tensor is null");
  expect(MPC(output)(session, MPC_EVAL, 0, nullptr), "the tensor is null");
  expect(MPC(variable)(session, 0, nullptr), "the tensor is null");
  expect(MPC(bind)(session, nullptr, MPC_F32, x, 24), "the input's name is null");
  expect(MPC(bind)(session, "x", MPC_F32, nullptr, 24), "x: null is no data");
  expect(MPC(get_variable)(session, nullptr, MPC_F32, w, 6), "the variable's name is null");
  expect(MPC(get_variable)(session, "w", MPC_F32, nullptr, 6), "w: null is no data");
  expect(MPC(set_variable)(session, nullptr, MPC_F32, w, 6), "the variable's name is null");
  expect(MPC(set_variable)(session, "w", MPC_F32, nullptr, 6), "w: null is no data");
  expect(MPC(set_hyper)(session, nullptr, 1), "the hyperparameter's name is null");
  expect(MPC(get_output)(session, nullptr, MPC_F32, w, 1), "the output's name is null");
  expect(MPC(save)(session, nullptr), "the path is null");
  expect(MPC(load)(session, nullptr), "the path is null");
  bindAll();
  EXPECT_EQ(MPC(step)(session, nullptr), 0) << error();
  expect(MPC(get_output)(session, "loss", MPC_F32, nullptr, 1), "loss: null is no data");
}

TEST_F(Embed, OtherMistakesAreErrorsThatSayTheirPlaceOnce) {
  mpc_tensor tensor;
  auto expect = [&](int result, const std::string &message) {
    EXPECT_EQ(result, -1) << message;
    EXPECT_EQ(error(), message);
  };
  expect(MPC(input)(session, MPC_TRAIN, 9, &tensor), "there are 2 of them, index 9 is past the last one; count from 0");
  expect(MPC(input)(session, mpc_mode(7), 0, &tensor), "unknown mode 7; use MPC_TRAIN, MPC_EVAL or MPC_PREDICT");
  expect(MPC(bind)(session, "y", MPC_F32, x, 24), "y: the program has no such input; mpc_input lists them");
  expect(MPC(bind)(session, "x", mpc_dtype(99), x, 24), "unknown element type 99; use a value of mpc_dtype");
  expect(MPC(bind)(session, "x", MPC_F32, x, 23),
         "x: has 24 elements (shape [4,3,2]), not 23; give as many elements as the shape has");
  expect(MPC(get_variable)(session, "v", MPC_F32, w, 6),
         "v: the program has no such variable; mpc_variable lists them");
  expect(MPC(step)(session, nullptr), "x: this input is not bound; call mpc_bind before the step");
  expect(MPC(run)(session, MPC_TRAIN), "mpc_run does not train; call mpc_step");
  expect(MPC(get_output)(session, "loss", MPC_F32, w, 1), "loss: nothing has run yet; call mpc_step or mpc_run");
  expect(MPC(load)(session, "/nowhere"), "/nowhere: cannot open: No such file or directory; check the path");
  EXPECT_EQ(MPC(open)("/nowhere", nullptr), nullptr);
  EXPECT_EQ(error(), "/nowhere: cannot open: No such file or directory; check the path");
  mpc_open_options options = {};
  options.threads = -1;
  EXPECT_EQ(MPC(open)(nullptr, &options), nullptr);
  EXPECT_EQ(error(), "threads: -1 is no number of threads; 0 takes all CPUs");
}

TEST_F(Embed, AForkedChildIsToldThatItHasNoThreads) {
  bindAll();
  ASSERT_EQ(MPC(step)(session, nullptr), 0) << error(); // starts the pool of threads
  fflush(nullptr);
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20); // SIGALRM ends a call that hangs
    expectAllFail(session, "this process was forked");
    EXPECT_EQ(MPC(open)(nullptr, nullptr), nullptr);
    MPC(close)(session);
    _exit(HasFailure() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(MPC(step)(session, nullptr), 0) << error(); // the parent goes on
}
