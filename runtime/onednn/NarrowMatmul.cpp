//===- NarrowMatmul.cpp - Products of few rows --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes out = a @ b for few rows of a and a large b, as a step of a recurrent cell does, in f32. oneDNN copies b
// into its own order for every product, which takes nearly half as long as the products of 32 rows. Here b is read
// once, where it lies: if b is stored [n,k], as the transposed product out^T [n,m] = b [n,k] @ a^T [k,m], for which the
// small a is packed, by all threads; if it is stored [k,n], by the generic kernels, which read it in place.
//
//===----------------------------------------------------------------------===//
#include "Parallel.h"
#include "Program.h"

#include <algorithm>
#include <atomic>
#include <thread>

namespace mpc::onednn {
namespace {

using generic::ceilDiv;
using generic::kernels;
using generic::roundUp;
using generic::Run;

class NarrowMatmul final : public generic::Primitive {
public:
  NarrowMatmul(const mpc_library_desc &desc, int threads)
      : desc(desc), panels(ceilDiv(desc.m, kernels<float>().panelColumns)) {
    const int64_t rows = kernels<float>().tileRows;
    ld = panels * kernels<float>().panelColumns;
    // The columns of a task; every thread gets as many tasks as any other.
    block = roundUp(ceilDiv(desc.n, roundUp(ceilDiv(desc.n, mostColumns), threads)), rows);
    slots = int(std::min<int64_t>(threads, ceilDiv(desc.n, block)));
    biasAt = scratch.add(size_t(desc.has_bias ? desc.n : 0) * sizeof(float));
    packedAt = scratch.add(size_t(desc.k * ld) * sizeof(float));
    sumsAt = scratch.add(size_t(block * ld * slots) * sizeof(float));
  }

  void execute(void *const *buffers, void *scratch) override;
  const char *implementation() const override { return "generic narrow"; }

private:
  static constexpr int64_t mostColumns = 192;

  mpc_library_desc desc;
  int64_t panels, ld, block; // ld: rows of a, rounded up to panels
  int slots;
  size_t biasAt, packedAt, sumsAt;
};

void NarrowMatmul::execute(void *const *buffers, void *scratch) {
  const generic::Kernels<float> &isa = kernels<float>();
  const auto at = [&](size_t offset) { return reinterpret_cast<float *>(static_cast<char *>(scratch) + offset); };
  const auto *a = static_cast<const float *>(buffers[0]), *b = static_cast<const float *>(buffers[1]);
  const float *bias = nullptr;
  int next = 2;
  if (desc.has_bias) {
    generic::widenBias(at(biasAt), buffers[next++], desc.type_bias, desc.n);
    bias = at(biasAt);
  }
  const float *addend = desc.has_addend ? static_cast<const float *>(buffers[next++]) : nullptr;
  float *out = static_cast<float *>(buffers[next]), *packed = at(packedAt);
  // Panels come first, so a task that waits for them waits for another thread that is packing one.
  std::atomic<int64_t> ready{0};
  generic::forEachTask(slots, panels + ceilDiv(desc.n, block), [&](int slot, int64_t task) {
    if (task < panels) {
      const int64_t first = task * isa.panelColumns, rows = std::min<int64_t>(isa.panelColumns, desc.m - first);
      float *to = packed + task * desc.k * isa.panelColumns;
      isa.packTransposed({to, nullptr, isa.panelColumns, a + first * desc.k, MPC_F32, desc.k, rows, isa.panelColumns,
                          desc.k, rows * desc.k});
      ready.fetch_add(1, std::memory_order_release);
      return;
    }
    while (ready.load(std::memory_order_acquire) < panels)
      std::this_thread::yield();
    const int64_t column = (task - panels) * block, columns = std::min(block, desc.n - column);
    float *sums = at(sumsAt) + slot * block * ld;
    const Run whole{0, 0};
    isa.multiply({columns, desc.m, b + column * desc.k, desc.k, false, packed, isa.panelColumns,
                  desc.k * isa.panelColumns, &whole, 1, desc.k, sums, ld, false});
    isa.storeTransposed({sums, ld, desc.m, columns, out + column, desc.n, MPC_F32, bias ? bias + column : nullptr,
                         addend ? addend + column : nullptr, desc.activation == MPC_ACT_RELU});
  });
}

} // namespace

std::unique_ptr<generic::Primitive> makeNarrowMatmul(const mpc_library_desc &d, int threads) {
  // With fewer rows than a vector has lanes most of the products would be thrown away.
  const int64_t lanes = kernels<float>().panelColumns / 2;
  const int64_t most = (d.transpose_b ? 8 : 4) * kernels<float>().tileRows;
  if (d.op != MPC_MATMUL || d.type_a != MPC_F32 || d.batch != 1 || d.transpose_a || d.m < lanes || d.m > most ||
      d.n * d.k < 1 << 18 || d.n < 8 * d.m || d.k < 4 * d.m)
    return nullptr;
  if (d.transpose_b)
    return std::make_unique<NarrowMatmul>(d, threads);
  return d.n % lanes ? nullptr : generic::makePrimitive(d, threads);
}

} // namespace mpc::onednn
