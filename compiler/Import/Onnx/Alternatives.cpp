//===- Alternatives.cpp - what to export in place of ops that are not supported ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An op stands here if the network can be written another way, or does not need it for training. Each text goes on a
// `hint:` line, behind an error that names the op and says that it is not supported.
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/Onnx/Registry.h"
#include "llvm/ADT/StringMap.h"

using namespace mpc;
using namespace mpc::onnx_import;

static constexpr char kIntegers[] =
    "export the network before it is quantized: mpc trains floats, and --precision lowers them";
static constexpr char kText[] =
    "prepare such data before the network, and give the network the resulting numbers as an input";
static constexpr char kDataShape[] =
    "shapes may not depend on data: keep all elements, and choose between them with Where or a mask";
static constexpr char kOptional[] = "export a module whose values are tensors, without optional ones";

llvm::StringRef onnx_import::insteadOf(llvm::StringRef op) {
  static const llvm::StringMap<llvm::StringRef> table = {
      {"SequenceMap", "apply the function to each tensor in a loop of Python, which the exporter writes out"},
      // Choices, and sums over windows.
      {"Unique", kDataShape},
      {"GlobalLpPool", "take the norm over the spatial dimensions (ReduceL1, ReduceL2)"},
      {"MaxUnpool", "write the elements to their places with ScatterND"},
      // Pictures.
      // These ops belong before the network, or before its quantization.
      {"ImageDecoder", kText},
      {"MelWeightMatrix", "compute the matrix before the export, so that it is a constant of the model"},
      {"RegexFullMatch", kText},
      {"StringConcat", kText},
      {"StringNormalizer", kText},
      {"StringSplit", kText},
      {"TfIdfVectorizer", kText},
      {"ConvInteger", kIntegers},
      {"DequantizeLinear", kIntegers},
      {"DynamicQuantizeLinear", kIntegers},
      {"MatMulInteger", kIntegers},
      {"QLinearConv", kIntegers},
      {"QLinearMatMul", kIntegers},
      {"QuantizeLinear", kIntegers},
      {"Optional", kOptional},
      {"OptionalGetElement", kOptional},
      {"OptionalHasElement", kOptional},
  };
  return table.lookup(op);
}
