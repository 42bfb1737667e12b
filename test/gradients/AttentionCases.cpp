// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GradientCase.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::test;

namespace {

/// A form says what an attention has beside q, k and v.
struct Form {
  const char *name;
  int64_t heads, keyHeads;
  Shape mask, bias; ///< empty: none
  bool trainsBias = false;
  std::optional<double> fill = std::nullopt;
  bool zeroRows = false, drops = false;
  std::optional<int64_t> before = std::nullopt, after = std::nullopt;
};

/// Conditions of which about a third are false, and none of the first rows' are true where `hidesRow` is set.
Input conditions(const Shape &shape, bool hidesRow) {
  Input mask{shape, Input::I1, {}};
  int64_t n = 1;
  for (int64_t extent : shape)
    n *= extent;
  for (int64_t i = 0; i < n; ++i)
    mask.values.push_back(hidesRow && i < shape[3] ? 0 : (i * 7 + i / 3) % 3 != 0 || i % shape[3] == 0);
  return mask;
}

} // namespace

void test::addAttentionCases(std::vector<Case> &cases) {
  const Form forms[] = {
      {"plain", 2, 2, {}, {}},
      {"grouped heads, a mask of queries and keys", 4, 2, {1, 1, 3, 5}, {}},
      {"a mask of samples, in place of which there is a number", 2, 2, {2, 1, 1, 5}, {}, false, -2.0},
      {"a mask and a bias of heads", 2, 1, {2, 2, 3, 5}, {1, 2, 1, 5}},
      {"a trained bias", 2, 2, {}, {1, 2, 3, 5}, true},
      {"a trained bias and a mask with a number", 2, 2, {1, 1, 3, 5}, {1, 1, 3, 5}, true, 0.5},
      {"a query that sees no key", 2, 2, {1, 1, 3, 5}, {}, false, std::nullopt, true},
      {"dropout", 2, 2, {1, 1, 3, 5}, {}, false, std::nullopt, false, true},
      {"keys near a query", 2, 2, {}, {}, false, std::nullopt, false, false, 1, 1},
      {"earlier keys and a mask with a number", 2, 1, {1, 1, 3, 5}, {}, false, 0.5, false, false, std::nullopt, 0},
  };
  for (const Form &form : forms) {
    Case c{std::string("attention: ") + form.name,
           {uniform({2, form.heads, 3, 4}), uniform({2, form.keyHeads, 5, 4}), uniform({2, form.keyHeads, 5, 2})},
           [form](OpBuilder &b, Location loc, ValueRange v) {
             size_t next = 3;
             Value mask = form.mask.empty() ? Value() : v[next++], bias = form.bias.empty() ? Value() : v[next++];
             Value seed, step;
             if (form.drops) {
               seed = scalar(b, loc, b.getI64Type(), 7);
               step = scalar(b, loc, b.getI64Type(), 3);
             }
             return AttentionOp::create(b, loc, v[0], v[1], v[2], mask, bias, seed, step, b.getF64FloatAttr(0.7),
                                        form.fill ? b.getF64FloatAttr(*form.fill) : FloatAttr(),
                                        form.before ? b.getI64IntegerAttr(*form.before) : IntegerAttr(),
                                        form.after ? b.getI64IntegerAttr(*form.after) : IntegerAttr(),
                                        form.zeroRows ? b.getUnitAttr() : UnitAttr(),
                                        form.drops ? b.getF64FloatAttr(0.4) : FloatAttr(),
                                        form.drops ? b.getI64IntegerAttr(5) : IntegerAttr())
                 .getOperation();
           },
           /*firstResultsOnly=*/1};
    if (!form.mask.empty())
      c.inputs.push_back(conditions(form.mask, form.zeroRows));
    if (!form.bias.empty())
      c.inputs.push_back(form.trainsBias ? stat(uniform(form.bias)) : stat(frozen(uniform(form.bias))));
    cases.push_back(std::move(c));
  }
}
