// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Import/Onnx/Torch/Restoration.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/Twine.h"
#include <array>
#include <utility>

using namespace mpc::onnx_import::torch;
using llvm::StringRef;

/// The values that an argument of a call names, in the form "%x" or as the list "[%a, %b]".
static llvm::SmallVector<StringRef> valuesIn(StringRef argument) {
  llvm::SmallVector<StringRef> values;
  argument.trim("[]()").split(values, ',');
  for (StringRef &value : values)
    value = value.trim();
  return values;
}

//===-- Arguments of calls at inputs of nodes --------------------------------------===//

static bool isBatchNorm(const Call &call) { return StringRef(call.target).contains("batch_norm"); }

namespace {
/// For the nodes of a call: which argument of the call each input of a node is. A call that becomes several
/// nodes has a row for each node that takes parameters.
struct Place {
  StringRef target, op;    // op "" stands for any op
  std::array<int, 5> args; // for each input; -1 where it is none of them
};
} // namespace

// The signatures are aten's (native_functions.yaml). A sum or product has its parameter on either side.
static constexpr Place kPlaces[] = {
    {"linear", "Add", {2, 2, -1, -1, -1}},
    {"linear", "", {0, 1, 2, -1, -1}},
    {"addmm", "Add", {0, 0, -1, -1, -1}},
    {"addmm", "Gemm", {1, 2, 0, -1, -1}},
    {"addmm", "MatMul", {1, 2, -1, -1, -1}},
    {"layer_norm", "LayerNormalization", {0, 2, 3, -1, -1}},
    {"layer_norm", "Mul", {2, 2, -1, -1, -1}},
    {"layer_norm", "Add", {3, 3, -1, -1, -1}},
    {"group_norm", "GroupNormalization", {0, 2, 3, -1, -1}},
    {"group_norm", "Mul", {2, 2, -1, -1, -1}},
    {"group_norm", "Add", {3, 3, -1, -1, -1}},
    {"rms_norm", "RMSNormalization", {0, 2, -1, -1, -1}},
    {"rms_norm", "Mul", {2, 2, -1, -1, -1}},
    {"_fused_rms_norm", "RMSNormalization", {0, 2, -1, -1, -1}},
    {"_fused_rms_norm", "Mul", {2, 2, -1, -1, -1}},
    {"instance_norm", "InstanceNormalization", {0, 1, 2, -1, -1}},
    {"embedding", "Gather", {0, 1, -1, -1, -1}},
    {"prelu", "PRelu", {0, 1, -1, -1, -1}},
    {"add", "Add", {0, 1, -1, -1, -1}},
    {"sub", "Sub", {0, 1, -1, -1, -1}},
    {"mul", "Mul", {0, 1, -1, -1, -1}},
    {"div", "Div", {0, 1, -1, -1, -1}},
    {"pow", "Pow", {0, 1, -1, -1, -1}},
    {"matmul", "MatMul", {0, 1, -1, -1, -1}},
    {"bmm", "MatMul", {0, 1, -1, -1, -1}},
    {"mm", "MatMul", {0, 1, -1, -1, -1}},
    {"where", "Where", {0, 1, 2, -1, -1}},
    {"maximum", "Max", {0, 1, -1, -1, -1}},
    {"minimum", "Min", {0, 1, -1, -1, -1}},
};

/// The argument of the call that is at an input of one of its nodes; "" where that is not known.
static std::string argumentAt(const Call &call, const onnx::NodeProto &node, size_t input) {
  const StringRef op = node.op_type(), target = call.target;
  auto at = [&](int i) { return i >= 0 && size_t(i) < call.args.size() ? call.args[size_t(i)] : std::string(); };
  if (target == "cat" && op == "Concat" && !call.args.empty()) {
    llvm::SmallVector<StringRef> list = valuesIn(call.args[0]);
    return input < list.size() ? list[input].str() : "";
  }
  if ((isBatchNorm(call) && op == "BatchNormalization") || (target.starts_with("conv") && op.starts_with("Conv")))
    return at(int(input));
  for (const Place &place : kPlaces)
    if (place.target == target && (place.op.empty() || place.op == op))
      return input < place.args.size() ? at(place.args[input]) : "";
  return "";
}

