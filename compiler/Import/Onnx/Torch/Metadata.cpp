// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Import/Onnx/Torch/Metadata.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include <array>

using namespace mpc::onnx_import::torch;
using llvm::StringRef;

using Entries = std::map<std::string, std::string>;

/// The entries of `metadata_props`. ONNX has had it on nodes, graphs and values since 1.16; older protobuf
/// classes keep it as an unknown field, under its number.
template <typename Message>
static Entries entriesOf(const Message &message, int number) {
  Entries entries;
  auto add = [&](const onnx::StringStringEntryProto &entry) { entries[entry.key()] = entry.value(); };
  if constexpr (requires { message.metadata_props(); }) {
    for (const auto &entry : message.metadata_props())
      add(entry);
  } else {
    const auto &unknown = message.unknown_fields();
    for (int i = 0; i < unknown.field_count(); ++i) {
      const auto &field = unknown.field(i);
      onnx::StringStringEntryProto entry;
      if (field.number() == number && field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED &&
          entry.ParseFromString(field.length_delimited()))
        add(entry);
    }
  }
  return entries;
}

static std::string valueOf(const Entries &entries, const char *key) {
  auto it = entries.find(key);
  return it == entries.end() ? "" : it->second;
}

/// Takes the first string off the text as Python prints it, in either kind of quotes; nullopt when there is none.
static std::optional<StringRef> takeString(StringRef &text) {
  text = text.drop_until([](char c) { return c == '\'' || c == '"'; });
  if (text.empty())
    return std::nullopt;
  auto [string, rest] = text.drop_front().split(text[0]);
  text = rest;
  return string;
}

/// The strings of a list as Python prints it, such as "['fc1.weight', 'val_15']".
static std::set<std::string> namesIn(StringRef list) {
  std::set<std::string> names;
  while (std::optional<StringRef> name = takeString(list))
    names.insert(name->str());
  return names;
}

/// Takes a line of the signature apart: the value, its kind, and the target, which is empty where the line names none.
static std::array<StringRef, 3> signatureLine(StringRef line) {
  auto [value, rest] = line.split(": ");
  // A quote inside is not escaped: target='it's.weight'.
  StringRef target = rest.split("target=").second.ltrim("'\"");
  size_t end = target.find_last_of("'\"");
  return {value, rest.split(' ').first, target.take_front(end == StringRef::npos ? 0 : end)};
}

Metadata::Metadata(const onnx::ModelProto &model) {
  const onnx::GraphProto &graph = model.graph();
  const std::string signature = valueOf(entriesOf(graph, 16), "pkg.torch.export.ExportedProgram.graph_signature");
  auto [inputLines, outputLines] = StringRef(signature).split("# outputs");
  for (StringRef line : llvm::split(inputLines, '\n')) { // p_fc1_weight: PARAMETER target='fc1.weight'
    auto [placeholder, kind, target] = signatureLine(line);
    inputs.insert(placeholder.str());
    if (target.empty() || (kind != "PARAMETER" && kind != "BUFFER" && kind != "CONSTANT_TENSOR"))
      continue;
    Origin origin{kind == "PARAMETER" ? Kind::Parameter
                  : kind == "BUFFER"  ? Kind::Buffer
                                      : Kind::Constant,
                  target.str()};
    targets.emplace(origin.target, origin.kind);
    placeholders.emplace(placeholder.str(), std::move(origin));
  }
  for (StringRef line : llvm::split(outputLines, '\n')) // add_1: BUFFER_MUTATION target='ema'
    if (auto [value, kind, target] = signatureLine(line); kind == "BUFFER_MUTATION" && !target.empty())
      written.emplace_back(value.str(), target.str());
  for (const auto &value : graph.value_info()) {
    Entries entries = entriesOf(value, 4);
    if (std::string from = valueOf(entries, "pkg.onnxscript.optimizer.folded_from"); !from.empty())
      folded[value.name()] = namesIn(from);
    if (valueOf(entries, "mpc.requires_grad") == "False")
      withoutGradient.insert(value.name());
  }
}

const Origin *Metadata::origin(const std::string &argument) const {
  auto it = argument.empty() || argument[0] != '%' ? placeholders.end() : placeholders.find(argument.substr(1));
  return it == placeholders.end() ? nullptr : &it->second;
}

std::optional<Kind> Metadata::kindOf(const std::string &target) const {
  auto it = targets.find(target);
  return it == targets.end() ? std::nullopt : std::optional(it->second);
}

