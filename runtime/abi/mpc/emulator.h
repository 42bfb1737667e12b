/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The calling convention between emulated GPU kernels and the emulator.
 *
 * An emulated kernel is the code of one GPU thread, compiled for the CPU. The emulator calls it once per thread, each
 * time on a stack of its own, and switches stacks inside the functions below wherever a GPU thread waits for others.
 *
 * Addresses of global and shared memory are device addresses: numbers that support pointer arithmetic and that only the
 * functions below turn into memory. Each says which buffer or piece it comes from, so that an access beyond that buffer
 * is seen even when it hits another one:
 *
 *   global  63: 0 | 62..48: number of the buffer + 1          | 47..0: 2^40 + offset
 *   shared  63: 1 | 62..56: block of the cluster | 55..48: piece | 47..0: 2^40 + offset
 *
 * `site` is the number of the op in the kernel's description (below); messages use it.
 */
#ifndef MPC_EMULATOR_H
#define MPC_EMULATOR_H
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MPC_EMU_OFFSET_BITS 48
#define MPC_EMU_BIAS (1ull << 40)
#define MPC_EMU_GLOBAL(buffer) (((uint64_t)(buffer) + 1) << MPC_EMU_OFFSET_BITS | MPC_EMU_BIAS)
#define MPC_EMU_SHARED(piece) (1ull << 63 | (uint64_t)(piece) << MPC_EMU_OFFSET_BITS | MPC_EMU_BIAS)
#define MPC_EMU_MAX_PIECES 256
#define MPC_EMU_MAX_THREADS 1024
#define MPC_EMU_MAX_CLUSTER 8
#define MPC_EMU_OWN_BLOCK (~0u)
#define MPC_EMU_IN_REGISTERS (1u << 16)

/* The part of a thread's state that its kernel sees; compiled code reads and writes these fields by their offsets. */
typedef struct mpc_emu_thread {
  uint32_t id;            /* offset 0: thread number in its block */
  uint32_t block[3];      /* offset 4: x, y, z of the block in the grid */
  uint32_t registers[12]; /* offset 16: operands and results of matrix operations */
  uint32_t grid;          /* offset 64: blocks along x */
} mpc_emu_thread;

/* buffers: device addresses, one per argument of the kernel. */
typedef void (*mpc_emu_kernel_fn)(mpc_emu_thread *thread, void *const *buffers);

/* Beside each kernel `k` the object has a text `k.about`, whose lines end with \n and which ends with \0:
 *   mpc-emulated 1
 *   threads N              threads of a block, a multiple of 32
 *   buffers N              number of arguments
 *   granule N              every access to shared memory starts at, and covers, a multiple of N bytes
 *   shared BYTES ALIGNMENT one line per piece of shared memory, in order
 *   asynchronous N         the kernel uses mbarriers, tensor_load, wgmma, … (below); a thread starts with N registers
 *   cluster N              blocks of a cluster along x; 1 if the line is missing
 *   map BUFFER ELEMENT SWIZZLE PIXELS RANK SIZES STRIDES BOX STEPS LOWER UPPER
 *                          one line per tensor map, in order: its parameter, bytes of an element, swizzle (0 none, 1
 * b32, 2 b64, 3 b128), pixels (0: tiled), and lists of numbers: RANK sizes, RANK - 1 strides, RANK (im2col: 1) of the
 * box, RANK steps, and in im2col mode RANK - 2 each of the rest site TEXT              one line per site, in order:
 * location and op
 */

/* Values of `access`: log2 of the alignment that the access needs | kind << 8. */
enum { MPC_EMU_READ = 0, MPC_EMU_WRITE = 1, MPC_EMU_ATOMIC = 2 };

/* Both return the memory behind a device address, after they have checked the access. */
void *mpc_emu_global(mpc_emu_thread *, uint64_t address, uint32_t bytes, uint32_t access, uint32_t site);
void *mpc_emu_shared(mpc_emu_thread *, uint64_t address, uint32_t bytes, uint32_t access, uint32_t site);

/* threads: how many threads take part; 0 means all of the block. */
void mpc_emu_barrier(mpc_emu_thread *, uint32_t id, uint32_t threads, uint32_t site);
void mpc_emu_warp_sync(mpc_emu_thread *, uint32_t site);
/* mode: 0 xor, 1 down, 2 up, 3 index. */
uint32_t mpc_emu_shuffle(mpc_emu_thread *, uint32_t mode, uint32_t value, uint32_t offset, uint32_t site);
/* mode: 0 any, 1 all. */
uint32_t mpc_emu_vote(mpc_emu_thread *, uint32_t mode, uint32_t predicate, uint32_t site);

void mpc_emu_copy_async(mpc_emu_thread *, uint64_t to, uint64_t from, uint32_t bytes, uint32_t valid, uint32_t site);
void mpc_emu_copy_async_commit(mpc_emu_thread *);
void mpc_emu_copy_async_wait(mpc_emu_thread *, uint32_t pending);