/// Whether a call returns its input, or a number of the input's shape, so that it hides no parameter.
static bool doesNothing(StringRef call) {
  call = call.rtrim("0123456789");
  call.consume_back("_");
  return call.starts_with("sym_") ||
         llvm::StringSwitch<bool>(call)
             .Cases({"dropout", "native_dropout", "feature_dropout", "alpha_dropout", "dropout1d", "dropout2d",
                     "dropout3d"},
                    true)
             .Cases({"to", "_to_copy", "type_as", "clone", "contiguous", "detach", "alias", "lift_fresh_copy"}, true)
             .Default(false);
}

//===-- Putting back -----------------------------------------------------------------===//

static std::vector<int64_t> shapeOf(const onnx::TensorProto &tensor) {
  return {tensor.dims().begin(), tensor.dims().end()};
}

static void setElements(onnx::TensorProto &tensor, std::vector<int64_t> shape, std::string raw) {
  onnx::TensorProto fresh;
  fresh.set_name(tensor.name());
  fresh.set_data_type(tensor.data_type());
  for (int64_t d : shape)
    fresh.add_dims(d);
  fresh.set_raw_data(std::move(raw));
  tensor = std::move(fresh);
}

std::string Restoration::transposedBytes(const onnx::TensorProto &matrix) {
  const int64_t rows = matrix.dims(0), columns = matrix.dims(1);
  std::string from = bytes(matrix), to(from.size(), '\0');
  size_t size = rows * columns == 0 ? 0 : from.size() / size_t(rows * columns);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      std::copy_n(&from[size_t(i * columns + j) * size], size, &to[size_t(j * rows + i) * size]);
  return to;
}

/// Restores the parameter `name`, whose transpose the exporter has put at an input: as a tensor and a
/// Transpose of it.
bool Restoration::transpose(onnx::NodeProto &node, int input, const std::string &name) {
  onnx::TensorProto *folded = find(node.input(input));
  if (folded->dims_size() != 2)
    return false;
  int64_t rows = folded->dims(0), columns = folded->dims(1);
  std::string to = transposedBytes(*folded);
  if (onnx::TensorProto *there = find(name)) {
    if (there->data_type() != folded->data_type() || shapeOf(*there) != std::vector<int64_t>{columns, rows} ||
        bytes(*there) != to)
      return false;
  } else {
    onnx::TensorProto &tensor = add(name, onnx::TensorProto());
    tensor.set_data_type(folded->data_type());
    setElements(tensor, {columns, rows}, std::move(to));
  }
  replaced.insert(node.input(input));
  *node.mutable_input(input) = insert("Transpose", name, [](onnx::NodeProto &made) {
    onnx::AttributeProto &permutation = *made.add_attribute();
    permutation.set_name("perm");
    permutation.set_type(onnx::AttributeProto::INTS);
    permutation.add_ints(1);
    permutation.add_ints(0);
  });
  transposed.insert(name);
  return true;
}

/// Does the same for a parameter [C] that is at the input as [C, 1, 1].
bool Restoration::reshape(onnx::NodeProto &node, int input, const std::string &name) {
  const onnx::TensorProto folded = *find(node.input(input));
  int64_t channels = 1;
  for (int64_t d : folded.dims()) {
    if (d != 1 && channels != 1)
      return false;
    channels *= d;
  }
  if (onnx::TensorProto *there = find(name)) {
    if (there->data_type() != folded.data_type() || shapeOf(*there) != std::vector<int64_t>{channels} ||
        bytes(*there) != bytes(folded))
      return false;
  } else {
    onnx::TensorProto &tensor = add(name, folded);
    tensor.clear_dims();
    tensor.add_dims(channels);
  }
  replaced.insert(node.input(input));
  std::string text = "Reshape";
  for (int64_t d : folded.dims())
    text.append(1, '.').append(std::to_string(d));
  *node.mutable_input(input) = insert(text.c_str(), name, [&](onnx::NodeProto &made) {
    made.set_op_type("Reshape");
    made.add_input(made.output(0) + ".shape");
    onnx::TensorProto &shape = add(made.input(1), onnx::TensorProto());
    shape.set_data_type(onnx::TensorProto::INT64);
    shape.add_dims(folded.dims_size());
    for (int64_t d : folded.dims())
      shape.add_int64_data(d);
  });
  reshaped.insert(name);
  return true;
}

