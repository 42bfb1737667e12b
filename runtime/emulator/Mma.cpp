// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mma.sync computes D = A B + C with A 16 x k, B k x 8, C and D 16 x 8.
//
// Fragment layouts: PTX ISA, "Matrix Fragments for mma.m16n8k16 / m16n8k8". Products are exact; their sum over k is
// taken in f64 and rounded once, with C, to f32. Hardware sums in its own order and with its own alignment shifts,
// which are not documented; its result lies within the error of f32 sums, while this one lies within half a unit in the
// last place of the exact one.
#include "mpc/cpu.h"
#include "runtime/emulator/Block.h"
#include "runtime/emulator/Elements.h"

namespace mpc::rt::emulator {

template <uint32_t K>
static inline void multiply(const double (&a)[16][16], const double (&b)[16][8], double (&d)[16][8]) {
  for (uint32_t r = 0; r < 16; ++r) {
    double sum[8] = {};
    for (uint32_t k = 0; k < K; ++k)
      for (uint32_t c = 0; c < 8; ++c)
        sum[c] += a[r][k] * b[k][c];
    for (uint32_t c = 0; c < 8; ++c)
      d[r][c] = sum[c];
  }
}

MPC_CPU_CLONES
static void multiply8(const double (&a)[16][16], const double (&b)[16][8], double (&d)[16][8]) { multiply<8>(a, b, d); }
MPC_CPU_CLONES
static void multiply16(const double (&a)[16][16], const double (&b)[16][8], double (&d)[16][8]) {
  multiply<16>(a, b, d);
}

/// Unpacks 16-bit elements: register i of A holds rows g + 8 (i mod 2), columns 2 q + 8 (i / 2) and the next; that of B
/// rows 2 q + 8 i and the next, column g.
template <double (*Value)(uint32_t)>
static inline void unpackPairs(const Thread *lanes, uint32_t k, double (&a)[16][16], double (&b)[16][8]) {
  for (uint32_t l = 0; l < kWarp; ++l) {
    const uint32_t *registers = lanes[l].registers;
    uint32_t g = l / 4, q = l % 4 * 2;
    for (uint32_t i = 0; i < k / 4; ++i) {
      uint32_t row = g + i % 2 * 8, column = q + i / 2 * 8;
      a[row][column] = Value(registers[i] & 0xFFFF);
      a[row][column + 1] = Value(registers[i] >> 16);
    }
    for (uint32_t i = 0; i < k / 8; ++i) {
      b[q + i * 8][g] = Value(registers[4 + i] & 0xFFFF);
      b[q + i * 8 + 1][g] = Value(registers[4 + i] >> 16);
    }
  }
}

/// Unpacks m16n8k8 of tf32: register i of A holds row g + 8 (i mod 2), column q + 4 (i / 2); that of B row
/// q + 4 i, column g.
static inline void unpackWords(const Thread *lanes, double (&a)[16][16], double (&b)[16][8]) {
  for (uint32_t l = 0; l < kWarp; ++l) {
    const uint32_t *registers = lanes[l].registers;
    uint32_t g = l / 4, q = l % 4;
    for (uint32_t i = 0; i < 4; ++i)
      a[g + i % 2 * 8][q + i / 2 * 4] = tf32Value(registers[i]);
    for (uint32_t i = 0; i < 2; ++i)
      b[q + i * 4][g] = tf32Value(registers[4 + i]);
  }
}

void multiplyTile(Thread *lanes, uint32_t element, uint32_t k) {
  double a[16][16], b[16][8], d[16][8];
  if (element == 0)
    unpackPairs<halfValue>(lanes, k, a, b);
  else if (element == 1)
    unpackPairs<bfloatValue>(lanes, k, a, b);
  else
    unpackWords(lanes, a, b);
  if (k == 16)
    multiply16(a, b, d);
  else
    multiply8(a, b, d);
  // C and D: registers 6 to 9 hold rows g and g + 8, columns 2 q and 2 q + 1.
  for (uint32_t l = 0; l < kWarp; ++l) {
    uint32_t *c = lanes[l].registers + 6, g = l / 4, q = l % 4 * 2;
    for (uint32_t i = 0; i < 4; ++i)
      c[i] = std::bit_cast<uint32_t>(float(d[g + i / 2 * 8][q + i % 2] + std::bit_cast<float>(c[i])));
  }
}

} // namespace mpc::rt::emulator
