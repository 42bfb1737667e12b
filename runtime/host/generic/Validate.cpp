//===- Validate.cpp - Checks of a library description ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Validate.h"

namespace mpc::generic {
namespace {

const char *validateTypes(const mpc_library_desc &d) {
  if (d.type_a != MPC_F16 && d.type_a != MPC_BF16 && d.type_a != MPC_F32 && d.type_a != MPC_F64)
    return "The operands must be f16, bf16, f32 or f64.";
  if (d.type_a != d.type_b)
    return "Both operands must have the same element type.";
  const bool half = d.type_a == MPC_F16 || d.type_a == MPC_BF16;
  if (d.type_out != d.type_a && !(half && d.type_out == MPC_F32))
    return "The result must have the operands' element type, or f32 for f16 and bf16 operands.";
  if (d.has_bias && d.type_bias != MPC_F32 && d.type_bias != d.type_out)
    return "The bias must be f32 or of the result's element type.";
  if (d.activation != MPC_ACT_NONE && d.activation != MPC_ACT_RELU)
    return "The activation is unknown.";
  return nullptr;
}

const char *validateConvolution(const mpc_library_desc &d) {
  if (d.spatial < 1 || d.spatial > MPC_MAX_SPATIAL)
    return "A convolution must have one to three spatial dimensions.";
  if (d.N < 1 || d.C < 1 || d.O < 1 || d.groups < 1)
    return "N, C, O and groups must be positive.";
  if (d.C % d.groups || d.O % d.groups)
    return "C and O must be multiples of groups.";
  for (int i = 0; i < d.spatial; ++i) {
    if (d.in[i] < 1 || d.out[i] < 1 || d.kernel[i] < 1 || d.stride[i] < 1 || d.dilation[i] < 1)
      return "Extents, strides and dilations must be positive.";
    if (d.pad_low[i] < 0 || d.pad_high[i] < 0)
      return "Padding must not be negative.";
    const int64_t room = d.in[i] + d.pad_low[i] + d.pad_high[i] - d.dilation[i] * (d.kernel[i] - 1) - 1;
    if (room < 0 || room / d.stride[i] + 1 != d.out[i])
      return "The output extent does not follow from input, kernel, stride, dilation and padding.";
  }
  if (d.op == MPC_CONV_WEIGHT_GRAD && (d.has_bias || d.has_addend || d.activation))
    return "A weight gradient has no epilogue.";
  return nullptr;
}

} // namespace

const char *validate(const mpc_library_desc &d) {
  if (const char *message = validateTypes(d))
    return message;
  switch (d.op) {
  case MPC_MATMUL:
    if (d.batch < 1 || d.m < 1 || d.n < 1 || d.k < 1)
      return "batch, m, n and k must be positive.";
    return nullptr;
  case MPC_CONV_FORWARD:
  case MPC_CONV_INPUT_GRAD:
  case MPC_CONV_WEIGHT_GRAD:
    return validateConvolution(d);
  default:
    return "The operation is unknown.";
  }
}

} // namespace mpc::generic