/// Restores an input whose value was computed at export.
void Restoration::restoreFolded(onnx::NodeProto &node, const Call &call, int input) {
  const std::string value = node.input(input);
  std::vector<std::string> parameters;
  for (const std::string &name : metadata.foldedFrom(value))
    if (metadata.kindOf(name) == Kind::Parameter)
      parameters.push_back(name);
  if (parameters.empty())
    return;
  // Equal values have been merged; where the call names a parameter, that is the one.
  const Origin *origin = metadata.origin(argumentAt(call, node, size_t(input)));
  bool alone = parameters.size() == 1 && metadata.foldedFrom(value).size() == 1;
  const StringRef made = StringRef(value).split('_').first;
  if (origin && origin->kind == Kind::Parameter) {
    if (call.target == "linear" && transpose(node, input, origin->target))
      return;
    if ((call.target == "group_norm" || call.target == "prelu") && reshape(node, input, origin->target))
      return;
  } else if (alone && (made == "t" || made == "permute" || made == "transpose" || made == "numpy") &&
             transpose(node, input, parameters[0])) {
    guessed = value;
    return;
  }
  for (const std::string &name : parameters)
    if (!find(name) && gone.insert(name).second)
      lose("'" + llvm::Twine(name) + "' was computed into '" + value + "'");
}

void Restoration::restoreInput(onnx::NodeProto &node, const Call &call, int input) {
  const std::string name = node.input(input);
  onnx::TensorProto *tensor = find(name);
  if (!tensor)
    return;
  if (!metadata.foldedFrom(name).empty())
    return restoreFolded(node, call, input);
  if (!metadata.kindOf(name))
    return;
  // The candidates are the tensors that the call was given and that this one may stand for: they have its
  // values, or were dropped because it has them.
  std::set<std::string> candidates;
  bool given = false;
  auto consider = [&](StringRef argument) {
    const Origin *origin = metadata.origin(argument.str());
    if (!origin)
      return;
    given |= origin->target == name;
    onnx::TensorProto *there = find(origin->target);
    if (!there || (there->data_type() == tensor->data_type() && shapeOf(*there) == shapeOf(*tensor) &&
                   bytes(*there) == bytes(*tensor)))
      candidates.insert(origin->target);
  };
  for (const std::string &argument : call.args)
    for (StringRef value : valuesIn(argument))
      consider(value);
  const Origin *origin = metadata.origin(argumentAt(call, node, size_t(input)));
  std::string own;
  if (origin && candidates.count(origin->target) && !(given && callNodes[call.name] > 1))
    own = origin->target;
  else if (!given && candidates.size() == 1)
    own = *candidates.begin();
  if (own.empty() || own == name)
    return;
  if (!find(own))
    add(own, *tensor);
  *node.mutable_input(input) = own;
  split.insert(own);
}

/// Restores a bias that was left out because it was zero.
void Restoration::restoreBias(onnx::NodeProto &node, const Call &call) {
  const StringRef op = node.op_type();
  bool linear = op == "Gemm" && (call.target == "linear" || call.target == "addmm");
  bool convolution = (op == "Conv" || op == "ConvTranspose") && StringRef(call.target).starts_with("conv");
  if ((!linear && !convolution) || node.input_size() < 2 || (node.input_size() > 2 && !node.input(2).empty()))
    return;
  const Origin *origin = metadata.origin(argumentAt(call, node, 2));
  StringRef from = node.input(1);
  bool turned = from.consume_back("/Transpose");
  onnx::TensorProto *weight = find(from.str());
  if (!origin || origin->kind != Kind::Parameter || !weight || weight->dims_size() < 2)
    return;
  auto attribute = [&](const char *name, int64_t standard) {
    for (const auto &a : node.attribute())
      if (a.name() == name)
        return a.i();
    return standard;
  };
  int64_t channels = op == "Conv"            ? weight->dims(0)
                     : op == "ConvTranspose" ? weight->dims(1) * attribute("group", 1)
                                             : weight->dims((attribute("transB", 0) != 0) != turned ? 0 : 1);
  if (!find(origin->target)) {
    onnx::TensorProto &bias = add(origin->target, onnx::TensorProto());
    bias.set_data_type(weight->data_type());
    size_t size = bytes(*weight).size(), elements = 1;
    for (int64_t d : weight->dims())
      elements *= size_t(d);
    setElements(bias, {channels}, std::string(elements == 0 ? 0 : size / elements * size_t(channels), '\0'));
  }
  if (node.input_size() > 2)
    *node.mutable_input(2) = origin->target;
  else
    node.add_input(origin->target);
  biases.insert(origin->target);
}

