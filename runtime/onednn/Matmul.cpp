//===- Matmul.cpp - Matrix products on oneDNN -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands are read in place, with strides for transposed ones, unless their lines compete for the cache. bias,
// addend and relu are part of the primitive.
//
//===----------------------------------------------------------------------===//
#include "Program.h"

#include <bit>

namespace mpc::onednn {
namespace {

using dnnl::memory;
using Dims = memory::dims;

memory::data_type typeOf(int32_t type) { return type == MPC_BF16 ? memory::data_type::bf16 : memory::data_type::f32; }

/// Describes [batch, rows, columns], stored with rows and columns exchanged if `transposed`, and with `gap` unused
/// elements behind each row or, if transposed, column; it has two dimensions if batch is 0.
memory::desc matrix(int64_t batch, int64_t rows, int64_t columns, bool transposed, memory::data_type type,
                    int64_t gap = 0) {
  const memory::dim line = gap + (transposed ? rows : columns), lines = transposed ? columns : rows;
  const memory::dim rowStep = transposed ? 1 : line, columnStep = transposed ? line : 1;
  if (!batch)
    return memory::desc({rows, columns}, type, Dims{rowStep, columnStep});
  return memory::desc({batch, rows, columns}, type, Dims{lines * line, rowStep, columnStep});
}

/// Elements between the lines of an operand that is copied: one line of the cache.
constexpr int64_t cacheLine = 16;

/// Returns whether an operand competes with itself for the cache where the product goes from one of its lines to the
/// next: these lie a multiple of 4 KiB apart, and then what oneDNN's GEMM packs together falls into the same few sets.
/// `others` counts the rows or columns of the other operand. On a Zen 3 with two threads the weight gradients
/// 1024 x 8192 x 256 and 256 x 8192 x 1024 took 1.5 to 1.9 times as long as with a copy that has gaps, copying
/// included, and twice 4096 x 512 x 64 took 1.3 times as long. With fewer than 32 others the copy costs more than it
/// gains.
bool competes(int64_t line, int64_t others) { return line % 1024 == 0 && others >= 32; }

/// Returns whether oneDNN's GEMM is faster than its batch-reduced kernels for AVX-512 ("brg"), which it prefers. GEMM
/// adds a bias or a relu in a pass of its own. Its rate over theirs, in f32 on two threads of an Emerald Rapids, was
///   1.06 in the mean (0.94 to 1.22) for m >= 1024 and n >= 512, or n >= 256 where k >= 512; with the pass it was less
///   than 1 below n = 768;
///   1.07 (1.01 to 1.14) for b transposed, m >= 1024 and 768 <= n >= k, and less than 1 where n < k; with the pass it
///   was more than 1 only for n >= 2048, n >= 2k and k >= 256; 1.04 (0.84 to 1.17) for a transposed, 512 <= n >= m and
///   k >= 1024, and down to 0.6 where n < m.
/// Where b is wide and its width is no power of two the other kernels fall from 300 to between 100 and 230 GFLOP/s (n =
/// 2304 to 6144, m = 64 to 8192), and GEMM does not. Other makes of processors were not measured.
bool prefersGemm([[maybe_unused]] const mpc_library_desc &d) {
#if defined(__x86_64__)
  if (d.type_a != MPC_F32 || d.batch > 1 || d.m < 64 || !__builtin_cpu_is("intel"))
    return false;
  const bool hasPass = d.has_bias || d.activation != MPC_ACT_NONE;
  if (d.transpose_b)
    return !d.transpose_a && d.m >= 1024 &&
           (hasPass ? d.n >= 2048 && d.n >= 2 * d.k && d.k >= 256 : d.n >= 768 && d.n >= d.k);
  const bool isWide = d.n > 2048 && !std::has_single_bit(uint64_t(d.n));
  if (d.transpose_a)
    return d.n >= d.m && (isWide || (d.n >= 512 && d.k >= 1024));
  return isWide || (d.m >= 1024 && d.n >= (hasPass ? 768 : d.k < 512 ? 512 : 256));
#else
  return false;
#endif
}

class Matmul final : public Program {
public:
  Matmul(const mpc_library_desc &d, int threads) : Program(threads) {
    const memory::data_type type = typeOf(d.type_a);
    const int64_t batch = d.batch > 1 ? d.batch : 0;
    const int64_t batchOfA = batch && d.broadcast_a ? 1 : batch, batchOfB = batch && d.broadcast_b ? 1 : batch;
    const memory::desc a = matrix(batchOfA, d.m, d.k, d.transpose_a, type);
    const memory::desc b = matrix(batchOfB, d.k, d.n, d.transpose_b, type);
    const memory::desc out = matrix(batch, d.m, d.n, false, typeOf(d.type_out));
    int next = 2;
    memory::desc bias;
    if (d.has_bias)
      bias = matrix(batch ? 1 : 0, 1, d.n, false, typeOf(d.type_bias));
    const int biasAt = d.has_bias ? next++ : -1, addend = d.has_addend ? next++ : -1;
    Attributes attributes;
    setScratchpad(attributes);
    dnnl::post_ops ops;
    if (d.has_addend)
      ops.append_sum(1.0f);
    if (d.activation == MPC_ACT_RELU)
      appendRelu(ops);
    attributes.set_post_ops(ops);
    auto pd = matmulDesc(engine(), a, b, bias, out, attributes);
    const bool isGemmFirst = isGemm(pd); // as on CPUs without AVX-512
    if (!isGemmFirst && prefersGemm(d))
      if (const auto gemm = matmulDesc(engine(), a, b, bias, out, attributes, /*gemm=*/true); isGemm(gemm))
        pd = gemm;
    pd = chosen(pd);
    if (d.has_addend)
      copyFirst(addend, next, out.get_size());
    memory left = buffer(a, 0), right = buffer(b, 1);
    // Weight gradients go from line to line in both operands, which are activations.
    const bool spreadA = competes(d.m, d.n), spreadB = !d.transpose_b && competes(d.n, d.m);
    if (d.transpose_a && d.type_a == MPC_F32 && (spreadA || spreadB) && isGemmFirst) {
      const memory::desc wantedA = matrix(batchOfA, d.m, d.k, true, type, spreadA ? cacheLine : 0);
      const memory::desc wantedB = matrix(batchOfB, d.k, d.n, d.transpose_b, type, spreadB ? cacheLine : 0);
      pd = chosen(matmulDesc(engine(), wantedA, wantedB, bias, out, attributes));
      left = reordered(left, wantedA);
      right = reordered(right, wantedB);
    }
    std::vector<std::pair<int, memory>> args{
        {DNNL_ARG_SRC, left}, {DNNL_ARG_WEIGHTS, right}, {DNNL_ARG_DST, buffer(out, next)}};
    if (d.has_bias)
      args.push_back({DNNL_ARG_BIAS, buffer(bias, biasAt)});
    add(pd, dnnl::matmul(pd), args);
  }
};

} // namespace

std::unique_ptr<generic::Primitive> makeMatmul(const mpc_library_desc &desc, int threads) {
  try {
    return std::make_unique<Matmul>(desc, threads);
  } catch (const dnnl::error &) {
    return nullptr;
  }
}

} // namespace mpc::onednn
