//===- Flatten.cpp - inlines functions and sorts nodes ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Before: nodes are in any order, and some of them are calls of model-local functions. After: there is one
// list of standard nodes in which every value is made before it is used. Subgraphs (If) stay with their node.
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/Onnx/DropoutForms.h"
#include "compiler/Import/Onnx/Model.h"
#include "compiler/Import/Onnx/Registry.h"
#include "llvm/ADT/DenseMap.h"
#include <functional>
#include <queue>
#include <set>
#include <unordered_map>
#include <unordered_set>

using namespace mpc;
using namespace mpc::onnx_import;

/// The limits on what a small file may unfold to: nodes of functions, counted at each call, and their bytes
/// beyond those of the file.
static constexpr int kMaxDepth = 64;
static constexpr size_t kMaxUnfoldedNodes = 100'000, kMaxUnfoldedBytes = size_t(256) << 20;
static constexpr size_t kMaxNodes = 1'000'000; // those of the graph itself

void Model::countUnfolded(const onnx::NodeProto &node, const std::string &caller) {
  unfoldedBytes += node.ByteSizeLong();
  const bool tooManyBytes = unfoldedBytes > kMaxUnfoldedBytes + protoBytes;
  if (++unfoldedNodes > kMaxUnfoldedNodes || tooManyBytes)
    fail(caller,
         "with this call the model's functions unfold to more than " +
             (tooManyBytes ? std::to_string((kMaxUnfoldedBytes + protoBytes) >> 20) + " MiB"
                           : std::to_string(kMaxUnfoldedNodes) + " nodes"),
         "functions that call functions multiply: export the model without functions, or in parts");
}

static bool isOnnxDomain(const std::string &domain) { return domain.empty() || domain == "ai.onnx"; }

void onnx_import::collectUses(const onnx::NodeProto &node, std::vector<std::string> &uses) {
  uses.insert(uses.end(), node.input().begin(), node.input().end());
  for (const auto &attribute : node.attribute()) {
    auto scan = [&](const onnx::GraphProto &graph) {
      std::unordered_set<std::string> made;
      for (const auto &input : graph.input())
        made.insert(input.name());
      for (const auto &initializer : graph.initializer())
        made.insert(initializer.name());
      for (const auto &inner : graph.node())
        made.insert(inner.output().begin(), inner.output().end());
      std::vector<std::string> inside;
      for (const auto &inner : graph.node())
        collectUses(inner, inside);
      for (const auto &output : graph.output())
        inside.push_back(output.name());
      for (std::string &name : inside)
        if (!made.count(name))
          uses.push_back(std::move(name));
    };
    if (attribute.has_g())
      scan(attribute.g());
    for (const auto &graph : attribute.graphs())
      scan(graph);
  }
}

std::vector<size_t> onnx_import::topologicalOrder(const std::vector<const onnx::NodeProto *> &nodes) {
  std::unordered_map<std::string, size_t> maker;
  for (size_t i = 0; i < nodes.size(); ++i)
    for (const auto &output : nodes[i]->output())
      if (!output.empty())
        maker.emplace(output, i);
  std::vector<std::vector<size_t>> users(nodes.size());
  std::vector<size_t> missing(nodes.size(), 0);
  for (size_t i = 0; i < nodes.size(); ++i) {
    std::vector<std::string> uses;
    collectUses(*nodes[i], uses);
    for (const auto &use : uses)
      if (auto it = maker.find(use); it != maker.end() && !use.empty()) {
        users[it->second].push_back(i);
        ++missing[i];
      }
  }
  // The first of the ready nodes is taken, so that a sorted list keeps its order.
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t i = 0; i < nodes.size(); ++i)
    if (missing[i] == 0)
      ready.push(i);
  std::vector<size_t> order;
  while (!ready.empty()) {
    size_t i = ready.top();
    ready.pop();
    order.push_back(i);
    for (size_t user : users[i])
      if (--missing[user] == 0)
        ready.push(user);
  }
  return order;
}

//===-- Functions --------------------------------------------------------------------===//

namespace {
using Attributes = std::map<std::string, const onnx::AttributeProto *>;
using Rename = std::function<std::string(const std::string &)>;
} // namespace

static void renameGraph(onnx::GraphProto &, const Rename &, const Attributes &);