const std::set<std::string> &Metadata::foldedFrom(const std::string &initializer) const {
  static const std::set<std::string> none;
  auto it = folded.find(initializer);
  return it == folded.end() ? none : it->second;
}

std::string Metadata::moduleOf(const onnx::NodeProto &node) {
  // The text is like "['', 'model', 'model.embed_tokens', 'embedding']": modules from the outermost one on,
  // then the call.
  const std::string text = valueOf(entriesOf(node, 9), "pkg.torch.onnx.name_scopes");
  std::string before, last;
  StringRef list = text;
  while (std::optional<StringRef> name = takeString(list))
    before = std::exchange(last, name->str());
  return before;
}

bool Metadata::stopsGradient(const onnx::NodeProto &node) {
  if (node.op_type() != "Identity")
    return false;
  if (valueOf(entriesOf(node, 9), "mpc.stop_gradient") == "True")
    return true;
  std::optional<Call> call = callOf(node);
  return call && (call->target == "detach" || call->target == "detach_");
}

/// The argument of a call as a number; 0 where it is not one.
static double numberAt(const Call &call, size_t i) {
  double number = 0;
  return i < call.args.size() && llvm::to_float(StringRef(call.args[i]), number) ? number : 0;
}

std::optional<LossCall> Metadata::lossCallOf(const onnx::NodeProto &node) {
  std::optional<Call> call = callOf(node);
  // cross_entropy_loss(self, target, weight, reduction, ignore_index, label_smoothing); nll_loss... lack the last one
  if (!call || (call->target != "cross_entropy_loss" && !StringRef(call->target).starts_with("nll_loss")))
    return std::nullopt;
  LossCall loss;
  static const char *const reductions[] = {"none", "mean", "sum"};
  auto argument = [&](size_t i) { return i < call->args.size() ? StringRef(call->args[i]) : StringRef(); };
  unsigned reduction = 1;
  if (!argument(3).empty() && (argument(3).getAsInteger(10, reduction) || reduction > 2))
    return std::nullopt;
  loss.reduction = reductions[reduction];
  if (!argument(4).empty() && argument(4).getAsInteger(10, loss.ignoreIndex))
    return std::nullopt;
  if (call->target == "cross_entropy_loss")
    loss.labelSmoothing = numberAt(*call, 5);
  return loss;
}

std::optional<EmbeddingCall> Metadata::embeddingCallOf(const onnx::NodeProto &node) {
  std::optional<Call> call = callOf(node);
  // embedding(weight, indices, padding_idx, scale_grad_by_freq)
  if (!call || call->target != "embedding")
    return std::nullopt;
  EmbeddingCall embedding;
  int64_t padding = -1;
  if (call->args.size() > 2 && !StringRef(call->args[2]).getAsInteger(10, padding) && padding >= 0)
    embedding.padding = padding;
  embedding.scalesByFrequency = call->args.size() > 3 && call->args[3] == "True";
  return embedding;
}

double Metadata::attentionDropout(const Call &call) {
  // scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal)
  return call.target == "scaled_dot_product_attention" ? numberAt(call, 4) : 0;
}

std::string Metadata::rewrites(const onnx::NodeProto &node) {
  return valueOf(entriesOf(node, 9), "pkg.onnxscript.rewriter.rule_name");
}

std::optional<Call> Metadata::callOf(const onnx::NodeProto &node) {
  const std::string text = valueOf(entriesOf(node, 9), "pkg.torch.onnx.fx_node");
  StringRef rest = text;
  if (!rest.consume_front("%"))
    return std::nullopt;
  Call call;
  call.name = rest.take_until([](char c) { return c == ' '; }).str();
  StringRef target = rest.split("call_function[target=").second.split(']').first;
  rest = rest.split("](args = (").second;
  if (target.empty() || rest.empty())
    return std::nullopt;
  // The name is like torch.ops.aten.linear.default.
  target.consume_front("torch.ops.");
  llvm::SmallVector<StringRef> parts;
  target.split(parts, '.');
  call.target = (parts.size() >= 2 ? parts[1] : parts[0]).str();
  // The bracket that opened the arguments also ends them.
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < rest.size() && depth >= 0; ++i) {
    char c = rest[i];
    bool ends = depth == 0 && (c == ',' || c == ')');
    depth += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
    if (!ends)
      continue;
    if (StringRef argument = rest.slice(begin, i).trim(); !argument.empty())
      call.args.push_back(argument.str());
    begin = i + 1;
  }
  return call;
}
