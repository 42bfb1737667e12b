// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The strides with which dispatches read and write, as they follow from what each op says about its operands.
#include "dialects/Kernel/Analysis/Accesses.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace mpc;

namespace {

/// Prints an access as "load 8 1", with the strides along the dimensions of the space; a '?' follows where another
/// number is part of the place.
std::string textOf(const kernel::Access &access, size_t dims) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << (access.isStore ? "store" : "load");
  for (size_t dim = 0; dim < dims; ++dim)
    stream << ' ' << access.place.coefficient(dim);
  if (!access.place.terms().empty() && access.place.terms().back().first >= dims)
    stream << " ?";
  return text;
}

struct Found {
  std::vector<std::string> accesses;
  std::vector<std::pair<unsigned, int64_t>> cuts;
};

/// Finds the accesses of a dispatch with these arguments ("%a: tensor<4xf32>, ..."), their types, one
/// result, and a body.
Found accessesOf(StringRef arguments, StringRef types, StringRef result, StringRef body, StringRef form = "pointwise") {
  MLIRContext context;
  context.loadDialect<func::FuncDialect, graph::GraphDialect, kernel::KernelDialect>();
  std::string text;
  llvm::raw_string_ostream stream(text);
  SmallVector<StringRef> outer;
  types.split(outer, ", ");
  stream << "func.func @f(";
  llvm::interleaveComma(llvm::enumerate(outer), stream,
                        [&](auto operand) { stream << "%x" << operand.index() << ": " << operand.value(); });
  stream << ") -> " << result << " {\n %r = kernel.dispatch " << form << " \"d\" (";
  llvm::interleaveComma(llvm::seq(outer.size()), stream, [&](size_t i) { stream << "%x" << i; });
  stream << ") : (" << types << ") -> " << result << " {\n ^bb0(" << arguments << "):\n " << body
         << "\n }\n return %r : " << result << "\n}\n";
  auto module = parseSourceString<ModuleOp>(text, &context);
  EXPECT_TRUE(module) << text;
  Found found;
  if (!module)
    return found;
  module->walk([&](kernel::DispatchOp dispatch) {
    auto dims = kernel::dimsOf(dispatch);
    ASSERT_TRUE(dims);
    kernel::Accesses accesses = kernel::accessesOf(dispatch, *dims, /*together=*/false);
    for (const kernel::Access &access : accesses.accesses)
      found.accesses.push_back(textOf(access, dims->size()));
    for (const kernel::Cut &cut : accesses.cuts)
      found.cuts.push_back({cut.dim, cut.at});
  });
  return found;
}

using Strings = std::vector<std::string>;

TEST(Accesses, ElementwiseOpsReadWhereTheyWrite) {
  Found found = accessesOf("%a: tensor<4x8xf32>", "tensor<4x8xf32>", "tensor<4x8xf32>",
                           "%0 = graph.exp %a : tensor<4x8xf32>\n kernel.yield %0 : tensor<4x8xf32>");
  EXPECT_EQ(found.accesses, (Strings{"store 8 1", "load 8 1"}));
}

TEST(Accesses, ABroadcastOperandHasNoStrideAlongWhatItRepeats) {
  Found found =
      accessesOf("%a: tensor<4x8xf32>, %b: tensor<8xf32>", "tensor<4x8xf32>, tensor<8xf32>", "tensor<4x8xf32>",
                 "%0 = graph.add %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>\n kernel.yield %0 : "
                 "tensor<4x8xf32>");
  EXPECT_EQ(found.accesses, (Strings{"store 8 1", "load 8 1", "load 0 1"}));
}

TEST(Accesses, ATransposeSwapsStrides) {
  Found found = accessesOf("%a: tensor<8x4xf32>", "tensor<8x4xf32>", "tensor<4x8xf32>",
                           "%0 = graph.transpose %a {permutation = array<i64: 1, 0>} : (tensor<8x4xf32>) -> "
                           "tensor<4x8xf32>\n kernel.yield %0 : tensor<4x8xf32>");
  EXPECT_EQ(found.accesses, (Strings{"store 8 1", "load 1 4"}));
}

TEST(Accesses, AReshapeBehindATransposeNeedsNoQuotients) {
  Found found = accessesOf(
      "%a: tensor<2x8x4x3xf32>", "tensor<2x8x4x3xf32>", "tensor<2x4x24xf32>",
      "%0 = graph.transpose %a {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x8x4x3xf32>) -> tensor<2x4x8x3xf32>\n"
      "%1 = graph.reshape %0 : tensor<2x4x8x3xf32> to tensor<2x4x24xf32>\n kernel.yield %1 : tensor<2x4x24xf32>");
  EXPECT_EQ(found.accesses, (Strings{"store 96 24 3 1", "load 96 3 12 1"})); // the space is 2x4x8x3
}

TEST(Accesses, ASliceReadsWithItsStrides) {
  Found found = accessesOf("%a: tensor<4x10xf32>", "tensor<4x10xf32>", "tensor<4x4xf32>",
                           "%0 = graph.slice %a {starts = array<i64: 0, 1>, sizes = array<i64: 4, 4>, strides = "
                           "array<i64: 1, 2>} : (tensor<4x10xf32>) -> tensor<4x4xf32>\n"
                           "kernel.yield %0 : tensor<4x4xf32>");
  EXPECT_EQ(found.accesses, (Strings{"store 4 1", "load 10 2"}));
}