/// Renames a node's values and replaces its references to attributes by the caller's attributes.
static void specialise(onnx::NodeProto &node, const Rename &rename, const Attributes &attributes) {
  for (auto &input : *node.mutable_input())
    input = rename(input);
  for (auto &output : *node.mutable_output())
    output = rename(output);
  for (int i = 0; i < node.attribute_size();) {
    auto *attribute = node.mutable_attribute(i);
    if (!attribute->ref_attr_name().empty()) {
      auto it = attributes.find(attribute->ref_attr_name());
      if (it == attributes.end()) { // the caller does not give it, so it is absent here too
        node.mutable_attribute()->DeleteSubrange(i, 1);
        continue;
      }
      std::string name = attribute->name();
      *attribute = *it->second;
      attribute->set_name(name);
    } else if (attribute->has_g()) {
      renameGraph(*attribute->mutable_g(), rename, attributes);
    }
    ++i;
  }
}

static void renameGraph(onnx::GraphProto &graph, const Rename &rename, const Attributes &attributes) {
  for (auto &initializer : *graph.mutable_initializer())
    initializer.set_name(rename(initializer.name()));
  for (auto &input : *graph.mutable_input())
    input.set_name(rename(input.name()));
  for (auto &output : *graph.mutable_output())
    output.set_name(rename(output.name()));
  for (auto &node : *graph.mutable_node())
    specialise(node, rename, attributes);
}

