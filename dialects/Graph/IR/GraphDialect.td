//===- GraphDialect.td - enums and op bases of the graph dialect ---*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_GRAPH_DIALECT
#define MPC_GRAPH_DIALECT
include "mlir/IR/EnumAttr.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/Graph/IR/GraphBase.td"
include "dialects/Graph/IR/GraphInterfaces.td"
include "dialects/Interfaces/Contraction.td"
include "dialects/Interfaces/Differentiable.td"
include "dialects/Interfaces/Indexing.td"
include "dialects/Interfaces/Precision.td"

//===-- Enums ---------------------------------------------------------------===//

class Graph_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::mpc::graph";
  let genSpecializedAttr = 0;
}
class Graph_EnumAttr<EnumInfo info, string mnemonic> : EnumAttr<Graph_Dialect, info, mnemonic>;

def Graph_LayoutEnum : Graph_Enum<"Layout", "order of an activation's dimensions", [
  I32EnumAttrCase<"ChannelsFirst", 0, "channels_first">, I32EnumAttrCase<"ChannelsLast", 1, "channels_last">]>;
def Graph_LayoutAttr : Graph_EnumAttr<Graph_LayoutEnum, "layout">;
def Graph_DefaultLayout : DefaultValuedAttr<Graph_LayoutAttr, "::mpc::graph::Layout::ChannelsFirst">;

def Graph_PredicateEnum : Graph_Enum<"Predicate", "comparison", [
  I32EnumAttrCase<"eq", 0>, I32EnumAttrCase<"ne", 1>, I32EnumAttrCase<"lt", 2>, I32EnumAttrCase<"le", 3>,
  I32EnumAttrCase<"gt", 4>, I32EnumAttrCase<"ge", 5>]>;
def Graph_PredicateAttr : Graph_EnumAttr<Graph_PredicateEnum, "predicate">;

def Graph_LossReductionEnum : Graph_Enum<"LossReduction", "what a loss does with its samples", [
  I32EnumAttrCase<"none", 0>, I32EnumAttrCase<"sum", 1>, I32EnumAttrCase<"mean", 2>]>;
def Graph_LossReductionAttr : Graph_EnumAttr<Graph_LossReductionEnum, "reduction">;

def Graph_ScatterModeEnum : Graph_Enum<"ScatterMode", "what a scatter does with elements of one place", [
  I32EnumAttrCase<"add", 0>, I32EnumAttrCase<"multiply", 1>, I32EnumAttrCase<"max", 2>, I32EnumAttrCase<"min", 3>]>;
def Graph_ScatterModeAttr : Graph_EnumAttr<Graph_ScatterModeEnum, "scatter_mode">;

def Graph_ResizeModeEnum : Graph_Enum<"ResizeMode", "interpolation", [
  I32EnumAttrCase<"nearest", 0>, I32EnumAttrCase<"linear", 1>]>;
def Graph_ResizeModeAttr : Graph_EnumAttr<Graph_ResizeModeEnum, "resize_mode">;

def Graph_NormKindEnum : Graph_Enum<"NormKind", "what a layer norm takes from x and divides it by", [
  I32EnumAttrCase<"layer", 0>, I32EnumAttrCase<"rms", 1>, I32EnumAttrCase<"l2", 2>]>;
def Graph_NormKindAttr : Graph_EnumAttr<Graph_NormKindEnum, "norm">;

def Graph_DistributionEnum : Graph_Enum<"Distribution", "what random numbers are drawn from", [
  I32EnumAttrCase<"uniform", 0>, I32EnumAttrCase<"normal", 1>]>;
def Graph_DistributionAttr : Graph_EnumAttr<Graph_DistributionEnum, "distribution">;

//===-- Op bases: precision class, gradient and loop kind are arguments that cannot be forgotten ------------===//

// The precision class states an op's numerical safety, see dialects/Interfaces/Precision.h.
class Precision<string cls> { string name = cls; }
def LowPrecision : Precision<"Low">;
def Fp32 : Precision<"Fp32">;
def Fp32Range : Precision<"Fp32Range">;
def Promote : Precision<"Promote">;
def Follow : Precision<"Follow">;
def Neutral : Precision<"Neutral">;
def BodyPrecision : Precision<"Body">;

