// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whoever reads the places of a module asks once whether it has them all (kernel::verifyPlanned).
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Kernel/IR/Kernel.h"
#include "dialects/Train/IR/Train.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace mpc;

namespace {

/// The parts of a planned module; each is left out in turn.
struct Parts {
  std::string plan = "kernel.plan = #kernel.plan<arena_bytes = 192, state_bytes = 64, constant_bytes = 0, "
                     "temporary_bytes = 128, peak_bytes = 192, saved_bytes = 0>";
  std::string variable = "{kernel.offset = 0 : i64}", argument = "{kernel.offset = 64 : i64}",
              result = "{kernel.offset = 128 : i64}", args = "{args = array<i64: 64, 128>}";

  std::string text() const {
    return "module attributes {" + plan + "} {\n train.variable @w buffer : tensor<4xf32> = #train.fill<0.5 : f64> " +
           variable + "\n func.func @f(%x: tensor<4xf32> " + argument + ") -> (tensor<4xf32> " + result +
           ") {\n %y = kernel.dispatch pointwise \"exp\" (%x) " + args +
           " : (tensor<4xf32>) -> tensor<4xf32> {\n ^bb0(%a: tensor<4xf32>):\n %e = graph.exp %a : tensor<4xf32>\n "
           "kernel.yield %e : tensor<4xf32>\n }\n"
           " return %y : tensor<4xf32>\n }\n}\n";
  }
};

/// The messages of verifyPlanned, notes included; "planned" if it succeeds.
std::string outcomeOf(const Parts &parts) {
  MLIRContext context;
  context.loadDialect<func::FuncDialect, graph::GraphDialect, kernel::KernelDialect, train::TrainDialect>();
  auto module = parseSourceString<ModuleOp>(parts.text(), &context);
  if (!module)
    return "does not parse";
  std::string messages;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    messages += diagnostic.str();
    for (Diagnostic &note : diagnostic.getNotes())
      messages += "; " + note.str();
  });
  FailureOr<kernel::PlanAttr> plan = kernel::verifyPlanned(*module);
  if (failed(plan))
    return messages;
  EXPECT_EQ(*plan, kernel::PlanAttr::of(*module));
  return "planned";
}

TEST(Planned, EveryPlaceIsThere) {
  const std::string hint = "; hint: run mpc-plan-arena and mpc-verify-arena first";
  EXPECT_EQ(outcomeOf({}), "planned");
  EXPECT_EQ(outcomeOf({.plan = ""}), "the memory of this module is not planned: it has no kernel.plan" + hint);
  EXPECT_EQ(outcomeOf({.variable = ""}), "variable 'w' has no kernel.offset" + hint);
  EXPECT_EQ(outcomeOf({.argument = ""}), "argument 0 of entry 'f' has no kernel.offset" + hint);
  EXPECT_EQ(outcomeOf({.result = ""}), "result 0 of entry 'f' has no kernel.offset" + hint);
  EXPECT_EQ(outcomeOf({.args = ""}), "dispatch 'exp' has no places (args)" + hint);
}

} // namespace
