// A program as users have it: sections behind the runner, started from a shell.
#pragma once

#include "LogisticProgram.h"

#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

namespace mpc::rt::test {

/// The program file of runtime/abi/README.md.
std::string packed(std::string program, const std::vector<std::pair<std::string, std::string>> &sections);

class PackedProgram : public ::testing::Test {
protected:
  /// `model`, the logistic program, and its data `d.npz` (42 samples), in `folder`.
  void SetUp() override;
  /// Makes `model` anew with another manifest.
  void writeProgram(const std::string &manifest);
  struct Outcome {
    int status;       // 128 + the signal where one ended it
    std::string text; // both streams
  };
  /// `model` with the arguments, in `folder`.
  Outcome run(const std::string &arguments);
  /// A shell command in `folder`.
  Outcome shell(const std::string &command);
  void expectError(const std::string &arguments, const std::string &text);

  TemporaryFolder folder;
  std::string data;
};

} // namespace mpc::rt::test