// The gradient states what an op's derivative is, see dialects/Interfaces/Differentiable.td.
class Gradient<list<Trait> t, string w = ""> { list<Trait> traits = t; string why = w; }
def Differentiable : Gradient<[DeclareOpInterfaceMethods<DifferentiableOpInterface>]>;
def ZeroGrad : Gradient<[ZeroGradientTrait]>;
class NoGrad<string why> : Gradient<[NoGradientOpInterface], why>;

// The loop kind states how an op reads its operands in a loop nest, see dialects/Interfaces/Indexing.h. An op that is not aligned defines followingDim
// (Indexing.cpp) and permuted (Permuted.cpp). `p` is the period of its neighbours; an op of period 0 defines getPeriod (Indexing.cpp).
class Loop<string n, bit a = 0, int p = 1> { string name = n; bit aligned = a; int period = p; bit draws = 0; list<Trait> traits = []; }
def GeneratorLoop : Loop<"Generator", 1>;
def ElementwiseLoop : Loop<"Elementwise", 1>;
def RandomLoop : Loop<"Elementwise", 1, 4> { let draws = 1; } // Philox makes four words at a time
def ViewLoop : Loop<"View"> { let traits = [StorageViewTrait]; }
def BroadcastLoop : Loop<"Broadcast">;
def PermutationLoop : Loop<"Permutation">;
def MovementLoop : Loop<"Movement">;
def WindowLoop : Loop<"Window", 0, 0>;
def ReductionLoop : Loop<"Reduction">;
def ScatterLoop : Loop<"Scatter">;
def ContractionLoop : Loop<"Contraction"> { let traits = [DeclareOpInterfaceMethods<ContractionOpInterface>]; }
def CompositeLoop : Loop<"Composite">;
def RepeatLoop : Loop<"Repeat">;

class Graph_OpBase<string mnemonic, Precision precision, Gradient gradient, Loop loop, list<Trait> traits, list<Trait> effects = [Pure]>
    : Op<Graph_Dialect, mnemonic, !listconcat(effects, [PrecisionOpInterface, IndexingOpInterface], gradient.traits, loop.traits, traits)> {
  // An op adds these to its declaration if it says itself which results depend on which operands, which of their elements it reads, or that no magnitude grows (Indexing.cpp).
  string dependsOn = "bool dependsOn(::mlir::OpOperand &operand, ::mlir::OpResult result);\n";
  string readRange = "::std::optional<::mpc::ReadRange> readRange(::mlir::OpOperand &operand, ::mlir::OpResult result, int64_t dim);\n";
  string keepsMagnitudes = "bool keepsMagnitudes() { return true; }\n";
  string permuted = "::mlir::Operation *permuted(::mlir::OpBuilder &builder, ::llvm::ArrayRef<int64_t> permutation, ::mlir::ValueRange operands);\n";
  string classDeclaration =
    "static ::mpc::PrecisionClass getPrecisionClass() { return ::mpc::PrecisionClass::" # precision.name # "; }\n" #
    "static ::mpc::LoopKind getLoopKind() { return ::mpc::LoopKind::" # loop.name # "; }\n" #
    "static bool drawsNumbers() { return " # !if(loop.draws, "true", "false") # "; }\n" #
    !if(loop.period, "static int64_t getPeriod() { return " # !cast<string>(loop.period) # "; }\n", "int64_t getPeriod();\n") #
    !if(loop.aligned, "", permuted # "::std::optional<int64_t> followingDim(::mlir::OpOperand &operand, ::mlir::OpResult result, int64_t dim);\n") #
    !if(!empty(gradient.why), "",
        "static ::llvm::StringRef getNoGradientReason() { return \"" # gradient.why # "\"; }\n");
  let extraClassDeclaration = classDeclaration;
}

class Graph_Op<string mnemonic, Precision precision, Gradient gradient, Loop loop, list<Trait> traits = []>
    : Graph_OpBase<mnemonic, precision, gradient, loop, traits> {
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

#endif
