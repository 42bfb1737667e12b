/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*===- GenericLibrary.h - The built-in library provider ----------*- C -*-===*\
 *
 * Matrix products and convolutions in portable C++, for every description of mpc/library.h. The runtime uses it
 * when no plugin is found; plugins use it for shapes that they do not serve better.
 *
\*===----------------------------------------------------------------------===*/
#ifndef MPC_RUNTIME_HOST_GENERIC_GENERICLIBRARY_H
#define MPC_RUNTIME_HOST_GENERIC_GENERICLIBRARY_H

#include "mpc/library.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the provider, never null. threads >= 1: how many threads the primitives created from now on may use; scratch
 * grows with it, but results do not depend on it. */
const mpc_library *mpc_generic_library(int threads);

/* Calls body(body_ctx, begin, end) for slices that cover [0, n) once, each of at least `grain` if n
 * allows it, on any threads, and returns when all are done. */
typedef void (*mpc_parallel_for_fn)(void *ctx, int64_t n, int64_t grain,
                                    void (*body)(void *body_ctx, int64_t begin, int64_t end), void *body_ctx);

/* Sets the callback through which `execute` runs its work, with `ctx` as its first argument. With null, the initial
 * state, everything runs on the calling thread. Must not be called while a primitive executes. */
void mpc_generic_set_parallel_for(mpc_parallel_for_fn parallel_for, void *ctx);

#ifdef __cplusplus
}
#endif
#endif