/// Removes tensors that are no longer read since the values that they were computed from have been restored.
void Restoration::dropUnread() {
  std::set<std::string> read;
  forEachNode(std::as_const(graph), [&](const onnx::NodeProto &node) {
    read.insert(node.input().begin(), node.input().end());
    for (const auto &attribute : node.attribute())
      for (const auto &output : attribute.g().output())
        read.insert(output.name());
  });
  for (const auto &output : graph.output())
    read.insert(output.name());
  auto &list = *graph.mutable_initializer();
  for (int i = list.size(); i-- > 0;)
    if (const std::string &name = list.Get(i).name(); replaced.count(name) && !read.count(name)) {
      tensors.erase(name);
      list.DeleteSubrange(i, 1);
    }
}

/// Finds the parameters that no tensor of the file stands for. The module may not use them, or may also have
/// them under another name (tied weights). They are lost where a call was given one, or where one may have
/// been dropped with a node: then calls take the result of a call that has no node, since it was equal to
/// another or did nothing.
void Restoration::findMissing() {
  std::set<std::string> made, given, aliases;
  std::vector<Call> calls;
  for (const auto &input : graph.input())
    made.insert(input.name());
  for (const auto &[name, tensor] : tensors) {
    made.insert(name);
    made.insert(metadata.foldedFrom(name).begin(), metadata.foldedFrom(name).end());
  }
  forEachNode(std::as_const(graph), [&](const onnx::NodeProto &node) {
    made.insert(node.output().begin(), node.output().end());
    if (std::optional<Call> call = Metadata::callOf(node)) {
      made.insert(call->name);
      const std::string module = Metadata::moduleOf(node);
      for (const std::string &argument :
           call->args) // where a node of "model.embed_tokens" is given "lm_head.weight", the two are one
        if (const Origin *origin = metadata.origin(argument); origin && !module.empty())
          aliases.insert(module + "." + StringRef(origin->target).rsplit('.').second.str());
      calls.push_back(std::move(*call));
    }
  });
  // These are weights that are no tensor of the module: some tool has computed them after the export.
  std::string computed = guessed;
  forEachNode(std::as_const(graph), [&](const onnx::NodeProto &node) {
    const StringRef op = node.op_type();
    if ((op == "MatMul" || op == "Gemm" || op == "Conv") && computed.empty())
      for (const std::string &input : node.input())
        if (find(input) && !metadata.kindOf(input) && metadata.foldedFrom(input).empty() &&
            find(input)->dims_size() > 1)
          computed = input;
  });
  // A body of cond, scan or while_loop has a name such as true_graph_0, and its arguments are arg0_1, arg1_1 and so on.
  // No node makes these.
  auto isNumber = [](StringRef text) {
    return !text.empty() && text.find_first_not_of("0123456789") == StringRef::npos;
  };
  auto isOfBody = [&](StringRef value) {
    auto [kind, number] = value.rsplit("_graph_");
    return (!kind.empty() && isNumber(number)) ||
           (value.consume_front("arg") && value.consume_back("_1") && isNumber(value));
  };
  std::string dangling;
  for (const Call &call : calls)
    for (const std::string &argument : call.args)
      for (StringRef value : valuesIn(argument)) {
        if (const Origin *origin = metadata.origin(value.str()))
          given.insert(origin->target);
        else if (value.consume_front("%") && !metadata.isInput(value.str()) && !made.count(value.str()) &&
                 !doesNothing(value) && !isOfBody(value) && dangling.empty())
          dangling = value.str();
      }
  for (const auto &[name, kind] : metadata.tensors()) {
    if (kind != Kind::Parameter || find(name) || gone.count(name))
      continue;
    if (aliases.count(name) && !given.count(name))
      continue;
    if (given.count(name))
      lose("'" + llvm::Twine(name) + "' was merged with an equal tensor, and which of its uses is meant is not known");
    else if (!dangling.empty())
      lose("'" + llvm::Twine(name) + "' may be gone with '" + dangling +
           "', which was equal to another node or did nothing");
    else if (!computed.empty())
      lose("'" + llvm::Twine(name) + "' may have been computed into '" + computed + "'");
    else
      continue;
    gone.insert(name);
  }
}

