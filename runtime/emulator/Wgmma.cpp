// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// wgmma computes D = A B + C for a warpgroup, with A 64 x k in shared memory or registers, and B k x n in shared
// memory; k is 16, or 32 for 8-bit floats (Float8.cpp).
//
// Source: PTX ISA, "Asynchronous warpgroup level matrix instructions". Sums are rounded as in Mma.cpp: once per
// wgmma. The last thread to arrive computes the product; its operands count as being read until a
// wgmma_wait retires its group. The threads need not meet again for that: wgmma_fence, commit and wait update
// a hash that must be the same for all of them at the next wgmma.
#include "mpc/cpu.h"
#include "runtime/emulator/Elements.h"
#include "runtime/emulator/Float8.h"
#include "runtime/emulator/Memory.h"
#include "runtime/emulator/Order.h"
#include "runtime/emulator/Warpgroup.h"

#include <algorithm>
#include <cstring>

namespace mpc::rt::emulator {

namespace {
constexpr uint32_t kRows = 64, kDepth = 16, kMaxColumns = 256, kChunk = 16 /*bytes*/, kChunkElements = 8;
/// Offsets in a matrix descriptor have 14 bits and count multiples of 16 (PTX ISA, "Matrix descriptor").
constexpr uint32_t kOffsetLimit = 1u << 18;

/// Describes a tile of A (rows x k) or B (columns x k).
struct Operand {
  uint64_t address;
  uint32_t offset, form, leading,
      stride; ///< form: log2 of the chunks in a line of an atom | whether k is the slower axis << 8
};
struct Product {
  Operand a, b;
  uint32_t elementA, elementB, columns, fresh;
  float *sums;
  bool readsA() const { return a.form != MPC_EMU_IN_REGISTERS; } ///< from shared memory
  bool operator==(const Product &other) const { return std::memcmp(this, &other, offsetof(Product, sums)) == 0; }
};
} // namespace

/// Finds the chunks of an operand in shared memory: the chunk of row r, k / 8 = h is at places[2 r + h]; if transposed,
/// that of rows 8 r …, k is at places[16 r + k].
static void findChunks(Thread &t, const Operand &o, uint32_t rows, uint32_t *places, uint32_t site) {
  Block &block = *t.parent;
  uint32_t log2Width = o.form & 0xFF, width = 1u << log2Width;
  bool transposed = o.form >> 8, swizzled = log2Width != 0;
  if ((o.offset | o.leading | o.stride) % kChunk != 0 || o.leading >= kOffsetLimit || o.stride >= kOffsetLimit)
    stop(t, Fault::Misaligned, site, "offset %u, leading %u or stride %u is no multiple of 16 below 2^18", o.offset,
         o.leading, o.stride);
  // An atom is 8 lines of `width` chunks.
  uint32_t start = locateShared(t, o.address, kChunk, swizzled ? 7 + log2Width : 4, /*write=*/false, site);
  auto [piece, first] = placeOf(block, start);
  uint32_t bytes = block.kernel->shared[piece].bytes, base = start - first;
  auto add = [&](uint32_t offset) {
    uint64_t address = uint64_t(start) + o.offset + offset;
    address ^= (address >> 7 & (width - 1)) * kChunk; // swizzles apply to absolute addresses
    if (address - base + kChunk > bytes)
      stop(t, Fault::OutOfBoundsRead, site, "16 bytes at byte %llu of piece %u of shared memory, which has %u",
           static_cast<unsigned long long>(address - base), piece, bytes);
    *places++ = uint32_t(address);
  };
  uint32_t line = width * kChunk;
  if (!transposed) {
    for (uint32_t r = 0; r < rows; ++r)
      for (uint32_t h = 0; h < 2; ++h)
        add(r % 8 * line + r / 8 * o.stride + h * (swizzled ? kChunk : o.leading));
    return;
  }
  // Without swizzle the two offsets exchange their roles: cute/atom/mma_traits_sm90_gmma.hpp,
  // make_gmma_desc<Major::MN>.
  uint32_t nextRows = swizzled ? o.leading : o.stride, nextDepth = swizzled ? o.stride : o.leading;
  for (uint32_t r = 0; r < rows / kChunkElements; ++r)
    for (uint32_t k = 0; k < kDepth; ++k)
      add(k % 8 * line + k / 8 * nextDepth + r % width * kChunk + r / width * nextRows);
}

template <double (*Value)(uint32_t)>
__attribute__((always_inline)) static inline void convertChunk(const char *from, double *to, uint32_t step) {
  uint16_t bits[kChunkElements];
  std::memcpy(bits, from, sizeof bits);
  for (uint32_t i = 0; i < kChunkElements; ++i)
    to[i * step] = Value(bits[i]);
}

/// Unpacks A from registers: register i of lane l of warp w holds row 16 w + l / 4 + 8 (i mod 2), k = 2 (l mod 4) +
/// 8 (i / 2) and the next (PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk16").
template <double (*Value)(uint32_t)>
__attribute__((always_inline)) static inline void unpackRegisters(const Thread *lanes, double *a) {
  for (uint32_t t = 0; t < kWarpgroup; ++t) {
    uint32_t l = t % kWarp, row = t / kWarp * 16 + l / 4;
    for (uint32_t i = 0; i < 4; ++i) {
      double *pair = a + (row + i % 2 * 8) * kDepth + l % 4 * 2 + i / 2 * 8;
      pair[0] = Value(lanes[t].registers[i] & 0xFFFF);
      pair[1] = Value(lanes[t].registers[i] >> 16);
    }
  }
}

/// Converts the operands to a: [64][16] and b: [n / 8][16][8].
template <double (*Value)(uint32_t)>
__attribute__((always_inline)) static inline void convert(const char *shared, const Thread *lanes, const Product &p,
                                                          const uint32_t *placesOfA, const uint32_t *placesOfB,
                                                          double *a, double *b) {
  if (!p.readsA()) {
    unpackRegisters<Value>(lanes, a);
  } else if (p.a.form >> 8) {
    for (uint32_t r = 0; r < kRows; r += kChunkElements)
      for (uint32_t k = 0; k < kDepth; ++k)
        convertChunk<Value>(shared + *placesOfA++, a + r * kDepth + k, kDepth);
  } else {
    for (uint32_t i = 0; i < kRows * 2; ++i)
      convertChunk<Value>(shared + *placesOfA++, a + i * kChunkElements, 1);
  }
  if (p.b.form >> 8) {
    for (uint32_t i = 0; i < p.columns / kChunkElements * kDepth; ++i)
      convertChunk<Value>(shared + *placesOfB++, b + i * kChunkElements, 1);
  } else {
    for (uint32_t i = 0; i < p.columns * 2; ++i)
      convertChunk<Value>(shared + *placesOfB++, b + i / 16 * 128 + i % 2 * 64 + i / 2 % 8, 8);
  }
}

/// Sum 4 j + 2 h + p of lane l of warp w belongs to row 16 w + l / 4 + 8 h, column 8 j + 2 (l mod 4) + p.
__attribute__((always_inline)) static inline void multiply(const double *a, const double *b, uint32_t columns,
                                                           float *const *sums) {
  typedef double Eight __attribute__((vector_size(64)));
  constexpr uint32_t step = 4;
  for (uint32_t j = 0; j < columns / 8; ++j, b += kDepth * 8)
    for (uint32_t r = 0; r < kRows; r += step) {
      Eight d[step] = {};
      for (uint32_t k = 0; k < kDepth; ++k) {
        Eight line;
        std::memcpy(&line, b + k * 8, sizeof line);
        for (uint32_t i = 0; i < step; ++i)
          d[i] += a[(r + i) * kDepth + k] * line;
      }
      for (uint32_t i = 0; i < step; ++i) {
        uint32_t row = r + i;
        float *const *lanes = sums + row / 16 * kWarp + row % 8 * 4;
        uint32_t first = 4 * j + row % 16 / 8 * 2;
        for (uint32_t q = 0; q < 4; ++q) {
          float *sum = lanes[q] + first;
          sum[0] = float(d[i][2 * q] + sum[0]);
          sum[1] = float(d[i][2 * q + 1] + sum[1]);
        }
      }
    }
}

MPC_CPU_CLONES
static void computeProduct(const char *shared, const Thread *lanes, const Product &p, const uint32_t *placesOfA,
                           const uint32_t *placesOfB, float *const *sums) {
  double a[kRows * kDepth], b[kDepth * kMaxColumns];
  if (p.elementA == 0)
    convert<halfValue>(shared, lanes, p, placesOfA, placesOfB, a, b);
  else
    convert<bfloatValue>(shared, lanes, p, placesOfA, placesOfB, a, b);
  multiply(a, b, p.columns, sums);
}

MPC_CPU_CLONES
static void meetClocks(uint32_t *__restrict into, const uint32_t *__restrict from, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i)
    into[i] = into[i] > from[i] ? from[i] : into[i];
}

