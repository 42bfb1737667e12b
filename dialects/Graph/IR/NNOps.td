//===- NNOps.td - matrix products, convolutions, pooling, normalisation, losses -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_GRAPH_NN_OPS
#define MPC_GRAPH_NN_OPS
include "dialects/Graph/IR/GraphDialect.td"

//===-- Matrix products and convolutions ---------------------------------------===//

def Graph_MatMulOp : Graph_Op<"matmul", LowPrecision, Differentiable, ContractionLoop, [InferTypeOpAdaptorWithIsCompatible]> {
  let summary = "[..., m, k] @ [..., k, n], leading dimensions broadcast";
  let description = [{
    With `transpose_a`, a is [..., k, m]; with `transpose_b`, b is [..., n, k]. Products are exact, sums are fp32 (fp64 for fp64), and
    the result is rounded once at the end. Operands and result have one element type, except with 8-bit floats: each operand is of either
    8-bit type, the result is f32 (which is inferred), f16 or bf16, and sums may be less precise than fp32 within 128 neighbours along k.
  }];
  let arguments = (ins Graph_Factor:$a, Graph_Factor:$b, UnitAttr:$transpose_a, UnitAttr:$transpose_b);
  let results = (outs Graph_Float:$result);
  let hasVerifier = 1;
}

// `input`, `weight` and `output` name the operand or result that is x, w and y of the convolution, or its cotangent.
class Graph_ConvFamilyOp<string mnemonic, string input, string weight, string output, list<Trait> traits = []>
    : Graph_Op<mnemonic, LowPrecision, Differentiable, ContractionLoop, !listconcat([SameOperandsAndResultElementType, ConvolutionOpInterface], traits)> {
  let extraClassDeclaration = classDeclaration #
    "::mlir::Value getInput() { return get" # input # "(); }\n" #
    "::mlir::Value getWeight() { return get" # weight # "(); }\n" #
    "::mlir::Value getOutput() { return get" # output # "(); }\n";
  dag window = (ins DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$pad_low,
                    DenseI64ArrayAttr:$pad_high, I64Attr:$groups, Graph_DefaultLayout:$layout, UnitAttr:$weight_channels_last);
  let hasVerifier = 1;
}
def Graph_ConvOp : Graph_ConvFamilyOp<"conv", "X", "W", "Y", [InferTypeOpAdaptor]> {
  let summary = "cross-correlation of x with w, over one to three spatial dimensions";
  let description = [{
    x is [N, C, spatial...] or, `channels_last`, [N, spatial..., C]; w is [O, C/groups, kernel...] or, with
    `weight_channels_last`, [O, kernel..., C/groups]; y has x's layout with O channels and
    floor((in + pad_low + pad_high - dilation*(kernel-1) - 1)/stride) + 1 elements per spatial dimension.
  }];
  let arguments = !con((ins Graph_Float:$x, Graph_Float:$w), window);
  let results = (outs Graph_Float:$y);
}
def Graph_ConvInputGradOp : Graph_ConvFamilyOp<"conv_input_grad", "Dx", "W", "Dy"> {
  let summary = "cotangent of a convolution's x, given that of y; also the forward of a transposed convolution";
  let arguments = !con((ins Graph_Float:$dy, Graph_Float:$w), window);
  let results = (outs Graph_Float:$dx);
}
def Graph_ConvWeightGradOp : Graph_ConvFamilyOp<"conv_weight_grad", "X", "Dw", "Dy"> {
  let summary = "cotangent of a convolution's w, given x and the cotangent of y";
  let arguments = !con((ins Graph_Float:$x, Graph_Float:$dy), window);
  let results = (outs Graph_Float:$dw);
}

//===-- Pooling -----------------------------------------------------------------===//

defvar PoolWindow = (ins DenseI64ArrayAttr:$kernel, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                         DenseI64ArrayAttr:$pad_low, DenseI64ArrayAttr:$pad_high, Graph_DefaultLayout:$layout);

