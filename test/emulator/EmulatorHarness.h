//===- EmulatorHarness.h - compiles GPU kernels in MLIR text, runs them on the emulator ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_TEST_EMULATOR_EMULATORHARNESS_H
#define MPC_TEST_EMULATOR_EMULATORHARNESS_H
#include "runtime/emulator/Emulator.h"
#include <gtest/gtest.h>
#include <optional>

namespace mpc::test {

/// A compiled kernel named `k`. A failure to compile fails the test.
class EmulatedKernel {
public:
  explicit EmulatedKernel(const std::string &text);

  /// Runs it with the seeds 0, 1, 2 and 3 on `threads` OS threads over copies of the buffers. The copies must hold the
  /// same bytes after every run and are handed back. A finding fails the test.
  template <typename... T>
  void run(rt::emulator::Grid grid, std::vector<T> &...buffers) {
    std::vector<std::vector<char>> bytes = {toBytes(buffers)...};
    runBytes(grid, bytes);
    [[maybe_unused]] size_t i = 0;
    (fromBytes(bytes[i++], buffers), ...);
  }
  /// Runs it with every seed and expects that fault (None means any); returns the message of the finding with seed 0.
  template <typename... T>
  std::string fault(rt::emulator::Fault expected, rt::emulator::Grid grid, const std::vector<T> &...buffers) {
    return faultBytes(expected, grid, {toBytes(buffers)...});
  }
  /// Returns the error of one run, if there is any.
  std::optional<rt::Error> launch(uint64_t seed, rt::emulator::Grid grid, std::vector<std::vector<char>> &buffers,
                                  bool readOnly = false);
  const rt::emulator::Kernel &kernel() const { return *found; }

private:
  template <typename T>
  static std::vector<char> toBytes(const std::vector<T> &values) {
    auto data = reinterpret_cast<const char *>(values.data());
    return std::vector<char>(data, data + values.size() * sizeof(T));
  }
  template <typename T>
  static void fromBytes(const std::vector<char> &bytes, std::vector<T> &values) {
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char *>(values.data()));
  }
  void runBytes(rt::emulator::Grid grid, std::vector<std::vector<char>> &buffers);
  std::string faultBytes(rt::emulator::Fault expected, rt::emulator::Grid grid,
                         const std::vector<std::vector<char>> &buffers);

  std::optional<rt::emulator::Module> module;
  const rt::emulator::Kernel *found = nullptr;
};

/// Returns the text of a kernel `k` with that many threads and buffers %b0, %b1, ...
std::string kernelText(int threads, int buffers, const std::string &body);

/// Adds fields to the #kernel.entry of such a text, as "cluster = 2".
std::string withEntry(std::string text, const std::string &fields);

/// The body of a kernel of 128 threads that computes b1[block] = sum of b0[block * 128 ..], by shuffles within warps
/// and through shared memory between warps.
extern const char *const blockReduction;

} // namespace mpc::test
#endif
