// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Import/Onnx/DropoutForms.h"
#include "compiler/Import/Onnx/Model.h"
#include "mlir/IR/MLIRContext.h"
#include <cmath>
#include <map>
#include <optional>
#include <unordered_map>

using namespace mpc;
using namespace mpc::onnx_import;
using onnx::NodeProto;
using onnx::TensorProto;

namespace {

/// The tolerance for probabilities and their reciprocals, which may have been rounded to 16 bits.
constexpr double kRounding = 2e-3;
/// The length up to which chains of casts, reshapes and scales are followed.
constexpr int kMaxDepth = 16;
/// Larger tensors are not searched for the one number that they hold.
constexpr int64_t kMaxElements = 1 << 16;

const onnx::AttributeProto *attribute(const NodeProto &node, const char *name) {
  for (const auto &attribute : node.attribute())
    if (attribute.name() == name)
      return &attribute;
  return nullptr;
}

/// A mask is 1 with probability `keep`, else 0, times `scale`.
struct Mask {
  double keep, scale = 1;
  bool boolean = false;
  bool expanded = false; // whether several elements use one number of `value`
  std::string value, draws;
};

class Finder {
public:
  Finder(llvm::ArrayRef<const NodeProto *> nodes, llvm::ArrayRef<const TensorProto *> initializers) {
    for (const TensorProto *initializer : initializers)
      this->initializers.emplace(initializer->name(), initializer);
    for (const NodeProto *node : nodes) {
      for (const std::string &output : node->output())
        makers.emplace(output, node);
      std::vector<std::string> used;
      collectUses(*node, used);
      for (const std::string &value : used)
        users[value].push_back(node);
    }
  }

  std::optional<DropoutForm> formAt(const NodeProto &node) const;

private:
  const NodeProto *makerOf(const std::string &value) const {
    auto it = makers.find(value);
    return it == makers.end() ? nullptr : it->second;
  }
  std::optional<double> elementsOf(const TensorProto &tensor, bool one) const;
  /// The number that a constant holds everywhere. `one` requires that it has a single element and cannot be trained.
  std::optional<double> number(const std::string &value, bool one, int depth = 0) const {
    auto [it, isNew] = numbers.try_emplace({value, one});
    if (isNew)
      it->second = computeNumber(value, one, depth);
    return it->second;
  }
  std::optional<double> computeNumber(const std::string &value, bool one, int depth) const;
  /// The random node's output on which a value depends that is uniform in [0, 1); otherwise "".
  std::string drawsOf(const std::string &value, int depth = 0) const;
  std::optional<Mask> maskOf(const std::string &value, int depth = 0) const;
  /// The constant factor by which a product or quotient scales its other operand, and that operand.
  std::optional<std::pair<std::string, double>> scaling(const NodeProto *node) const;

  std::unordered_map<std::string, const TensorProto *> initializers;
  std::unordered_map<std::string, const NodeProto *> makers;
  std::unordered_map<std::string, std::vector<const NodeProto *>> users;
  mutable std::map<std::pair<std::string, bool>, std::optional<double>> numbers; // the numbers found so far
  mutable mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};     // the context of the element types
};

bool isOnnx(const NodeProto &node) { return node.domain().empty() || node.domain() == "ai.onnx"; }

std::optional<double> Finder::elementsOf(const TensorProto &tensor, bool one) const {
  int64_t count = 1;
  for (int64_t dim : tensor.dims()) {
    if (dim < 1 || count > kMaxElements / dim)
      return std::nullopt;
    count *= dim;
  }
  if ((one && count != 1) || tensor.data_location() == TensorProto::EXTERNAL)
    return std::nullopt;
  try {
    TensorProto copy = tensor;
    std::vector<double> values = readTensor(&context, copy, tensor.name(), "").doubles();
    return llvm::all_equal(values) ? std::optional(values.front()) : std::nullopt;
  } catch (ImportError &) { // the error is reported where the tensor is imported
    return std::nullopt;
  }
}

