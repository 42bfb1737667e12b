// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GradientCase.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::test;

static void addNorms(std::vector<Case> &cases) {
  const std::pair<Shape, int64_t> shapes[] = {{{3, 2, 2, 2}, 1}, {{2, 3, 4}, 2}, {{5, 3}, 1}, {{3, 4}, 0}};
  for (const auto &[shape, a] : shapes) {
    int64_t axis = a, channels = shape[axis];
    auto perChannel = [&](double low, double high) { return stat(uniform({channels}, low, high)); };
    cases.push_back({"batch_norm",
                     {uniform(shape), perChannel(0.5, 2), perChannel(-1, 1)},
                     [=](OpBuilder &b, Location loc, ValueRange v) {
                       return BatchNormOp::create(b, loc, v[0], v[1], v[2], b.getF64FloatAttr(1e-2),
                                                  b.getI64IntegerAttr(axis))
                           .getOperation();
                     },
                     /*firstResultsOnly=*/1});
    cases.push_back({"batch_norm_inference",
                     {uniform(shape), perChannel(0.5, 2), perChannel(-1, 1), perChannel(-1, 1), perChannel(0.3, 2)},
                     [=](OpBuilder &b, Location loc, ValueRange v) {
                       return BatchNormInferenceOp::create(b, loc, v[0], v[1], v[2], v[3], v[4],
                                                           b.getF64FloatAttr(1e-2), b.getI64IntegerAttr(axis))
                           .getOperation();
                     }});
  }
  for (int64_t axis : {0, 1, 2}) {
    cases.push_back({"softmax", {uniform({2, 3, 4})}, [=](OpBuilder &b, Location loc, ValueRange v) {
                       return SoftmaxOp::create(b, loc, v[0], b.getI64IntegerAttr(axis)).getOperation();
                     }});
    cases.push_back({"log_softmax", {uniform({2, 3, 4})}, [=](OpBuilder &b, Location loc, ValueRange v) {
                       return LogSoftmaxOp::create(b, loc, v[0], b.getI64IntegerAttr(axis)).getOperation();
                     }});
  }
}

