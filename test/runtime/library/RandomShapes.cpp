//===- RandomShapes.cpp - Seeded random descriptions ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RandomShapes.h"

#include <random>

namespace mpc::test {
namespace {

class Draw {
public:
  explicit Draw(uint64_t seed) : engine(seed) {}
  int64_t upTo(int64_t low, int64_t high) { return low + int64_t(engine() % uint64_t(high - low + 1)); }
  bool oneIn(int64_t n) { return upTo(1, n) == 1; }
  /// Returns an extent that is often 1, often about a vector's length, and sometimes large.
  int64_t extent(int64_t large) {
    switch (upTo(0, 5)) {
    case 0:
      return 1;
    case 1:
    case 2:
      return upTo(2, 17);
    case 3:
      return 16 * upTo(1, 4);
    default:
      return upTo(1, large);
    }
  }

private:
  std::mt19937_64 engine;
};

void drawMatmul(Desc &d, Draw &draw) {
  d.batch = draw.oneIn(2) ? 1 : draw.upTo(2, 4);
  do {
    d.m = draw.extent(300);
    d.n = draw.extent(300);
    d.k = draw.extent(700);
  } while (d.batch * d.m * d.n * d.k > 2000000);
  d.transpose_a = draw.oneIn(2);
  d.transpose_b = draw.oneIn(2);
  d.broadcast_a = draw.oneIn(4);
  d.broadcast_b = draw.oneIn(4);
}

int64_t work(const Desc &d) {
  int64_t products = d.N * d.O * (d.C / d.groups);
  for (int i = 0; i < d.spatial; ++i)
    products *= d.out[i] * d.kernel[i];
  return products;
}

void drawConvolution(Desc &d, Draw &draw) {
  do {
    d.spatial = int32_t(draw.oneIn(2) ? 2 : draw.upTo(1, 3));
    d.N = draw.upTo(1, 3);
    d.groups = draw.oneIn(3) ? draw.upTo(2, 5) : 1;
    d.C = d.groups * (draw.oneIn(3) ? 1 : draw.extent(70));
    d.O = d.groups * (draw.oneIn(3) ? 1 : draw.extent(70));
    if (draw.oneIn(4)) // this one is depthwise
      d.groups = d.C = d.O = draw.extent(100);
    for (int i = 0; i < d.spatial; ++i) {
      d.kernel[i] = draw.upTo(1, 5);
      d.stride[i] = draw.oneIn(2) ? 1 : draw.upTo(1, 3);
      d.dilation[i] = draw.oneIn(2) ? 1 : draw.upTo(1, 3);
      const bool padded = draw.oneIn(2);
      d.pad_low[i] = padded ? draw.upTo(0, d.kernel[i] / 2 + 1) : 0;
      d.pad_high[i] = padded ? draw.upTo(0, d.kernel[i] / 2 + 1) : 0;
      const int64_t span = d.dilation[i] * (d.kernel[i] - 1) + 1;
      const int64_t least = std::max<int64_t>(1, span - d.pad_low[i] - d.pad_high[i]);
      d.in[i] = least + draw.upTo(0, d.spatial == 3 ? 7 : 30);
      d.out[i] = (d.in[i] + d.pad_low[i] + d.pad_high[i] - span) / d.stride[i] + 1;
    }
  } while (work(d) > 2000000);
}

} // namespace

Desc randomDesc(int32_t op, int32_t type, uint64_t seed) {
  Draw draw(seed * 1000003 + uint64_t(op) * 101 + uint64_t(type));
  Desc d = {};
  d.op = op;
  d.type_a = d.type_b = type;
  const bool half = type == MPC_F16 || type == MPC_BF16;
  d.type_out = half && draw.oneIn(3) ? int32_t(MPC_F32) : type;
  if (op == MPC_MATMUL)
    drawMatmul(d, draw);
  else
    drawConvolution(d, draw);
  if (op == MPC_CONV_WEIGHT_GRAD)
    return d;
  d.has_bias = draw.oneIn(2);
  d.type_bias = draw.oneIn(2) ? int32_t(MPC_F32) : d.type_out;
  d.has_addend = draw.oneIn(3);
  d.activation = draw.oneIn(3) ? MPC_ACT_RELU : MPC_ACT_NONE;
  return d;
}

} // namespace mpc::test
