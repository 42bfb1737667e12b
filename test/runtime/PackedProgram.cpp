// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "PackedProgram.h"

#include "runtime/support/Checksum.h"

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sys/wait.h>

namespace mpc::rt::test {

static uint32_t checksum(const std::string &bytes) { return rt::checksum(0, bytes.data(), bytes.size()); }

std::string packed(std::string program, const std::vector<std::pair<std::string, std::string>> &sections) {
  nlohmann::json toc = {{"sections", nlohmann::json::array()}};
  for (const auto &[name, bytes] : sections) {
    program.resize((program.size() + 63) / 64 * 64);
    toc["sections"].push_back(
        {{"name", name}, {"offset", program.size()}, {"bytes", bytes.size()}, {"crc32", checksum(bytes)}});
    program += bytes;
  }
  std::string text = toc.dump();
  uint64_t trailer[3] = {program.size(), text.size(), checksum(text)};
  return program + text + "MPCPROG1" + std::string(reinterpret_cast<const char *>(trailer), sizeof trailer);
}

void PackedProgram::SetUp() {
  writeProgram(logisticManifest());
  data = writeLogisticData(folder / "d.npz", 42);
}

void PackedProgram::writeProgram(const std::string &manifest) {
  std::filesystem::remove(folder / "model");
  writeFile(folder / "model", packed(readFile(MPC_RUNNER), {{"manifest.json", manifest},
                                                            {"data", logisticData()},
                                                            {"host.x86-64-v3.so", readFile(MPC_TEST_KERNELS)}}));
  std::filesystem::permissions(folder / "model", std::filesystem::perms::owner_all);
}

PackedProgram::Outcome PackedProgram::run(const std::string &arguments) {
  return shell("./model " + arguments + " > out.txt 2>&1; s=$?; cat out.txt; exit $s");
}

PackedProgram::Outcome PackedProgram::shell(const std::string &command) {
  // The command runs in a subshell, so that its own redirections do not reach the file with the outcome.
  std::string whole = "cd " + folder.path() + " && ( " + command + "\n) > shell.txt 2>&1";
  int status = std::system(whole.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), readFile(folder / "shell.txt")};
}

void PackedProgram::expectError(const std::string &arguments, const std::string &text) {
  Outcome outcome = run(arguments);
  EXPECT_EQ(outcome.status, 1) << arguments << "\n" << outcome.text;
  EXPECT_NE(outcome.text.find(text), std::string::npos) << arguments << "\n" << outcome.text;
  // Notes may come first.
  EXPECT_NE(concat("\n", outcome.text).find("\nerror: "), std::string::npos) << outcome.text;
}

} // namespace mpc::rt::test