/// The cases have every kind of norm and scales and biases of several shapes. Layer norms are also differentiated
/// through their statistics.
static void addLayerNorms(std::vector<Case> &cases) {
  struct Form {
    Shape x, axes, scale, bias;
  };
  const Form forms[] = {{{3, 4}, {1}, {4}, {4}},
                        {{2, 3, 4}, {1, 2}, {3, 4}, {3, 1}},
                        {{2, 3, 4}, {1}, {3, 1}, {}},
                        {{2, 3, 2, 2}, {0, 2}, {2, 1, 1, 1}, {1}}};
  for (auto [kind, name] :
       {std::pair(NormKind::layer, "layer"), std::pair(NormKind::rms, "rms"), std::pair(NormKind::l2, "l2")})
    for (const Form &form : forms)
      for (bool withStatistics : {false, true}) {
        if (withStatistics && kind != NormKind::layer)
          continue; // the mean of rms and l2 is a constant, and the norm of l2 has no gradient
        cases.push_back({std::string("layer_norm: ") + name + (withStatistics ? ", with its statistics" : ""),
                         {uniform(form.x), stat(uniform(form.scale, 0.5, 2)), stat(uniform(form.bias, -1, 1))},
                         [form, kind = kind](OpBuilder &b, Location loc, ValueRange v) {
                           return LayerNormOp::create(b, loc, v[0], v[1], v[2], b.getDenseI64ArrayAttr(form.axes),
                                                      b.getF64FloatAttr(kind == NormKind::l2 ? 1e-3 : 1e-2),
                                                      NormKindAttr::get(b.getContext(), kind))
                               .getOperation();
                         },
                         withStatistics ? ~0u : 1u});
      }
  // The norm is below epsilon, so x is divided by a constant.
  cases.push_back({"layer_norm: l2 below epsilon",
                   {uniform({2, 3}, -0.1, 0.1), stat(numbers({}, {1})), stat(numbers({}, {0}))},
                   [](OpBuilder &b, Location loc, ValueRange v) {
                     return LayerNormOp::create(b, loc, v[0], v[1], v[2], b.getDenseI64ArrayAttr({1}),
                                                b.getF64FloatAttr(2), NormKindAttr::get(b.getContext(), NormKind::l2))
                         .getOperation();
                   },
                   /*firstResultsOnly=*/1});
  // The inverses of these epsilons are rounded, so 1/epsilon times epsilon need not be 1.
  for (double epsilon : {7e-3, 0.3, 1.1})
    cases.push_back(
        {"layer_norm: l2 far below epsilon",
         {numbers({1, 2}, {epsilon / 2, epsilon / 4}), stat(frozen(numbers({}, {1}))), stat(frozen(numbers({}, {0})))},
         [=](OpBuilder &b, Location loc, ValueRange v) {
           return LayerNormOp::create(b, loc, v[0], v[1], v[2], b.getDenseI64ArrayAttr({1}), b.getF64FloatAttr(epsilon),
                                      NormKindAttr::get(b.getContext(), NormKind::l2))
               .getOperation();
         },
         /*firstResultsOnly=*/1});
  const std::tuple<Shape, int64_t, int64_t> groups[] = {
      {{2, 4, 3}, 1, 2}, {{2, 3, 4}, 2, 2}, {{2, 4, 2, 2}, 1, 4}, {{3, 6}, 1, 3}, {{2, 2, 3, 4}, 3, 1}};
  for (const auto &[shape, axis, count] : groups)
    cases.push_back({"group_norm",
                     {uniform(shape), stat(uniform({shape[axis]}, 0.5, 2)), stat(uniform({shape[axis]}, -1, 1))},
                     [axis = axis, count = count](OpBuilder &b, Location loc, ValueRange v) {
                       return GroupNormOp::create(b, loc, v[0], v[1], v[2], b.getF64FloatAttr(1e-2),
                                                  b.getI64IntegerAttr(axis), b.getI64IntegerAttr(count))
                           .getOperation();
                     },
                     /*firstResultsOnly=*/1});
}

template <typename OpT>
static void addLoss(std::vector<Case> &cases, std::string op) {
  for (LossReduction reduction : {LossReduction::none, LossReduction::sum, LossReduction::mean})
    for (bool spatial : {false, true})
      for (bool weighted : {false, true})
        for (int64_t ignore : {-1000, -100, 2}) { // -1000 means that there is no attribute
          Shape scores = spatial ? Shape{2, 3, 2, 2} : Shape{5, 3};
          Shape labels = spatial ? Shape{2, 2, 2} : Shape{5};
          std::vector<double> classes =
              spatial ? std::vector<double>{0, 1, 2, 2, 1, 0, 0, 2} : std::vector<double>{2, 0, 1, 1, 2};
          if (ignore == -100)
            classes[1] = classes[3] = -100;
          Case c{op + ": " + stringifyLossReduction(reduction).str() + (spatial ? ", spatial" : "") +
                     (weighted ? ", weighted" : "") + (ignore != -1000 ? ", ignore " + std::to_string(ignore) : ""),
                 {uniform(scores), integers(labels, classes)},
                 [=](OpBuilder &b, Location loc, ValueRange v) {
                   return OpT::create(b, loc, v[0], v[1], weighted ? v[2] : Value(),
                                      LossReductionAttr::get(b.getContext(), reduction),
                                      ignore == -1000 ? IntegerAttr() : b.getI64IntegerAttr(ignore))
                       .getOperation();
                 }};
          if (weighted)
            c.inputs.push_back(uniform({3}, 0.5, 2));
          cases.push_back(std::move(c));
        }
}

void test::addNormalizationCases(std::vector<Case> &cases) {
  addNorms(cases);
  addLayerNorms(cases);
  addLoss<NllLossOp>(cases, "nll_loss");
  addLoss<SoftmaxCrossEntropyOp>(cases, "softmax_cross_entropy");
}