std::optional<double> Finder::computeNumber(const std::string &value, bool one, int depth) const {
  if (depth > kMaxDepth || value.empty())
    return std::nullopt;
  if (auto it = initializers.find(value); it != initializers.end()) {
    if (one && it->second->dims_size() > 0) // a tensor of rank 1 or more may be a parameter
      return std::nullopt;
    return elementsOf(*it->second, one);
  }
  const NodeProto *node = makerOf(value);
  if (!node || !isOnnx(*node))
    return std::nullopt;
  const std::string &op = node->op_type();
  auto operand = [&](int i) { return i < node->input_size() ? number(node->input(i), one, depth + 1) : std::nullopt; };
  if (op == "Constant") {
    if (const auto *a = attribute(*node, "value"))
      return elementsOf(a->t(), one);
    if (const auto *a = attribute(*node, "value_float"))
      return a->f();
    if (const auto *a = attribute(*node, "value_int"))
      return double(a->i());
    return std::nullopt;
  }
  if (op == "ConstantOfShape" && !one) {
    const auto *a = attribute(*node, "value");
    return a ? elementsOf(a->t(), /*one=*/true) : 0.0;
  }
  if (op == "Cast") { // only casts to a float are followed
    const auto *a = attribute(*node, "to");
    return a && (a->i() == TensorProto::FLOAT || a->i() == TensorProto::FLOAT16 || a->i() == TensorProto::BFLOAT16 ||
                 a->i() == TensorProto::DOUBLE)
               ? operand(0)
               : std::nullopt;
  }
  if (op == "CastLike" || op == "Identity" || op == "Reshape" || op == "Unsqueeze" || op == "Squeeze" ||
      (op == "Expand" && !one))
    return operand(0);
  if (op == "Add" || op == "Sub" || op == "Mul" || op == "Div") {
    auto a = operand(0), b = operand(1);
    if (!a || !b)
      return std::nullopt;
    return op == "Add" ? *a + *b : op == "Sub" ? *a - *b : op == "Mul" ? *a * *b : *a / *b;
  }
  return std::nullopt;
}

std::string Finder::drawsOf(const std::string &value, int depth) const {
  const NodeProto *node = makerOf(value);
  if (!node || !isOnnx(*node) || depth > kMaxDepth)
    return "";
  const std::string &op = node->op_type();
  if (op == "RandomUniformLike" || op == "RandomUniform") {
    const auto *low = attribute(*node, "low"), *high = attribute(*node, "high");
    return (!low || low->f() == 0) && (!high || high->f() == 1) ? value : "";
  }
  return (op == "Cast" || op == "CastLike" || op == "Identity") && node->input_size() > 0
             ? drawsOf(node->input(0), depth + 1)
             : "";
}

std::optional<std::pair<std::string, double>> Finder::scaling(const NodeProto *node) const {
  if (!node || !isOnnx(*node) || node->input_size() != 2)
    return std::nullopt;
  const std::string &op = node->op_type();
  if (op == "Mul" || op == "Div")
    if (auto c = number(node->input(1), true); c && *c != 0)
      return std::pair(node->input(0), op == "Mul" ? *c : 1 / *c);
  if (op == "Mul")
    if (auto c = number(node->input(0), true))
      return std::pair(node->input(1), *c);
  return std::nullopt;
}

