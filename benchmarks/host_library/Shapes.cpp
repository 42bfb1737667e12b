//===- Shapes.cpp - What training steps ask of the library ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Shapes.h"

namespace mpc::bench {
namespace {

Shape matmul(std::string name, int64_t batch, int64_t m, int64_t n, int64_t k, bool transposeA, bool transposeB) {
  mpc_library_desc d = {};
  d.op = MPC_MATMUL;
  d.batch = batch;
  d.m = m;
  d.n = n;
  d.k = k;
  d.transpose_a = transposeA;
  d.transpose_b = transposeB;
  return {std::move(name), d};
}

/// Adds y[batch, out] = x[batch, in] @ w[out, in]^T and its gradients, in the form of an ONNX Gemm with transB.
void addLayer(std::vector<Shape> &all, int64_t batch, int64_t in, int64_t out) {
  const std::string name = "mlp " + std::to_string(batch) + "x" + std::to_string(in) + "x" + std::to_string(out);
  all.push_back(matmul(name + " fwd", 1, batch, out, in, false, true));
  all.back().desc.has_bias = 1;
  all.back().desc.activation = MPC_ACT_RELU;
  all.push_back(matmul(name + " dx", 1, batch, in, out, false, false));
  all.push_back(matmul(name + " dw", 1, out, in, batch, true, false));
}

void addConv(std::vector<Shape> &all, const std::string &net, int64_t n, int64_t c, int64_t h, int64_t o, int64_t k,
             int64_t s, int64_t p) {
  mpc_library_desc d = {};
  d.spatial = 2;
  d.N = n;
  d.C = c;
  d.O = o;
  d.groups = 1;
  for (int i = 0; i < 2; ++i) {
    d.in[i] = h;
    d.kernel[i] = k;
    d.stride[i] = s;
    d.dilation[i] = 1;
    d.pad_low[i] = d.pad_high[i] = p;
    d.out[i] = (h + 2 * p - k) / s + 1;
  }
  const std::string name = net + " n" + std::to_string(n) + " " + std::to_string(c) + "x" + std::to_string(h) + "->" +
                           std::to_string(o) + " k" + std::to_string(k) + " s" + std::to_string(s);
  const char *const suffix[] = {" fwd", " dx", " dw"};
  for (int op = 0; op < 3; ++op) {
    d.op = MPC_CONV_FORWARD + op;
    all.push_back({name + suffix[op], d});
  }
}

} // namespace

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  addLayer(all, 128, 784, 512);
  addLayer(all, 128, 512, 512);
  addLayer(all, 128, 512, 10);
  addLayer(all, 128, 400, 120);
  addLayer(all, 128, 120, 84);
  addConv(all, "lenet", 128, 1, 28, 6, 5, 1, 2);
  addConv(all, "lenet", 128, 6, 14, 16, 5, 1, 0);
  addConv(all, "resnet", 32, 3, 32, 64, 3, 1, 1);
  addConv(all, "resnet", 32, 64, 32, 64, 3, 1, 1);
  addConv(all, "resnet", 32, 64, 32, 128, 3, 2, 1);
  addConv(all, "resnet", 32, 64, 32, 128, 1, 2, 0);
  addConv(all, "resnet", 32, 128, 16, 128, 3, 1, 1);
  addConv(all, "resnet", 32, 128, 16, 256, 3, 2, 1);
  addConv(all, "resnet", 32, 128, 16, 256, 1, 2, 0);
  addConv(all, "resnet", 32, 256, 8, 256, 3, 1, 1);
  addConv(all, "resnet", 32, 256, 8, 512, 3, 2, 1);
  addConv(all, "resnet", 32, 256, 8, 512, 1, 2, 0);
  addConv(all, "resnet", 32, 512, 4, 512, 3, 1, 1);
  addConv(all, "resnet50", 8, 256, 56, 64, 1, 1, 0);
  addConv(all, "resnet50", 8, 64, 56, 256, 1, 1, 0);
  addConv(all, "resnet50", 8, 3, 224, 64, 7, 2, 3);
  all.push_back(matmul("attention 96x128x128x64 qk", 96, 128, 128, 64, false, true));
  all.push_back(matmul("attention 96x128x64x128 pv", 96, 128, 64, 128, false, false));
  all.push_back(matmul("gemm 1024", 1, 1024, 1024, 1024, false, false));
  return all;
}

double flops(const mpc_library_desc &d) {
  if (d.op == MPC_MATMUL)
    return 2.0 * double(d.batch) * double(d.m) * double(d.n) * double(d.k);
  double products = 2.0 * double(d.N) * double(d.O) * double(d.C / d.groups);
  for (int i = 0; i < d.spatial; ++i)
    products *= double(d.out[i] * d.kernel[i]);
  return products;
}

void elements(const mpc_library_desc &d, int64_t (&counts)[3]) {
  if (d.op == MPC_MATMUL) {
    counts[0] = d.batch * d.m * d.k;
    counts[1] = d.batch * d.n * d.k;
    counts[2] = d.batch * d.m * d.n;
    return;
  }
  int64_t x = d.N * d.C, y = d.N * d.O, w = d.O * d.C / d.groups;
  for (int i = 0; i < d.spatial; ++i) {
    x *= d.in[i];
    y *= d.out[i];
    w *= d.kernel[i];
  }
  counts[0] = d.op == MPC_CONV_INPUT_GRAD ? y : x;
  counts[1] = d.op == MPC_CONV_WEIGHT_GRAD ? y : w;
  counts[2] = d.op == MPC_CONV_FORWARD ? y : d.op == MPC_CONV_INPUT_GRAD ? x : w;
}

} // namespace mpc::bench
