// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Kernel/Analysis/LoopRules.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::kernel;
using Tiling = LoopRules::Tiling;
using Neighbours = LoopRules::Neighbours;
using Threads = LoopRules::Threads;

std::optional<LoopRules> kernel::rulesOf(Walk walk, bool onGpu) {
  switch (walk) {
  case Walk::Points:
    return onGpu
               ? LoopRules{.tiling = Tiling::Strips, .allShared = true, .neighbours = Neighbours::Divisor}
               : LoopRules{.tiling = Tiling::Innermost, .unshared = 1, .neighbours = Neighbours::Whole, .mayCut = true};
  case Walk::Tiles:
    return LoopRules{.tiling = onGpu ? Tiling::Squares : Tiling::Pair, .unshared = 2, .allShared = true};
  case Walk::Copies:
    return onGpu ? std::optional(LoopRules{.tiling = Tiling::Matrices, .unshared = 2, .allShared = true})
                 : std::nullopt;
  case Walk::Rows:
    return onGpu ? LoopRules{.allShared = true,
                             .neighbours = Neighbours::Divisor,
                             .threads = Threads::Warps,
                             .mayUnroll = true}
                 : LoopRules{};
  case Walk::Columns:
    return onGpu ? LoopRules{.tiling = Tiling::Taps,
                             .unshared = 1,
                             .allShared = true,
                             .neighbours = Neighbours::Divisor,
                             .threads = Threads::Powers}
                 : LoopRules{.tiling = Tiling::Sums, .unshared = 1};
  }
  llvm_unreachable("every walk has rules");
}

bool kernel::hasNeighbours(Walk walk, ArrayRef<Dim> dims, int64_t last) {
  if (walk == Walk::Tiles || walk == Walk::Copies)
    return false;
  return last + 1 == int64_t(dims.size()) && dims[last].reduced == (walk == Walk::Rows);
}

bool kernel::walksForm(Walk walk, Form form) {
  switch (walk) {
  case Walk::Points:
  case Walk::Tiles:
    return form == Form::Pointwise;
  case Walk::Copies:
    return form == Form::TransposedCopy;
  case Walk::Rows:
  case Walk::Columns:
    return form == Form::Reduction || form == Form::Row;
  }
  llvm_unreachable("every walk is for some form");
}
