//===- Contraction.h - how a GPU computes a matrix product or convolution ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_KERNEL_IR_CONTRACTION_H
#define MPC_KERNEL_IR_CONTRACTION_H
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/StringRef.h"
#include <iterator>
#include <optional>
#include <string>

namespace mpc::kernel {

/// A way in which the threads of a block multiply and add.
enum class Mainloop {
  Simt,  ///< every thread does multiply-adds; operands are widened to the accumulator's type
  Mma,   ///< every warp does kernel.mma; f16, and bf16 where the architecture has it
  Wgmma, ///< warpgroups do kernel.wgmma, and in contractions another one loads for them; f16, bf16 and 8-bit floats
};
/// Each needs instructions that those before it do without, and multiplies faster with them.
inline constexpr Mainloop allMainloops[] = {Mainloop::Simt, Mainloop::Mma, Mainloop::Wgmma};
/// Returns whether a table has one row for each mainloop, in their order, so that a mainloop is the index of its row.
template <typename Row, size_t size>
constexpr bool hasRowOfEachMainloop(const Row (&rows)[size]) {
  for (size_t i = 0; i < size; ++i)
    if (rows[i].mainloop != Mainloop(i))
      return false;
  return size == std::size(allMainloops);
}
llvm::StringRef nameOf(Mainloop mainloop);

/// The numbers that distinguish the schedules of one product. They are written as text in
/// `#kernel.contraction`, in reports and in tuning files: "wgmma 128x256x64 stages=4 splits=2 cluster_m=2".
struct Contraction {
  Mainloop mainloop = Mainloop::Simt;
  int64_t m = 0, n = 0, k = 0;        ///< the tile of a block: m x n of C, and the slice of k that it adds at a time
  int64_t stages = 0;                 ///< slices of k in shared memory
  int64_t pingPong = 0;               ///< 1 where two warpgroups multiply tiles of their own in turns
  int64_t splits = 1;                 ///< the parts into which k is split; separate blocks sum each part
  int64_t clusterM = 1, clusterN = 1; ///< the blocks of a cluster along each axis, which share operands

  bool operator==(const Contraction &) const = default;
  std::string text() const;
  /// Nullopt where the text has another form, an unknown field, or a number that is not positive.
  static std::optional<Contraction> parse(llvm::StringRef text);
  /// Whether the text has the form of a schedule, whatever its fields are: another version, with other
  /// fields, may have written the file.
  static bool hasForm(llvm::StringRef text);
};
llvm::hash_code hash_value(const Contraction &c);

} // namespace mpc::kernel
#endif
