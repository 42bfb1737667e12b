// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tells what the GPU does while it is measured. Clocks are read, never set.
#pragma once

#include <string>

namespace mpc::rt {

/// Returns "name, driver, SM clock, memory clock, highest SM clock, power, power limit, temperature" of the first
/// GPU, as nvidia-smi prints it; "" if there is none.
std::string gpuClocks();

} // namespace mpc::rt
