// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GradientCase.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::test;

namespace {
struct Pool {
  std::string name;
  Shape in, kernel, strides, dilations, low, high;
  bool ceil = false;
};
} // namespace

static void addPool(std::vector<Case> &cases, const Pool &p, Layout layout) {
  Shape out;
  int64_t positions = 1;
  for (size_t i = 0; i < p.in.size(); ++i) {
    out.push_back(windowCount(p.in[i], p.kernel[i], p.strides[i], p.dilations[i], p.low[i], p.high[i], p.ceil));
    positions *= p.kernel[i];
  }
  auto activation = [&](const Shape &space) {
    Shape shape{2};
    shape.append(space);
    shape.insert(layout == Layout::ChannelsFirst ? shape.begin() + 1 : shape.end(), 3);
    return shape;
  };
  Shape x = activation(p.in), y = activation(out);
  std::string suffix = ": " + p.name + (layout == Layout::ChannelsFirst ? "" : ", channels_last");
  cases.push_back({"max_pool" + suffix, {distinct(x)}, [=](OpBuilder &b, Location loc, ValueRange v) {
                     return MaxPoolOp::create(b, loc, v[0], p.kernel, p.strides, p.dilations, p.low, p.high, layout,
                                              p.ceil)
                         .getOperation();
                   }});
  Input argmax = uniform(y, 0, double(positions));
  argmax.kind = Input::I16;
  for (double &v : argmax.values)
    v = std::floor(v);
  cases.push_back({"max_pool_grad" + suffix, {uniform(y), argmax}, [=](OpBuilder &b, Location loc, ValueRange v) {
                     return MaxPoolGradOp::create(b, loc, typeOf(v[0]).clone(x), v[0], v[1], p.kernel, p.strides,
                                                  p.dilations, p.low, p.high, layout)
                         .getOperation();
                   }});
  for (bool include : {false, true}) {
    std::string padding = include ? ", padding counts" : "";
    cases.push_back({"avg_pool" + suffix + padding, {uniform(x)}, [=](OpBuilder &b, Location loc, ValueRange v) {
                       return AvgPoolOp::create(b, loc, v[0], p.kernel, p.strides, p.dilations, p.low, p.high, layout,
                                                include, p.ceil)
                           .getOperation();
                     }});
    cases.push_back({"avg_pool_grad" + suffix + padding, {uniform(y)}, [=](OpBuilder &b, Location loc, ValueRange v) {
                       return AvgPoolGradOp::create(b, loc, typeOf(v[0]).clone(x), v[0], p.kernel, p.strides,
                                                    p.dilations, p.low, p.high, layout, include, p.ceil)
                           .getOperation();
                     }});
  }
}

void test::addPoolingCases(std::vector<Case> &cases) {
  for (Layout layout : {Layout::ChannelsFirst, Layout::ChannelsLast})
    for (const Pool &p : {Pool{"1-D overlapping", {6}, {3}, {1}, {1}, {0}, {0}},
                          Pool{"2-D tiles", {4, 6}, {2, 3}, {2, 3}, {1, 1}, {0, 0}, {0, 0}},
                          Pool{"asymmetric padding", {4, 4}, {3, 3}, {2, 2}, {1, 1}, {0, 2}, {1, 1}},
                          Pool{"dilated", {6, 5}, {2, 2}, {1, 2}, {3, 2}, {1, 0}, {1, 1}},
                          Pool{"ceil_mode", {5, 6}, {2, 3}, {2, 2}, {1, 1}, {0, 1}, {0, 0}, true},
                          Pool{"ceil_mode past the padding", {5}, {3}, {3}, {1}, {1}, {1}, true},
                          Pool{"3-D", {3, 2, 4}, {2, 1, 2}, {1, 1, 2}, {1, 1, 1}, {0, 0, 0}, {1, 0, 0}}})
      addPool(cases, p, layout);
}
