// Stands in for the generic provider in a build that does not contain it: supports nothing and says so.

#include "mpc/library.h"

#include <cstdio>

extern "C" {
__attribute__((weak)) const mpc_library *mpc_generic_library(int) {
  static const mpc_library library = {
      MPC_LIBRARY_ABI, "none",
      [](const mpc_library_desc *, char *error, size_t bytes) -> mpc_library_primitive * {
        std::snprintf(error, bytes, "this build of the runtime has no generic library provider");
        return nullptr;
      },
      [](const mpc_library_primitive *) -> size_t { return 0; },
      [](mpc_library_primitive *, void *const *, void *) {}, [](mpc_library_primitive *) {}};
  return &library;
}
__attribute__((weak)) void mpc_generic_set_parallel_for(void (*)(void *, int64_t, int64_t,
                                                                 void (*)(void *, int64_t, int64_t), void *),
                                                        void *) {}
}
