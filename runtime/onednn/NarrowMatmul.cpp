//===- NarrowMatmul.cpp - Products of few rows --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes out = a @ b for few rows of a and a large b, as a step of a recurrent cell does. oneDNN copies b into its
// own order for every product, which takes nearly half as long as the products of 32 rows. Here b is read once, where
// it lies: if b is stored [n,k], as the transposed product out^T [n,m] = b [n,k] @ a^T [k,m]; if it is stored [k,n], in
// panels of columns. A few threads pack a copy each of the small a.
//
//===----------------------------------------------------------------------===//
#include "NarrowMatmul.h"

#include "NarrowKernels.h"
#include "Parallel.h"

#include "mpc/cpu.h"

#include <algorithm>
#include <cstring>

#define MPC_DECLARE(LEVEL)                                                                                             \
  namespace mpc::generic::LEVEL {                                                                                      \
  extern const onednn::NarrowKernels narrowKernels;                                                                    \
  }
MPC_DECLARE(baseline)
#if defined(__x86_64__)
#define MPC_LEVEL(LEVEL, NAME) MPC_DECLARE(LEVEL)
MPC_CPU_LEVELS(MPC_LEVEL)
#undef MPC_LEVEL
#endif

namespace mpc::onednn {

const NarrowKernels &narrowKernels() {
#if defined(__x86_64__)
  const char *name = generic::kernels<float>().name;
#define MPC_LEVEL(LEVEL, NAME)                                                                                         \
  if (!std::strcmp(name, #LEVEL))                                                                                      \
    return generic::LEVEL::narrowKernels;
  MPC_CPU_LEVELS(MPC_LEVEL)
#undef MPC_LEVEL
#endif
  return generic::baseline::narrowKernels;
}

namespace {

using generic::ceilDiv;
using generic::kernels;
using generic::roundUp;
using generic::Run;

constexpr Run whole{0, 0};

class NarrowMatmul final : public generic::Primitive {
public:
  NarrowMatmul(const mpc_library_desc &desc, int threads)
      : desc(desc), panel(kernels<float>().panelColumns), unit(desc.transpose_b ? kernels<float>().tileRows : panel),
        units(desc.n / unit), slots(int(std::min<int64_t>(threads, units))) {
    biasAt = scratch.add(size_t(desc.has_bias ? desc.n : 0) * sizeof(float));
    const bool each = slots <= mostCopies && packedElements() * int64_t(sizeof(float)) <= mostBytesOfCopy;
    copies = each ? slots : 1;
    packedAt = scratch.add(size_t(copies * packedElements()) * sizeof(float));
    sumsAt = scratch.add(size_t(slots * paddedM() * ldSums()) * sizeof(float));
    productAt = scratch.add(size_t(desc.transpose_b ? slots * paddedM() * ldSums() : 0) * sizeof(float));
  }

  void execute(void *const *buffers, void *scratch) override;
  const char *implementation() const override { return "generic narrow"; }

private:
  static constexpr int64_t blockK = 256; // rows of b that are read for all rows of a before the next ones
  static constexpr int64_t chunk = NarrowKernels::chunk;
  // Threads that pack a together wait for each other's caches: for two that took a tenth of a product of 32 rows. More
  // threads would pack longer than they multiply, and a large a would leave the caches.
  static constexpr int mostCopies = 4;
  static constexpr int64_t mostBytesOfCopy = 1 << 20;

  int64_t paddedM() const { return roundUp(desc.m, panel); }
  int64_t packedElements() const { return desc.transpose_b ? paddedM() * desc.k : desc.m * roundUp(desc.k, chunk); }
  /// Tiles whose sums, about 256 columns, stay in the cache until they are stored.
  int64_t stripUnits() const { return 256 / unit; }
  /// The line of the cache behind a row keeps rows from competing for the same sets.
  int64_t ldSums() const { return roundUp(stripUnits() * unit + desc.n % unit, panel) + 16; }
  void pack(const void *a, int64_t first, int64_t end, float *packed) const;

  mpc_library_desc desc;
  int64_t panel;
  int64_t unit, units; // columns of a tile, and how many tiles there are; the last one has desc.n % unit more
  int slots, copies;
  size_t biasAt, packedAt, sumsAt, productAt;
};

/// Packs columns of a, from a multiple of `chunk` on: for streamRows as panels of a^T [panels, k, panel], or for
/// streamColumns.
void NarrowMatmul::pack(const void *a, int64_t first, int64_t end, float *packed) const {
  const int64_t size = generic::elementBytes(desc.type_a);
  const auto *from = static_cast<const char *>(a);
  if (!desc.transpose_b) {
    for (int64_t k = first; k < end; k += chunk)
      kernels<float>().packRows(
          {packed + k * desc.m, chunk, from + k * size, desc.type_a, desc.k, desc.m, std::min(chunk, end - k), chunk});
    return;
  }
  for (int64_t row = 0; row < desc.m; row += panel)
    kernels<float>().packTransposed(
        {packed + row * desc.k + first * panel, nullptr, panel, from + (row * desc.k + first) * size, desc.type_a,
         desc.k, std::min(panel, desc.m - row), panel, end - first, (desc.m - row) * desc.k - first});
}

void NarrowMatmul::execute(void *const *buffers, void *scratch) {
  const generic::Kernels<float> &isa = kernels<float>();
  const NarrowKernels &narrow = narrowKernels();
  const auto at = [&](size_t offset) { return reinterpret_cast<float *>(static_cast<char *>(scratch) + offset); };
  const float *bias = nullptr;
  int next = 2;
  if (desc.has_bias) {
    generic::widenBias(at(biasAt), buffers[next++], desc.type_bias, desc.n);
    bias = at(biasAt);
  }
  const auto *b = static_cast<const char *>(buffers[1]);
  const auto *addend = static_cast<const char *>(desc.has_addend ? buffers[next++] : nullptr);
  auto *out = static_cast<char *>(buffers[next]);
  const int64_t sizeOut = generic::elementBytes(desc.type_out);
  float *packed = at(packedAt);
  if (copies == 1)
    generic::forEachTask(slots, ceilDiv(desc.k, blockK), [&](int, int64_t piece) {
      pack(buffers[0], piece * blockK, std::min((piece + 1) * blockK, desc.k), packed);
    });
  // Each slot always has the same columns, so that a thread may find some of b in its cache in the next time step.
  auto run = [&](int64_t slot) {
    const float *own = packed;
    if (copies > 1) {
      own += slot * packedElements();
      pack(buffers[0], 0, desc.k, packed + slot * packedElements());
    }
    float *sums = at(sumsAt) + slot * paddedM() * ldSums(), *product = at(productAt) + slot * paddedM() * ldSums();
    const int64_t end = units * (slot + 1) / slots;
    for (int64_t first = units * slot / slots; first < end; first += stripUnits()) {
      const int64_t behind = std::min(first + stripUnits(), end), column = first * unit;
      const int64_t count = (behind < units ? behind * unit : desc.n) - column;
      if (desc.transpose_b) {
        narrow.streamRows({count, desc.m, nullptr, desc.k, false, own, panel, desc.k * panel, &whole, 1, desc.k,
                           product, paddedM(), false},
                          b + column * desc.k * generic::elementBytes(desc.type_b), desc.type_b);
        narrow.transpose(product, paddedM(), sums, ldSums(), count, desc.m);
      } else {
        const float *matrix = reinterpret_cast<const float *>(b) + column;
        for (int64_t k = 0; k < desc.k; k += blockK)
          narrow.streamColumns({desc.m, count, own + k * desc.m, chunk * desc.m, false, matrix + k * desc.n, desc.n, 0,
                                &whole, 1, std::min(blockK, desc.k - k), sums, ldSums(), k > 0});
      }
      isa.store({sums, ldSums(), desc.m, count, out + column * sizeOut, desc.n, desc.type_out,
                 bias ? bias + column : nullptr, addend ? addend + column * sizeOut : nullptr,
                 desc.activation == MPC_ACT_RELU});
    }
  };
  generic::parallelFor(
      slots,
      [](void *context, int64_t begin, int64_t end) {
        for (int64_t slot = begin; slot < end; ++slot)
          (*static_cast<decltype(run) *>(context))(slot);
      },
      &run);
}

} // namespace

std::unique_ptr<generic::Primitive> makeNarrowMatmul(const mpc_library_desc &d, int threads) {
  // With fewer rows than a vector has lanes most of the products would be thrown away.
  const int64_t lanes = kernels<float>().panelColumns / 2;
  const int64_t most = (d.transpose_b ? 8 : 4) * kernels<float>().tileRows;
  if (d.op != MPC_MATMUL || d.type_a == MPC_F64 || d.batch != 1 || d.transpose_a || d.m < lanes || d.m > most ||
      d.n * d.k < 1 << 18 || d.n < 8 * d.m || d.k < 4 * d.m)
    return nullptr;
  // Other types are left to the generic kernels, which widen b while they pack it.
  if (!d.transpose_b && (d.type_a != MPC_F32 || d.n % lanes))
    return nullptr;
  return std::make_unique<NarrowMatmul>(d, threads);
}

} // namespace mpc::onednn
