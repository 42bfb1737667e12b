// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Export/Onnx/FoldNorms.h"
#include "compiler/Export/Onnx/Tensors.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <cmath>

using namespace mpc;
using namespace mpc::onnx_export;
using onnx::GraphProto;
using onnx::NodeProto;
using onnx::TensorProto;
using onnx_import::HostTensor;
using onnx_import::printable;

namespace {

const onnx::AttributeProto *attribute(const NodeProto &node, const char *name) {
  for (const auto &attribute : node.attribute())
    if (attribute.name() == name)
      return &attribute;
  return nullptr;
}
double number(const NodeProto &node, const char *name, double fallback) {
  const auto *a = attribute(node, name);
  return !a ? fallback : a->type() == onnx::AttributeProto::FLOAT ? double(a->f()) : double(a->i());
}

bool isOnnx(const NodeProto &node, const char *op) {
  return (node.domain().empty() || node.domain() == "ai.onnx") && node.op_type() == op;
}

class Folder {
public:
  Folder(mlir::MLIRContext &context, GraphProto &graph, const std::string &folder);
  /// Folds a norm into the node before it; returns false where it cannot.
  bool fold(NodeProto &norm);

private:
  /// The elements of an initializer or a Constant of a float type.
  std::optional<HostTensor> known(const std::string &value) const;
  /// The number that all elements of a value have, where it is computed from a single number: torch's dynamo
  /// exporter gives a convolution without a bias Expand(CastLike(0, x), shape).
  std::optional<double> splat(const std::string &value, int depth = 0) const;
  /// Stores these elements as an initializer: in place of `old` where nothing else reads that, otherwise as a
  /// new one called `wanted`. Returns its name.
  std::string store(const std::string &old, const std::string &wanted, mlir::RankedTensorType type,
                    const std::vector<double> &values);

