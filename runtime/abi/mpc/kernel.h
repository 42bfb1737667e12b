/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The calling convention between compiled kernels and the runtime.
 *
 * A host kernel is a pure function over a slice of a one-dimensional grid. It never allocates, never
 * calls the runtime and never synchronises: the runtime splits the grid over its threads, and two
 * slices of one launch write disjoint memory. The object code of a model exports one symbol per
 * distinct kernel.
 */
#ifndef MPC_KERNEL_H
#define MPC_KERNEL_H
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Element types of everything that is stored. The values are part of the manifest's format. */
/* The enum has a fixed type, because C++ callers may pass any number, which is then refused: without the type that
 * would be undefined behaviour. */
#ifdef __cplusplus
#define MPC_ENUM(NAME) enum NAME : int
#else
#define MPC_ENUM(NAME) enum NAME
#endif

typedef MPC_ENUM(mpc_dtype){
    MPC_F16 = 1, MPC_BF16 = 2, MPC_F32 = 3,  MPC_F64 = 4,  MPC_I8 = 5,   MPC_I16 = 6,  MPC_I32 = 7,
    MPC_I64 = 8, MPC_U8 = 9,   MPC_U16 = 10, MPC_U32 = 11, MPC_U64 = 12, MPC_BOOL = 13 /* one byte, 0 or 1 */
} mpc_dtype;

/* buffers: one base address per argument, in the order of the launch's "args".
 * [begin, end): the slice of the grid to compute. */
typedef void (*mpc_kernel_fn)(void *const *buffers, int64_t begin, int64_t end);

#ifdef __cplusplus
}
#endif
#endif
