// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A fault that the emulator found in a kernel.
#pragma once

#include <cstdint>
#include <string>

namespace mpc::rt::emulator {

enum class Fault {
  None,
  OutOfBoundsRead,
  OutOfBoundsWrite,
  ReadOnlyWrite,
  Misaligned,
  Uninitialized,
  Race,
  UnawaitedCopy,
  DivergentBarrier,
  DivergentWarp,
  UnawaitedLoad,
  UnawaitedProduct,
  UnawaitedStore,
  InUse,
  MissingFence,
  Mbarrier,
  EndlessWait,
  Registers,
  Cluster,
};

/// Returns the name used in messages: "out-of-bounds read", "race", ….
const char *nameOf(Fault fault);

struct Finding {
  Fault fault = Fault::None;
  uint32_t block[3] = {}, thread = 0, site = 0;
  char detail[512] = {}; ///< one clause
};

} // namespace mpc::rt::emulator
