//===- Convolution.cpp - Convolutions on oneDNN ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Activations stay channels-last, as they are, unless they are small compared with the weights. Weights are
// reordered into the layout that oneDNN prefers for the shape, on every execute, because an optimizer step
// may change them in between. bias, addend and relu are post-operations of the forward primitive. The backward
// primitives have none, so an input gradient with an epilogue is refused here.
//
//===----------------------------------------------------------------------===//
#include "Program.h"

namespace mpc::onednn {
namespace {

using dnnl::memory;
using Dims = memory::dims;

memory::data_type typeOf(int32_t type) { return type == MPC_BF16 ? memory::data_type::bf16 : memory::data_type::f32; }

/// Describes a tensor that is stored in the given `order` of its dimensions, by element strides.
memory::desc strided(const Dims &dims, memory::data_type type, const std::vector<int> &order) {
  Dims strides(dims.size());
  memory::dim step = 1;
  for (size_t i = order.size(); i-- > 0; step *= dims[size_t(order[i])])
    strides[size_t(order[i])] = step;
  return memory::desc(dims, type, strides);
}

/// Describes [N, C, spatial...] stored as [N, spatial..., C].
memory::desc channelsLast(int64_t n, int64_t c, const int64_t *extents, int spatial, memory::data_type type) {
  Dims dims{n, c};
  std::vector<int> order{0};
  for (int i = 0; i < spatial; ++i) {
    dims.push_back(extents[i]);
    order.push_back(2 + i);
  }
  order.push_back(1);
  return strided(dims, type, order);
}

Dims weightDims(const mpc_library_desc &d) {
  Dims dims;
  if (d.groups > 1)
    dims = {d.groups, d.O / d.groups, d.C / d.groups};
  else
    dims = {d.O, d.C};
  dims.insert(dims.end(), d.kernel, d.kernel + d.spatial);
  return dims;
}

memory::desc plainWeights(const mpc_library_desc &d, memory::data_type type) {
  const Dims dims = weightDims(d);
  std::vector<int> order;
  for (size_t i = 0; i < dims.size(); ++i)
    order.push_back(int(i));
  return strided(dims, type, order);
}

int64_t extent(const int64_t *extents, int spatial) {
  int64_t product = 1;
  for (int i = 0; i < spatial; ++i)
    product *= extents[i];
  return product;
}

/// Returns whether the activations may be reordered at all: an addend lies in the result's buffer, to which the
/// primitive adds, so the result cannot be a temporary in another layout.
bool allowsBlocked(const mpc_library_desc &d) { return !d.has_addend; }

/// Returns whether the activations, too, are reordered into the blocked layout that oneDNN prefers. On narrow maps
/// with many channels its channels-last kernels reach half of the blocked ones' speed (512 channels on 4x4,
/// bf16: 266 against 637 GFLOP/s on one core), and there the activations are small compared with the weights.
bool prefersBlocked(const mpc_library_desc &d) {
  const int64_t x = d.N * d.C * extent(d.in, d.spatial), y = d.N * d.O * extent(d.out, d.spatial);
  const int64_t w = d.O * (d.C / d.groups) * extent(d.kernel, d.spatial);
  return d.groups == 1 && allowsBlocked(d) && x + y <= w;
}

/// Above this many bytes of the f32 gradient, a weight gradient in 16 bits is split.
constexpr int64_t largestGradCopy = 3 << 20;

class Convolution final : public Program {
public:
  Convolution(const mpc_library_desc &d, bool blocked, int threads) : Program(threads) {
    const memory::data_type type = typeOf(d.type_a), typeOut = typeOf(d.type_out);
    const bool forward = d.op == MPC_CONV_FORWARD, inputGrad = d.op == MPC_CONV_INPUT_GRAD;
    ConvDescs descs;
    descs.x = channelsLast(d.N, d.C, d.in, d.spatial, inputGrad ? typeOut : type);
    descs.y = channelsLast(d.N, d.O, d.out, d.spatial, forward ? typeOut : type);
    // A gradient is accumulated in f32 in any case; requesting f32 saves a second buffer before it is rounded.
    descs.w =
        memory::desc(weightDims(d), forward || inputGrad ? type : memory::data_type::f32, memory::format_tag::any);
    for (int i = 0; i < d.spatial; ++i) {
      descs.strides.push_back(d.stride[i]);
      descs.dilations.push_back(d.dilation[i] - 1);
      descs.padLow.push_back(d.pad_low[i]);
      descs.padHigh.push_back(d.pad_high[i]);
    }
    plainX = descs.x;
    plainY = descs.y;
    if (blocked) {
      descs.x = anyFormat(plainX);
      descs.y = anyFormat(plainY);
    }
    Attributes attributes;
    setScratchpad(attributes);
    if (forward)
      planForward(d, descs, attributes);
    else if (inputGrad)
      planInputGrad(d, descs, attributes);
    else
      planWeightGrad(d, descs, attributes);
  }

private:
  void planForward(const mpc_library_desc &d, ConvDescs &descs, Attributes &attributes) {
    int next = 2;
    if (d.has_bias)
      descs.bias = memory::desc({d.O}, typeOf(d.type_bias), memory::format_tag::x);
    const int bias = d.has_bias ? next++ : -1, addend = d.has_addend ? next++ : -1;
    dnnl::post_ops ops;
    if (d.has_addend) // the primitive adds to the content of the result's buffer
      ops.append_sum(1.0f);
    if (d.activation == MPC_ACT_RELU)
      appendRelu(ops);
    attributes.set_post_ops(ops);
    const auto pd = chosen(convForward(engine(), descs, attributes));
    if (d.has_addend)
      copyFirst(addend, next, plainY.get_size());
    const memory w = reordered(buffer(plainWeights(d, typeOf(d.type_b)), 1), pd.weights_desc());
    const memory x = reordered(buffer(plainX, 0), pd.src_desc()), plain = buffer(plainY, next);
    const memory y = likeOrTemporary(plain, pd.dst_desc());
    std::vector<std::pair<int, memory>> args{{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DST, y}};
    if (d.has_bias)
      args.push_back({DNNL_ARG_BIAS, buffer(descs.bias, bias)});
    add(pd, dnnl::convolution_forward(pd), args);
    reorderBack(y, plain);
  }