  mlir::MLIRContext &context;
  GraphProto &graph;
  const std::string &folder;
  llvm::StringMap<NodeProto *> makers;
  llvm::StringMap<int> uses;
  llvm::StringMap<TensorProto *> initializers;
  llvm::StringSet<> names;
};

Folder::Folder(mlir::MLIRContext &context, GraphProto &graph, const std::string &folder)
    : context(context), graph(graph), folder(folder) {
  std::vector<std::string> used;
  for (NodeProto &node : *graph.mutable_node()) {
    onnx_import::collectUses(node, used);
    for (const std::string &output : node.output())
      makers[output] = &node;
  }
  for (const auto &output : graph.output())
    used.push_back(output.name());
  for (const std::string &use : used)
    ++uses[use];
  for (TensorProto &initializer : *graph.mutable_initializer())
    initializers[initializer.name()] = &initializer;
  forEachGraph(graph, [&](GraphProto &inner) {
    for (const auto &initializer : inner.initializer())
      names.insert(initializer.name());
    for (const auto &input : inner.input())
      names.insert(input.name());
    for (const auto &node : inner.node())
      names.insert(node.output().begin(), node.output().end());
  });
}

std::optional<HostTensor> Folder::known(const std::string &value) const {
  const TensorProto *tensor = initializers.lookup(value);
  if (!tensor)
    if (const NodeProto *maker = makers.lookup(value); maker && isOnnx(*maker, "Constant"))
      if (const auto *a = attribute(*maker, "value"))
        tensor = &a->t();
  if (!tensor)
    return std::nullopt;
  TensorProto copy = *tensor;
  HostTensor elements = onnx_import::readTensor(&context, copy, printable(value), folder);
  return mlir::isa<mlir::FloatType>(elements.element()) ? std::optional(elements) : std::nullopt;
}

std::optional<double> Folder::splat(const std::string &value, int depth) const {
  const NodeProto *maker = makers.lookup(value);
  bool same = maker && maker->input_size() > 0 &&
              (isOnnx(*maker, "Expand") || isOnnx(*maker, "CastLike") || isOnnx(*maker, "Identity"));
  if (same && depth < 8)
    return splat(maker->input(0), depth + 1);
  std::optional<HostTensor> elements = known(value);
  return elements && elements->size() == 1 ? std::optional(elements->doubles()[0]) : std::nullopt;
}

std::string Folder::store(const std::string &old, const std::string &wanted, mlir::RankedTensorType type,
                          const std::vector<double> &values) {
  HostTensor rounded = HostTensor::fromDoubles(type, values);
  TensorProto *tensor = initializers.lookup(old);
  if (!tensor || uses.lookup(old) > 1) {
    int32_t code = TensorProto::FLOAT;
    if (type.getElementType().isF16())
      code = TensorProto::FLOAT16;
    else if (type.getElementType().isBF16())
      code = TensorProto::BFLOAT16;
    else if (type.getElementType().isF64())
      code = TensorProto::DOUBLE;
    std::string name = wanted;
    for (int i = 0; !names.insert(name).second; ++i)
      name = wanted + "_" + std::to_string(i);
    tensor = graph.add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(code);
    tensor->mutable_dims()->Add(type.getShape().begin(), type.getShape().end());
    initializers[name] = tensor;
    uses[name] = 1;
    --uses[old];
  }
  std::string bytes = *rounded.bytes;
  if (rounded.splat)
    for (int64_t i = 1; i < type.getNumElements(); ++i)
      bytes += *rounded.bytes;
  setBytes(*tensor, bytes);
  return tensor->name();
}

bool Folder::fold(NodeProto &norm) {
  if (norm.input_size() != 5 || norm.output_size() != 1)
    return false;
  NodeProto *maker = makers.lookup(norm.input(0));
  if (!maker || maker->input_size() < 2 || uses.lookup(norm.input(0)) != 1)
    return false;
  bool conv = isOnnx(*maker, "Conv"), transposed = isOnnx(*maker, "ConvTranspose"), gemm = isOnnx(*maker, "Gemm");
  if (!conv && !transposed && !gemm)
    return false;
  auto weights = known(maker->input(1)), scale = known(norm.input(1)), shift = known(norm.input(2)),
       mean = known(norm.input(3)), variance = known(norm.input(4));
  if (!weights || !scale || !shift || !mean || !variance)
    return false;
  llvm::ArrayRef<int64_t> shape = weights->shape();
  int64_t channels = scale->size(), groups = int64_t(number(*maker, "group", 1));
  if (shape.size() < 2 || groups < 1 || shift->size() != channels || mean->size() != channels ||
      variance->size() != channels)
    return false;
  // Finds the channel of the result that a weight belongs to.
  bool rows = conv || (gemm && number(*maker, "transB", 0) != 0);
  int64_t inner = weights->size() / std::max<int64_t>(shape[0] * shape[1], 1);
  auto channelOf = [&](int64_t i) {
    int64_t row = i / (inner * shape[1]), column = i / inner % shape[1];
    return transposed ? row / std::max<int64_t>(shape[0] / groups, 1) * shape[1] + column : rows ? row : column;
  };
  if ((transposed ? shape[1] * groups : rows ? shape[0] : shape[1]) != channels)
    return false;
  double beta = gemm ? number(*maker, "beta", 1) : 1;
  std::string bias = maker->input_size() > 2 ? maker->input(2) : "";
  std::optional<HostTensor> offsets;
  if (!bias.empty()) {
    offsets = known(bias);
    if (std::optional<double> all = offsets ? std::nullopt : splat(bias))
      offsets = HostTensor::fromDoubles(mlir::RankedTensorType::get({channels}, weights->element()),
                                        std::vector<double>(size_t(channels), *all));
    if (!offsets || offsets->size() != channels || offsets->type.getRank() != 1 || beta == 0)
      return false;
  }

  double epsilon = number(norm, "epsilon", 1e-5);
  std::vector<double> w = weights->doubles(), factors = scale->doubles(), added = shift->doubles(),
                      means = mean->doubles(), variances = variance->doubles();
  std::vector<double> b = offsets ? offsets->doubles() : std::vector<double>(size_t(channels), 0.0);
  for (int64_t c = 0; c < channels; ++c) {
    factors[c] /= std::sqrt(variances[c] + epsilon);
    b[c] = ((b[c] * beta - means[c]) * factors[c] + added[c]) / (offsets ? beta : 1);
  }
  for (int64_t i = 0; i < weights->size(); ++i)
    w[i] *= factors[channelOf(i)];

  const std::string &old = maker->input(1);
  maker->set_input(1, store(old, old + ".folded", weights->type, w));
  auto biasType = mlir::RankedTensorType::get({channels}, weights->element());
  std::string stored = store(bias, bias.empty() ? old + ".bias" : bias + ".folded", biasType, b);
  if (maker->input_size() > 2)
    maker->set_input(2, stored);
  else
    maker->add_input(stored);
  if (!offsets && gemm) // the new bias is added without a factor
    for (auto &a : *maker->mutable_attribute())
      if (a.name() == "beta")
        a.set_f(1);
  maker->set_output(0, norm.output(0));
  makers[norm.output(0)] = maker;
  return true;
}

} // namespace

void onnx_export::foldNorms(mlir::MLIRContext &context, GraphProto &graph, const std::string &folder,
                            InferenceCounts &counts) {
  Folder fold(context, graph, folder);
  auto isFolded = [&](NodeProto &node) {
    if (!isOnnx(node, "BatchNormalization"))
      return false;
    if (fold.fold(node)) {
      ++counts.folded;
      return true;
    }
    if (counts.kept++ == 0)
      counts.firstKept = printable(node.name().empty() ? node.output(0) : node.name());
    return false;
  };
  // The norms to remove are found first, since nodes must not move while others are examined.
  std::vector<bool> gone;
  for (NodeProto &node : *graph.mutable_node())
    gone.push_back(isFolded(node));
  google::protobuf::RepeatedPtrField<NodeProto> kept;
  for (size_t i = 0; i < gone.size(); ++i)
    if (!gone[i])
      *kept.Add() = std::move(*graph.mutable_node(int(i)));
  graph.mutable_node()->Swap(&kept);
}
