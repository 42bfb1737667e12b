#include "StatedErrors.h"
#include "dialects/Graph/IR/Shapes.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

test::StatedError test::statedError(StringRef mnemonic) {
  return llvm::StringSwitch<StatedError>(mnemonic)
      // exp and log are mpc's own approximations (passes/Lowering/MathApprox). The other functions are computed from
      // them, or by libm.
      .Cases({"exp", "log"}, {1})
      .Case("rsqrt", {1.5}) // a square root and a quotient
      .Cases({"sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "erf"}, {2})
      .Cases({"tanh", "sigmoid", "softplus"}, {3})
      .Case("pow", {1})
      // Their constants (alpha, 1/(1 - ratio) of a dropout, the divisor of a mean) are rounded to f32 first.
      .Cases({"leaky_relu", "dropout", "reduce_mean", "avg_pool", "avg_pool_grad"}, {1})
      // e^x - 1 and x/6 + 1/2 lose leading digits: the error is half an ULP of 1 (of 1/2, times |x| < 4), plus the ULPs
      // of the op itself.
      .Case("elu", {3, 2})
      .Case("hard_sigmoid", {2, 2})
      .Case("hard_swish", {2, 4})
      // The argument of erfc or exp is rounded. The function's slope magnifies that by the argument's square or size,
      // which is up to 25 in [-5, 5].
      .Case("gelu", {32})
      // The weights of neighbours are rounded three times each.
      .Cases({"resize", "resize_grad"}, {4})
      .Default({});
}

static int64_t shrinkage(Value from, Value to) {
  return typeOf(from).getNumElements() / std::max<int64_t>(1, typeOf(to).getNumElements());
}

int64_t test::accumulationLength(Operation *operation) {
  return llvm::TypeSwitch<Operation *, int64_t>(operation)
      .Case<ReduceSumOp, ReduceMeanOp>([](auto op) { return shrinkage(op.getX(), op.getResult()); })
      .Case<MatMulOp>([](MatMulOp op) {
        ArrayRef<int64_t> a = shapeOf(op.getA());
        return op.getTransposeA() ? a[a.size() - 2] : a.back();
      })
      .Case<ConvOp>([](ConvOp op) { return llvm::product_of(shapeOf(op.getW()).drop_front()); })
      .Case<ConvInputGradOp>([](ConvInputGradOp op) {
        return shapeOf(op.getW())[0] / op.getGroups() * llvm::product_of(shapeOf(op.getW()).drop_front(2));
      })
      .Case<ConvWeightGradOp>([](ConvWeightGradOp op) {
        // The length is the number of samples times the number of output positions.
        int64_t channels = shapeOf(op.getDw())[0];
        return typeOf(op.getDy()).getNumElements() / channels;
      })
      .Case<AvgPoolOp, AvgPoolGradOp>([](auto op) { return llvm::product_of(op.getKernel()); })
      .Case<MaxPoolGradOp>([](MaxPoolGradOp op) { return llvm::product_of(op.getKernel()); })
      .Case<GatherGradOp>([](GatherGradOp op) { return typeOf(op.getIndices()).getNumElements(); })
      .Case<ResizeOp>([](ResizeOp op) { return int64_t(1) << typeOf(op.getX()).getRank(); })
      .Case<ResizeGradOp>([](ResizeGradOp op) {
        // At most this many elements of dy read one element of dx.
        return (shrinkage(op.getDy(), op.getDx()) + 1) * (int64_t(1) << typeOf(op.getDx()).getRank());
      })
      .Default(int64_t(0));
}

double test::accumulatorLoss(Operation *operation) {
  auto op = dyn_cast<MatMulOp>(operation);
  if (!op || !isFloat8(elementOf(op.getA())))
    return 0;
  // A sum over 128 of k takes four wgmmas (kernel.wgmma). Each of them truncates its 32 products, the previous sum
  // and the new sum at 2^-13 of a power of two that is no greater than the largest of these. The sums over 128 of k
  // are added in f32.
  return 4 * (32 + 1 + 1) * 0x1p-13;
}
