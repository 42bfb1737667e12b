//===- Matmul.cpp - Matrix products on oneDNN -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands are read in place, with strides for transposed ones. bias, addend and relu are part of
// the primitive.
//
//===----------------------------------------------------------------------===//
#include "Program.h"

namespace mpc::onednn {
namespace {

using dnnl::memory;
using Dims = memory::dims;

memory::data_type typeOf(int32_t type) { return type == MPC_BF16 ? memory::data_type::bf16 : memory::data_type::f32; }

/// Describes [batch, rows, columns], stored with rows and columns exchanged if `transposed`; it has two
/// dimensions if batch is 0.
memory::desc matrix(int64_t batch, int64_t rows, int64_t columns, bool transposed, memory::data_type type) {
  const memory::dim rowStep = transposed ? 1 : columns, columnStep = transposed ? rows : 1;
  if (!batch)
    return memory::desc({rows, columns}, type, Dims{rowStep, columnStep});
  return memory::desc({batch, rows, columns}, type, Dims{rows * columns, rowStep, columnStep});
}

class Matmul final : public Program {
public:
  Matmul(const mpc_library_desc &d, int threads) : Program(threads) {
    const memory::data_type type = typeOf(d.type_a);
    const int64_t batch = d.batch > 1 ? d.batch : 0;
    const memory::desc a = matrix(batch && d.broadcast_a ? 1 : batch, d.m, d.k, d.transpose_a, type);
    const memory::desc b = matrix(batch && d.broadcast_b ? 1 : batch, d.k, d.n, d.transpose_b, type);
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
    const auto pd = chosen(matmulDesc(engine(), a, b, bias, out, attributes));
    if (d.has_addend)
      copyFirst(addend, next, out.get_size());
    std::vector<std::pair<int, memory>> args{
        {DNNL_ARG_SRC, buffer(a, 0)}, {DNNL_ARG_WEIGHTS, buffer(b, 1)}, {DNNL_ARG_DST, buffer(out, next)}};
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