TEST(Accesses, AConcatenationCutsTheDimensionThatItJoins) {
  Found found =
      accessesOf("%a: tensor<4x3xf32>, %b: tensor<4x5xf32>", "tensor<4x3xf32>, tensor<4x5xf32>", "tensor<4x8xf32>",
                 "%0 = graph.concat %a, %b {axis = 1 : i64} : (tensor<4x3xf32>, tensor<4x5xf32>) -> tensor<4x8xf32>\n "
                 "kernel.yield %0 : tensor<4x8xf32>");
  EXPECT_EQ(found.accesses, (Strings{"store 8 1", "load 3 0 ?", "load 5 0 ?"}));
  EXPECT_EQ(found.cuts, (std::vector<std::pair<unsigned, int64_t>>{{1, 3}}));
}

TEST(Accesses, AReductionReadsAtEachPointAndWritesAtEachRow) {
  Found found = accessesOf(
      "%a: tensor<4x8xf32>", "tensor<4x8xf32>", "tensor<8xf32>",
      "%0 = graph.reduce_sum %a {axes = array<i64: 0>, keepdims = false} : (tensor<4x8xf32>) -> tensor<8xf32>\n"
      "%1 = graph.exp %0 : tensor<8xf32>\n kernel.yield %1 : tensor<8xf32>",
      "reduction");
  EXPECT_EQ(found.accesses, (Strings{"store 0 1", "load 8 1"}));
}

TEST(Accesses, AGatherReadsWhereItsIndicesSay) {
  Found found =
      accessesOf("%a: tensor<10x8xf32>, %i: tensor<4xi32>", "tensor<10x8xf32>, tensor<4xi32>", "tensor<4x8xf32>",
                 "%0 = graph.gather %a, %i {axis = 0 : i64} : (tensor<10x8xf32>, tensor<4xi32>) -> tensor<4x8xf32>\n "
                 "kernel.yield %0 : tensor<4x8xf32>");
  EXPECT_EQ(found.accesses, (Strings{"store 8 1", "load 0 1 ?", "load 1 0"}));
}

TEST(Accesses, AWindowHasTheStridesOfItsPoolWhereItLiesInside) {
  Found inside = accessesOf("%a: tensor<1x4x8x8xf32>", "tensor<1x4x8x8xf32>", "tensor<1x4x4x4xf32>",
                            "%0 = graph.avg_pool %a {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations "
                            "= array<i64: 1, 1>, pad_low = array<i64: 0, 0>, "
                            "pad_high = array<i64: 0, 0>, layout = #graph<layout channels_first>} : "
                            "(tensor<1x4x8x8xf32>) -> tensor<1x4x4x4xf32>\n kernel.yield %0 : tensor<1x4x4x4xf32>");
  EXPECT_EQ(inside.accesses, (Strings{"store 16 4 1", "load 64 16 2"}));
  Found padded = accessesOf("%a: tensor<1x4x8x8xf32>", "tensor<1x4x8x8xf32>", "tensor<1x4x5x5xf32>",
                            "%0 = graph.avg_pool %a {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations "
                            "= array<i64: 1, 1>, pad_low = array<i64: 1, 1>, "
                            "pad_high = array<i64: 1, 1>, layout = #graph<layout channels_first>} : "
                            "(tensor<1x4x8x8xf32>) -> tensor<1x4x5x5xf32>\n kernel.yield %0 : tensor<1x4x5x5xf32>");
  EXPECT_EQ(padded.accesses, (Strings{"store 25 5 1", "load 64 0 0 ?"}));
}

TEST(Accesses, GradientsOfPoolsReadTheWindowsOverAPlace) {
  // Windows have three rows and one column.
  Found found = accessesOf("%a: tensor<1x4x8x8xf32>", "tensor<1x4x8x8xf32>", "tensor<1x4x8x8xf32>",
                           "%0 = graph.avg_pool_grad %a {kernel = array<i64: 3, 1>, strides = array<i64: 1, 1>, "
                           "dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 0>, "
                           "pad_high = array<i64: 1, 0>} : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>\n kernel.yield "
                           "%0 : tensor<1x4x8x8xf32>");
  EXPECT_EQ(found.accesses, (Strings{"store 64 8 1", "load 64 0 1 ?"}));
}

TEST(Accesses, APaddedOperandIsReadInsideOfIt) {
  Found found = accessesOf("%a: tensor<4x8xf32>", "tensor<4x8xf32>", "tensor<4x10xf32>",
                           "%0 = graph.pad %a {value = 0.0 : f64, low = array<i64: 0, 1>, high = array<i64: 0, 1>, "
                           "interior = array<i64: 0, 0>} : (tensor<4x8xf32>) -> tensor<4x10xf32>\n"
                           "kernel.yield %0 : tensor<4x10xf32>");
  EXPECT_EQ(found.accesses, (Strings{"store 10 1", "load 8 0 ?"}));
}

} // namespace
