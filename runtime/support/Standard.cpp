// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/support/Standard.h"

#include <cstdio>
#include <fcntl.h>
#include <initializer_list>

namespace mpc::rt {

void openStandardDescriptors() {
  for (int descriptor : {0, 1, 2})
    if (fcntl(descriptor, F_GETFD) < 0) {
      // open() takes the lowest free number. The mode is the wrong direction, so that using the descriptor still fails.
      int taken = open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY);
      if (taken < 0)
        taken = open("/", O_RDONLY); // this is for a root without /dev
    }
}

bool standardOutputIsWritten() { return std::fflush(stdout) == 0 && !std::ferror(stdout); }

} // namespace mpc::rt