/// Finds the gradient stops that the exporter has removed with their Identity nodes: a call is given "%detach", which
/// no node makes, and its node reads the value that was detached. An Identity comes back where that value is plain;
/// otherwise the stop is lost, unless no parameter can be behind it.
void Restoration::restoreGradientStops() {
  std::set<std::string> made, trained; // trained: values that depend on a parameter
  std::map<std::string, std::string> callOfValue;
  for (const auto &[name, tensor] : tensors)
    if (metadata.kindOf(name) == Kind::Parameter || llvm::any_of(metadata.foldedFrom(name), [&](const auto &from) {
          return metadata.kindOf(from) == Kind::Parameter;
        }))
      trained.insert(name);
  // The nodes that were inserted between parameters and their uses come last, and read parameters alone.
  for (const std::string &name : inserted)
    trained.insert(name);
  forEachNode(std::as_const(graph), [&](const onnx::NodeProto &node) {
    std::optional<Call> call = Metadata::callOf(node);
    bool depends = llvm::any_of(node.input(), [&](const std::string &input) { return trained.count(input) != 0; });
    for (const std::string &output : node.output()) {
      made.insert(output);
      if (depends)
        trained.insert(output);
      if (call)
        callOfValue[output] = call->name;
    }
    if (call)
      made.insert(call->name);
  });
  auto isGone = [&](StringRef value) { // whether no node makes what a call was given
    return !metadata.origin(value.str()) && value.consume_front("%") && !metadata.isInput(value.str()) &&
           !made.count(value.str());
  };
  auto isStop = [](StringRef value) {
    value = value.rtrim("0123456789");
    value.consume_back("_");
    return value == "%detach";
  };
  const int count = graph.node_size();
  for (int i = 0; i < count; ++i) {
    onnx::NodeProto &node = *graph.mutable_node(i);
    std::optional<Call> call = Metadata::callOf(node);
    if (!call)
      continue;
    std::set<std::string> named;
    std::string stop;
    int gone = 0;
    for (const std::string &argument : call->args)
      for (StringRef value : valuesIn(argument)) {
        if (const Origin *origin = metadata.origin(value.str()))
          named.insert(origin->target);
        named.insert(value.ltrim('%').str());
        gone += isGone(value);
        if (isGone(value) && isStop(value))
          stop = value.drop_front().str();
      }
    if (gone == 0)
      continue;
    llvm::SmallVector<int> candidates; // inputs that depend on a parameter and may be what is gone
    bool certain = false;              // whether an input's own argument is the stop
    int others = 0;                    // computed inputs that may be that, too
    std::set<std::string> seen;
    for (int input = 0; input < node.input_size(); ++input) {
      const std::string &name = node.input(input);
      if (const std::string own = argumentAt(*call, node, size_t(input)); StringRef(own).starts_with("%")) {
        if (trained.count(name) && isGone(own) && (stop.empty() || isStop(own))) {
          certain = !stop.empty();
          candidates.assign(1, input);
        }
        if (certain)
          break;
        continue;
      }
      auto maker = callOfValue.find(name);
      bool known = (named.count(name) && seen.insert(name).second) ||
                   (maker != callOfValue.end() && (maker->second == call->name || named.count(maker->second)));
      if (trained.count(name) && !known)
        candidates.push_back(input);
      else
        others += maker != callOfValue.end() && !known;
    }
    if (candidates.empty())
      continue;
    if (stop.empty()) {
      passed.insert(call->name); // a clone or the like is gone, and perhaps a stop in front of it
      continue;
    }
    if (!certain && (candidates.size() > 1 || others > 0 || gone > 1)) {
      lose("the gradient stop '" + llvm::Twine(stop) + "' in front of '" + call->name + "' was removed");
      continue;
    }
    const std::string from = node.input(candidates[0]);
    std::string result = from + "/" + stop;
    if (inserted.insert(result).second) {
      onnx::NodeProto &identity = *graph.add_node();
      identity.set_name(result);
      identity.set_op_type("Identity");
      identity.add_input(from);
      identity.add_output(result);
      this->result.stopped.insert(result);
    }
    *node.mutable_input(candidates[0]) = result;
  }
  if (this->result.stopped.empty())
    return;
  // Without its stop a node may have become equal to another one, and the optimizer keeps one of equal nodes.
  for (int i = 0; i < count; ++i)
    if (std::optional<Call> call = Metadata::callOf(graph.node(i)))
      for (const std::string &argument : call->args)
        for (StringRef value : valuesIn(argument))
          if (isGone(value) && !doesNothing(value.drop_front()))
            return lose("'" + llvm::Twine(value.drop_front()) +
                        "' was merged with an equal node, and gradients end in front of one "
                        "of them");
}

