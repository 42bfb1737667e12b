// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tensor_loads and tensor_stores in flight.
#pragma once

#include "runtime/emulator/Mbarrier.h"
#include "runtime/emulator/TensorMap.h"

namespace mpc::rt::emulator {

/// Lets the bytes of the load arrive. This happens at the end of the phase of the mbarrier that counts
/// them, and no earlier.
void arriveLoad(Mbarrier &barrier, const TensorCopy &load);
/// Makes a finding if a thread ends without having waited for its tensor_stores.
void checkStores(Thread &exiting);
/// Checks that a block whose threads have ended has waited for its tensor_loads; on false, `finding` names a load for
/// which it has not.
bool checkLoads(const Block &block, Finding &finding);

} // namespace mpc::rt::emulator
