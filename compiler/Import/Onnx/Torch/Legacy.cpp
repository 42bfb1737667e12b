//===- Legacy.cpp - files of torch's older exporter, which has no metadata but names -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `torch.onnx.export(..., dynamo=False)` names nodes by the modules that they belong to
// ("/layer1/layer1.0/fc/MatMul") and keeps the names of parameters. In EVAL mode it merges equal tensors, and
// computes what does not depend on an input: a transposed weight becomes "onnx::MatMul_379". Names lead back
// to most parameters; the others are reported as lost.
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/Onnx/Torch/Restoration.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

using namespace mpc::onnx_import::torch;
using llvm::StringRef;

/// The module of a node: "/layer1/layer1.0/fc/MatMul" is the product of module "layer1.0.fc".
static std::string moduleOf(StringRef node) {
  llvm::SmallVector<StringRef> parts;
  node.split(parts, '/', -1, false);
  std::string path, before;
  for (StringRef part : llvm::ArrayRef(parts).drop_back(parts.empty() ? 0 : 1)) {
    if (!before.empty() && part.starts_with(before + ".")) // the name of a list's element starts with the list's name
      path.resize(path.size() - before.size());
    else if (!path.empty())
      path += '.';
    before = part.str();
    path += before;
  }
  return path;
}

static bool isFloat(const onnx::TensorProto &tensor) {
  return llvm::is_contained(
      {onnx::TensorProto::FLOAT, onnx::TensorProto::FLOAT16, onnx::TensorProto::BFLOAT16, onnx::TensorProto::DOUBLE},
      tensor.data_type());
}

static int64_t elementsOf(const onnx::TensorProto &tensor) {
  int64_t n = 1;
  for (int64_t d : tensor.dims())
    n *= d;
  return n;
}

/// Whether an input has the name that the exporter gives to a value that it computes for an op: "onnx::MatMul_379".
static bool isComputed(const onnx::NodeProto &node, StringRef input) {
  return input.starts_with(("onnx::" + llvm::Twine(node.op_type()) + "_").str());
}

/// In EVAL mode this exporter leaves, for each merged parameter, an Identity of the tensor that it kept, with
/// the parameter's name. A tensor that a module shares on purpose has one name, or a name that the exporter
/// made up.
void Restoration::restoreLegacyIdentities() {
  std::set<std::string> outputs;
  for (const auto &output : graph.output())
    outputs.insert(output.name());
  auto &list = *graph.mutable_node();
  for (int i = list.size(); i-- > 0;) {
    const onnx::NodeProto &node = list.Get(i);
    if (node.op_type() != "Identity" || node.input_size() != 1 || node.output_size() != 1)
      continue;
    const std::string name = node.output(0);
    onnx::TensorProto *tensor = find(node.input(0));
    if (!tensor || name.empty() || find(name) || outputs.count(name) || name[0] == '/')
      continue;
    add(name, *tensor);
    if (!StringRef(name).starts_with("onnx::"))
      split.insert(name);
    list.DeleteSubrange(i, 1);
  }
}

/// Restores a Linear's weight, which was transposed and has lost its name. It is another parameter's tensor
/// where it equals that (an embedding that is the last layer too). Otherwise its bias, which has kept its
/// name, tells the name of the weight; a module without any tensor is a Linear without a bias.
void Restoration::restoreLegacyWeight(onnx::NodeProto &node) {
  const std::string module = moduleOf(node.name());
  const onnx::TensorProto *weight =
      node.op_type() == "MatMul" && node.input_size() == 2 && isComputed(node, node.input(1)) ? find(node.input(1))
                                                                                              : nullptr;
  if (!weight || weight->dims_size() != 2 || node.output_size() != 1)
    return;
  const std::string turned = transposedBytes(*weight);
  const bool constant =
      turned.find_first_not_of(turned.empty() ? '\0' : turned[0]) == std::string::npos; // zeros are equal by chance
  for (const auto &[name, other] : tensors)
    if (!constant && other->dims_size() == 2 && other->dims(0) == weight->dims(1) &&
        other->dims(1) == weight->dims(0) && other->data_type() == weight->data_type() &&
        !StringRef(name).starts_with("onnx::") && !transposed.count(name) && bytes(*other) == turned) {
      (void)transpose(node, 1, name);
      return;
    }
  if (module.empty())
    return;
  const std::string prefix = module + ".";
  for (const auto &user : graph.node())
    if (user.op_type() == "Add" && llvm::is_contained(user.input(), node.output(0)))
      for (StringRef bias : user.input())
        if (std::string name = bias.str(); bias.starts_with(prefix) && bias.consume_back("bias") && find(name)) {
          if (std::string own = bias.str() + "weight"; !find(own))
            (void)transpose(node, 1, own);
          return;
        }
  auto first = tensors.lower_bound(prefix);
  if (first == tensors.end() || !StringRef(first->first).starts_with(prefix))
    (void)transpose(node, 1, prefix + "weight");
}

