/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The interface of a library provider, which executes matrix products and convolutions on the host.
 *
 * Two providers implement it: the generic loops built into the runtime, and the oneDNN plugin
 * (`libmpc_onednn.so`), which the runtime looks for beside the program, in the installation that compiled it, in the
 * folders of $MPC_LIBRARY_PATH, then by the system's loader. Beside the program and in the installation, root or the
 * user must own it, and nobody else may be able to replace it.
 *
 * Numerics, the same for every provider: products are exact, sums are fp32 (fp64 for fp64 operands),
 * bias and activation are applied in the accumulator's precision, and the result is rounded once, to
 * nearest even, when it is stored. Convolutions are an exception: a provider may multiply sums of their operands in
 * fp32 (Winograd's method), and then an error is relative to the largest results nearby.
 *
 * Layouts: matrices are row-major; activations are channels-last ([N, spatial..., C]) and weights are
 * [O, C/groups, spatial...] row-major (the ONNX order), all dense. A provider that needs another order
 * packs into its scratch.
 */
#ifndef MPC_LIBRARY_H
#define MPC_LIBRARY_H
#include "mpc/kernel.h"
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MPC_LIBRARY_ABI 2
#define MPC_MAX_SPATIAL 3

typedef enum mpc_library_op {
  /* buffers: a, b, [bias,] [addend,] out.  out[batch,m,n] = epilogue(a @ b). */
  MPC_MATMUL = 1,
  /* buffers: x, w, [bias,] [addend,] y. */
  MPC_CONV_FORWARD = 2,
  /* buffers: dy, w, [bias,] [addend,] dx. This is also the forward pass of a transposed convolution. */
  MPC_CONV_INPUT_GRAD = 3,
  /* buffers: x, dy, dw. */
  MPC_CONV_WEIGHT_GRAD = 4
} mpc_library_op;

typedef enum mpc_activation { MPC_ACT_NONE = 0, MPC_ACT_RELU = 1 } mpc_activation;

/* Zero-initialise it, then fill in what the op uses. */
typedef struct mpc_library_desc {
  int32_t op; /* mpc_library_op */

  /* Element types of the first and second operand, of the result, and of the bias (read only if has_bias).
   * Supported: (f32,f32)->f32, (f16,f16)->f16|f32, (bf16,bf16)->bf16|f32, (f64,f64)->f64 (generic provider only).
   * The bias is f32 or has the result's type; the addend has the result's type. */
  int32_t type_a, type_b, type_out, type_bias;

  /* The epilogue applies, in this order: + bias (per column n, or per output channel), + addend (same shape as the
   * result; its buffer may be the result's own), activation. */
  int32_t has_bias, has_addend, activation;

  /* MPC_MATMUL: a is [batch,m,k] ([batch,k,m] if transpose_a), b is [batch,k,n] ([batch,n,k] if transpose_b).
   * broadcast_a/b: that operand has no batch dimension and is used for all batches. */
  int64_t batch, m, n, k;
  int32_t transpose_a, transpose_b, broadcast_a, broadcast_b;

  /* Convolutions are described in the roles of the forward pass: x is [N, in..., C], w is [O, C/groups, kernel...],
   * y is [N, out..., O]. out[i] = (in[i] + pad_low[i] + pad_high[i] - dilation[i]*(kernel[i]-1) - 1)/stride[i] + 1. */
  int32_t spatial; /* number of spatial dimensions, 1..3 */
  int64_t N, C, O, groups;
  int64_t in[MPC_MAX_SPATIAL], out[MPC_MAX_SPATIAL], kernel[MPC_MAX_SPATIAL];
  int64_t stride[MPC_MAX_SPATIAL], dilation[MPC_MAX_SPATIAL];
  int64_t pad_low[MPC_MAX_SPATIAL], pad_high[MPC_MAX_SPATIAL];
} mpc_library_desc;

typedef struct mpc_library_primitive mpc_library_primitive;

typedef struct mpc_library {
  uint32_t abi;     /* MPC_LIBRARY_ABI */
  const char *name; /* "generic", "oneDNN 2.6.3" */

  /* Returns null and writes one sentence to `error` when the description is unsupported. It is thread-safe. */
  mpc_library_primitive *(*create)(const mpc_library_desc *desc, char *error, size_t error_bytes);
  /* Returns the bytes of 64-byte aligned scratch memory that execute needs; constant for a primitive. */
  size_t (*scratch_bytes)(const mpc_library_primitive *);
  /* Runs on the calling process's OpenMP (or pool) threads; returns when the result is complete. */
  void (*execute)(mpc_library_primitive *, void *const *buffers, void *scratch);
  void (*destroy)(mpc_library_primitive *);
  /* Returns what executes it, for tables of times: "generic", "oneDNN jit:avx2". It is valid until destroy. */
  const char *(*implementation)(const mpc_library_primitive *);
} mpc_library;

/* The function that a plugin exports. `threads`: how many threads execute may use. */
typedef const mpc_library *(*mpc_library_entry_fn)(int threads);
#define MPC_LIBRARY_ENTRY "mpc_library_entry"

#ifdef __cplusplus
}
#endif
#endif
