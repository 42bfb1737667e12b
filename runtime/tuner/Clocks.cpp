// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/tuner/Clocks.h"

#include <cstdio>

namespace mpc::rt {

std::string gpuClocks() {
  std::string text;
  FILE *pipe = popen("nvidia-smi --id=0 --format=csv,noheader --query-gpu=name,driver_version,clocks.sm,"
                     "clocks.mem,clocks.max.sm,power.draw,power.limit,temperature.gpu 2>/dev/null",
                     "r");
  if (!pipe)
    return text;
  char buffer[256];
  while (std::fgets(buffer, sizeof buffer, pipe))
    text += buffer;
  if (pclose(pipe) != 0)
    return "";
  return text.substr(0, text.find('\n'));
}

} // namespace mpc::rt
