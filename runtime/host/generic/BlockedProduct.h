//===- BlockedProduct.h - Cache-blocked products over any operand -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes out[g][m,n] = A[g][m,k] @ B[g][k,n] for every product g, in blocks that fit the caches. The source
// decides where the operands come from and where a result goes: a matrix, the windows of an image, or a panel
// that was packed before.
//
// Every element of a result is summed in the order of k in blocks of `kb`, whatever the blocks of m and n and
// the number of threads are: the result depends only on the operands, `kb` and `splits`.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_RUNTIME_HOST_GENERIC_BLOCKEDPRODUCT_H
#define MPC_RUNTIME_HOST_GENERIC_BLOCKEDPRODUCT_H

#include "Parallel.h"
#include "Primitive.h"

#include <algorithm>

namespace mpc::generic {

/// Describes a block of A in either order; see Product.
template <class T>
struct BlockA {
  const T *data;
  int64_t lda;
  bool columnMajor;
};

/// Describes a block of B in panels; see Product.
template <class T>
struct BlockB {
  const T *data;
  int64_t ldb, panelStride;
};

/// A half-open range of rows, columns or the reduction.
struct Range {
  int64_t begin, size;
};

template <class T>
class BlockSource {
public:
  virtual ~BlockSource() = default;
  /// Returns a pointer to A[g][m, k], or widens it into `buffer` ([mb, kb + 16] or [kb, mb]).
  virtual BlockA<T> a(int64_t g, Range m, Range k, T *buffer) const = 0;
  /// Returns a pointer to B[g][k, n], or packs it into `buffer` ([panels, kb, panelColumns]).
  virtual BlockB<T> b(int64_t g, Range k, Range n, T *buffer) const = 0;
  /// Consumes a finished block: acc[m.size, ldacc].
  virtual void store(int64_t g, int64_t split, Range m, Range n, const T *acc, int64_t ldacc) const = 0;
};

/// Describes the blocks of one product.
struct Blocking {
  int64_t products, m, n, k;
  int64_t mb, nb, kb;
  int64_t splits = 1; // pieces of k that are summed separately

  int64_t tasks() const { return products * splits * ceilDiv(m, mb) * ceilDiv(n, nb); }
};

/// Chooses blocks for one level of L2 (about 0.7 MB of it): kb is fixed, mb and nb shrink until there is work for
/// every thread.
template <class T>
Blocking chooseBlocking(int64_t products, int64_t m, int64_t n, int64_t k, int threads) {
  const Kernels<T> &isa = kernels<T>();
  const int64_t rows = isa.tileRows, columns = isa.panelColumns;
  Blocking blocks{products, m, n, k, 0, 0, 0};
  blocks.kb = std::min<int64_t>(std::max<int64_t>(k, 1), 1024 / int64_t(sizeof(T)));
  blocks.mb = std::min(roundUp(m, rows), roundUp(sizeof(T) == 8 ? 96 : 192, rows));
  blocks.nb = std::min(roundUp(n, columns), roundUp(sizeof(T) == 8 ? 128 : 256, columns));
  // Half a million multiply-adds take about 5 us, and less work is not worth a thread.
  while (blocks.tasks() < 2 * int64_t(threads) && threads > 1 && blocks.mb * blocks.nb * k > (1 << 19)) {
    if (blocks.nb > columns && (blocks.nb >= blocks.mb || blocks.mb <= rows))
      blocks.nb = roundUp(blocks.nb / 2, columns);
    else if (blocks.mb > rows)
      blocks.mb = roundUp(blocks.mb / 2, rows);
    else
      break;
  }
  return blocks;
}

/// Returns the number of elements of T that one slot needs.
template <class T>
int64_t blockedScratchElements(const Blocking &b) {
  const int64_t nb = roundUp(b.nb, kernels<T>().panelColumns);
  return roundUp(b.mb * (b.kb + 16), 16) + roundUp(b.kb * nb, 16) + roundUp(b.mb * nb, 16);
}

/// Runs the product. `scratch` holds blockedScratchElements() elements for each slot.
template <class T>
void runBlocked(const Blocking &blocks, const BlockSource<T> &source, int slots, T *scratch) {
  const Kernels<T> &isa = kernels<T>();
  const int64_t nbPadded = roundUp(blocks.nb, isa.panelColumns), perSlot = blockedScratchElements<T>(blocks);
  const int64_t mBlocks = ceilDiv(blocks.m, blocks.mb), nBlocks = ceilDiv(blocks.n, blocks.nb);
  const int64_t perSplit = roundUp(ceilDiv(blocks.k, blocks.splits), blocks.kb);
  forEachTask(slots, blocks.tasks(), [&](int slot, int64_t task) {
    T *bufferA = scratch + slot * perSlot;
    T *bufferB = bufferA + roundUp(blocks.mb * (blocks.kb + 16), 16);
    T *acc = bufferB + roundUp(blocks.kb * nbPadded, 16);
    const int64_t m0 = task % mBlocks * blocks.mb, n0 = task / mBlocks % nBlocks * blocks.nb;
    const int64_t split = task / (mBlocks * nBlocks) % blocks.splits, g = task / (mBlocks * nBlocks) / blocks.splits;
    const Range m{m0, std::min(blocks.mb, blocks.m - m0)}, n{n0, std::min(blocks.nb, blocks.n - n0)};
    const int64_t kBegin = split * perSplit, kEnd = std::min(blocks.k, kBegin + perSplit);
    int64_t k0 = kBegin;
    do {
      const Range k{k0, std::max<int64_t>(0, std::min(blocks.kb, kEnd - k0))};
      const BlockA<T> a = source.a(g, m, k, bufferA);
      const BlockB<T> b = source.b(g, k, n, bufferB);
      const Run run{0, 0};
      isa.multiply({m.size, n.size, a.data, a.lda, a.columnMajor, b.data, b.ldb, b.panelStride, &run, 1, k.size, acc,
                    nbPadded, k0 != kBegin});
      k0 += blocks.kb;
    } while (k0 < kEnd);
    source.store(g, split, m, n, acc, nbPadded);
  });
}

} // namespace mpc::generic

#endif
