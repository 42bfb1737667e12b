//===- ChosenLoopsTest.cpp - the verifier accepts what mpc-plan-loops chooses ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The other side of LoopsTest.cpp: no rule is stricter than the choice of loops, on any target, whatever the types and
// extents. Nothing is emitted.
//
//===------------------------------------------------------------------------------------===//
#include "KernelHarness.h"
#include "mlir/IR/Verifier.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace mpc;
using namespace mpc::test;
using namespace mpc::kernel;

namespace {

constexpr int64_t extents[] = {1, 2, 7, 33, 64, 1000, 4097};

std::string tensor(std::initializer_list<int64_t> shape, const std::string &type) {
  std::string text = "tensor<";
  for (int64_t extent : shape)
    text += std::to_string(extent) + "x";
  return text + type + ">";
}

/// Adds eight results of one type, each computed from one of eight elementwise values of `x`.
void addEight(Case &c, const std::string &x, const std::string &made,
              llvm::function_ref<std::string(const std::string &)> from) {
  for (int i = 0; i < 8; ++i) {
    std::string value = "%v" + std::to_string(i), result = "%r" + std::to_string(i);
    c.body += value + " = graph.neg " + (i == 0 ? "%0" : "%v" + std::to_string(i - 1)) + " : " + x + "\n";
    c.body += result + " = " + from(value) + "\n";
    c.yields.push_back(result + " : " + made);
  }
}

std::vector<Case> cases(const std::string &type, int64_t rows, int64_t columns) {
  std::string x = tensor({rows, columns}, type), y = tensor({columns}, type), t = tensor({columns, rows}, type),
              kept = tensor({rows, 1}, type), name = x + " ";
  auto reduced = [&](const std::string &axis, bool keepdims, const std::string &made) {
    return [=](const std::string &value) {
      return "graph.reduce_max " + value + " {axes = array<i64: " + axis +
             ">, keepdims = " + (keepdims ? "true" : "false") + "} : (" + x + ") -> " + made;
    };
  };
  Case broadcast{.name = name + "broadcast",
                 .inputs = {x, y},
                 .body = "%y = graph.add %0, %1 : (" + x + ", " + y + ") -> " + x,
                 .yields = {"%y : " + x}};
  Case transposes{.name = name + "transposes", .inputs = {x}, .body = {}, .yields = {}};
  addEight(transposes, x, t, [&](const std::string &value) {
    return "graph.transpose " + value + " {permutation = array<i64: 1, 0>} : (" + x + ") -> " + t;
  });
  Case columnwise{.name = name + "columns", .inputs = {x}, .body = {}, .yields = {}};
  addEight(columnwise, x, y, reduced("0", false, y));
  Case rowwise{.name = name + "rows", .inputs = {x}, .body = {}, .yields = {}};
  addEight(rowwise, x, kept, reduced("1", true, kept));
  rowwise.body += "%d = graph.sub %0, %r0 : (" + x + ", " + kept + ") -> " + x;
  rowwise.yields.push_back("%d : " + x);
  Case concat{.name = name + "concat",
              .inputs = {x, x},
              .body = "%y = graph.concat %0, %1 {axis = 1 : i64} : (" + x + ", " + x + ") -> " +
                      tensor({rows, 2 * columns}, type),
              .yields = {"%y : " + tensor({rows, 2 * columns}, type)}};
  return {broadcast, transposes, columnwise, rowwise, concat};
}

TEST(ChosenLoops, FitEveryTarget) {
  std::unique_ptr<MLIRContext> context = makeContext();
  int planned = 0;
  for (std::string type : {"f64", "f32", "f16", "bf16", "i64", "i8"})
    for (int64_t rows : extents)
      for (int64_t columns : extents)
        for (const Case &c : cases(type, rows, columns)) {
          OwningOpRef<ModuleOp> module = parseCase(context.get(), c);
          ASSERT_TRUE(module) << c.name;
          auto holds = [&](StringRef target, const GpuArch *gpu) {
            SCOPED_TRACE(c.name + " " + target.str());
            DispatchOp dispatch = dispatchOf(*module);
            dispatch.removeLoopsAttr();
            if (gpu)
              setTarget(*module, target);
            FailureOr<LoopsAttr> chosen = chooseLoops(dispatch, gpu);
            ASSERT_TRUE(succeeded(chosen) && *chosen);
            dispatch.setLoopsAttr(*chosen);
            ASSERT_TRUE(succeeded(verify(dispatch)));
            ++planned;
          };
          holds("host", nullptr);
          for (const GpuArch &arch : gpuArchs())
            holds(arch.name, &arch);
        }
  EXPECT_EQ(planned, 6 * 7 * 7 * 5 * int(1 + gpuArchs().size()));
}

} // namespace
