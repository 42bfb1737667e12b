// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Export/Onnx/InferenceForm.h"
#include "compiler/Export/Onnx/FoldNorms.h"
#include "compiler/Import/Onnx/DropoutForms.h"
#include "compiler/Import/Onnx/Model.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mpc;
using namespace mpc::onnx_export;
using onnx::GraphProto;
using onnx::NodeProto;
using onnx_import::printable;

namespace {

using Nodes = google::protobuf::RepeatedPtrField<NodeProto>;

bool isOnnx(const NodeProto &node, const char *op) {
  return (node.domain().empty() || node.domain() == "ai.onnx") && node.op_type() == op;
}

NodeProto identity(const std::string &name, const std::string &from, const std::string &to) {
  NodeProto node;
  node.set_name(name);
  node.set_op_type("Identity");
  node.add_input(from);
  node.add_output(to);
  return node;
}

/// Drops the empty names at the end.
void dropUnnamed(google::protobuf::RepeatedPtrField<std::string> &names) {
  while (!names.empty() && names.Get(names.size() - 1).empty())
    names.RemoveLast();
}

void renameUses(NodeProto &node, const llvm::StringMap<std::string> &names) {
  auto renamed = [&](std::string &value) {
    auto it = names.find(value);
    for (unsigned i = 0; it != names.end() && i < names.size();
         ++i, it = names.find(value)) // a bypassed value may stand for another one
      value = it->second;
  };
  for (std::string &input : *node.mutable_input())
    renamed(input);
  for (auto &attribute : *node.mutable_attribute())
    if (attribute.has_g()) { // values of a branch have names of their own
      for (NodeProto &inner : *attribute.mutable_g()->mutable_node())
        renameUses(inner, names);
      for (auto &output : *attribute.mutable_g()->mutable_output())
        renamed(*output.mutable_name());
    }
}

/// Rewrites one list of nodes: that of the main graph, of a branch, or of a function's body.
class Rewriter {
public:
  Rewriter(mlir::MLIRContext &context, Inference form, const std::string &folder, InferenceCounts &counts,
           const std::map<std::string, std::string> &written = {})
      : context(context), form(form), folder(folder), counts(counts), written(written) {}

  /// `graph` is null for a function's body; `main` says that the graph has initializers that may be removed.
  void run(Nodes &nodes, llvm::ArrayRef<std::string> outputs, int64_t opset, GraphProto *graph, bool main);

private:
  void setNorm(NodeProto &, int64_t opset, std::vector<NodeProto> &made);
  bool setDropout(NodeProto &, int64_t opset);
  bool isUsed(const std::string &value) const { return !value.empty() && used.contains(value); }
  /// Lets all readers of the value read `by` instead; returns false where the graph outputs the value under
  /// its own name.
  bool bypass(const std::string &value, const std::string &by);
  /// Lets all readers of a buffer's new value read the stored one, as evaluation does.
  void readStored(Nodes &nodes, const std::string &value, const std::string &buffer);
  /// Removes what was used before and is no longer used.
  void dropUnused(Nodes &nodes, llvm::ArrayRef<std::string> outputs, GraphProto *graph);

