//===- Roofline.cpp - oneDNN in the formats it prefers --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Roofline.h"
#include "Shapes.h"

#include <algorithm>
#include <chrono>
#include <ctime>

#ifdef MPC_BENCH_ONEDNN
#include "Compat.h"
#endif

namespace mpc::bench {

namespace {

bool processorTime = false;

double now() {
  if (processorTime)
    return double(std::clock()) / CLOCKS_PER_SEC;
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

} // namespace

void useProcessorTime(bool on) { processorTime = on; }

double fastest(const std::function<void()> &body) {
  // std::clock counts microseconds, so short bodies are repeated within one measurement.
  double start = now();
  int repetitions = 0;
  for (; repetitions < 1 || now() - start < 0.01; ++repetitions)
    body();
  repetitions = std::max(1, int(repetitions * 0.2));
  const auto seconds = [&] {
    const double from = now();
    for (int i = 0; i < repetitions; ++i)
      body();
    return (now() - from) / repetitions;
  };
  double best = 1e30, total = 0;
  for (int i = 0; i < 5 || (total < 0.1 && i < 50); ++i) {
    const double s = seconds();
    best = std::min(best, s);
    total += s * repetitions;
  }
  return best;
}

#ifndef MPC_BENCH_ONEDNN
double roofline(const mpc_library_desc &) { return -1; }
#else
namespace {

using dnnl::memory;
using Tag = memory::format_tag;
using Dims = memory::dims;

dnnl::memory filled(const memory::desc &desc, const dnnl::engine &engine) {
  dnnl::memory m(desc, engine);
  auto *p = static_cast<uint16_t *>(m.get_data_handle());
  for (size_t i = 0; i < desc.get_size() / 2; ++i)
    p[i] = uint16_t(0x3c00 + i % 61);
  return m;
}

} // namespace

double roofline(const mpc_library_desc &d) {
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  static dnnl::stream stream(engine);
  if (d.type_a == MPC_F16)
    return -1;
  const auto type = d.type_a == MPC_F32 ? memory::data_type::f32 : memory::data_type::bf16;
  const auto typeOut = d.type_out == MPC_F32 ? memory::data_type::f32 : memory::data_type::bf16;
  try {
    dnnl::primitive primitive;
    std::unordered_map<int, dnnl::memory> arguments;
    if (d.op == MPC_MATMUL) {
      const bool batched = d.batch > 1;
      const auto dims = [&](int64_t rows, int64_t columns) {
        return batched ? Dims{d.batch, rows, columns} : Dims{rows, columns};
      };
      const Tag any = Tag::any;
      const auto pd = onednn::matmulDesc(engine, {dims(d.m, d.k), type, any}, {dims(d.k, d.n), type, any}, {},
                                         {dims(d.m, d.n), typeOut, any}, {});
      primitive = dnnl::matmul(pd);
      arguments = {{DNNL_ARG_SRC, filled(pd.src_desc(), engine)},
                   {DNNL_ARG_WEIGHTS, filled(pd.weights_desc(), engine)},
                   {DNNL_ARG_DST, filled(pd.dst_desc(), engine)}};
    } else {
      const onednn::ConvDescs descs{
          {{d.N, d.C, d.in[0], d.in[1]}, type, Tag::any},
          {{d.O, d.C, d.kernel[0], d.kernel[1]}, d.op == MPC_CONV_WEIGHT_GRAD ? typeOut : type, Tag::any},
          {},
          {{d.N, d.O, d.out[0], d.out[1]}, type, Tag::any},
          {d.stride[0], d.stride[1]},
          {0, 0},
          {d.pad_low[0], d.pad_low[1]},
          {d.pad_high[0], d.pad_high[1]}};
      if (d.op == MPC_CONV_FORWARD) {
        const auto pd = onednn::convForward(engine, descs, {});
        primitive = dnnl::convolution_forward(pd);
        arguments = {{DNNL_ARG_SRC, filled(pd.src_desc(), engine)},
                     {DNNL_ARG_WEIGHTS, filled(pd.weights_desc(), engine)},
                     {DNNL_ARG_DST, filled(pd.dst_desc(), engine)}};
      } else if (d.op == MPC_CONV_INPUT_GRAD) {
        const auto pd = onednn::convInputGrad(engine, descs, {});
        primitive = dnnl::convolution_backward_data(pd);
        arguments = {{DNNL_ARG_DIFF_SRC, filled(pd.diff_src_desc(), engine)},
                     {DNNL_ARG_WEIGHTS, filled(pd.weights_desc(), engine)},
                     {DNNL_ARG_DIFF_DST, filled(pd.diff_dst_desc(), engine)}};
      } else {
        const auto pd = onednn::convWeightGrad(engine, descs, {});
        primitive = dnnl::convolution_backward_weights(pd);
        arguments = {{DNNL_ARG_SRC, filled(pd.src_desc(), engine)},
                     {DNNL_ARG_DIFF_WEIGHTS, filled(pd.diff_weights_desc(), engine)},
                     {DNNL_ARG_DIFF_DST, filled(pd.diff_dst_desc(), engine)}};
      }
    }
    return flops(d) / fastest([&] {
             primitive.execute(stream, arguments);
             stream.wait();
           }) /
           1e9;
  } catch (const dnnl::error &) {
    return -1;
  }
}
#endif

} // namespace mpc::bench
