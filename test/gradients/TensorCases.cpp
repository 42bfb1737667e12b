// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GradientCase.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::test;

namespace {
/// Makes the case of an op that gives its operand another shape.
template <typename OpT>
Case reshaping(std::string name, Shape from, Shape to) {
  return {std::move(name), {uniform(from)}, [=](OpBuilder &b, Location loc, ValueRange v) {
            return OpT::create(b, loc, typeOf(v[0]).clone(to), v[0]).getOperation();
          }};
}

struct Resize {
  std::string name;
  Shape in, out;
  ResizeMode mode;
  std::vector<double> scales, offsets;
  double bias = 0;
  bool ceil = false;
};
template <typename OpT>
Case resize(std::string op, const Resize &r, const Shape &from, const Shape &to) {
  return {op + ": " + r.name, {uniform(from)}, [=](OpBuilder &b, Location loc, ValueRange v) {
            return OpT::create(b, loc, typeOf(v[0]).clone(to), v[0], ResizeModeAttr::get(b.getContext(), r.mode),
                               b.getDenseF64ArrayAttr(r.scales), b.getDenseF64ArrayAttr(r.offsets),
                               b.getF64FloatAttr(r.bias), r.ceil ? b.getUnitAttr() : UnitAttr())
                .getOperation();
          }};
}

void addBarrierCases(std::vector<Case> &cases) {
  cases.push_back(
      {"barrier", {uniform({2, 3}), frozen(uniform({4}))}, [](OpBuilder &b, Location loc, ValueRange v) {
         return BarrierOp::create(b, loc, v[0].getType(), v[0], v.drop_front(), b.getI64IntegerAttr(1)).getOperation();
       }});
}

void addSliceAndPadCases(std::vector<Case> &cases) {
  struct Slice {
    std::string name;
    Shape starts, sizes, strides;
  };
  for (const Slice &s : {Slice{"inner", {1, 2}, {2, 3}, {1, 1}}, Slice{"strided", {0, 1}, {2, 3}, {3, 2}},
                         Slice{"reversed", {3, 5}, {4, 3}, {-1, -2}}, Slice{"reversed in one", {0, 4}, {4, 5}, {1, -1}},
                         Slice{"of one element", {2, 0}, {1, 1}, {5, -7}}, Slice{"empty", {1, 0}, {0, 6}, {1, 1}}})
    cases.push_back({"slice: " + s.name, {uniform({4, 6})}, [=](OpBuilder &b, Location loc, ValueRange v) {
                       return SliceOp::create(b, loc, v[0], s.starts, s.sizes, s.strides).getOperation();
                     }});
  struct Pad {
    std::string name;
    Shape low, high, interior;
  };
  for (const Pad &p : {Pad{"around", {1, 2}, {0, 3}, {0, 0}}, Pad{"cropping", {-1, -2}, {-1, 1}, {0, 0}},
                       Pad{"between", {0, 0}, {0, 0}, {1, 2}}, Pad{"all", {-2, 3}, {2, -4}, {2, 1}}})
    cases.push_back({"pad: " + p.name, {uniform({3, 4})}, [=](OpBuilder &b, Location loc, ValueRange v) {
                       return PadOp::create(b, loc, v[0], b.getF64FloatAttr(0.7), b.getDenseI64ArrayAttr(p.low),
                                            b.getDenseI64ArrayAttr(p.high), b.getDenseI64ArrayAttr(p.interior))
                           .getOperation();
                     }});
}

void addGatherCases(std::vector<Case> &cases) {
  struct Gather {
    std::string name;
    Shape x;
    Input indices;
    int64_t axis;
    Shape y;
  };
  for (const Gather &g :
       {Gather{"rows", {4, 3}, integers({3}, {2, 0, 2}), 0, {3, 3}},
        Gather{"columns, repeated and negative", {2, 4}, integers({2, 2}, {-1, 3, 1, -4}), 1, {2, 2, 2}},
        Gather{"scalar index", {2, 3, 2}, integers({}, {1}), 1, {2, 2}}}) {
    cases.push_back({"gather: " + g.name, {uniform(g.x), g.indices}, [=](OpBuilder &b, Location loc, ValueRange v) {
                       return GatherOp::create(b, loc, v[0], v[1], b.getI64IntegerAttr(g.axis)).getOperation();
                     }});
    cases.push_back({"scatter: " + g.name, {uniform(g.y), g.indices}, [=](OpBuilder &b, Location loc, ValueRange v) {
                       return ScatterOp::create(b, loc, typeOf(v[0]).clone(g.x), v[0], v[1], g.axis).getOperation();
                     }});
  }
  for (ScatterMode mode : {ScatterMode::multiply, ScatterMode::max, ScatterMode::min})
    cases.push_back(
        {"scatter: " + stringifyScatterMode(mode).str(),
         {uniform({2, 5, 3}), integers({5}, {2, 0, -1, 1, 2})},
         [=](OpBuilder &b, Location loc, ValueRange v) {
           return ScatterOp::create(b, loc, typeOf(v[0]).clone({2, 3, 3}), v[0], v[1], 1, mode).getOperation();
         }});
}
} // namespace

