// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GradientCase.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::test;

static void addMatMul(std::vector<Case> &cases) {
  struct Batch {
    std::string name;
    Shape a, b;
  };
  for (const Batch &batch :
       {Batch{"plain", {}, {}}, Batch{"batched", {2, 3}, {2, 3}}, Batch{"shared b", {2, 3}, {}},
        Batch{"shared b of rank 3", {3}, {1}}, Batch{"shared a", {}, {3}}, Batch{"each broadcast", {2, 1}, {3}}})
    for (bool ta : {false, true})
      for (bool tb : {false, true}) {
        Shape a = batch.a, b = batch.b;
        const int64_t m = 2, k = 4, n = 3;
        a.append(ta ? Shape{k, m} : Shape{m, k});
        b.append(tb ? Shape{n, k} : Shape{k, n});
        cases.push_back({"matmul: " + batch.name + (ta ? ", a transposed" : "") + (tb ? ", b transposed" : ""),
                         {uniform(a), uniform(b)},
                         [=](OpBuilder &builder, Location loc, ValueRange v) {
                           return MatMulOp::create(builder, loc, v[0], v[1], ta, tb).getOperation();
                         }});
      }
}

namespace {
struct Conv {
  std::string name;
  Shape in; // spatial extents
  int64_t channels, outputs, groups;
  Shape kernel, strides, dilations, low, high;
};
} // namespace

static void addConv(std::vector<Case> &cases, const Conv &c, Layout layout) {
  size_t spatial = c.in.size();
  Shape out;
  for (size_t i = 0; i < spatial; ++i)
    out.push_back(windowCount(c.in[i], c.kernel[i], c.strides[i], c.dilations[i], c.low[i], c.high[i]));
  auto activation = [&](const Shape &space, int64_t channels) {
    Shape shape{2};
    shape.append(space);
    shape.insert(layout == Layout::ChannelsFirst ? shape.begin() + 1 : shape.end(), channels);
    return shape;
  };
  Shape x = activation(c.in, c.channels), y = activation(out, c.outputs), w{c.outputs, c.channels / c.groups};
  w.append(c.kernel);
  std::string suffix = ": " + c.name + (layout == Layout::ChannelsFirst ? "" : ", channels_last");
  cases.push_back({"conv" + suffix, {uniform(x), uniform(w)}, [=](OpBuilder &b, Location loc, ValueRange v) {
                     return ConvOp::create(b, loc, v[0], v[1], c.strides, c.dilations, c.low, c.high, c.groups, layout)
                         .getOperation();
                   }});
  cases.push_back({"conv_input_grad" + suffix, {uniform(y), uniform(w)}, [=](OpBuilder &b, Location loc, ValueRange v) {
                     return ConvInputGradOp::create(b, loc, typeOf(v[0]).clone(x), v[0], v[1], c.strides, c.dilations,
                                                    c.low, c.high, c.groups, layout)
                         .getOperation();
                   }});
  cases.push_back(
      {"conv_weight_grad" + suffix, {uniform(x), uniform(y)}, [=](OpBuilder &b, Location loc, ValueRange v) {
         return ConvWeightGradOp::create(b, loc, typeOf(v[0]).clone(w), v[0], v[1], c.strides, c.dilations, c.low,
                                         c.high, c.groups, layout)
             .getOperation();
       }});
}

void test::addMatmulCases(std::vector<Case> &cases) {
  addMatMul(cases);
  for (Layout layout : {Layout::ChannelsFirst, Layout::ChannelsLast})
    for (const Conv &c : {Conv{"1-D", {6}, 2, 3, 1, {3}, {1}, {1}, {1}, {1}},
                          Conv{"1-D strided, unread end", {8}, 2, 2, 1, {2}, {3}, {1}, {0}, {0}},
                          Conv{"2-D", {4, 5}, 2, 3, 1, {3, 2}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
                          Conv{"pointwise strided", {4, 3}, 3, 2, 1, {1, 1}, {2, 2}, {1, 1}, {0, 0}, {0, 0}},
                          Conv{"asymmetric padding", {4, 4}, 1, 2, 1, {3, 3}, {2, 2}, {1, 1}, {0, 2}, {1, 1}},
                          Conv{"dilated", {6, 5}, 1, 2, 1, {2, 2}, {1, 2}, {3, 2}, {1, 0}, {2, 1}},
                          Conv{"groups", {3, 3}, 4, 6, 2, {2, 2}, {1, 1}, {1, 1}, {1, 1}, {0, 0}},
                          Conv{"depthwise", {4, 3}, 3, 3, 3, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
                          Conv{"3-D", {3, 2, 3}, 2, 2, 1, {2, 1, 2}, {1, 1, 2}, {1, 1, 1}, {0, 1, 1}, {1, 0, 0}}})
      addConv(cases, c, layout);
}
