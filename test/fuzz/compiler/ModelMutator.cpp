//===- ModelMutator.cpp - changes an ONNX model where its meaning is: nodes, edges, attributes, shapes ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// protobuf's parser refuses most mutations of the bytes. Three in four mutations are therefore made on
// the parsed model.
//
//===-----------------------------------------------------------------------------------------------------===//
#include "compiler/Import/Onnx/OnnxProto.h"
#include <google/protobuf/stubs/logging.h>
#include <random>

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

namespace {
using Random = std::minstd_rand;

template <typename List>
auto *pick(List *list, Random &random) {
  return list->size() ? list->Mutable(int(random() % unsigned(list->size()))) : nullptr;
}

int64_t oddNumber(Random &random) {
  static const int64_t numbers[] = {
      0, 1, 2, 3, 4, 7, 8, 16, 255, 65536, -1, -2, -3, INT32_MAX, INT32_MIN, int64_t(1) << 32, INT64_MAX, INT64_MIN};
  return numbers[random() % std::size(numbers)];
}

/// Returns the name of some value of the graph.
std::string someValue(const onnx::GraphProto &graph, Random &random) {
  unsigned kind = random() % 4;
  if (kind == 0 && graph.input_size())
    return graph.input(int(random() % unsigned(graph.input_size()))).name();
  if (kind == 1 && graph.initializer_size())
    return graph.initializer(int(random() % unsigned(graph.initializer_size()))).name();
  if (kind == 2 || !graph.node_size())
    return "";
  const auto &node = graph.node(int(random() % unsigned(graph.node_size())));
  return node.output_size() ? node.output(0) : "";
}

void mutateNode(onnx::GraphProto &graph, Random &random) {
  auto *node = pick(graph.mutable_node(), random);
  if (!node)
    return;
  switch (random() % 7) {
  case 0: // another op
    node->set_op_type(graph.node(int(random() % unsigned(graph.node_size()))).op_type());
    break;
  case 1:
    if (auto *input = pick(node->mutable_input(), random))
      *input = someValue(graph, random);
    break;
  case 2:
    node->add_input(someValue(graph, random));
    break;
  case 3:
    if (node->input_size())
      node->mutable_input()->RemoveLast();
    break;
  case 4: // an attribute of another node
    if (auto *other = pick(graph.mutable_node(), random); other && other != node)
      if (auto *attribute = pick(other->mutable_attribute(), random))
        *node->add_attribute() = *attribute;
    break;
  case 5:
    if (node->attribute_size())
      node->mutable_attribute()->RemoveLast();
    break;
  default:
    if (auto *output = pick(node->mutable_output(), random))
      *output = someValue(graph, random);
  }
}

void mutateAttribute(onnx::GraphProto &graph, Random &random) {
  auto *node = pick(graph.mutable_node(), random);
  auto *attribute = node ? pick(node->mutable_attribute(), random) : nullptr;
  if (!attribute)
    return;
  if (attribute->ints_size() && random() % 4)
    attribute->set_ints(int(random() % unsigned(attribute->ints_size())), oddNumber(random));
  else if (random() % 3 == 0)
    attribute->add_ints(oddNumber(random));
  else if (random() % 2)
    attribute->set_i(oddNumber(random));
  else
    attribute->set_f(float(oddNumber(random)));
  if (random() % 16 == 0)
    attribute->set_type(onnx::AttributeProto::AttributeType(random() % 12));
}

void mutateTensor(onnx::TensorProto &tensor, Random &random) {
  switch (random() % 5) {
  case 0:
    tensor.set_data_type(int(random() % 20));
    break;
  case 1:
    tensor.add_dims(oddNumber(random));
    break;
  case 2:
    if (tensor.dims_size())
      tensor.set_dims(int(random() % unsigned(tensor.dims_size())), oddNumber(random));
    break;
  case 3: // other elements, which may mean another shape or other axes
    if (tensor.int64_data_size())
      tensor.set_int64_data(int(random() % unsigned(tensor.int64_data_size())), oddNumber(random));
    else if (tensor.has_raw_data() && tensor.raw_data().size() >= 8) {
      int64_t number = oddNumber(random);
      tensor.mutable_raw_data()->replace(random() % (tensor.raw_data().size() / 8) * 8, 8,
                                         reinterpret_cast<const char *>(&number), 8);
    }
    break;
  default: // a shape without elements, and no data
    if (tensor.dims_size()) {
      tensor.set_dims(int(random() % unsigned(tensor.dims_size())), 0);
      tensor.mutable_raw_data()->clear();
    }
  }
}

void mutateType(onnx::ValueInfoProto &value, Random &random) {
  auto *type = value.mutable_type()->mutable_tensor_type();
  auto *dim = pick(type->mutable_shape()->mutable_dim(), random);
  switch (random() % 4) {
  case 0:
    type->set_elem_type(int(random() % 20));
    break;
  case 1:
    type->mutable_shape()->add_dim()->set_dim_value(oddNumber(random));
    break;
  case 2:
    if (dim)
      dim->set_dim_param("N");
    break;
  default:
    if (dim)
      dim->set_dim_value(oddNumber(random));
  }
}

void mutate(onnx::ModelProto &model, Random &random) {
  onnx::GraphProto &graph = *model.mutable_graph();
  switch (random() % 10) {
  case 0:
  case 1:
  case 2:
    return mutateNode(graph, random);
  case 3:
  case 4:
    return mutateAttribute(graph, random);
  case 5:
    if (auto *tensor = pick(graph.mutable_initializer(), random))
      mutateTensor(*tensor, random);
    return;
  case 6:
    if (auto *input = pick(graph.mutable_input(), random))
      mutateType(*input, random);
    return;
  case 7: // a copy of a node, with other names for its outputs
    if (graph.node_size()) {
      onnx::NodeProto copy = graph.node(int(random() % unsigned(graph.node_size())));
      for (std::string &output : *copy.mutable_output())
        output += "'";
      *graph.add_node() = copy;
    }
    return;
  case 8: // one node less
    if (graph.node_size())
      graph.mutable_node()->DeleteSubrange(int(random() % unsigned(graph.node_size())), 1);
    return;
  default:
    if (auto *import = pick(model.mutable_opset_import(), random))
      import->set_version(int64_t(random() % 26));
  }
}
} // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  Random random(seed);
  onnx::ModelProto model;
  google::protobuf::LogSilencer silencer;
  if (random() % 4 == 0 || !model.ParseFromArray(data, int(size)))
    return LLVMFuzzerMutate(data, size, maxSize);
  for (unsigned count = 1 + random() % 3; count-- > 0;)
    mutate(model, random);
  std::string bytes;
  if (!model.SerializeToString(&bytes) || bytes.size() > maxSize)
    return LLVMFuzzerMutate(data, size, maxSize);
  std::copy(bytes.begin(), bytes.end(), data);
  return bytes.size();
}