/// Finds the values that forward writes to buffers. The running statistics of batch norms are outputs of their nodes,
/// and their counter of batches is read by nothing.
void Restoration::findWritten() {
  std::map<std::string, std::string> lastOf; // the value that the last node of a call makes
  std::set<std::string> values, statistics, read;
  for (const auto &input : graph.input())
    values.insert(input.name());
  forEachNode(std::as_const(graph), [&](const onnx::NodeProto &node) {
    values.insert(node.output().begin(), node.output().end());
    read.insert(node.input().begin(), node.input().end());
    if (node.op_type() == "BatchNormalization" || node.op_type() == "InstanceNormalization")
      for (int i = 3; i < node.input_size(); ++i)
        statistics.insert(node.input(i));
    if (std::optional<Call> call = Metadata::callOf(node); call && node.output_size() > 0)
      lastOf[call->name] = node.output(0);
  });
  for (const auto &[value, buffer] : metadata.mutations()) {
    if (statistics.count(buffer) || StringRef(buffer).ends_with("num_batches_tracked"))
      continue;
    std::string found = values.count(value) ? value : lastOf.count(value) ? lastOf[value] : "";
    // An input, and what has been written to another buffer, gets a name for this buffer.
    if (find(buffer) && !found.empty() && (metadata.isInput(value) || result.written.count(found))) {
      onnx::NodeProto &copy = *graph.add_node();
      copy.set_name(found + "/" + buffer);
      copy.set_op_type("Identity");
      copy.add_input(found);
      copy.add_output(copy.name());
      found = copy.name();
    }
    auto computed = llvm::find_if(tensors, [&, &buffer = buffer](const auto &tensor) {
      return metadata.foldedFrom(tensor.first).count(buffer) != 0;
    });
    if (computed != tensors.end())
      lose("the buffer '" + llvm::Twine(buffer) + "', which forward updates, was computed into '" + computed->first +
           "'");
    else if (find(buffer) && !found.empty())
      result.written[found] = buffer;
    else if (find(buffer) && read.count(buffer))
      lose("the new value '" + llvm::Twine(value) + "' of the buffer '" + buffer + "' is gone");
    else if (!gone.count(buffer))
      result.notes.push_back("forward updates the buffer '" + buffer +
                             "', which is not in the file: nothing reads it, or the exporter took it for a constant");
  }
}

/// Finds attention whose dropout the exporter has removed; it writes the inference form of it (Ops/Random.cpp).
void Restoration::findLostDropouts() {
  std::map<std::string, bool> drops; // maps each call with a dropout to whether one of its nodes drops
  forEachNode(std::as_const(graph), [&](const onnx::NodeProto &node) {
    std::optional<Call> call = Metadata::callOf(node);
    if (call && Metadata::attentionDropout(*call) > 0)
      drops[call->name] |= node.op_type() == "Dropout";
  });
  for (const auto &[call, kept] : drops)
    if (!kept)
      lose("the dropout of '" + llvm::Twine(call) + "' is gone");
}

