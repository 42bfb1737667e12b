//===- Matmul.cpp - Matrix products of the generic library ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes out[batch,m,n] = epilogue(a @ b). Blocks of both operands are widened to T as they are packed; f32 operands
// that already have a usable order are read in place.
//
//===----------------------------------------------------------------------===//
#include "BlockedProduct.h"

namespace mpc::generic {
namespace {

template <class T>
class Source final : public BlockSource<T> {
public:
  Source(const mpc_library_desc &desc, void *const *buffers, const T *bias)
      : d(desc), lhs(static_cast<const char *>(buffers[0])), rhs(static_cast<const char *>(buffers[1])), bias(bias),
        addend(d.has_addend ? static_cast<const char *>(buffers[2 + (d.has_bias != 0)]) : nullptr),
        out(static_cast<char *>(buffers[2 + (d.has_bias != 0) + (d.has_addend != 0)])) {}

  BlockA<T> a(int64_t g, Range m, Range k, T *buffer) const override {
    const int64_t size = elementBytes(d.type_a);
    const char *base = lhs + (d.broadcast_a ? 0 : g * d.m * d.k) * size;
    const int64_t ld = d.transpose_a ? d.m : d.k;
    const int64_t row0 = d.transpose_a ? k.begin : m.begin, column0 = d.transpose_a ? m.begin : k.begin;
    const int64_t rows = d.transpose_a ? k.size : m.size, columns = d.transpose_a ? m.size : k.size;
    const char *first = base + (row0 * ld + column0) * size;
    // An operand is packed if its stride exceeds a page, which would cost a TLB miss per row, or if the stride maps
    // every row to the same cache sets.
    if (size == int64_t(sizeof(T)) && ld * size <= 4096 && ld * size % 2048 != 0)
      return {reinterpret_cast<const T *>(first), ld, d.transpose_a != 0};
    const int64_t ldb = d.transpose_a ? columns : columns + 16;
    kernels<T>().packRows({buffer, ldb, first, d.type_a, ld, rows, columns, columns});
    return {buffer, ldb, d.transpose_a != 0};
  }

  BlockB<T> b(int64_t g, Range k, Range n, T *buffer) const override {
    const Kernels<T> &isa = kernels<T>();
    const int64_t size = elementBytes(d.type_b), panel = isa.panelColumns;
    const char *base = rhs + (d.broadcast_b ? 0 : g * d.n * d.k) * size;
    const bool whole = n.size % (panel / 2) == 0;
    if (!d.transpose_b && size == int64_t(sizeof(T)) && whole && d.m <= 4 * isa.tileRows)
      return {reinterpret_cast<const T *>(base) + k.begin * d.n + n.begin, d.n, panel};
    for (int64_t column = 0; column < n.size; column += panel) {
      const int64_t width = std::min(panel, n.size - column);
      T *to = buffer + column * k.size;
      if (d.transpose_b) {
        const int64_t at = (n.begin + column) * d.k + k.begin;
        isa.packTransposed({to, nullptr, panel, base + at * size, d.type_b, d.k, width, panel, k.size, d.n * d.k - at});
        continue;
      }
      const char *from = base + (k.begin * d.n + n.begin + column) * size;
      isa.packRows({to, panel, from, d.type_b, d.n, k.size, width, panel});
    }
    return {buffer, panel, k.size * panel};
  }

  void store(int64_t g, int64_t, Range m, Range n, const T *acc, int64_t ldacc) const override {
    const int64_t at = ((g * d.m + m.begin) * d.n + n.begin) * elementBytes(d.type_out);
    kernels<T>().store({acc, ldacc, m.size, n.size, out + at, d.n, d.type_out, bias ? bias + n.begin : nullptr,
                        addend ? addend + at : nullptr, d.activation == MPC_ACT_RELU});
  }

private:
  const mpc_library_desc &d;
  const char *lhs, *rhs;
  const T *bias;
  const char *addend;
  char *out;
};

template <class T>
class Matmul final : public Primitive {
public:
  Matmul(const mpc_library_desc &desc, int threads) : desc(desc), slots(threads) {
    blocks = chooseBlocking<T>(desc.batch, desc.m, desc.n, desc.k, threads);
    slots = int(std::min<int64_t>(slots, blocks.tasks()));
    biasAt = this->scratch.add(desc.has_bias ? size_t(desc.n) * sizeof(T) : 0);
    blocksAt = this->scratch.add(size_t(slots * blockedScratchElements<T>(blocks)) * sizeof(T));
  }

  void execute(void *const *buffers, void *scratch) override {
    T *bias = desc.has_bias ? reinterpret_cast<T *>(static_cast<char *>(scratch) + biasAt) : nullptr;
    if (bias)
      widenBias(bias, buffers[2], desc.type_bias, desc.n);
    runBlocked<T>(blocks, Source<T>(desc, buffers, bias), slots,
                  reinterpret_cast<T *>(static_cast<char *>(scratch) + blocksAt));
  }

private:
  mpc_library_desc desc;
  Blocking blocks;
  int slots;
  size_t biasAt, blocksAt;
};

} // namespace

template <class T>
std::unique_ptr<Primitive> makeMatmul(const mpc_library_desc &desc, int threads) {
  return std::make_unique<Matmul<T>>(desc, threads);
}
template std::unique_ptr<Primitive> makeMatmul<float>(const mpc_library_desc &, int);
template std::unique_ptr<Primitive> makeMatmul<double>(const mpc_library_desc &, int);

} // namespace mpc::generic
