// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Kernel/Analysis/ProductResults.h"
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Support/Diagnostics.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::kernel;
using namespace mpc::graph;

/// Returns whether the last dimension of C is n, so that a column of C has one position there.
static bool hasColumns(const MatrixProduct &product) {
  using Axis = MatrixProduct::Axis;
  const MatrixProduct::Coordinate &last = product.atC.back();
  const MatrixProduct::Digits &n = product.digits[unsigned(Axis::N)];
  auto extentOf = [&](const MatrixProduct::Term &term) { return product.digits[unsigned(term.axis)][term.digit]; };
  return n.size() == 1 && last.extent == n[0] && last.constant == 0 && last.divisor == 1 &&
         llvm::all_of(last.terms, [&](const MatrixProduct::Term &term) {
           return extentOf(term) == 1 || (term.axis == Axis::N && term.coefficient == 1);
         });
}

bool kernel::sumsColumns(ContractionOpInterface contraction, Operation *sum) {
  Value product = contraction->getResult(0);
  ArrayRef<int64_t> shape = shapeOf(product);
  auto reduction = dyn_cast<ReduceSumOp>(sum);
  return reduction && shapeOf(reduction.getX()) == shape &&
         llvm::equal(reduction.getAxes(), llvm::seq<int64_t>(0, int64_t(shape.size()) - 1)) &&
         computeType(elementOf(reduction.getX())) == computeType(elementOf(product)) &&
         hasColumns(contraction.getProduct());
}

FailureOr<ProductResults> ProductResults::of(DispatchOp dispatch) {
  ContractionOpInterface contraction = dispatch.getContraction();
  Value product = contraction->getResult(0);
  ProductResults results;
  for (auto [number, v] : llvm::enumerate(dispatch.yielded())) {
    Operation *op = v.getDefiningOp();
    bool isSum = isa_and_present<ReduceSumOp>(op);
    if (!isSum && typeOf(v).getNumElements() == typeOf(product).getNumElements())
      results.full.push_back(number);
    else if (isSum && sumsColumns(contraction, op))
      results.columnSums.push_back({op, unsigned(number)});
    else
      return emitErrorWithHint(
          v.getLoc(),
          "result " + Twine(number) +
              " of this launch has neither an element for each element of the product nor is a sum over its rows",
          "compute it in a dispatch of its own");
  }
  return results;
}
