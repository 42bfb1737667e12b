// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "StatedErrors.h"
#include "dialects/Graph/IR/Shapes.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

/// The errors of ops that compute functions of their own, by mnemonic; nullopt for one that is not stated.
static std::optional<test::StatedError> functionError(StringRef mnemonic) {
  using test::StatedError;
  return llvm::StringSwitch<std::optional<StatedError>>(mnemonic)
      // These are correctly rounded: they take an operand, negate it or tell what it is, or take one instruction.
      .Cases({"abs", "neg", "sign", "floor", "ceil", "round", "relu", "clip", "min", "max", "stop_gradient"},
             StatedError())
      .Cases({"not", "and", "or", "xor", "compare", "select", "is_nonfinite", "is_nan"}, StatedError())
      .Cases({"cast", "bitcast", "random", "max_pool", "max_pool_grad", "argmax"}, StatedError())
      .Cases({"depthwise_conv", "depthwise_input_grad"}, StatedError())
      .Cases({"add", "sub", "mul", "div", "mod", "sqrt", "reciprocal", "prelu"}, StatedError())
      // exp and log are mpc's own approximations (passes/Lowering/MathApprox). The other functions are computed from
      // them, or by libm.
      .Cases({"exp", "log"}, StatedError{1})
      .Case("rsqrt", StatedError{1.5}) // a square root and a quotient
      // In x / (1 + |x|) the divisor is rounded before the quotient is. With d rounded to d(1 + e), |e| <= u/(1 + u)
      // and u = 2^-24 (Higham, section 2.2), the quotient y moves by at most u|y|, which is less than one ULP of y.
      .Case("softsign", StatedError{1})
      .Cases({"sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "erf"},
             StatedError{2})
      .Cases({"tanh", "sigmoid", "softplus"}, StatedError{3})
      .Case("pow", StatedError{1})
      // Their constants (alpha, 1/(1 - ratio) of a dropout, the divisor of a mean) are rounded to f32 first.
      .Cases({"leaky_relu", "dropout", "avg_pool", "avg_pool_grad"}, StatedError{1})
      // e^x - 1 and x/6 + 1/2 lose leading digits: the error is half an ULP of 1 (of 1/2, times |x| < 4), plus the ULPs
      // of the op itself.
      .Case("elu", StatedError{3, 2})
      .Case("hard_sigmoid", StatedError{2, 2})
      .Case("hard_swish", StatedError{2, 4})
      // The argument of exp, in f64 of erfc, is rounded. The function's slope magnifies that by the argument's square
      // or size, which is up to 25 in [-5, 5].
      .Case("gelu", StatedError{32})
      .Case("normal_cdf", StatedError{20}) // its argument is half the square
      .Case("swish", StatedError{8})
      // The weights of neighbours are rounded three times each.
      .Cases({"resize", "resize_grad"}, StatedError{4})
      .Default(std::nullopt);
}

std::optional<test::StatedError> test::statedError(OperationName name) {
  const auto *indexed = name.getInterface<IndexingOpInterface>();
  if (!indexed)
    return std::nullopt;
  LoopKind kind = indexed->getLoopKind();
  if (kind == LoopKind::Elementwise || kind == LoopKind::Window)
    return functionError(name.stripDialect());
  // The divisor of a mean is rounded to f32 first.
  const auto *reduction = name.getInterface<ReductionOpInterface>();
  return reduction && reduction->isMean() ? StatedError{1} : StatedError();
}

static int64_t shrinkage(Value from, Value to) {
  return typeOf(from).getNumElements() / std::max<int64_t>(1, typeOf(to).getNumElements());
}

std::optional<int64_t> test::accumulationLength(Operation *operation) {
  using Length = std::optional<int64_t>;
  return llvm::TypeSwitch<Operation *, Length>(operation)
      .Case([](ReductionOpInterface op) {
        bool rounds = op.getCombiner() == Combiner::Add || op.getCombiner() == Combiner::Multiply;
        return rounds ? shrinkage(op->getOperand(0), op->getResult(0)) : 0;
      })
      .Case([](ContractionOpInterface op) {
        return llvm::product_of(op.getProduct().digits[unsigned(MatrixProduct::Axis::K)]);
      })
      .Case<AvgPoolOp, AvgPoolGradOp, MaxPoolGradOp, DepthwiseConvOp, DepthwiseInputGradOp>(
          [](auto op) { return llvm::product_of(op.getKernel()); })
      .Case([](ScatterOp op) {
        bool rounds = op.getMode() == ScatterMode::add || op.getMode() == ScatterMode::multiply;
        return rounds ? typeOf(op.getIndices()).getNumElements() : 0;
      })
      .Case([](ResizeOp op) { return int64_t(1) << typeOf(op.getX()).getRank(); })
      .Case([](ResizeGradOp op) {
        // At most this many elements of dy read one element of dx.
        return (shrinkage(op.getDy(), op.getDx()) + 1) * (int64_t(1) << typeOf(op.getDx()).getRank());
      })
      .Case<MaxPoolOp, ArgMaxOp>([](Operation *) { return 0; })
      .Default([](Operation *op) {
        bool mayAdd = isOfKind(op, LoopKind::Window) || isOfKind(op, LoopKind::Scatter);
        return mayAdd ? Length() : Length(0);
      });
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