/// Returns whether a tensor is one number, the lowest of its type.
static bool isLowest(const onnx::TensorProto &tensor) {
  if (llvm::any_of(tensor.dims(), [](int64_t extent) { return extent != 1; }))
    return false;
  const std::string &raw = tensor.raw_data();
  auto is = [&](auto bits, auto stored) {
    return raw.empty() ? stored : raw == std::string((char *)&bits, sizeof bits);
  };
  auto firstBits = [&] { return tensor.int32_data_size() == 1 ? tensor.int32_data(0) : 0; };
  switch (tensor.data_type()) {
  case onnx::TensorProto::FLOAT:
    return is(std::numeric_limits<float>::lowest(),
              tensor.float_data_size() == 1 && tensor.float_data(0) == std::numeric_limits<float>::lowest());
  case onnx::TensorProto::DOUBLE:
    return is(std::numeric_limits<double>::lowest(),
              tensor.double_data_size() == 1 && tensor.double_data(0) == std::numeric_limits<double>::lowest());
  case onnx::TensorProto::FLOAT16:
    return is(uint16_t(0xfbff), firstBits() == 0xfbff);
  case onnx::TensorProto::BFLOAT16:
    return is(uint16_t(0xff7f), firstBits() == 0xff7f);
  default:
    return false;
  }
}

/// Sets a tensor to minus infinity, without dimensions.
static void setHidden(onnx::TensorProto &tensor, int32_t type) {
  tensor.set_data_type(type);
  if (type == onnx::TensorProto::FLOAT)
    tensor.add_float_data(-std::numeric_limits<float>::infinity());
  else if (type == onnx::TensorProto::DOUBLE)
    tensor.add_double_data(-std::numeric_limits<double>::infinity());
  else
    tensor.add_int32_data(type == onnx::TensorProto::FLOAT16 ? 0xfc00 : 0xff80);
}

/// A boolean mask of scaled_dot_product_attention is in the file as the lowest number, which is added to the scores of
/// hidden keys, and behind the softmax zeros take the place of NaN. NaN does not occur, so a query that sees no key
/// would see all of them. In torch it has zeros; so the number becomes minus infinity.
void Restoration::hideKeys() {
  auto attentionOf = [](const onnx::NodeProto &node) {
    std::optional<Call> call = Metadata::callOf(node);
    return call && call->target == "scaled_dot_product_attention" ? call->name : "";
  };
  std::set<std::string> guarded; // the attentions that put zeros in place of NaN
  std::map<std::string, const onnx::TensorProto *> numbers(tensors.begin(), tensors.end());
  forEachNode(std::as_const(graph), [&](const onnx::NodeProto &node) {
    if (node.op_type() == "IsNaN")
      guarded.insert(attentionOf(node));
    if (node.op_type() == "Constant" && node.output_size() == 1)
      for (const auto &attribute : node.attribute())
        if (attribute.name() == "value")
          numbers[node.output(0)] = &attribute.t();
  });
  guarded.erase("");
  std::map<std::string, int32_t> hidden; // the tensors to add
  forEachNode(graph, [&](onnx::NodeProto &node) {
    if (node.op_type() != "Where" || node.input_size() != 3 || !guarded.count(attentionOf(node)))
      return;
    auto number = numbers.find(node.input(2));
    if (number == numbers.end() || !isLowest(*number->second))
      return;
    const int32_t type = number->second->data_type();
    const std::string name = "mpc.hidden." + std::to_string(type);
    hidden[name] = type;
    node.set_input(2, name);
  });
  for (const auto &[name, type] : hidden) {
    onnx::TensorProto &tensor = *graph.add_initializer();
    tensor.set_name(name);
    setHidden(tensor, type);
    result.roles[name] = Trained::Computed;
  }
}

void Restoration::note(size_t count, const char *one, const char *many) {
  if (count > 0)
    result.notes.push_back(count == 1 ? one : std::to_string(count) + many);
}

