//===- TransposeInvariants.cpp - matrices that each iteration multiplies by ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Graph/IR/GraphBuilder.h"
#include "passes/Layout/Passes.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

namespace mpc::layout {
#define GEN_PASS_DEF_TRANSPOSEINVARIANTSPASS
#include "passes/Layout/Passes.h.inc"
} // namespace mpc::layout

/// Fewer rows are multiplied where the matrix lies, in either order. On a Zen 3 with two threads and the oneDNN plugin,
/// products by 2048 x 512 took 0.75 ms as [k, n] and 0.52 as [n, k] with 32 rows, 1.40 and 1.08 with 64 (oneDNN
/// computes both), and 0.29 and 0.26 with 16. Without the plugin they took 0.76 and 0.86 with 32 rows. More
/// than 64 rows were not measured. In 16 bits 32 rows took 0.28 and 0.24 ms with AVX-512 (bf16 widened to f32), 0.54
/// and 0.50 with AVX2 alone; f16 0.28 and 0.23, 0.50 and 0.45. oneDNN's bf16 instructions took 0.47 and 0.42.
static constexpr int64_t leastRows = 25, mostRows = 64;
/// The transpose takes as long as three to five iterations gain.
static constexpr int64_t leastTrips = 8;

namespace {

struct TransposeInvariantsPass : layout::impl::TransposeInvariantsPassBase<TransposeInvariantsPass> {
  using TransposeInvariantsPassBase::TransposeInvariantsPassBase;

  /// Returns whether the use is the [k, n] operand of a product of so many rows that a library copies it.
  static bool isCopied(OpOperand &use) {
    auto product = dyn_cast<MatMulOp>(use.getOwner());
    if (!product || use.getOperandNumber() != 1 || product.getTransposeB())
      return false;
    RankedTensorType result = typeOf(product.getResult());
    int64_t elements = result.getNumElements(), columns = result.getShape().back();
    return elements >= leastRows * columns && elements <= mostRows * columns;
  }

  bool isCandidate(BlockArgument argument) const {
    auto type = cast<RankedTensorType>(argument.getType());
    return type.getRank() == 2 && isa<Float32Type, Float16Type, BFloat16Type>(type.getElementType()) &&
           type.getNumElements() >= leastElements && !argument.use_empty() &&
           llvm::all_of(argument.getUses(), isCopied);
  }

  void runOnOperation() override {
    if (kernel::gpuOf(getOperation()))
      return;
    getOperation().walk([&](ScanOp scan) {
      if (int64_t(scan.getTrips()) < leastTrips)
        return;
      OpBuilder b(scan);
      GraphBuilder g(b, scan.getLoc());
      for (auto [argument, operand] : llvm::zip_equal(scan.invariantArguments(), scan.getInvariantsMutable())) {
        if (!isCandidate(argument))
          continue;
        operand.set(g.transpose(operand.get(), {1, 0}));
        argument.setType(operand.get().getType());
        for (Operation *product : argument.getUsers())
          cast<MatMulOp>(product).setTransposeB(true);
        ++numTransposed;
      }
    });
  }
};

} // namespace