def Graph_MaxPoolOp : Graph_Op<"max_pool", Follow, Differentiable, WindowLoop, [InferTypeOpAdaptor]> {
  let extraClassDeclaration = classDeclaration # readRange;
  let summary = "maximum over windows, and its position in the window";
  let description = [{
    `argmax` is the row-major position in the window of its first maximum (NaN counts as the largest), which is all that the gradient needs.
    `ceil_mode` rounds the number of windows up, but never starts one in the high padding.
  }];
  let arguments = !con((ins Graph_Number:$x), PoolWindow, (ins UnitAttr:$ceil_mode));
  let results = (outs Graph_Number:$y, StaticShapeTensorOf<[I16]>:$argmax);
  let hasVerifier = 1;
}
def Graph_MaxPoolGradOp : Graph_Op<"max_pool_grad", Follow, Differentiable, WindowLoop> {
  let extraClassDeclaration = classDeclaration # readRange;
  let summary = "cotangent of a max_pool's x, given that of y and the argmax";
  let arguments = !con((ins Graph_Float:$dy, StaticShapeTensorOf<[I16]>:$argmax), PoolWindow);
  let results = (outs Graph_Float:$dx);
  let hasVerifier = 1;
}
def Graph_AvgPoolOp : Graph_Op<"avg_pool", Follow, Differentiable, WindowLoop, [InferTypeOpAdaptor]> {
  let extraClassDeclaration = classDeclaration # readRange;
  let summary = "mean over windows; padding counts in the divisor only with `count_include_pad`";
  let arguments = !con((ins Graph_Float:$x), PoolWindow, (ins UnitAttr:$count_include_pad, UnitAttr:$ceil_mode));
  let results = (outs Graph_Float:$y);
  let hasVerifier = 1;
}
def Graph_AvgPoolGradOp : Graph_Op<"avg_pool_grad", Follow, Differentiable, WindowLoop> {
  let extraClassDeclaration = classDeclaration # readRange;
  let summary = "cotangent of an avg_pool's x, given that of y";
  let arguments = !con((ins Graph_Float:$dy), PoolWindow, (ins UnitAttr:$count_include_pad, UnitAttr:$ceil_mode));
  let results = (outs Graph_Float:$dx);
  let hasVerifier = 1;
}

//===-- Depthwise convolutions as windows --------------------------------------------===//

class Graph_DepthwiseOp<string mnemonic> : Graph_Op<mnemonic, LowPrecision, NoGrad<"mpc-decompose makes it, behind the gradients">, WindowLoop, [SameOperandsAndResultElementType]> {
  let extraClassDeclaration = classDeclaration # readRange;
  let hasVerifier = 1;
}
def Graph_DepthwiseConvOp : Graph_DepthwiseOp<"depthwise_conv"> {
  let summary = "convolution of each channel with weights of its own, as a sum over windows";
  let description = [{
    x and y are those of a `graph.conv` with as many groups as channels of x and of y; w is [kernel..., C]. Each output element is computed by itself, from neighbouring channels that
    lie side by side in x and in w: on a GPU that takes less time than a matrix product of one column. Products are exact, sums are fp32 (fp64 for fp64), and the result is rounded once.
  }];
  let arguments = !con((ins Graph_Float:$x, Graph_Float:$w), PoolWindow);
  let results = (outs Graph_Float:$y);
}
def Graph_DepthwiseInputGradOp : Graph_DepthwiseOp<"depthwise_input_grad"> {
  let summary = "cotangent of a depthwise_conv's x, given that of y";
  let arguments = !con((ins Graph_Float:$dy, Graph_Float:$w), PoolWindow);
  let results = (outs Graph_Float:$dx);
}

//===-- Normalisation -----------------------------------------------------------===//

// The form of a norm states which dimensions its values share and which stay where they are, see NormOpInterface.
class NormForm<bit c, bit s> { bit channels = c; bit samples = s; }
def NormOfChannels : NormForm<1, 0>;
def NormOfSamples : NormForm<1, 1>; // it has channels too
def NormOverAxes : NormForm<0, 0>;

