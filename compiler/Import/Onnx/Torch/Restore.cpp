#include "compiler/Import/Onnx/Torch/Restore.h"
#include "compiler/Import/Onnx/Torch/Metadata.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/Twine.h"

using namespace mpc::onnx_import::torch;
using llvm::StringRef;

//===-- Which argument of a call an input is -----------------------------------------===//

static bool isBatchNorm(const Call &call) { return StringRef(call.target).contains("batch_norm"); }

/// The argument of the call that stands at an input of one of its nodes; "" where that is not known.
static std::string argumentAt(const Call &call, const onnx::NodeProto &node, size_t input) {
  const StringRef op = node.op_type(), target = call.target;
  const bool factor = op == "Mul", term = op == "Add";
  auto at = [&](size_t i) { return i < call.args.size() ? call.args[i] : std::string(); };
  if (target == "linear") // input, weight, bias
    return at(term ? 2 : input);
  if (target == "addmm") // bias, input, weight
    return at(term || (op == "Gemm" && input == 2) ? 0 : input + 1);
  if (target == "layer_norm" && op == "LayerNormalization") // input, shape, weight, bias
    return at(input == 0 ? 0 : input + 1);
  if (target == "layer_norm" || target == "group_norm") // input, shape or groups, weight, bias: as a product and a sum
    return factor ? at(2) : term ? at(3) : "";
  if (target == "rms_norm" || target == "_fused_rms_norm") // input, shape, weight
    return factor || op == "RMSNormalization" ? at(2) : "";
  if (target == "cat" && !call.args.empty()) {
    llvm::SmallVector<StringRef> list;
    StringRef(call.args[0]).trim("[]").split(list, ',');
    return input < list.size() ? list[input].trim().str() : "";
  }
  return at(input);
}

/// Whether argumentAt is sure of a call. Of others the order of inputs is a guess.
static bool isKnown(const Call &call) {
  return isBatchNorm(call) || StringRef(call.target).starts_with("conv") ||
         llvm::StringSwitch<bool>(call.target)
             .Cases({"linear", "addmm", "layer_norm", "group_norm", "instance_norm", "rms_norm", "_fused_rms_norm", "embedding", "prelu", "cat"}, true)
             .Cases({"add", "sub", "mul", "div", "pow", "matmul", "bmm", "mm", "where", "maximum", "minimum"}, true)
             .Default(false);
}

/// Whether a call of this name ("layer_norm_1") may take parameters.
static bool mayHaveParameters(StringRef call) {
  call = call.rtrim("0123456789");
  call.consume_back("_");
  Call bare{"", call.str(), {}};
  static const std::set<StringRef> elementwise = {"add", "sub", "mul", "div", "pow", "maximum", "minimum", "where", "cat"};
  return isKnown(bare) && !elementwise.count(call); // of those only what does nothing goes, with literals mostly
}

//===-- Putting back -----------------------------------------------------------------===//

namespace {
class Restoration {
public:
  Restoration(onnx::ModelProto &model, Bytes bytes) : graph(*model.mutable_graph()), metadata(model), bytes(bytes) {
    for (auto &tensor : *graph.mutable_initializer())
      tensors[tensor.name()] = &tensor;
  }
  bool known() const { return metadata.present(); }
  Restored run();
  Restored runWithoutMetadata();

private:
  void restoreInput(onnx::NodeProto &, const Call &, int input);
  void restoreFolded(onnx::NodeProto &, const Call &, int input);
  void restoreBias(onnx::NodeProto &, const Call &);
  void restoreLegacyWeight(onnx::NodeProto &);
  void restoreLegacyMerged(onnx::NodeProto &);
  void restoreLegacyIdentities();
  bool transpose(onnx::NodeProto &, int input, const std::string &name);
  bool reshape(onnx::NodeProto &, int input, const std::string &name);
  void dropUnread();
  void findMissing();
  void noteRestored();
  void note(size_t count, const char *one, const char *many);
  void lose(const llvm::Twine &what) { result.lost.push_back(what.str()); }

  onnx::TensorProto *find(const std::string &name) {
    auto it = tensors.find(name);
    return it == tensors.end() ? nullptr : it->second;
  }
  onnx::TensorProto &add(const std::string &name, const onnx::TensorProto &like) {
    onnx::TensorProto &tensor = *graph.add_initializer();
    tensor = like;
    tensor.set_name(name);
    return *(tensors[name] = &tensor);
  }
  /// A node between a parameter and its use, made once; returns its result.
  std::string insert(const char *op, const std::string &name, llvm::function_ref<void(onnx::NodeProto &)> fill) {
    const std::string result = name + "/" + op;
    if (inserted.insert(result).second) {
      onnx::NodeProto &node = *graph.add_node();
      node.set_name(result);
      node.set_op_type(op);
      node.add_input(name);
      node.add_output(result);
      fill(node);
    }
    return result;
  }