/// The bytes of fields that the protobuf classes of ONNX 1.12 keep without knowing them.
template <typename Proto>
static std::vector<std::string> unknownBytes(const Proto &proto, int number) {
  std::vector<std::string> found;
  const auto &unknown = proto.unknown_fields();
  for (int i = 0; i < unknown.field_count(); ++i) {
    const auto &field = unknown.field(i);
    if (field.number() == number && field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
      found.push_back(field.length_delimited());
  }
  return found;
}

/// The attribute defaults of a function: FunctionProto.attribute_proto, field 11.
static std::vector<onnx::AttributeProto> defaultAttributes(const onnx::FunctionProto &function) {
  std::vector<onnx::AttributeProto> defaults;
  for (const std::string &bytes : unknownBytes(function, 11)) {
    onnx::AttributeProto attribute;
    if (attribute.ParseFromString(bytes))
      defaults.push_back(std::move(attribute));
  }
  return defaults;
}

/// Since IR version 10, functions of one name are distinguished by their overload: NodeProto's field 8,
/// FunctionProto's 13.
static std::string overloadOf(const onnx::NodeProto &node) {
  auto found = unknownBytes(node, 8);
  return found.empty() ? "" : found.back();
}
static std::string overloadOf(const onnx::FunctionProto &function) {
  auto found = unknownBytes(function, 13);
  return found.empty() ? "" : found.back();
}

void Model::inlineNode(onnx::NodeProto &&node, const std::map<std::string, int64_t> &opsets, const std::string &prefix,
                       int depth, ImportReport &report) {
  std::string location = printable(!node.name().empty() ? node.name()
                                   : node.output_size() > 0 && !node.output(0).empty()
                                       ? node.output(0)
                                       : node.op_type() + "#" + std::to_string(nodes.size()));
  const std::string domain = isOnnxDomain(node.domain()) ? "" : node.domain();
  auto opset = opsets.find(domain);
  int64_t version = opset == opsets.end() ? 0 : opset->second;
  auto it = functions.find({domain, node.op_type(), overloadOf(node)});
  bool native = domain.empty() && findOp(node.op_type(), version);
  if (it == functions.end() || native) {
    if (nodes.size() >= kMaxNodes)
      fail(name, "the model has more than a million nodes", "export it in parts");
    nodes.push_back({std::move(node), version, std::move(location), depth > 0});
    return;
  }
  const onnx::FunctionProto &function = *it->second;
  const std::string shown = printable(node.op_type());
  if (depth > kMaxDepth)
    fail(location,
         "function '" + shown + "' calls itself, or functions are nested deeper than " + std::to_string(kMaxDepth));
  if (node.input_size() > function.input_size() || node.output_size() > function.output_size())
    fail(location, "gives function '" + shown + "' " + std::to_string(node.input_size()) + " inputs and " +
                       std::to_string(node.output_size()) + " outputs, it has " +
                       std::to_string(function.input_size()) + " and " + std::to_string(function.output_size()));
  std::vector<onnx::AttributeProto> defaults = defaultAttributes(function);
  Attributes attributes;
  for (const auto &attribute : defaults)
    attributes[attribute.name()] = &attribute;
  for (const auto &attribute : node.attribute())
    attributes[attribute.name()] = &attribute;
  // Formal names are replaced by the caller's; all others get a prefix that no other call has.
  std::map<std::string, std::string> names;
  const std::string unique =
      prefix + node.name() + "#" + std::to_string(nodes.size()) + "." + std::to_string(depth) + "/";
  for (int i = 0; i < function.input_size(); ++i)
    names[function.input(i)] = i < node.input_size() ? node.input(i) : "";
  for (int i = 0; i < function.output_size(); ++i)
    if (i < node.output_size() && !node.output(i).empty() && !names.count(function.output(i)))
      names[function.output(i)] = node.output(i);
  Rename rename = [&](const std::string &value) -> std::string {
    if (value.empty())
      return value;
    auto found = names.find(value);
    return found != names.end() ? found->second : unique + value;
  };
  std::map<std::string, int64_t> inner;
  for (const auto &import : function.opset_import())
    inner[isOnnxDomain(import.domain()) ? "" : import.domain()] = import.version();
  if (!inner.count(""))
    inner[""] = this->opset;
  for (const auto &entry : opsets)
    inner.insert(entry);
  for (const auto &bodyNode : function.node()) {
    countUnfolded(bodyNode, location);
    onnx::NodeProto copy = bodyNode;
    specialise(copy, rename, attributes);
    copy.set_name((node.name().empty() ? node.op_type() : node.name()) + "/" +
                  (bodyNode.name().empty() ? bodyNode.op_type() : bodyNode.name()));
    inlineNode(std::move(copy), inner, unique, depth + 1, report);
  }
  // An output that is an input of the function is passed on.
  for (int i = 0; i < function.output_size() && i < node.output_size(); ++i)
    for (int j = 0; j < function.input_size(); ++j)
      if (function.output(i) == function.input(j) && !node.output(i).empty()) {
        onnx::NodeProto identity;
        identity.set_op_type("Identity");
        identity.add_input(names[function.input(j)]);
        identity.add_output(node.output(i));
        countUnfolded(identity, location);
        nodes.push_back({std::move(identity), inner[""], location, true});
      }
}

void Model::flatten(ImportReport &report) {
  std::map<std::string, int64_t> opsets;
  for (const auto &import : proto.opset_import())
    opsets[isOnnxDomain(import.domain()) ? "" : import.domain()] = import.version();
  for (const auto &function : proto.functions())
    functions.insert(
        {{isOnnxDomain(function.domain()) ? "" : function.domain(), function.name(), overloadOf(function)}, &function});
  protoBytes = proto.ByteSizeLong();
  for (auto &node : *proto.mutable_graph()->mutable_node())
    inlineNode(std::move(node), opsets, "", 0, report);
  sort(report);
  recogniseDropouts();
}

void Model::recogniseDropouts() {
  std::vector<const onnx::NodeProto *> protos;
  std::unordered_map<const onnx::NodeProto *, size_t> positions;
  for (const FlatNode &node : nodes) {
    positions.emplace(&node.proto, protos.size());
    protos.push_back(&node.proto);
  }
  std::vector<const onnx::TensorProto *> initializers;
  for (const auto &initializer : proto.graph().initializer())
    initializers.push_back(&initializer);
  for (const DropoutForm &form : findDropouts(protos, initializers)) {
    onnx::NodeProto &node = nodes[positions.at(form.last)].proto;
    const std::string name = node.name(), output = node.output(0);
    node.Clear();
    node.set_name(name);
    node.set_domain(kOwnDomain.str());
    node.set_op_type("Dropout");
    node.add_input(form.x);
    node.add_input(form.mask);
    node.add_output(output);
    onnx::AttributeProto &keep = *node.add_attribute(), &draws = *node.add_attribute();
    keep.set_name("keep");
    keep.set_type(onnx::AttributeProto::FLOAT);
    keep.set_f(float(form.keep));
    draws.set_name("draws");
    draws.set_type(onnx::AttributeProto::STRING);
    draws.set_s(form.draws);
    dropoutDraws.insert(form.draws);
  }
}

void Model::sort(ImportReport &report) {
  std::vector<const onnx::NodeProto *> protos;
  for (const FlatNode &node : nodes)
    protos.push_back(&node.proto);
  std::vector<size_t> order = topologicalOrder(protos);
  if (order.size() < nodes.size()) {
    std::set<size_t> done(order.begin(), order.end());
    for (size_t i = 0; i < nodes.size(); ++i)
      if (!done.count(i)) {
        ImportProblem problem;
        problem.node = nodes[i].location;
        problem.op = printable(nodes[i].proto.op_type());
        problem.opset = nodes[i].opset;
        problem.why = "depends on its own result: the graph has a cycle";
        problem.hint = "ONNX graphs are acyclic; export the model again";
        report.problems.push_back(problem);
        break; // the other nodes on the cycle would only repeat it
      }
  }
  std::vector<FlatNode> sorted;
  sorted.reserve(order.size());
  for (size_t i : order)
    sorted.push_back(std::move(nodes[i]));
  nodes = std::move(sorted);
}