/// Is called when all threads have arrived: computes the product.
static bool multiplyAll(Warpgroup &group, Thread &self) {
  Block &block = *self.parent;
  Thread *lanes = &block.threads[group.number * kWarpgroup];
  uint32_t site = group.site;
  const Product &p = *static_cast<const Product *>(self.async->request);
  float *sums[kWarpgroup];
  for (uint32_t i = 0; i < kWarpgroup; ++i) {
    const Product &other = *static_cast<const Product *>(lanes[i].async->request);
    if (!(other == p))
      stop(lanes[i], Fault::DivergentWarp, site, "other operands than thread %u of the warpgroup", self.id);
    sums[i] = other.sums;
  }
  if (self.async->trail == 0)
    stop(self, Fault::UnawaitedProduct, site, "no wgmma_fence before it");
  if (group.stale) {
    std::memcpy(group.agreed, lanes[0].known, block.slots * sizeof *group.agreed);
    for (uint32_t i = 1; i < kWarpgroup; ++i)
      meetClocks(group.agreed, lanes[i].known, block.slots);
    group.stale = false;
  }
  uint32_t places[2 * kRows + 2 * kMaxColumns], ofA = p.readsA() ? 2 * kRows : 0, count = ofA + 2 * p.columns;
  if (p.readsA())
    findChunks(self, p.a, kRows, places, site);
  findChunks(self, p.b, p.columns, places + ofA, site);
  for (uint32_t i = 0; i < count; ++i) {
    checkAsyncRead(self, group.agreed, places[i], site);
    forCells(block, places[i], kChunk, [&](Cell &cell) { ++cell.products; });
  }
  group.reads.insert(group.reads.end(), places, places + count);
  group.lastProduct = site;
  if (p.fresh != 0)
    for (float *own : sums)
      std::fill_n(own, p.columns / 2, 0.0f);
  if (p.elementA >= kE4M3)
    multiplyFloat8(block.shared, places, places + ofA, p.columns, p.elementA, p.elementB, sums);
  else
    computeProduct(block.shared, lanes, p, places, places + ofA, sums);
  return true;
}