  mlir::MLIRContext &context;
  Inference form;
  const std::string &folder;
  InferenceCounts &counts;
  const std::map<std::string, std::string> written;
  llvm::StringSet<> used, made, givenOut; // `used` and `made` are those of the original graph
  llvm::StringMap<std::string> names;     // the new names of bypassed values
};

llvm::StringSet<> usedBy(const Nodes &nodes, llvm::ArrayRef<std::string> outputs) {
  std::vector<std::string> uses(outputs.begin(), outputs.end());
  for (const NodeProto &node : nodes)
    onnx_import::collectUses(node, uses);
  llvm::StringSet<> set;
  for (const std::string &use : uses)
    set.insert(use);
  return set;
}

llvm::StringSet<> madeBy(const Nodes &nodes) {
  llvm::StringSet<> set;
  for (const NodeProto &node : nodes)
    set.insert(node.output().begin(), node.output().end());
  return set;
}

/// Makes a BatchNormalization use its running statistics. Readers of the next statistics get the old ones,
/// which inference keeps.
void Rewriter::setNorm(NodeProto &node, int64_t opset, std::vector<NodeProto> &made) {
  auto &attributes = *node.mutable_attribute();
  auto mode = llvm::find_if(attributes, [](const auto &a) { return a.name() == "training_mode"; });
  bool training = opset >= 14 ? mode != attributes.end() && (mode->i() != 0 || !mode->ref_attr_name().empty())
                              : node.output_size() > 1;
  if (mode != attributes.end())
    attributes.erase(mode);
  for (int i = 1; i < node.output_size() && node.input_size() == 5; ++i)
    if (isUsed(node.output(i)))
      made.push_back(identity("", node.input(i % 2 ? 3 : 4), node.output(i)));
  node.mutable_output()->DeleteSubrange(1, std::max(node.output_size() - 1, 0));
  counts.norms += training;
}

/// Returns true where the node is to be removed.
bool Rewriter::setDropout(NodeProto &node, int64_t opset) {
  if (opset >= 12 && node.input_size() > 2) {
    node.mutable_input(2)->clear();
    dropUnnamed(*node.mutable_input());
    ++counts.dropouts;
  } else if (form != Inference::Set) {
    ++counts.dropouts;
  }
  bool maskIsRead = node.output_size() > 1 && isUsed(node.output(1));
  return form != Inference::Set && !maskIsRead;
}

bool Rewriter::bypass(const std::string &value, const std::string &by) {
  if (givenOut.contains(value))
    return false;
  names[value] = by;
  return true;
}

void Rewriter::readStored(Nodes &nodes, const std::string &value, const std::string &buffer) {
  if (bypass(value, buffer))
    return;
  for (NodeProto &node : nodes)
    for (std::string &output : *node.mutable_output())
      if (output == value)
        output = value + "/next";
  *nodes.Add() = identity(value, buffer, value);
}

void Rewriter::dropUnused(Nodes &nodes, llvm::ArrayRef<std::string> outputs, GraphProto *graph) {
  llvm::StringSet<> before = std::move(used);
  for (bool changed = true; changed;) {
    used = usedBy(nodes, outputs);
    auto isDead = [&](const NodeProto &node) {
      bool wasLive = llvm::any_of(node.output(), [&](const std::string &o) { return before.contains(o); });
      return wasLive && llvm::none_of(node.output(), [&](const std::string &o) { return isUsed(o); });
    };
    auto end = std::remove_if(nodes.begin(), nodes.end(), isDead);
    changed = end != nodes.end();
    nodes.erase(end, nodes.end());
  }
  if (!graph)
    return;
  auto isDead = [&](const auto &value) { return before.contains(value.name()) && !used.contains(value.name()); };
  llvm::StringSet<> gone;
  for (const auto &initializer : graph->initializer())
    if (isDead(initializer))
      gone.insert(initializer.name());
  auto erase = [&](auto &list) {
    list.erase(std::remove_if(list.begin(), list.end(), [&](const auto &v) { return gone.contains(v.name()); }),
               list.end());
  };
  erase(*graph->mutable_initializer());
  erase(*graph->mutable_input()); // before IR version 4 every initializer is an input, too
  llvm::StringSet<> remaining = madeBy(nodes);
  for (const auto &info : graph->value_info())
    if (made.contains(info.name()) && !remaining.contains(info.name()))
      gone.insert(info.name());
  erase(*graph->mutable_value_info());
}

void Rewriter::run(Nodes &nodes, llvm::ArrayRef<std::string> outputs, int64_t opset, GraphProto *graph, bool main) {
  for (NodeProto &node : nodes)
    for (auto &attribute : *node.mutable_attribute())
      if (attribute.has_g()) {
        GraphProto &inner = *attribute.mutable_g();
        std::vector<std::string> results;
        for (const auto &output : inner.output())
          results.push_back(output.name());
        Rewriter(context, form, folder, counts).run(*inner.mutable_node(), results, opset, &inner, false);
      }
  used = usedBy(nodes, outputs);
  made = madeBy(nodes);
  givenOut.insert(outputs.begin(), outputs.end());
  std::vector<const NodeProto *> list;
  std::vector<const onnx::TensorProto *> initializers;
  for (const NodeProto &node : nodes)
    list.push_back(&node);
  if (graph)
    for (const auto &initializer : graph->initializer())
      initializers.push_back(&initializer);
  llvm::DenseMap<const NodeProto *, std::string>
      dropped; // for the last node of a recognised dropout, the value that it drops elements of
  for (const auto &found : onnx_import::findDropouts(list, initializers))
    dropped[found.last] = found.x;

  if (main)
    for (const auto &[value, buffer] : written)
      readStored(nodes, value, buffer);
  Nodes kept;
  for (NodeProto &node : nodes) {
    std::vector<NodeProto> made;
    if (auto it = dropped.find(&node); it != dropped.end()) {
      ++counts.dropouts;
      if (form != Inference::Set && bypass(node.output(0), it->second))
        continue;
      node = identity(node.name(), it->second, node.output(0));
    } else if (isOnnx(node, "BatchNormalization")) {
      setNorm(node, opset, made);
    } else if (isOnnx(node, "Dropout") && setDropout(node, opset)) {
      if (bypass(node.output(0), node.input(0)))
        continue;
      node = identity(node.name(), node.input(0), node.output(0));
    }
    *kept.Add() = std::move(node);
    for (NodeProto &other : made)
      *kept.Add() = std::move(other);
  }
  nodes.Swap(&kept);
  for (NodeProto &node : nodes)
    renameUses(node, names);
  if (main && form == Inference::Fold)
    foldNorms(context, *graph, folder, counts);
  dropUnused(nodes, outputs, graph);
}

int64_t opsetOf(const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto> &imports, int64_t fallback) {
  for (const auto &import : imports)
    if (import.domain().empty() || import.domain() == "ai.onnx")
      return import.version();
  return fallback;
}

/// Whether the model, with its functions inlined, has a dropout that is written with random numbers and whose
/// nodes lie in several bodies.
bool hasDropoutAcrossFunctions(const onnx::ModelProto &model, const std::string &path, const std::string &folder) {
  bool random = llvm::any_of(model.functions(), [](const onnx::FunctionProto &function) {
    return llvm::any_of(function.node(), [](const NodeProto &node) {
      return llvm::StringRef(node.op_type()).starts_with("Random") || node.op_type() == "Bernoulli";
    });
  });
  if (!random)
    return false;
  onnx_import::Model flat(model.SerializeAsString(), path, folder);
  ImportReport report;
  flat.flatten(report);
  return !flat.dropoutDraws.empty();
}

} // namespace

InferenceCounts onnx_export::toInferenceForm(mlir::MLIRContext &context, onnx::ModelProto &model, Inference form,
                                             const std::string &path, const std::string &folder,
                                             const std::map<std::string, std::string> &written) {
  InferenceCounts counts;
  int64_t opset = opsetOf(model.opset_import(), 0);
  GraphProto &graph = *model.mutable_graph();
  std::vector<std::string> outputs;
  for (const auto &output : graph.output())
    outputs.push_back(output.name());
  Rewriter(context, form, folder, counts, written).run(*graph.mutable_node(), outputs, opset, &graph, true);
  for (onnx::FunctionProto &function : *model.mutable_functions()) {
    outputs.assign(function.output().begin(), function.output().end());
    Rewriter(context, form, folder, counts)
        .run(*function.mutable_node(), outputs, opsetOf(function.opset_import(), opset), nullptr, false);
  }
  if (hasDropoutAcrossFunctions(model, path, folder))
    onnx_import::fail(
        path, "has a dropout that is written with random numbers, in part inside a function and in part outside",
        "inline the model's functions (onnx.inliner), compile that model, and train it");
  return counts;
}