  void planInputGrad(const mpc_library_desc &d, const ConvDescs &descs, const Attributes &attributes) {
    const auto pd = chosen(convInputGrad(engine(), descs, attributes));
    const memory w = reordered(buffer(plainWeights(d, typeOf(d.type_b)), 1), pd.weights_desc());
    const memory dy = reordered(buffer(plainY, 0), pd.diff_dst_desc()), plain = buffer(plainX, 2);
    const memory dx = likeOrTemporary(plain, pd.diff_src_desc());
    add(pd, dnnl::convolution_backward_data(pd),
        {{DNNL_ARG_DIFF_DST, dy}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DIFF_SRC, dx}});
    reorderBack(dx, plain);
  }

  void planWeightGrad(const mpc_library_desc &d, const ConvDescs &descs, const Attributes &attributes) {
    // Large gradients are computed for some outputs at a time, which limits the f32 copy that is rounded at the end.
    const memory::desc plainW = plainWeights(d, typeOf(d.type_out));
    const int64_t perOutput = d.C / d.groups * extent(d.kernel, d.spatial) * int64_t(sizeof(float));
    int64_t outputs = d.O;
    while (d.groups == 1 && d.type_out != MPC_F32 && outputs * perOutput > largestGradCopy && outputs % 128 == 0)
      outputs /= 2;
    const memory plainInput = buffer(plainX, 0);
    memory x;
    for (int64_t first = 0; first < d.O; first += outputs) {
      auto part = [&](const memory::desc &whole, size_t dim) {
        Dims extents = dimsOf(whole), offsets(extents.size(), 0);
        extents[dim] = outputs;
        offsets[dim] = first;
        return outputs == d.O ? whole : whole.submemory_desc(extents, offsets);
      };
      Dims partW = dimsOf(descs.w);
      ConvDescs partDescs = descs;
      if (outputs != d.O) {
        partW[0] = outputs;
        partDescs.w = memory::desc(partW, memory::data_type::f32, memory::format_tag::any);
        partDescs.y = memory::desc(dimsOf(part(plainY, 1)), typeOf(d.type_a), memory::format_tag::any);
      }
      const auto pd = chosen(convWeightGrad(engine(), partDescs, attributes));
      if (!x)
        x = reordered(plainInput, pd.src_desc());
      const size_t mark = scratch.mark();
      const memory plain = buffer(part(plainW, 0), 2);
      const memory dw = likeOrTemporary(plain, pd.diff_weights_desc());
      const memory dy = reordered(buffer(part(plainY, 1), 1), pd.diff_dst_desc());
      add(pd, dnnl::convolution_backward_weights(pd),
          {{DNNL_ARG_SRC, x}, {DNNL_ARG_DIFF_DST, dy}, {DNNL_ARG_DIFF_WEIGHTS, dw}});
      reorderBack(dw, plain);
      scratch.rewind(mark);
    }
  }

  /// Returns `plain` itself if the primitive writes that layout; else a temporary for reorderBack().
  memory likeOrTemporary(const memory &plain, const memory::desc &wanted) {
    return wanted == plain.get_desc() ? plain : temporary(wanted);
  }
  void reorderBack(const memory &from, const memory &plain) {
    if (from.get_desc() != plain.get_desc())
      reorder(from, plain);
  }

  memory::desc plainX, plainY;
};

} // namespace

std::unique_ptr<generic::Primitive> makeConvolution(const mpc_library_desc &desc, int threads) {
  if (desc.op == MPC_CONV_INPUT_GRAD && (desc.has_bias || desc.has_addend || desc.activation))
    return nullptr;
  // Where oneDNN has no good implementation for the one layout of the activations, it may have one for the other.
  const bool preferred = prefersBlocked(desc);
  for (bool blocked : {preferred, !preferred})
    if (!blocked || allowsBlocked(desc))
      try {
        return std::make_unique<Convolution>(desc, blocked, threads);
      } catch (const dnnl::error &) {
      }
  return nullptr;
}

} // namespace mpc::onednn