std::optional<Mask> Finder::maskOf(const std::string &value, int depth) const {
  const NodeProto *node = makerOf(value);
  if (!node || !isOnnx(*node) || depth > kMaxDepth || node->input_size() < 1)
    return std::nullopt;
  const std::string &op = node->op_type(), &first = node->input(0);
  auto drawn = [&](double keep, const std::string &draws, bool boolean) -> std::optional<Mask> {
    return Mask{.keep = keep, .boolean = boolean, .value = value, .draws = draws};
  };
  bool less = op == "Less" || op == "LessOrEqual", greater = op == "Greater" || op == "GreaterOrEqual";
  if ((less || greater) && node->input_size() == 2) {
    for (int i : {0, 1}) { // u < p holds with probability p, p < u with 1 - p
      std::string draws = drawsOf(node->input(i));
      if (auto p = number(node->input(1 - i), true); !draws.empty() && p)
        return drawn(less == (i == 0) ? *p : 1 - *p, draws, true);
    }
    return std::nullopt;
  }
  if (op == "Bernoulli") {
    auto p = number(first, false);
    return p ? drawn(*p, value, false) : std::nullopt;
  }
  if (op == "Floor") { // Floor of u + p with p in [0, 1]
    const NodeProto *sum = makerOf(first);
    if (sum && isOnnx(*sum) && sum->op_type() == "Add" && sum->input_size() == 2)
      for (int i : {0, 1})
        if (std::string draws = drawsOf(sum->input(i)); !draws.empty())
          if (auto p = number(sum->input(1 - i), true); p && *p >= 0 && *p <= 1)
            return drawn(*p, draws, false);
    return std::nullopt;
  }
  if (auto scaled = scaling(node)) {
    auto mask = maskOf(scaled->first, depth + 1);
    if (!mask || mask->boolean)
      return std::nullopt;
    mask->scale *= scaled->second;
    return mask;
  }

  bool reshapes = op == "Reshape" || op == "Unsqueeze" || op == "Squeeze" || op == "Flatten";
  if (!reshapes && op != "Not" && op != "Where" && op != "Identity" && op != "Cast" && op != "CastLike" &&
      op != "Expand")
    return std::nullopt;
  auto mask = maskOf(first, depth + 1);
  if (!mask)
    return std::nullopt;
  if (op == "Not" && mask->boolean) {
    mask->keep = 1 - mask->keep;
    return mask;
  }
  if (op == "Where" && mask->boolean && node->input_size() == 3) {
    auto a = number(node->input(1), true), b = number(node->input(2), true);
    if (!a || !b || (*a == 0) == (*b == 0))
      return std::nullopt;
    if (*a == 0)
      mask->keep = 1 - mask->keep;
    mask->scale = *a + *b;
    mask->boolean = false;
    return mask;
  }
  if (op == "Identity")
    return mask;
  if (op == "Cast" || op == "CastLike") {
    const auto *to = attribute(*node, "to");
    bool boolean = to && to->i() == TensorProto::BOOL;
    if (boolean && mask->scale != 1)
      return std::nullopt;
    mask->boolean = boolean;
    return mask;
  }
  if (op == "Expand") {
    mask->expanded = true;
    return mask;
  }
  if (reshapes && !mask->expanded) {
    mask->value = value;
    return mask;
  }
  return std::nullopt;
}

std::optional<DropoutForm> Finder::formAt(const NodeProto &node) const {
  if (!isOnnx(node) || node.output_size() != 1)
    return std::nullopt;
  std::optional<Mask> mask;
  std::string x;
  if (node.op_type() == "Mul" && node.input_size() == 2) {
    for (int i : {1, 0}) {
      mask = maskOf(node.input(i));
      x = node.input(1 - i);
      if (mask && !mask->boolean)
        break;
      mask.reset();
    }
  } else if (node.op_type() == "Where" && node.input_size() == 3) {
    mask = maskOf(node.input(0));
    if (!mask || !mask->boolean)
      return std::nullopt;
    bool second = number(node.input(1), true) == 0.0, third = number(node.input(2), true) == 0.0;
    if (second == third)
      return std::nullopt;
    x = node.input(third ? 1 : 2);
    if (second)
      mask->keep = 1 - mask->keep;
  }
  if (!mask || !(mask->keep > 0 && mask->keep <= 1) || number(x, false) || maskOf(x))
    return std::nullopt;
  auto isMeanOne = [&](double factor) { return std::fabs(mask->keep * mask->scale * factor - 1) < kRounding; };
  auto form = [&](const NodeProto &last, const std::string &of) {
    return DropoutForm{&last, of, mask->value, mask->draws, mask->keep};
  };
  if (isMeanOne(1))
    return form(node, x);
  if (auto before = scaling(makerOf(x)); before && isMeanOne(before->second))
    return form(node, before->first);
  auto after = users.find(node.output(0));
  if (after == users.end() || after->second.size() != 1)
    return std::nullopt;
  const NodeProto *user = after->second.front();
  if (auto scaled = scaling(user); scaled && scaled->first == node.output(0) && isMeanOne(scaled->second))
    return form(*user, x);
  return std::nullopt;
}

} // namespace

std::vector<DropoutForm> onnx_import::findDropouts(llvm::ArrayRef<const NodeProto *> nodes,
                                                   llvm::ArrayRef<const TensorProto *> initializers) {
  bool random = llvm::any_of(nodes, [](const NodeProto *node) {
    return node->op_type() == "Bernoulli" || node->op_type() == "RandomUniform" ||
           node->op_type() == "RandomUniformLike";
  });
  std::vector<DropoutForm> forms;
  if (!random)
    return forms;
  Finder finder(nodes, initializers);
  for (const NodeProto *node : nodes)
    if (auto form = finder.formAt(*node))
      forms.push_back(*form);
  return forms;
}