/* The results are written to registers[0 .. count). */
void mpc_emu_load_matrix(mpc_emu_thread *, uint64_t row, uint32_t count, uint32_t transpose, uint32_t site);
/* A is in registers[0 .. 4), B in [4 .. 6), C in [6 .. 10), where D replaces it. element: 0 f16, 1 bf16, 2 tf32. */
void mpc_emu_mma(mpc_emu_thread *, uint32_t element, uint32_t k, uint32_t site);

/* Operations that run asynchronously to the threads (sm_90a). The description of a kernel that uses any of them has the
 * line "asynchronous N". */
void mpc_emu_mbarrier_init(mpc_emu_thread *, uint64_t barrier, uint32_t count, uint32_t site);
void mpc_emu_mbarrier_fence(mpc_emu_thread *);
/* block: number of the block in the cluster, or MPC_EMU_OWN_BLOCK. */
void mpc_emu_mbarrier_arrive(mpc_emu_thread *, uint64_t barrier, uint32_t block, uint32_t site);
void mpc_emu_mbarrier_expect(mpc_emu_thread *, uint64_t barrier, uint32_t bytes, uint32_t site);
void mpc_emu_mbarrier_wait(mpc_emu_thread *, uint64_t barrier, uint32_t parity, uint32_t site);
void mpc_emu_async_fence(mpc_emu_thread *);
void mpc_emu_set_registers(mpc_emu_thread *, uint32_t count, uint32_t increase, uint32_t site);

void mpc_emu_wgmma_fence(mpc_emu_thread *, uint32_t site);
/* form: swizzle (0 none, 1 b32, 2 b64, 3 b128) | transposed << 8. sums: the thread's columns / 2 elements of C, which D
 * replaces; with `fresh`, C is not read. elements: 0 f16 or 1 bf16, the same for both; 3 e4m3 or 4 e5m2, in any pair.
 * With aForm = MPC_EMU_IN_REGISTERS, A of f16 or bf16 is in registers[0 .. 4), and the other numbers of A are 0. */
void mpc_emu_wgmma(mpc_emu_thread *, uint64_t a, uint32_t aOffset, uint32_t aForm, uint32_t aLeading, uint32_t aStride,
                   uint64_t b, uint32_t bOffset, uint32_t bForm, uint32_t bLeading, uint32_t bStride, uint32_t elementA,
                   uint32_t elementB, uint32_t columns, uint32_t fresh, float *sums, uint32_t site);
void mpc_emu_wgmma_commit(mpc_emu_thread *, uint32_t site);
void mpc_emu_wgmma_wait(mpc_emu_thread *, uint32_t pending, uint32_t site);

/* Coordinates and offsets that the map's rank does not need are 0. blocks: a mask of the cluster's blocks that receive
 * the data; 0 means the own block. */
void mpc_emu_tensor_load(mpc_emu_thread *, uint64_t to, uint64_t barrier, uint32_t map, int32_t c0, int32_t c1,
                         int32_t c2, int32_t c3, int32_t c4, uint32_t offset0, uint32_t offset1, uint32_t offset2,
                         uint32_t blocks, uint32_t site);
void mpc_emu_tensor_store(mpc_emu_thread *, uint64_t from, uint32_t map, int32_t c0, int32_t c1, int32_t c2, int32_t c3,
                          int32_t c4, uint32_t site);
void mpc_emu_tensor_store_commit(mpc_emu_thread *);
void mpc_emu_tensor_store_wait(mpc_emu_thread *, uint32_t pending);
uint32_t mpc_emu_cluster_rank(mpc_emu_thread *);
void mpc_emu_cluster_barrier(mpc_emu_thread *, uint32_t site);
/* The inverse of load_matrix: it reads registers[0 .. count). */
void mpc_emu_store_matrix(mpc_emu_thread *, uint64_t row, uint32_t count, uint32_t transpose, uint32_t site);

/* function: 0 exp2, 1 log2, 2 reciprocal, 3 rsqrt. */
float mpc_emu_approx(uint32_t function, float x);

/* The emulator as a plugin: a program carries it as the section emulator.so, which exports mpc_emulator_plugin. */
typedef struct mpc_emu_buffer {
  void *data;
  uint64_t bytes;
  uint32_t writable;
} mpc_emu_buffer;

typedef struct mpc_emulator {
  uint32_t version; /* MPC_EMU_PLUGIN */
  /* Opens the emulated kernels of one architecture. threads: CPU threads; order: seed of the order of GPU threads.
   * Returns null on failure: see error. */
  void *(*open)(const void *object, uint64_t bytes, const char *where, uint32_t threads, uint64_t order);
  void (*close)(void *emulator);
  /* Runs one kernel over a grid of three axes, one buffer per argument. Returns 0, or 1 if it found a fault: see error.
   */
  int32_t (*launch)(void *emulator, const char *kernel, const uint32_t *grid, const mpc_emu_buffer *buffers,
                    uint32_t count, const char *dispatch);
  /* Returns a text about the last failure on this thread: where (part 0), what (1), hint (2). */
  const char *(*error)(uint32_t part);
} mpc_emulator;

#define MPC_EMU_PLUGIN 1
const mpc_emulator *mpc_emulator_plugin(void);

#ifdef __cplusplus
}
#endif
#endif
