//===- Compat.h - Hides whether oneDNN is 2 or 3 ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// oneDNN 3 dropped the operation descriptors and attached a primitive's parameters to its primitive
// descriptor; these functions hide the difference from the provider. They support 2.6 and 3.x.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_RUNTIME_ONEDNN_COMPAT_H
#define MPC_RUNTIME_ONEDNN_COMPAT_H

#include <dnnl.hpp>
#include <string_view>

namespace mpc::onednn {

using Attributes = dnnl::primitive_attr;

/// Describes a convolution in the roles of the forward pass. `bias` may be empty (a zero descriptor). Dilations count
/// from 0.
struct ConvDescs {
  dnnl::memory::desc x, w, bias, y;
  dnnl::memory::dims strides, dilations, padLow, padHigh;
};

inline bool present(const dnnl::memory::desc &desc) { return desc != dnnl::memory::desc(); }

inline bool isGemm(const dnnl::matmul::primitive_desc &pd) {
  return std::string_view(pd.impl_info_str()).starts_with("gemm:jit");
}

/// Goes on from what oneDNN prefers to its GEMM or, if it has none for the product, to the end of its list. What `pd`
/// was made from must be alive.
inline void goToGemm(dnnl::matmul::primitive_desc &pd) {
  while (!isGemm(pd) && pd.next_impl())
    ;
}

#if DNNL_VERSION_MAJOR >= 3

inline dnnl::memory::desc anyFormat(const dnnl::memory::desc &d) {
  return {d.get_dims(), d.get_data_type(), dnnl::memory::format_tag::any};
}

inline dnnl::memory::dims dimsOf(const dnnl::memory::desc &d) { return d.get_dims(); }

inline void setScratchpad(Attributes &attributes) { attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user); }

/// Describes a product by the implementation that oneDNN prefers or, if `gemm` says so, by its GEMM, if it has one.
inline dnnl::matmul::primitive_desc matmulDesc(const dnnl::engine &engine, const dnnl::memory::desc &a,
                                               const dnnl::memory::desc &b, const dnnl::memory::desc &bias,
                                               const dnnl::memory::desc &out, const Attributes &attributes,
                                               bool gemm = false) {
  auto pd = present(bias) ? dnnl::matmul::primitive_desc(engine, a, b, bias, out, attributes)
                          : dnnl::matmul::primitive_desc(engine, a, b, out, attributes);
  if (gemm)
    goToGemm(pd);
  return pd;
}

inline dnnl::convolution_forward::primitive_desc convForward(const dnnl::engine &engine, const ConvDescs &d,
                                                             const Attributes &attributes) {
  using Forward = dnnl::convolution_forward::primitive_desc;
  const auto kind = dnnl::prop_kind::forward_training;
  const auto algorithm = dnnl::algorithm::convolution_direct;
  return present(d.bias)
             ? Forward(engine, kind, algorithm, d.x, d.w, d.bias, d.y, d.strides, d.dilations, d.padLow, d.padHigh,
                       attributes)
             : Forward(engine, kind, algorithm, d.x, d.w, d.y, d.strides, d.dilations, d.padLow, d.padHigh, attributes);
}

inline dnnl::convolution_backward_data::primitive_desc convInputGrad(const dnnl::engine &engine, const ConvDescs &d,
                                                                     const Attributes &attributes) {
  ConvDescs hint = d;
  hint.bias = {};
  return {engine,    dnnl::algorithm::convolution_direct, d.x,       d.w, d.y, d.strides, d.dilations, d.padLow,
          d.padHigh, convForward(engine, hint, {}),       attributes};
}

inline dnnl::convolution_backward_weights::primitive_desc convWeightGrad(const dnnl::engine &engine, const ConvDescs &d,
                                                                         const Attributes &attributes) {
  ConvDescs hint = d;
  hint.w = dnnl::memory::desc(d.w.get_dims(), d.x.get_data_type(), dnnl::memory::format_tag::any);
  return {engine,    dnnl::algorithm::convolution_direct, d.x,       d.w, d.y, d.strides, d.dilations, d.padLow,
          d.padHigh, convForward(engine, hint, {}),       attributes};
}

inline void appendRelu(dnnl::post_ops &ops) { ops.append_eltwise(dnnl::algorithm::eltwise_relu, 0.0f, 0.0f); }

#else

inline dnnl::memory::desc anyFormat(const dnnl::memory::desc &d) {
  return {d.dims(), d.data_type(), dnnl::memory::format_tag::any};
}

inline dnnl::memory::dims dimsOf(const dnnl::memory::desc &d) { return d.dims(); }

inline void setScratchpad(Attributes &attributes) { attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user); }

inline dnnl::matmul::primitive_desc matmulDesc(const dnnl::engine &engine, const dnnl::memory::desc &a,
                                               const dnnl::memory::desc &b, const dnnl::memory::desc &bias,
                                               const dnnl::memory::desc &out, const Attributes &attributes,
                                               bool gemm = false) {
  const dnnl::matmul::desc product =
      present(bias) ? dnnl::matmul::desc(a, b, bias, out) : dnnl::matmul::desc(a, b, out);
  dnnl::matmul::primitive_desc pd(product, attributes, engine);
  if (gemm)
    goToGemm(pd);
  return pd;
}

inline dnnl::convolution_forward::primitive_desc convForward(const dnnl::engine &engine, const ConvDescs &d,
                                                             const Attributes &attributes) {
  using Forward = dnnl::convolution_forward;
  const auto kind = dnnl::prop_kind::forward_training;
  const auto algorithm = dnnl::algorithm::convolution_direct;
  const auto desc =
      present(d.bias)
          ? Forward::desc(kind, algorithm, d.x, d.w, d.bias, d.y, d.strides, d.dilations, d.padLow, d.padHigh)
          : Forward::desc(kind, algorithm, d.x, d.w, d.y, d.strides, d.dilations, d.padLow, d.padHigh);
  return {desc, attributes, engine};
}

inline dnnl::convolution_backward_data::primitive_desc convInputGrad(const dnnl::engine &engine, const ConvDescs &d,
                                                                     const Attributes &attributes) {
  ConvDescs hint = d;
  hint.bias = {};
  return {dnnl::convolution_backward_data::desc(dnnl::algorithm::convolution_direct, d.x, d.w, d.y, d.strides,
                                                d.dilations, d.padLow, d.padHigh),
          attributes, engine, convForward(engine, hint, {})};
}

inline dnnl::convolution_backward_weights::primitive_desc convWeightGrad(const dnnl::engine &engine, const ConvDescs &d,
                                                                         const Attributes &attributes) {
  ConvDescs hint = d;
  hint.w = dnnl::memory::desc(d.w.dims(), d.x.data_type(), dnnl::memory::format_tag::any);
  return {dnnl::convolution_backward_weights::desc(dnnl::algorithm::convolution_direct, d.x, d.w, d.y, d.strides,
                                                   d.dilations, d.padLow, d.padHigh),
          attributes, engine, convForward(engine, hint, {})};
}

inline void appendRelu(dnnl::post_ops &ops) { ops.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f); }

#endif

} // namespace mpc::onednn

#endif