void test::addTensorCases(std::vector<Case> &cases) {
  cases.push_back(reshaping<ReshapeOp>("reshape", {2, 6}, {3, 1, 4}));
  cases.push_back(reshaping<ReshapeOp>("reshape: to scalar", {1, 1}, {}));
  cases.push_back(reshaping<BroadcastOp>("broadcast: leading", {3}, {2, 4, 3}));
  cases.push_back(reshaping<BroadcastOp>("broadcast: inner", {2, 1, 3}, {2, 4, 3}));
  cases.push_back(reshaping<BroadcastOp>("broadcast: scalar", {}, {2, 2}));
  for (Shape p : {Shape{2, 0, 1}, Shape{0, 2, 1}, Shape{1, 2, 0}})
    cases.push_back({"transpose", {uniform({2, 3, 4})}, [=](OpBuilder &b, Location loc, ValueRange v) {
                       return TransposeOp::create(b, loc, v[0], p).getOperation();
                     }});
  for (int64_t axis : {0, 1}) {
    auto shape = [&](int64_t n) { return axis == 0 ? Shape{n, 3} : Shape{3, n}; };
    cases.push_back({"concat",
                     {uniform(shape(2)), uniform(shape(1)), uniform(shape(4))},
                     [=](OpBuilder &b, Location loc, ValueRange v) {
                       return ConcatOp::create(b, loc, v, b.getI64IntegerAttr(axis)).getOperation();
                     }});
  }
  addBarrierCases(cases);
  addSliceAndPadCases(cases);
  addGatherCases(cases);
  for (const Resize &r :
       {Resize{
            "nearest asymmetric up", {1, 2, 3, 2}, {1, 2, 6, 4}, ResizeMode::nearest, {1, 1, 0.5, 0.5}, {0, 0, 0, 0}},
        Resize{"nearest half pixel down, ceil", {2, 5}, {2, 2}, ResizeMode::nearest, {1, 2.5}, {0, 0.75}, -0.5, true},
        Resize{"linear half pixel up",
               {1, 2, 3, 3},
               {1, 2, 6, 5},
               ResizeMode::linear,
               {1, 1, 0.5, 0.6},
               {0, 0, -0.25, -0.2}},
        Resize{"linear align corners down", {2, 7}, {2, 4}, ResizeMode::linear, {1, 2}, {0, 0}},
        Resize{"linear 3-D", {2, 3, 2}, {3, 5, 4}, ResizeMode::linear, {0.6, 0.5, 0.5}, {-0.2, -0.25, 0}}}) {
    cases.push_back(resize<ResizeOp>("resize", r, r.in, r.out));
    cases.push_back(resize<ResizeGradOp>("resize_grad", r, r.out, r.in));
  }
}