/// Retires the oldest group: its reads now belong to the warpgroup's slot, epoch `retired`.
static void retire(Thread &t, Warpgroup &group) {
  Block &block = *t.parent;
  Access read = makeAccess(slotOfWarpgroup(block, group.number), group.retired);
  uint32_t count = group.groups.front();
  for (uint32_t i = 0; i < count; ++i)
    forCells(block, group.reads[i], kChunk, [&](Cell &cell) {
      --cell.products;
      noteRead(cell, read, t.known);
    });
  group.reads.erase(group.reads.begin(), group.reads.begin() + count);
  group.groups.erase(group.groups.begin());
  ++group.retired;
}

void checkExit(Thread &t) {
  if (t.id / kWarpgroup >= t.parent->warpgroups.size())
    return;
  const Warpgroup &group = t.parent->warpgroups[t.id / kWarpgroup];
  if (t.known[slotOfWarpgroup(*t.parent, t.id / kWarpgroup)] < t.async->committed || !group.reads.empty())
    stop(t, Fault::UnawaitedProduct, group.lastProduct, "the thread ends while wgmmas of its warpgroup are under way");
}

static void leaveTrail(Thread &t, uint32_t site) { t.async->trail = (t.async->trail ^ (site + 1)) * 0x9E3779B1; }

} // namespace mpc::rt::emulator

using namespace mpc::rt::emulator;

void mpc_emu_wgmma_fence(mpc_emu_thread *thread, uint32_t site) { leaveTrail(*static_cast<Thread *>(thread), site); }

void mpc_emu_wgmma(mpc_emu_thread *thread, uint64_t a, uint32_t aOffset, uint32_t aForm, uint32_t aLeading,
                   uint32_t aStride, uint64_t b, uint32_t bOffset, uint32_t bForm, uint32_t bLeading, uint32_t bStride,
                   uint32_t elementA, uint32_t elementB, uint32_t columns, uint32_t fresh, float *sums, uint32_t site) {
  Thread &t = *static_cast<Thread *>(thread);
  Product product = {};
  product.a = {a, aOffset, aForm, aLeading, aStride}, product.b = {b, bOffset, bForm, bLeading, bStride};
  product.elementA = elementA, product.elementB = elementB;
  product.columns = columns, product.fresh = fresh, product.sums = sums;
  t.async->request = &product;
  meetWarpgroup(t, site, multiplyAll);
}

void mpc_emu_wgmma_commit(mpc_emu_thread *thread, uint32_t site) {
  Thread &t = *static_cast<Thread *>(thread);
  leaveTrail(t, site);
  Warpgroup &group = warpgroupOf(t, site);
  if (++t.async->committed <= group.committed)
    return;
  uint32_t grouped = 0;
  for (uint32_t size : group.groups)
    grouped += size;
  group.groups.push_back(uint32_t(group.reads.size()) - grouped);
  ++group.committed;
}

void mpc_emu_wgmma_wait(mpc_emu_thread *thread, uint32_t pending, uint32_t site) {
  Thread &t = *static_cast<Thread *>(thread);
  leaveTrail(t, site);
  if (t.async->committed <= pending)
    return;
  Warpgroup &group = warpgroupOf(t, site);
  uint32_t done = t.async->committed - pending;
  while (group.retired < done)
    retire(t, group);
  acquireSlot(t, slotOfWarpgroup(*t.parent, group.number), done);
}
