// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program as users have it: a runner followed by sections, started from a shell.
#pragma once

#include "LogisticProgram.h"

#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

namespace mpc::rt::test {

/// Makes the program file that runtime/abi/README.md describes.
std::string packed(std::string program, const std::vector<std::pair<std::string, std::string>> &sections);

class PackedProgram : public ::testing::Test {
protected:
  /// Writes `model`, the logistic program, and its data `d.npz` (42 samples) into `folder`.
  void SetUp() override;
  /// Writes `model` again with another manifest.
  void writeProgram(const std::string &manifest);
  struct Outcome {
    int status;       // 128 + the signal if one ended it
    std::string text; // stdout and stderr
  };
  /// Runs `model` with the arguments in `folder`.
  Outcome run(const std::string &arguments);
  /// Runs a shell command in `folder`.
  Outcome shell(const std::string &command);
  void expectError(const std::string &arguments, const std::string &text);

  TemporaryFolder folder;
  std::string data;
};

} // namespace mpc::rt::test
