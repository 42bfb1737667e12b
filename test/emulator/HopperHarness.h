//===- HopperHarness.h - text of kernels that use sm_90a's asynchronous units -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_TEST_EMULATOR_HOPPERHARNESS_H
#define MPC_TEST_EMULATOR_HOPPERHARNESS_H
#include "EmulatorHarness.h"
#include <string>
#include <vector>

namespace mpc::test {

/// How a tile of rows x k is laid out in shared memory, by elements. The formulas are those of the figures in
/// the PTX ISA, "Shared Memory Matrix Layout".
struct TileLayout {
  int swizzle; ///< 0 none, 1 b32, 2 b64, 3 b128
  int leading, stride;
  bool transposed;

  /// Returns the number of bytes in a line of an atom.
  int line() const { return 16 << swizzle; }
  /// Returns the offset of element (row, k) before the swizzle.
  int plain(int row, int k) const;
  /// Returns its offset in a piece of shared memory that is aligned to 1024.
  int offset(int row, int k) const;
  std::string text() const;
};

/// A 16-bit element type and its conversions.
struct HalfType {
  const char *name;
  uint16_t (*round)(float);
  float (*value)(uint16_t);
};
extern const HalfType kHalf, kBfloat;

/// Returns the text of `count` values "%name#0, %name#1, …", and of as many types "f32, f32, …".
std::string valueList(const std::string &name, int count);
std::string typeList(const std::string &type, int count);
/// Returns the text of `count` copies of one value.
std::string repeated(const std::string &value, int count);
/// Returns the text of constants %c<n> : i32.
std::string constants(const std::vector<int> &values);
/// Threads 0 to 127 copy `bytes` bytes from %b<buffer> to %<piece> by stores of 16 bytes. The text needs %t;
/// `tag` makes its names unique.
std::string copyIn(int buffer, const std::string &piece, int bytes, const std::string &tag);
/// Thread t stores sum i of "%name" at element i * 128 + t of %b<buffer>.
std::string storeSums(const std::string &name, int count, int buffer, const std::string &thread = "%t");
/// Text for step %j of a ring of %cS stages. It defines %stage, %parity and %flipped (the other parity),
/// mbarriers %full and %empty of %bars, and the stage's tiles %ta and %tb of %sa and %sb. It needs %c1.
std::string ringStage(int tileBytes);
/// Initialises the mbarriers %bars, first those of full stages, then those of empty ones, at locations
/// "init0", "init1", ….
std::string ringBarriers(int stages, const std::string &countOfFull, const std::string &countOfEmpty);
/// The row and the column of sum i of thread t (of 128).
int rowOfSum(int thread, int i);
int columnOfSum(int thread, int i);

/// Adds A B to c as the emulator rounds it: once for every 16 of k. a is [64][k], b is [k][n] values, c is [64][n].
void multiplyReference(const std::vector<float> &a, const std::vector<float> &b, std::vector<float> &c, int rows, int n,
                       int k);

/// Fails the test unless the message of a finding contains the text.
void expectNames(const std::string &message, const std::string &text, int line);
#define EXPECT_NAMES(message, text) mpc::test::expectNames(message, text, __LINE__)

} // namespace mpc::test
#endif