  onnx::GraphProto &graph;
  Metadata metadata;
  Bytes bytes;
  Restored result;
  std::map<std::string, onnx::TensorProto *> tensors;
  std::set<std::string> inserted, replaced, gone; // gone: parameters whose loss has been told
  std::set<std::string> split, biases, transposed, reshaped;
};
} // namespace

static std::vector<int64_t> shapeOf(const onnx::TensorProto &tensor) { return {tensor.dims().begin(), tensor.dims().end()}; }

static void setElements(onnx::TensorProto &tensor, std::vector<int64_t> shape, std::string raw) {
  onnx::TensorProto fresh;
  fresh.set_name(tensor.name());
  fresh.set_data_type(tensor.data_type());
  for (int64_t d : shape)
    fresh.add_dims(d);
  fresh.set_raw_data(std::move(raw));
  tensor = std::move(fresh);
}

/// The parameter `name`, whose transpose the exporter has put at an input: there again as a tensor and a Transpose of it.
bool Restoration::transpose(onnx::NodeProto &node, int input, const std::string &name) {
  onnx::TensorProto *folded = find(node.input(input));
  if (folded->dims_size() != 2)
    return false;
  int64_t rows = folded->dims(0), columns = folded->dims(1);
  if (onnx::TensorProto *there = find(name)) {
    if (shapeOf(*there) != std::vector<int64_t>{columns, rows})
      return false;
  } else {
    std::string from = bytes(*folded), to(from.size(), '\0');
    size_t size = rows * columns == 0 ? 0 : from.size() / size_t(rows * columns);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        std::copy_n(&from[size_t(i * columns + j) * size], size, &to[size_t(j * rows + i) * size]);
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

/// The same for a parameter [C] that stands there as [C, 1, 1].
bool Restoration::reshape(onnx::NodeProto &node, int input, const std::string &name) {
  const onnx::TensorProto folded = *find(node.input(input));
  int64_t channels = 1;
  for (int64_t d : folded.dims()) {
    if (d != 1 && channels != 1)
      return false;
    channels *= d;
  }
  if (onnx::TensorProto *there = find(name)) {
    if (shapeOf(*there) != std::vector<int64_t>{channels})
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

/// An input whose value was computed at export.
void Restoration::restoreFolded(onnx::NodeProto &node, const Call &call, int input) {
  const std::string value = node.input(input);
  std::vector<std::string> parameters;
  for (const std::string &name : metadata.foldedFrom(value))
    if (metadata.kindOf(name) == Kind::Parameter)
      parameters.push_back(name);
  if (parameters.empty())
    return;
  // Equal values have become one: which parameter this is the call says, where it names one.
  const Origin *origin = metadata.origin(argumentAt(call, node, size_t(input)));
  bool alone = parameters.size() == 1 && metadata.foldedFrom(value).size() == 1;
  const StringRef made = StringRef(value).split('_').first;
  if (origin && origin->kind == Kind::Parameter) {
    if (call.target == "linear" && transpose(node, input, origin->target))
      return;
    if ((call.target == "group_norm" || call.target == "prelu") && reshape(node, input, origin->target))
      return;
  } else if (alone && (made == "t" || made == "permute" || made == "transpose" || made == "numpy") && transpose(node, input, parameters[0])) {
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
  std::optional<Kind> kind = metadata.kindOf(name);
  if (!kind)
    return;
  const Origin *origin = metadata.origin(argumentAt(call, node, size_t(input)));
  // Of a call whose arguments need not be in the order of the inputs nothing is replaced.
  if (!isKnown(call) || !origin || origin->target == name)
    return;
  onnx::TensorProto *there = find(origin->target);
  if (there && (there->data_type() != tensor->data_type() || shapeOf(*there) != shapeOf(*tensor)))
    return;
  if (!there)
    add(origin->target, *tensor);
  *node.mutable_input(input) = origin->target;
  split.insert(origin->target);
}

/// A bias that was zero, and so was left out.
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

/// Tensors that nothing reads since what they were computed from is back.
void Restoration::dropUnread() {
  std::set<std::string> read;
  for (const auto &node : graph.node())
    read.insert(node.input().begin(), node.input().end());
  for (const auto &output : graph.output())
    read.insert(output.name());
  auto &list = *graph.mutable_initializer();
  for (int i = list.size(); i-- > 0;)
    if (const std::string &name = list.Get(i).name(); replaced.count(name) && !read.count(name)) {
      tensors.erase(name);
      list.DeleteSubrange(i, 1);
    }
}

/// Parameters that no tensor of the file stands for. The module may not use them, or have them under another name as well (tied weights); but where a call
/// takes the result of one that is not there and that may have had them, its node was taken for another.
void Restoration::findMissing() {
  std::set<std::string> made;
  std::vector<Call> calls;
  for (const auto &input : graph.input())
    made.insert(input.name());
  for (const auto &[name, tensor] : tensors) {
    made.insert(name);
    made.insert(metadata.foldedFrom(name).begin(), metadata.foldedFrom(name).end());
  }
  for (const auto &node : graph.node()) {
    made.insert(node.output().begin(), node.output().end());
    if (std::optional<Call> call = Metadata::callOf(node)) {
      made.insert(call->name);
      calls.push_back(std::move(*call));
    }
  }
  std::set<std::string> dangling;
  for (const Call &call : calls)
    for (const std::string &argument : call.args)
      if (argument.size() > 1 && argument[0] == '%' && !metadata.origin(argument) && !made.count(argument.substr(1)))
        if (mayHaveParameters(StringRef(argument).drop_front()))
          dangling.insert(argument.substr(1));
  if (dangling.empty())
    return;
  for (const auto &[name, kind] : metadata.tensors())
    if (kind == Kind::Parameter && !find(name) && gone.insert(name).second)
      lose("'" + llvm::Twine(name) + "' is gone with '" + *dangling.begin() + "', which was equal to another node, or did nothing");
}

void Restoration::note(size_t count, const char *one, const char *many) {
  if (count > 0)
    result.notes.push_back(count == 1 ? one : std::to_string(count) + many);
}

Restored Restoration::run() {
  result.known = true;
  const int count = graph.node_size(); // nodes are added behind them
  for (int i = 0; i < count; ++i) {
    onnx::NodeProto &node = *graph.mutable_node(i);
    std::optional<Call> call = Metadata::callOf(node);
    if (!call)
      continue;
    if (isBatchNorm(*call) && (node.op_type() == "Conv" || node.op_type() == "ConvTranspose" || node.op_type() == "Gemm")) {
      const Origin *scale = call->args.size() > 1 ? metadata.origin(call->args[1]) : nullptr;
      StringRef module = scale ? StringRef(scale->target) : "";
      module.consume_back(".weight");
      lose("batch norm '" + (scale ? module : StringRef(call->name)) + "' is folded into " + node.op_type() + " '" + node.input(1) + "'");
      for (const std::string &argument : call->args)
        if (const Origin *origin = metadata.origin(argument))
          gone.insert(origin->target);
      continue;
    }
    for (int input = 0; input < node.input_size(); ++input)
      restoreInput(node, *call, input);
    restoreBias(node, *call);
  }
  dropUnread();
  findMissing();
  for (const auto &[name, tensor] : tensors) {
    std::optional<Kind> kind = metadata.kindOf(name);
    bool fromParameter = llvm::any_of(metadata.foldedFrom(name), [&](const std::string &from) { return metadata.kindOf(from) == Kind::Parameter; });
    StringRef base = name;
    if (kind)
      result.roles[name] = *kind != Kind::Parameter ? Trained::Buffer : metadata.frozen(name) ? Trained::Frozen : Trained::Yes;
    else if (!fromParameter && !(base.consume_back("_bias") && metadata.kindOf(base.str()))) // the bias of a convolution that a norm was folded into
      result.roles[name] = Trained::Computed;
  }
  noteRestored();
  return std::move(result);
}

void Restoration::noteRestored() {
  note(split.size(), "a tensor that the exporter had merged with an equal one is a parameter or buffer of its own again",
       " tensors that the exporter had merged with equal ones are parameters and buffers of their own again");
  note(biases.size(), "a bias that is zero is back, which the exporter had dropped", " biases that are zero are back, which the exporter had dropped");
  note(transposed.size() + reshaped.size(), "a parameter that was computed into another form at export has its name and shape back",
       " parameters that were computed into another form at export have their names and shapes back");
}

//===-- The exporter before: no metadata, but names ------------------------------------===//

/// "/layer1/layer1.0/fc/MatMul" is the product of module "layer1.0.fc".
static std::string moduleOf(StringRef node) {
  llvm::SmallVector<StringRef> parts;
  node.split(parts, '/', -1, false);
  std::string path, before;
  for (StringRef part : llvm::ArrayRef(parts).drop_back(parts.empty() ? 0 : 1)) {
    if (!before.empty() && part.starts_with(before + ".")) // a list's element bears the list's name
      path.resize(path.size() - before.size());
    else if (!path.empty())
      path += '.';
    before = part.str();
    path += before;
  }
  return path;
}

/// A Linear whose transposed weight has lost its name; the bias has kept its own.
void Restoration::restoreLegacyWeight(onnx::NodeProto &node) {
  const std::string module = moduleOf(node.name());
  if (module.empty() || node.output_size() != 1 || !find(node.input(1)) || find(module + ".weight") || !find(module + ".bias"))
    return;
  for (const auto &user : graph.node())
    if (user.op_type() == "Add" && llvm::is_contained(user.input(), node.output(0)) && llvm::is_contained(user.input(), module + ".bias")) {
      (void)transpose(node, 1, module + ".weight");
      return;
    }
}

/// What a module calls the tensor at an input of one of its nodes; "" where that is not known.
static StringRef usualName(const onnx::NodeProto &node, int input) {
  const StringRef op = node.op_type();
  bool norm = op == "LayerNormalization" || op == "BatchNormalization" || op == "InstanceNormalization";
  if (!norm && op != "Gemm" && op != "Conv" && op != "ConvTranspose" && op != "Add")
    return "";
  static constexpr const char *names[] = {"", "weight", "bias", "running_mean", "running_var"};
  return op == "Add" ? "bias" : input < 5 ? names[input] : "";
}

/// A tensor of one value throughout (fresh norms, zero biases) that a module does not have under its own name: equal ones were merged. Others may be
/// shared on purpose.
void Restoration::restoreLegacyMerged(onnx::NodeProto &node) {
  const std::string module = moduleOf(node.name());
  for (int input = 0; input < node.input_size() && !module.empty(); ++input) {
    onnx::TensorProto *tensor = find(node.input(input));
    const std::string own = module + "." + usualName(node, input).str();
    // Only what is another module's under this name: "ln1.bias" in module "ln2".
    StringRef name = node.input(input);
    if (!tensor || own.back() == '.' || name == own || find(own) || !name.ends_with(own.substr(module.size())) || tensor->dims_size() != 1)
      continue;
    const std::string raw = bytes(*tensor);
    size_t size = tensor->dims(0) > 0 ? raw.size() / size_t(tensor->dims(0)) : 0;
    bool constant = size > 0;
    for (size_t i = size; i < raw.size() && constant; ++i)
      constant = raw[i] == raw[i - size];
    if (!constant)
      continue;
    add(own, *tensor);
    *node.mutable_input(input) = own;
    split.insert(own);
  }
}

/// In EVAL mode that exporter leaves an Identity of the tensor that it kept, with the name of the parameter that was equal. What a module shares on purpose
/// has one name, or one of the exporter's own.
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
    if (!tensor || name.empty() || find(name) || outputs.count(name) || name[0] == '/' || StringRef(name).starts_with("onnx::"))
      continue;
    add(name, *tensor);
    split.insert(name);
    list.DeleteSubrange(i, 1);
  }
}

Restored Restoration::runWithoutMetadata() {
  restoreLegacyIdentities();
  size_t folded = 0;
  std::string first;
  const int count = graph.node_size();
  for (int i = 0; i < count; ++i) {
    onnx::NodeProto &node = *graph.mutable_node(i);
    auto anonymous = [&](int input, const char *prefix) {
      return input < node.input_size() && StringRef(node.input(input)).starts_with(prefix) && find(node.input(input));
    };
    restoreLegacyMerged(node);
    if (node.op_type() == "Conv" && anonymous(1, "onnx::Conv_") && folded++ == 0) // else a weight has the module's name
      first = node.input(1);
  }
  for (int i = 0; i < count; ++i) // by the names of their biases, which are back
    if (onnx::NodeProto &node = *graph.mutable_node(i); node.op_type() == "MatMul" && node.input_size() == 2 && StringRef(node.input(1)).starts_with("onnx::MatMul_"))
      restoreLegacyWeight(node);
  if (folded > 0)
    lose(llvm::Twine(folded) + (folded == 1 ? " batch norm is" : " batch norms are") + " folded into convolutions, the first into '" + first + "'");
  dropUnread();
  noteRestored();
  return std::move(result);
}

Restored mpc::onnx_import::torch::restore(onnx::ModelProto &model, Bytes bytes) {
  if (model.producer_name() != "pytorch")
    return {};
  Restoration restoration(model, bytes);
  return restoration.known() ? restoration.run() : restoration.runWithoutMetadata();
}
