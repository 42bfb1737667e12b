// tensor_load and tensor_store under way.
#pragma once

#include "runtime/emulator/Mbarrier.h"
#include "runtime/emulator/TensorMap.h"

namespace mpc::rt::emulator {

/// The bytes of the load arrive: at the end of the phase of the mbarrier that counts them, no earlier.
void arriveLoad(Mbarrier &barrier, const TensorCopy &load);
/// A thread that ends must have waited for its tensor_stores.
void checkStores(Thread &exiting);
/// A block whose threads have ended must have waited for its tensor_loads; false: finding says for which it
/// has not.
bool checkLoads(const Block &block, Finding &finding);

} // namespace mpc::rt::emulator
