// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GradientCase.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::test;

namespace {
template <typename OpT>
void reduction(std::vector<Case> &cases, std::string name, llvm::function_ref<Input(Shape)> input) {
  for (Shape axes : {Shape{0}, Shape{1}, Shape{0, 2}, Shape{0, 1, 2}, Shape{}})
    for (bool keepdims : {false, true})
      cases.push_back({name + ": " + std::to_string(axes.size()) + (keepdims ? " axes kept" : " axes"),
                       {input({2, 3, 4})},
                       [=](OpBuilder &b, Location loc, ValueRange v) {
                         return OpT::create(b, loc, v[0], axes, keepdims).getOperation();
                       }});
}
} // namespace

void test::addReduceCases(std::vector<Case> &cases) {
  auto any = [](Shape s) { return uniform(s); };
  auto apart = [](Shape s) { return distinct(s); };
  reduction<ReduceSumOp>(cases, "reduce_sum", any);
  reduction<ReduceMeanOp>(cases, "reduce_mean", any);
  reduction<ReduceMaxOp>(cases, "reduce_max", apart);
  reduction<ReduceMinOp>(cases, "reduce_min", apart);
  reduction<ReduceProdOp>(cases, "reduce_prod", any);
  reduction<ReduceL2Op>(cases, "reduce_l2", apart);
  // The rows have no zero, one zero and two zeros. The product is a polynomial, so differences are accurate there too.
  cases.push_back({"reduce_prod: zeros",
                   {numbers({3, 3}, {1, -2, 0.5, 0, 3, 2, 0, 1.5, 0})},
                   [](OpBuilder &b, Location loc, ValueRange v) {
                     return ReduceProdOp::create(b, loc, v[0], Shape{1}, false).getOperation();
                   }});
}
