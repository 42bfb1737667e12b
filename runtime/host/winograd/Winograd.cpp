//===- Winograd.cpp - What is computed by Winograd's method ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Winograd.h"

#include "Tiles.h"

#include "mpc/cpu.h"

#include <algorithm>
#include <cstring>

#define MPC_DECLARE(LEVEL)                                                                                             \
  namespace mpc::generic::LEVEL {                                                                                      \
  extern const winograd::Transforms winogradTransforms;                                                                \
  }
MPC_DECLARE(baseline)
#ifdef MPC_WINOGRAD_X86
#define MPC_LEVEL(LEVEL, NAME) MPC_DECLARE(LEVEL)
MPC_CPU_LEVELS(MPC_LEVEL)
#undef MPC_LEVEL
#endif

namespace mpc::winograd {

const Transforms &transforms() {
#ifdef MPC_WINOGRAD_X86
  const char *name = generic::kernels<float>().name;
#define MPC_LEVEL(LEVEL, NAME)                                                                                         \
  if (!std::strcmp(name, #LEVEL))                                                                                      \
    return generic::LEVEL::winogradTransforms;
  MPC_CPU_LEVELS(MPC_LEVEL)
#undef MPC_LEVEL
#endif
  return generic::baseline::winogradTransforms;
}

bool computes(const mpc_library_desc &d) {
  if (d.op == MPC_MATMUL || d.spatial != 2 || d.groups != 1 || d.type_a == MPC_F64)
    return false;
  for (int i = 0; i < 2; ++i)
    if (d.stride[i] != d.stride[0] || d.stride[i] > 2 || d.dilation[i] != 1 || d.kernel[i] < d.stride[i] + 2 ||
        d.kernel[i] > 7 || std::max(d.pad_low[i], d.pad_high[i]) >= d.kernel[i])
      return false;
  return d.C >= 16 && d.O >= 16;
}

bool isFaster(const mpc_library_desc &d, bool isBf16Fast) {
  const bool weightGrad = d.op == MPC_CONV_WEIGHT_GRAD, direct16 = d.type_a == MPC_BF16 && isBf16Fast;
  const Tiling tiling = d.op == MPC_CONV_INPUT_GRAD ? inputGradTiling(d) : forwardTiling(d);
  const double depth = double(tiling.source.channels), columns = double(tiling.result.channels);
  double tiles = 0, parts = 0, products = 0;
  for (const Pass &pass : tiling.passes) {
    tiles += double(tiling.images * pass.tiles());
    parts += double(pass.parts.size());
    products += double(tiling.images * pass.tiles()) * double(pass.parts.size());
  }
  // Picoseconds for each pair of an input and an output channel, as measured on two cores with AVX-512 (EPYC, Zen 5)
  // with 16 to 1024 channels on maps of 4x4 to 300x300.
  const double taps = double(d.kernel[0] * d.kernel[1]), results = double(d.N * d.out[0] * d.out[1]);
  const double perTap = !direct16 ? 4 : !weightGrad ? 2 : d.stride[0] > 1 ? 3.5 : 2.4;
  const double direct = taps * (perTap * results + (direct16 ? 150 : 320));
  const double perProduct = parts >= 9 ? 250 : parts > 1 ? 200 : 160, perPart = weightGrad ? 2500 : 6000;
  const double perPixel = weightGrad ? 3200 : 2000;
  const double tiled = perProduct * products + perPart * parts + perPixel * (products / columns + tiles / depth);
  return tiled < 0.85 * direct;
}

std::unique_ptr<generic::Primitive> makeWinograd(const mpc_library_desc &desc, int threads) {
  constexpr size_t largestScratch = size_t(256) << 20;
  auto primitive = desc.op == MPC_CONV_WEIGHT_GRAD ? makeWeightGrad(desc, threads) : makeConvolution(desc, threads);
  return primitive->scratchBytes() <= largestScratch ? std::move(primitive) : nullptr;
}

} // namespace mpc::winograd
