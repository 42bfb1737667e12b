//===- Contraction.h - how a GPU computes a matrix product or convolution ------------===//
#ifndef MPC_KERNEL_IR_CONTRACTION_H
#define MPC_KERNEL_IR_CONTRACTION_H
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace mpc::kernel {

enum class Mainloop {
  Simt,  ///< multiply-adds of every thread; operands widened to the accumulator's type
  Mma,   ///< kernel.mma of every warp; f16, and bf16 where the architecture has it
  Wgmma, ///< kernel.wgmma of warpgroups, and a warpgroup that feeds them; f16, bf16 and 8-bit floats
};
inline constexpr Mainloop allMainloops[] = {Mainloop::Simt, Mainloop::Mma, Mainloop::Wgmma};
llvm::StringRef nameOf(Mainloop mainloop);

/// The numbers that tell the schedules of one product apart. Its text stands in `#kernel.contraction`, in
/// reports and in tuning files: "wgmma 128x256x64 stages=4 splits=2 cluster_m=2".
struct Contraction {
  Mainloop mainloop = Mainloop::Simt;
  int64_t m = 0, n = 0, k = 0; ///< the tile of a block, and what it sums at once
  int64_t stages = 0;          ///< pieces of k in shared memory
  int64_t pingPong = 0;        ///< 1: two warpgroups multiply tiles of their own in turns
  int64_t splits = 1;          ///< of k, each summed by blocks of their own
  int64_t clusterM = 1, clusterN = 1; ///< blocks that share operands

  bool operator==(const Contraction &) const = default;
  std::string text() const;
  /// Nothing where the text has another form, a field that is not known, or a number that is not positive.
  static std::optional<Contraction> parse(llvm::StringRef text);
  /// Whether the text has the form of a schedule, with whatever fields: a file may have been written by a version with others.
  static bool hasForm(llvm::StringRef text);
};
llvm::hash_code hash_value(const Contraction &c);

} // namespace mpc::kernel
#endif
