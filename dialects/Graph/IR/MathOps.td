//===- MathOps.td - elementwise ops of the graph dialect --------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_GRAPH_MATH_OPS
#define MPC_GRAPH_MATH_OPS
include "dialects/Graph/IR/GraphDialect.td"

//===-- Unary ----------------------------------------------------------------===//

class Graph_UnaryOp<string mnemonic, Precision precision, Gradient gradient, Type type = Graph_Float, list<Trait> traits = []>
    : Graph_Op<mnemonic, precision, gradient, ElementwiseLoop, !listconcat([SameOperandsAndResultType], traits)> {
  let arguments = (ins type:$x);
  let results = (outs type:$y);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

def Graph_AbsOp : Graph_UnaryOp<"abs", Follow, Differentiable, Graph_Number> {
  let summary = "|x|";
  let extraClassDeclaration = classDeclaration # keepsMagnitudes;
  let hasFolder = 1;
}
def Graph_NegOp : Graph_UnaryOp<"neg", Follow, Differentiable, Graph_Number> {
  let summary = "-x";
  let extraClassDeclaration = classDeclaration # keepsMagnitudes;
  let hasFolder = 1;
}
def Graph_SignOp : Graph_UnaryOp<"sign", Follow, ZeroGrad, Graph_Number> { let summary = "-1, 0 or 1"; }
def Graph_FloorOp : Graph_UnaryOp<"floor", Follow, ZeroGrad> { let summary = "largest integer <= x"; }
def Graph_CeilOp : Graph_UnaryOp<"ceil", Follow, ZeroGrad> { let summary = "smallest integer >= x"; }
def Graph_RoundOp : Graph_UnaryOp<"round", Follow, ZeroGrad> { let summary = "nearest integer, ties to even"; }
def Graph_ExpOp : Graph_UnaryOp<"exp", Fp32Range, Differentiable> { let summary = "e^x"; }
def Graph_LogOp : Graph_UnaryOp<"log", Fp32, Differentiable> { let summary = "natural logarithm"; }
def Graph_SqrtOp : Graph_UnaryOp<"sqrt", Follow, Differentiable> { let summary = "square root"; }
def Graph_RsqrtOp : Graph_UnaryOp<"rsqrt", Fp32Range, Differentiable> { let summary = "1/sqrt(x)"; }
def Graph_ReciprocalOp : Graph_UnaryOp<"reciprocal", Fp32Range, Differentiable> { let summary = "1/x"; }
def Graph_SinOp : Graph_UnaryOp<"sin", Follow, Differentiable> { let summary = "sine of radians"; }
def Graph_CosOp : Graph_UnaryOp<"cos", Follow, Differentiable> { let summary = "cosine of radians"; }
def Graph_TanOp : Graph_UnaryOp<"tan", Fp32Range, Differentiable> { let summary = "tangent of radians"; }
def Graph_AsinOp : Graph_UnaryOp<"asin", Fp32, Differentiable> { let summary = "inverse sine"; }
def Graph_AcosOp : Graph_UnaryOp<"acos", Fp32, Differentiable> { let summary = "inverse cosine"; }
def Graph_AtanOp : Graph_UnaryOp<"atan", Follow, Differentiable> { let summary = "inverse tangent"; }
def Graph_SinhOp : Graph_UnaryOp<"sinh", Fp32Range, Differentiable> { let summary = "hyperbolic sine"; }
def Graph_CoshOp : Graph_UnaryOp<"cosh", Fp32Range, Differentiable> { let summary = "hyperbolic cosine"; }
def Graph_AsinhOp : Graph_UnaryOp<"asinh", Follow, Differentiable> { let summary = "inverse hyperbolic sine"; }
def Graph_AcoshOp : Graph_UnaryOp<"acosh", Follow, Differentiable> { let summary = "inverse hyperbolic cosine"; }
def Graph_AtanhOp : Graph_UnaryOp<"atanh", Follow, Differentiable> { let summary = "inverse hyperbolic tangent"; }
def Graph_ErfOp : Graph_UnaryOp<"erf", Follow, Differentiable> { let summary = "error function"; }
def Graph_NormalCdfOp : Graph_UnaryOp<"normal_cdf", Follow, Differentiable> {
  let summary = "Phi(x), the probability that a standard normal variable is at most x";
  let description = [{
    y = `erfc(-x/sqrt 2)/2` (DLMF 7.20.1), without the cancellation that `(1 + erf(x/sqrt 2))/2` has for negative x. GELU is `x * Phi(x)`, and its
    derivative is `Phi(x) + x * phi(x)` with the density `phi(x) = e^(-x^2/2)/sqrt(2 pi)`, which the kernel of `Phi` computes as well.
  }];
}
def Graph_TanhOp : Graph_UnaryOp<"tanh", Follow, Differentiable> { let summary = "hyperbolic tangent"; }
def Graph_SigmoidOp : Graph_UnaryOp<"sigmoid", Follow, Differentiable, Graph_Float, [ProbabilityOpInterface]> {
  let summary = "1/(1 + e^-x)";
  let extraClassDeclaration = classDeclaration # "::std::optional<int64_t> getClassAxis() { return ::std::nullopt; }\n";
}
def Graph_ReluOp : Graph_UnaryOp<"relu", Follow, Differentiable, Graph_Number> { let summary = "max(x, 0)"; let hasFolder = 1; }
def Graph_SoftplusOp : Graph_UnaryOp<"softplus", Fp32, Differentiable> { let summary = "log(1 + e^x), without overflow"; }
def Graph_SoftsignOp : Graph_UnaryOp<"softsign", Follow, Differentiable> { let summary = "x / (1 + |x|)"; }
def Graph_HardSwishOp : Graph_UnaryOp<"hard_swish", Follow, Differentiable> { let summary = "x * clamp(x/6 + 1/2, 0, 1)"; }

def Graph_StopGradientOp : Graph_UnaryOp<"stop_gradient", Follow, ZeroGrad> {
  let summary = "x, whose gradient ends here";
  let description = [{
    The result is x, and the derivative is zero: what x was computed from gets no gradient through this op. It is torch's `detach`, and what leaves a
    `torch.no_grad` region passes through it. `mpc-autodiff` replaces each by its operand once it has built the gradients.
  }];
  let extraClassDeclaration = classDeclaration # keepsMagnitudes;
}

def Graph_LeakyReluOp : Graph_UnaryOp<"leaky_relu", Follow, Differentiable> {
  let summary = "x where x >= 0, alpha*x elsewhere";
  let arguments = (ins Graph_Float:$x, F64Attr:$alpha);
}
def Graph_EluOp : Graph_UnaryOp<"elu", Follow, Differentiable> {
  let summary = "x where x >= 0, alpha*(e^x - 1) elsewhere";
  let arguments = (ins Graph_Float:$x, F64Attr:$alpha);
}
def Graph_HardSigmoidOp : Graph_UnaryOp<"hard_sigmoid", Follow, Differentiable> {
  let summary = "clamp(alpha*x + beta, 0, 1)";
  let arguments = (ins Graph_Float:$x, F64Attr:$alpha, F64Attr:$beta);
}
def Graph_GeluOp : Graph_UnaryOp<"gelu", Follow, Differentiable> {
  let summary = "x * Phi(x), or with `approximate` its tanh form";
  let description = [{
    y = `x/2 * (1 + erf(x/sqrt 2))`, or with `approximate` y = `x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3)))` (ONNX Gelu, opset 20).
  }];
  let arguments = (ins Graph_Float:$x, UnitAttr:$approximate);
}
def Graph_SwishOp : Graph_UnaryOp<"swish", Follow, Differentiable> {
  let summary = "x * sigmoid(alpha*x)";
  let description = [{
    With an alpha of 1 this is SiLU (Elfwing et al. 2018; ONNX Swish, opset 24).
  }];
  let arguments = (ins Graph_Float:$x, F64Attr:$alpha);
}
def Graph_ClipOp : Graph_UnaryOp<"clip", Follow, Differentiable, Graph_Number> {
  let summary = "min(max(x, min), max); a min of -infinity and a max of infinity do not act";
  let description = [{
    Where min is above max every element becomes max, and the gradient is zero (ONNX Clip-13, torch.clamp). The bounds are not NaN. For integers
    they count as the outermost integers of the type that lie within them.
  }];
  let arguments = (ins Graph_Number:$x, F64Attr:$min, F64Attr:$max);
  let hasVerifier = 1;
}

def Graph_NotOp : Graph_UnaryOp<"not", Neutral, ZeroGrad, Graph_Bool> { let summary = "logical negation"; }

def Graph_CastOp : Graph_Op<"cast", Neutral, Differentiable, ElementwiseLoop, [SameOperandsAndResultShape]> {
  let summary = "conversion of the element type";
  let description = [{
    A cast to a narrower float rounds to nearest, ties to even. A value out of range becomes infinity, but for 8-bit floats it
    becomes the largest finite number (also where the value is infinite): the GPU instruction (cvt.satfinite), Transformer Engine
    and torchao do the same, whereas torch.Tensor.to gives NaN or infinity. A cast from float to integer rounds toward zero. A
    cast to i1 gives x != 0. The VJP of a cast is a cast, so gradients of low-precision copies reach fp32 masters in fp32.
  }];
  let arguments = (ins Graph_Tensor:$x);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `to` type($y)";
  let hasFolder = 1;
}

def Graph_IsNonFiniteOp : Graph_Op<"is_nonfinite", Neutral, ZeroGrad, ElementwiseLoop, [SameOperandsAndResultShape, InferTypeOpAdaptor]> {
  let summary = "whether x is infinite or NaN";
  let arguments = (ins Graph_Float:$x);
  let results = (outs Graph_Bool:$y);
}
def Graph_IsNaNOp : Graph_Op<"is_nan", Neutral, ZeroGrad, ElementwiseLoop, [SameOperandsAndResultShape, InferTypeOpAdaptor]> {
  let summary = "whether x is NaN";
  let arguments = (ins Graph_Float:$x);
  let results = (outs Graph_Bool:$y);
}

//===-- Binary, with numpy broadcasting ----------------------------------------===//

class Graph_BinaryOp<string mnemonic, Precision precision, Gradient gradient, Type type = Graph_Number>
    : Graph_Op<mnemonic, precision, gradient, ElementwiseLoop, [SameOperandsAndResultElementType, InferTypeOpAdaptor]> {
  let arguments = (ins type:$lhs, type:$rhs);
  let results = (outs type:$result);
}
def Graph_AddOp : Graph_BinaryOp<"add", Promote, Differentiable> { let summary = "a + b"; let hasFolder = 1; }
def Graph_SubOp : Graph_BinaryOp<"sub", Promote, Differentiable> { let summary = "a - b"; let hasFolder = 1; }
def Graph_MulOp : Graph_BinaryOp<"mul", Promote, Differentiable> { let summary = "a * b"; let hasFolder = 1; }
def Graph_DivOp : Graph_BinaryOp<"div", Promote, Differentiable> { let summary = "a / b; integers round toward zero, and give 0 where b is 0"; let hasFolder = 1; }
def Graph_ModOp : Graph_BinaryOp<"mod", Promote, Differentiable> {
  let summary = "remainder with the sign of b, or with `fmod` the sign of a; integers give 0 where b is 0";
  let arguments = (ins Graph_Number:$lhs, Graph_Number:$rhs, UnitAttr:$fmod);
}
def Graph_PowOp : Graph_BinaryOp<"pow", Fp32Range, Differentiable, Graph_Number> { let summary = "a^b"; }
def Graph_PReluOp : Graph_Op<"prelu", LowPrecision, Differentiable, ElementwiseLoop, [SameOperandsAndResultElementType, InferTypeOpAdaptor]> {
  let summary = "x where x > 0, slope*x elsewhere; the slope broadcasts to x";
  let arguments = (ins Graph_Number:$x, Graph_Number:$slope);
  let results = (outs Graph_Number:$y);
  let hasVerifier = 1;
}
def Graph_MinOp : Graph_BinaryOp<"min", Promote, Differentiable> { let summary = "the smaller operand; NaN if either is NaN"; }
def Graph_MaxOp : Graph_BinaryOp<"max", Promote, Differentiable> { let summary = "the larger operand; NaN if either is NaN"; }
def Graph_AndOp : Graph_BinaryOp<"and", Neutral, ZeroGrad, Graph_Bool> { let summary = "a and b"; }
def Graph_OrOp : Graph_BinaryOp<"or", Neutral, ZeroGrad, Graph_Bool> { let summary = "a or b"; }
def Graph_XorOp : Graph_BinaryOp<"xor", Neutral, ZeroGrad, Graph_Bool> { let summary = "a xor b"; }

def Graph_CompareOp : Graph_Op<"compare", Promote, ZeroGrad, ElementwiseLoop, [SameOperandsElementType, InferTypeOpAdaptor]> {
  let summary = "comparison; false where an operand is NaN, except for `ne`, which is true there";
  let arguments = (ins Graph_PredicateAttr:$predicate, Graph_Tensor:$lhs, Graph_Tensor:$rhs);
  let results = (outs Graph_Bool:$result);
  let assemblyFormat = "$predicate operands attr-dict `:` functional-type(operands, results)";
}

def Graph_SelectOp : Graph_Op<"select", Promote, Differentiable, ElementwiseLoop, [InferTypeOpAdaptor]> {
  let extraClassDeclaration = classDeclaration # keepsMagnitudes;
  let summary = "a where the condition holds, b elsewhere; all three broadcast";
  let arguments = (ins Graph_Bool:$condition, Graph_Tensor:$on_true, Graph_Tensor:$on_false);
  let results = (outs Graph_Tensor:$result);
  let hasFolder = 1;
}

def Graph_BitcastOp : Graph_Op<"bitcast", Neutral, ZeroGrad, ElementwiseLoop, [SameOperandsAndResultShape]> {
  let summary = "the bits of each element as a number of another type of the same width";
  let arguments = (ins Graph_Number:$x);
  let results = (outs Graph_Number:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `to` type($y)";
  let hasVerifier = 1;
}

//===-- Random ------------------------------------------------------------------===//

def Graph_RandomOp : Graph_Op<"random", Neutral, ZeroGrad, RandomLoop> {
  let summary = "random numbers: `uniform` in [0, 1), or `normal` with mean 0 and variance 1";
  let description = [{
    Element i depends on its row-major index and the operands alone, so a recomputation draws the same numbers. It is made from the
    words of Philox4x32-10 with key `seed` (low and high word) and counter (i/4, `salt`, step low, step high), as in `graph.dropout`.

    uniform: the element is word i%4 as a fraction, truncated to the bits that the result holds exactly: 24 bits in f32, 11 in f16, 8 in bf16, 32 in f64.
    normal: the element is Box and Muller's transform (1958) of two words of the block, computed in f64 and rounded
    once; the functions are the series in `dialects/Graph/IR/Normal.h`, so that all targets give the same bits.
  }];
  let arguments = (ins StaticShapeTensorOf<[I64]>:$seed, StaticShapeTensorOf<[I64]>:$step, Graph_DistributionAttr:$distribution, I64Attr:$salt);
  let results = (outs Graph_Float:$y);
  let assemblyFormat = "$distribution operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_DropoutOp : Graph_Op<"dropout", Follow, Differentiable, RandomLoop> {
  let summary = "zeroes elements with probability `ratio`, scales the rest by 1/(1-ratio)";
  let description = [{
    The mask is a function, not a value: element i is kept when u(i) >= ratio, where u(i) is word i%4, as a fraction
    of 2^32, of Philox4x32-10 with key `seed` (low and high word) and counter (i/4, salt, step low, step high). So
    the backward pass, and a recomputation, draw the same mask from the same operands, and no mask is stored.

    Along the dimensions `shared` (sorted) all elements share one number: i counts the elements of a mask that has extent 1 there. With all dimensions but
    the first this is stochastic depth: whole samples are dropped.
  }];
  let arguments = (ins Graph_Float:$x, StaticShapeTensorOf<[I64]>:$seed, StaticShapeTensorOf<[I64]>:$step,
                       F64Attr:$ratio, I64Attr:$salt, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$shared);
  let results = (outs Graph_Float:$y);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let builders = [];
  let hasVerifier = 1;
  let extraClassDeclaration = classDeclaration # permuted # [{
    /// Returns the shape of the mask: x's shape, with 1 in the dimensions that share a number.
    ::llvm::SmallVector<int64_t> getMaskShape();
  }];
}

#endif