/// Restores the scale and shift of a group norm, which follow an InstanceNormalization of the module as [C,
/// 1], and the slopes of a PRelu.
void Restoration::restoreLegacyChannels(onnx::NodeProto &node) {
  const std::string module = moduleOf(node.name());
  const bool slopes = node.op_type() == "PRelu";
  if (module.empty() || (!slopes && node.op_type() != "Mul" && node.op_type() != "Add"))
    return;
  for (int input = 0; input < node.input_size(); ++input) {
    const onnx::TensorProto *tensor = isComputed(node, node.input(input)) ? find(node.input(input)) : nullptr;
    const std::string own = module + (node.op_type() == "Add" ? ".bias" : ".weight");
    if (tensor && isFloat(*tensor) && tensor->dims_size() > 1 && elementsOf(*tensor) == tensor->dims(0) && !find(own) &&
        (slopes || llvm::any_of(graph.node(), [&](const onnx::NodeProto &norm) {
           return norm.op_type() == "InstanceNormalization" && moduleOf(norm.name()) == module;
         })))
      (void)reshape(node, input, own);
  }
}

/// Reports each tensor that would be trained although the exporter computed it: it came from a parameter (a
/// table of positions) or from a buffer (a mask).
void Restoration::loseLegacyComputed(const onnx::NodeProto &node) {
  const StringRef op = node.op_type();
  if (op != "Add" && op != "Mul" && op != "Gather" && op != "MatMul" && op != "PRelu" && op != "Gemm")
    return;
  // nn.Linear is a Gemm of the weight as it is, by transB. Where it is not, the weight may have been transposed alone.
  const bool mayBeTransposed = op == "MatMul" || (op == "Gemm" && llvm::none_of(node.attribute(), [](const auto &each) {
                                                    return each.name() == "transB" && each.i() != 0;
                                                  }));
  for (const std::string &input : node.input()) {
    const onnx::TensorProto *tensor = isComputed(node, input) ? find(input) : nullptr;
    if (!tensor || !isFloat(*tensor) || elementsOf(*tensor) < 2 || !gone.insert(input).second)
      continue;
    if (mayBeTransposed && tensor->dims_size() == 2)
      nameless.insert(input);
    else
      lose("'" + input + "' of " + op + " '" + node.name() +
           "' was computed at export from parameters or buffers of module '" + moduleOf(node.name()) + "'");
  }
}

Restored Restoration::runWithoutMetadata() {
  restoreLegacyIdentities();
  size_t folded = 0;
  std::string first;
  const int count = graph.node_size();
  for (int i = 0; i < count; ++i) {
    const onnx::NodeProto &node = graph.node(i);
    if (node.op_type() == "Conv" && node.input_size() > 1 && isComputed(node, node.input(1)) && find(node.input(1)) &&
        folded++ == 0)
      first = node.input(1); // an unchanged convolution's weight has the module's name
  }
  for (int i = 0; i < count; ++i) { // by the names of their biases, which have been restored
    restoreLegacyWeight(*graph.mutable_node(i));
    restoreLegacyChannels(*graph.mutable_node(i));
  }
  if (folded > 0)
    lose(llvm::Twine(folded) + (folded == 1 ? " batch norm is" : " batch norms are") +
         " folded into convolutions, the first into '" + first + "'");
  for (int i = 0; i < count; ++i)
    loseLegacyComputed(graph.node(i));
  dropUnread();
  noteRestored();
  return std::move(result);
}