Restored Restoration::run() {
  result.known = true;
  const int count = graph.node_size(); // nodes are added at the end of the list
  forEachNode(std::as_const(graph), [&](const onnx::NodeProto &node) {
    if (std::optional<Call> call = Metadata::callOf(node))
      ++callNodes[call->name];
  });
  for (int i = 0; i < count; ++i) {
    onnx::NodeProto &node = *graph.mutable_node(i);
    std::optional<Call> call = Metadata::callOf(node);
    if (!call)
      continue;
    if (isBatchNorm(*call) &&
        (node.op_type() == "Conv" || node.op_type() == "ConvTranspose" || node.op_type() == "Gemm")) {
      const Origin *scale = call->args.size() > 1 ? metadata.origin(call->args[1]) : nullptr;
      StringRef module = scale ? StringRef(scale->target) : "";
      module.consume_back(".weight");
      lose("batch norm '" + (scale ? module : StringRef(call->name)) + "' is folded into " + node.op_type() + " '" +
           (node.input_size() > 1 ? node.input(1) : node.name()) + "'");
      for (const std::string &argument : call->args)
        if (const Origin *origin = metadata.origin(argument))
          gone.insert(origin->target);
      continue;
    }
    for (int input = 0; input < node.input_size(); ++input)
      restoreInput(node, *call, input);
    restoreBias(node, *call);
  }
  restoreGradientStops();
  findWritten();
  findLostDropouts();
  dropUnread();
  findMissing();
  std::set<std::string> values; // the values of the traced graph
  forEachNode(std::as_const(graph), [&](const onnx::NodeProto &node) {
    if (std::optional<Call> call = Metadata::callOf(node)) {
      values.insert(call->name);
      for (StringRef argument : call->args)
        if (argument.consume_front("%"))
          values.insert(argument.str());
    }
  });
  for (const auto &[name, tensor] : tensors) {
    std::optional<Kind> kind = metadata.kindOf(name);
    bool fromParameter = llvm::any_of(
        metadata.foldedFrom(name), [&](const std::string &from) { return metadata.kindOf(from) == Kind::Parameter; });
    StringRef base = name;
    // The exporter names tensors that it computes from literals by a number or by a value of the traced
    // graph. Tensors with other names were added later by somebody else.
    bool computed = !metadata.foldedFrom(name).empty() || base.starts_with("val_") || values.count(name) ||
                    tensor->dims_size() == 0;
    if (kind)
      result.roles[name] = *kind != Kind::Parameter ? Trained::Buffer
                           : metadata.frozen(name)  ? Trained::Frozen
                                                    : Trained::Yes;
    else if (computed && !fromParameter)
      result.roles[name] = Trained::Computed;
  }
  hideKeys(); // adds tensors, so it comes last
  noteRestored();
  return std::move(result);
}

void Restoration::noteRestored() {
  note(split.size(),
       "a tensor that the exporter had merged with an equal one is a parameter or buffer of its own again",
       " tensors that the exporter had merged with equal ones are parameters and buffers of their own again");
  note(biases.size(), "a bias that is zero is back, which the exporter had dropped",
       " biases that are zero are back, which the exporter had dropped");
  note(transposed.size() + reshaped.size(),
       "a parameter that was computed into another form at export has its name and shape back",
       " parameters that were computed into another form at export have their names and shapes back");
  note(result.stopped.size(), "a gradient stop (detach) is back, which the exporter had removed",
       " gradient stops (detach) are back, which the exporter had removed");
  if (!passed.empty())
    result.notes.push_back(
        "the exporter removed what does nothing (clone, contiguous, dropout of an inference form) in front of '" +
        *passed.begin() + "'" + (passed.size() > 1 ? " and " + std::to_string(passed.size() - 1) + " more calls" : "") +
        ", and would have removed a detach beside it: tools/torch/export.py keeps it, and `mpc verify` shows it");
  note(nameless.size(), "a parameter that was transposed at export has lost its name",
       " parameters that were transposed at export have lost their names");
}

Restored mpc::onnx_import::torch::restore(onnx::ModelProto &model, Bytes bytes) {
  if (model.producer_name() != "pytorch")
    return {};
  Restoration restoration(model, bytes);
  return restoration.known() ? restoration.run() : restoration.runWithoutMetadata();
}