// Statistics, scales and biases are always fp32; the op defines isFp32Operand.
class Graph_NormOp<string mnemonic, Gradient gradient, NormForm form>
    : Graph_OpBase<mnemonic, Follow, gradient, CompositeLoop, [InferTypeOpAdaptor, NormOpInterface]> {
  string normDeclaration = classDeclaration #
    "bool isFp32Operand(unsigned i);\n" #
    "::std::optional<int64_t> getChannelAxis() { return " # !if(form.channels, "getAxis()", "::std::nullopt") # "; }\n" #
    "static bool keepsSamplesFirst() { return " # !if(form.samples, "true", "false") # "; }\n";
  let extraClassDeclaration = normDeclaration;
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def Graph_BatchNormOp : Graph_NormOp<"batch_norm", Differentiable, NormOfChannels> {
  let extraClassDeclaration = normDeclaration # dependsOn;
  let summary = "training-mode batch normalisation over all dimensions but `axis`";
  let description = [{
    mean = E[x], variance = E[(x - mean)^2] (population), y = (x - mean)/sqrt(variance + epsilon)*scale + bias. All arithmetic is in fp32 or
    wider; y has x's type. The importer builds the update of running statistics (ONNX: population variance; torch keeps the unbiased one).
  }];
  let arguments = (ins Graph_Float:$x, Graph_StatFloat:$scale, Graph_StatFloat:$bias, F64Attr:$epsilon, I64Attr:$axis);
  let results = (outs Graph_Float:$y, Graph_StatFloat:$mean, Graph_StatFloat:$variance);
  let hasVerifier = 1;
}
def Graph_BatchNormGradOp : Graph_NormOp<"batch_norm_grad", NoGrad<"second derivatives of batch normalisation are not supported">, NormOfChannels> {
  let extraClassDeclaration = normDeclaration # dependsOn;
  let summary = "cotangents of a batch_norm's x, scale and bias";
  let description = [{
    With xhat = (x - mean)/sqrt(variance + eps) and M elements per channel (Ioffe & Szegedy 2015, section 3):
    dbias = sum dy, dscale = sum dy*xhat, dx = scale/sqrt(variance + eps) * (dy - dbias/M - xhat*dscale/M).
  }];
  let arguments = (ins Graph_Float:$x, Graph_StatFloat:$scale, Graph_StatFloat:$mean, Graph_StatFloat:$variance, Graph_Float:$dy,
                       F64Attr:$epsilon, I64Attr:$axis);
  let results = (outs Graph_Float:$dx, Graph_StatFloat:$dscale, Graph_StatFloat:$dbias);
  let hasVerifier = 1;
}
def Graph_BatchNormInferenceOp : Graph_NormOp<"batch_norm_inference", Differentiable, NormOfChannels> {
  let summary = "(x - mean)/sqrt(variance + epsilon)*scale + bias with given statistics";
  let arguments = (ins Graph_Float:$x, Graph_StatFloat:$scale, Graph_StatFloat:$bias, Graph_StatFloat:$mean, Graph_StatFloat:$variance,
                       F64Attr:$epsilon, I64Attr:$axis);
  let results = (outs Graph_Float:$y);
  let hasVerifier = 1;
}

def Graph_LayerNormOp : Graph_NormOp<"layer_norm", Differentiable, NormOverAxes> {
  let extraClassDeclaration = normDeclaration # dependsOn;
  let summary = "normalisation over `axes`, separately for each index of the other dimensions";
  let description = [{
    y = (x - mean)*inverse*scale + bias, with all arithmetic in fp32 or wider; y has x's type. scale
    and bias broadcast to x. `mean` and `inverse` keep the axes with size 1. They depend on `kind`:

      layer  mean = E[x], inverse = 1/sqrt(E[(x - mean)^2] + epsilon) (Ba et al. 2016, section 3; ONNX LayerNormalization-17);
      rms    mean = 0, inverse = 1/sqrt(E[x^2] + epsilon) (Zhang and Sennrich 2019, equation 4; ONNX RMSNormalization-23);
      l2     mean = 0, inverse = 1/max(sqrt(sum x^2), epsilon), and 0 where that divides by zero (torch.nn.functional.normalize, ONNX LpNormalization-1).
  }];
  let arguments = (ins Graph_Float:$x, Graph_StatFloat:$scale, Graph_StatFloat:$bias, DenseI64ArrayAttr:$axes, F64Attr:$epsilon,
                       Graph_NormKindAttr:$kind);
  let results = (outs Graph_Float:$y, Graph_StatFloat:$mean, Graph_StatFloat:$inverse);
  let hasVerifier = 1;
}
def Graph_LayerNormGradOp : Graph_NormOp<"layer_norm_grad", NoGrad<"second derivatives of layer normalisation are not supported">, NormOverAxes> {
  let extraClassDeclaration = normDeclaration # dependsOn;
  let summary = "cotangents of a layer_norm's x, scale and bias";
  let description = [{
    With xhat = (x - mean)*inverse (x*inverse for rms and l2, which ignore `mean`), g = dy*scale and E the mean over `axes`:
    dbias = sum dy, dscale = sum dy*xhat (both over the dimensions that bias and scale broadcast along), and dx depends on `kind`:

      layer  dx = inverse*(g - E[g] - xhat*E[g*xhat]);
      rms    dx = inverse*(g - xhat*E[g*xhat]);
      l2     dx = inverse*(g - xhat*sum(g*xhat)), without the second term where the norm is below epsilon.
  }];
  let arguments = (ins Graph_Float:$x, Graph_StatFloat:$scale, Graph_StatFloat:$bias, Graph_StatFloat:$mean, Graph_StatFloat:$inverse, Graph_Float:$dy,
                       DenseI64ArrayAttr:$axes, F64Attr:$epsilon, Graph_NormKindAttr:$kind);
  let results = (outs Graph_Float:$dx, Graph_StatFloat:$dscale, Graph_StatFloat:$dbias);
  let hasVerifier = 1;
}
def Graph_GroupNormOp : Graph_NormOp<"group_norm", Differentiable, NormOfSamples> {
  let extraClassDeclaration = normDeclaration # dependsOn;
  let summary = "normalisation over groups of channels and all spatial dimensions, separately for each sample";
  let description = [{
    x is [N, C, spatial...] with the channels at `axis`; channel c belongs to group c/(C/groups). With E over a sample's group,
    mean = E[x], inverse = 1/sqrt(E[(x - mean)^2] + epsilon), both [N, groups], and y = (x - mean)*inverse*scale + bias with a scale and a bias per
    channel (Wu and He 2018, equations 1 and 6). With as many groups as channels this
    is instance normalisation. All arithmetic is in fp32 or wider; y has x's type.
  }];
  let arguments = (ins Graph_Float:$x, Graph_StatFloat:$scale, Graph_StatFloat:$bias, F64Attr:$epsilon, I64Attr:$axis, I64Attr:$groups);
  let results = (outs Graph_Float:$y, Graph_StatFloat:$mean, Graph_StatFloat:$inverse);
  let hasVerifier = 1;
}
def Graph_GroupNormGradOp : Graph_NormOp<"group_norm_grad", NoGrad<"second derivatives of group normalisation are not supported">, NormOfSamples> {
  let extraClassDeclaration = normDeclaration # dependsOn;
  let summary = "cotangents of a group_norm's x, scale and bias";
  let description = "The formulas are those of `graph.layer_norm_grad` of kind layer, with E over a sample's group.";
  let arguments = (ins Graph_Float:$x, Graph_StatFloat:$scale, Graph_StatFloat:$mean, Graph_StatFloat:$inverse, Graph_Float:$dy, F64Attr:$epsilon,
                       I64Attr:$axis, I64Attr:$groups);
  let results = (outs Graph_Float:$dx, Graph_StatFloat:$dscale, Graph_StatFloat:$dbias);
  let hasVerifier = 1;
}

//===-- Softmax and losses ------------------------------------------------------===//

def Graph_SoftmaxOp : Graph_Op<"softmax", Fp32, Differentiable, CompositeLoop, [SameOperandsAndResultType, ProbabilityOpInterface]> {
  let extraClassDeclaration = classDeclaration # "::std::optional<int64_t> getClassAxis() { return getAxis(); }\n";
  let summary = "e^(x - max) / sum, along `axis`; fp32 arithmetic whatever the storage";
  let arguments = (ins Graph_Float:$x, I64Attr:$axis);
  let results = (outs Graph_Float:$y);
  let assemblyFormat = "$x attr-dict `:` type($x)";
  let hasVerifier = 1;
}
def Graph_LogSoftmaxOp : Graph_Op<"log_softmax", Fp32Range, Differentiable, CompositeLoop, [SameOperandsAndResultType, ProbabilityOpInterface]> {
  let extraClassDeclaration = classDeclaration # "::std::optional<int64_t> getClassAxis() { return getAxis(); }\n";
  let summary = "x - max - log(sum e^(x - max)), along `axis`";
  let arguments = (ins Graph_Float:$x, I64Attr:$axis);
  let results = (outs Graph_Float:$y);
  let assemblyFormat = "$x attr-dict `:` type($x)";
  let hasVerifier = 1;
}
def Graph_NllLossOp : Graph_Op<"nll_loss", Fp32Range, Differentiable, CompositeLoop, [InferTypeOpAdaptor, ClassificationLossOpInterface]> {
  let summary = "negative log-likelihood of integer labels";
  let description = [{
    log_probabilities is [N, C, d...], labels is [N, d...], weights is [C] (all ones if absent). The
    loss of a sample is -weights[label]*log_probabilities[label], and zero where label = ignore_index.
    `mean` divides the sum by the sum of the weights of the samples that are not ignored: it is NaN where all are, as in torch.
  }];
  let arguments = (ins Graph_Float:$log_probabilities, Graph_Index:$labels, Optional<Graph_Float>:$weights,
                       Graph_LossReductionAttr:$reduction, OptionalAttr<I64Attr>:$ignore_index);
  let results = (outs Graph_Float:$loss);
  let hasVerifier = 1;
}
def Graph_SoftmaxCrossEntropyOp : Graph_Op<"softmax_cross_entropy", Fp32Range, Differentiable, CompositeLoop, [InferTypeOpAdaptor, ClassificationLossOpInterface]> {
  let summary = "nll_loss of the log_softmax along dimension 1";
  let arguments = (ins Graph_Float:$logits, Graph_Index:$labels, Optional<Graph_Float>:$weights,
                       Graph_LossReductionAttr:$reduction, OptionalAttr<I64Attr>:$ignore_index);
  let results = (outs Graph_Float:$loss);
  let hasVerifier = 1;
}
#endif
