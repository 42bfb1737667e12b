// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Import/Onnx/Roles.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Regex.h"
#include <cmath>
#include <functional>
#include <unordered_set>

using namespace mlir;
using namespace mpc;
using namespace mpc::onnx_import;

/// Whether a value in this position can only be a parameter or a statistic.
static bool isStrong(Position p) {
  switch (p) {
  case Position::Weight:
  case Position::Bias:
  case Position::Scale:
  case Position::Slope:
  case Position::Mean:
  case Position::Variance:
    return true;
  default:
    return false;
  }
}
static bool isStatistic(Position p) { return p == Position::Mean || p == Position::Variance; }
static bool isParameter(Position p) { return p != Position::Data && p != Position::View && !isStatistic(p); }

static std::string describe(Position p) {
  switch (p) {
  case Position::Weight:
    return "weight";
  case Position::Bias:
    return "bias";
  case Position::Scale:
    return "scale";
  case Position::Slope:
    return "slope";
  case Position::Mean:
    return "running mean";
  case Position::Variance:
    return "running variance";
  case Position::Embedding:
    return "table";
  case Position::MatMul:
  case Position::Add:
  case Position::Mul:
    return "operand";
  default:
    return "input";
  }
}

void Roles::collect(const onnx::NodeProto &node, int64_t opset) {
  opsets[&node] = opset;
  for (int i = 0; i < node.input_size(); ++i)
    direct[node.input(i)].push_back({&node, size_t(i)});
  for (const auto &attribute : node.attribute())
    if (attribute.has_g())
      for (const auto &inner : attribute.g().node())
        collect(inner, opset);
}

static std::string because(Position position, const onnx::NodeProto &user) {
  std::string name = user.name().empty() && user.output_size() ? user.output(0) : user.name();
  return (llvm::Twine(describe(position)) + " of " + printable(user.op_type()) + " '" + printable(name) + "'").str();
}

void Roles::analyse(const Model &model, const ImportOptions &importOptions, ImportReport &report) {
  options = &importOptions;
  module = &model.restored;
  trainable = options->trainable;
  const bool added = llvm::StringRef(trainable).starts_with("+");
  trainable.erase(0, added);
  onlyTrainable = !added && !trainable.empty();
  const std::pair<const char *, const std::string *> patterns[] = {{"--params", &options->params},
                                                                   {"--trainable", &trainable},
                                                                   {"--freeze", &options->freeze},
                                                                   {"--stop-gradient", &options->stopGradient},
                                                                   {"--untie", &options->untie}};
  for (auto [flag, regex] : patterns) {
    std::string error;
    if (!regex->empty() && !llvm::Regex(*regex).isValid(error)) {
      ImportProblem problem;
      problem.node = flag;
      problem.why = ("'" + llvm::Twine(printable(*regex)) + "' is not a regular expression: " + error).str();
      problem.hint = "POSIX extended regular expressions, matched anywhere in the name: '^fc[0-9]+\\.weight$'";
      report.problems.push_back(problem);
    }
  }
  for (const FlatNode &node : model.nodes)
    collect(node.proto, node.opset);
  std::unordered_set<std::string> initializers;
  for (const auto &initializer : model.proto.graph().initializer())
    initializers.insert(initializer.name());
  for (const auto &input : model.proto.graph().input()) {
    if (initializers.count(input.name()))
      continue;
    auto found = usesOf(input.name());
    weightsAreInputs |= !found.empty() && llvm::all_of(found, [](const Use &use) { return isStrong(use.position); });
  }
}

std::vector<Roles::Use> Roles::usesOf(const std::string &name) const {
  std::vector<Use> result;
  std::unordered_set<std::string> seen = {name};
  std::vector<std::string> todo = {name};
  while (!todo.empty()) {
    auto it = direct.find(todo.back());
    todo.pop_back();
    if (it == direct.end())
      continue;
    for (auto [node, input] : it->second) {
      const OpRow *row = rowOf(node->domain(), node->op_type(), opsets.at(node));
      Position position = row ? positionOf(*row, input) : Position::Data;
      if (position != Position::View) {
        result.push_back({position, node});
        continue;
      }
      for (const auto &output : node->output())
        if (seen.insert(output).second)
          todo.push_back(output);
    }
  }
  return result;
}

bool Roles::matches(const std::string &regex, const std::string &name) const {
  return !regex.empty() && llvm::Regex(regex).match(name);
}

Verdict Roles::ofInitializer(const std::string &name, Type element, ArrayRef<int64_t> shape) const {
  Verdict verdict;
  auto found = usesOf(name);
  if (!isa<FloatType>(element)) {
    verdict.why = "not a float";
    return verdict;
  }
  for (const Use &use : found)
    if (isStatistic(use.position)) {
      verdict.role = use.position == Position::Mean ? Role::Mean : Role::Variance;
      verdict.position = use.position;
      verdict.user = use.node;
      verdict.why = because(use.position, *use.node);
      return verdict;
    }
  const Use *place = nullptr;
  // This is the direction of a weight norm (Salimans and Kingma 2016), which is divided by its own norm.
  auto usedBy = [&](llvm::StringRef op) {
    return llvm::find_if(found, [&](const Use &use) { return op == use.node->op_type(); });
  };
  if (usedBy("ReduceL2") != found.end() && usedBy("Div") != found.end())
    place = &*usedBy("Div");
  for (const Use &use : found)
    if (isParameter(use.position) && (!place || (isStrong(use.position) && !isStrong(place->position))))
      place = &use;
  if (place) {
    verdict.position = place->position;
    verdict.user = place->node;
    verdict.why = because(place->position, *place->node);
  } else {
    verdict.why = found.empty() ? "not used" : "not trained: it is an " + because(found[0].position, *found[0].node);
  }
  bool candidate = place && !shape.empty(), frozen = false;
  verdict.unusual = !candidate && !found.empty();
  if (place && shape.empty())
    verdict.why += ", but a scalar";
  // Torch's metadata take precedence over positions.
  if (auto it = module->roles.find(name); it != module->roles.end() && !found.empty()) {
    candidate = it->second == torch::Trained::Yes || it->second == torch::Trained::Frozen;
    frozen = it->second == torch::Trained::Frozen;
    verdict.why = it->second == torch::Trained::Yes
                      ? "parameter of the torch module, " +
                            because((place ? *place : found[0]).position, *(place ? *place : found[0]).node)
                  : it->second == torch::Trained::Frozen ? "parameter of the torch module that has no gradient there"
                  : it->second == torch::Trained::Buffer ? "buffer of the torch module"
                                                         : "made by the exporter, no tensor of the torch module";
  }
  if (matches(options->freeze, name)) {
    verdict.unusual = false;
    verdict.role = candidate ? Role::Frozen : Role::Constant;
    verdict.why = "frozen by --freeze";
  } else if (bool named = matches(trainable, name); named || onlyTrainable) {
    verdict.role = named ? Role::Parameter : candidate ? Role::Frozen : Role::Constant;
    verdict.why = named ? "trained by --trainable" : "not matched by --trainable";
  } else if (candidate) {
    verdict.role = frozen ? Role::Frozen : Role::Parameter;
  }
  return verdict;
}

Verdict Roles::ofInput(const std::string &name, Type element, ArrayRef<int64_t> shape,
                       std::optional<int64_t> batch) const {
  Verdict verdict;
  verdict.role = Role::Data;
  verdict.why = "graph input";
  auto found = usesOf(name);
  bool byName = matches(options->params, name);
  if (byName && !isa<FloatType>(element)) {
    verdict.why = "graph input; --params matches it, but only floats are trained";
    return verdict;
  }
  if (!byName && (!options->params.empty() || options->forwardOnly || !isa<FloatType>(element) || found.empty()))
    return verdict;
  bool strong = llvm::all_of(found, [](const Use &use) { return isStrong(use.position); });
  bool weak = llvm::all_of(found, [](const Use &use) { return isStrong(use.position) || isParameter(use.position); });
  // In a model whose weights are inputs, an input that only scales or shifts and has no batch dimension is a
  // weight, too.
  bool alike = weightsAreInputs && weak && !shape.empty() && batch && shape.front() != *batch;
  if (!byName && !strong && !alike)
    return verdict;
  const Use *place = nullptr;
  for (const Use &use : found)
    if (!place || (isStatistic(use.position) && !isStatistic(place->position)) ||
        (isStrong(use.position) && !isStrong(place->position)))
      place = &use;
  if (place) {
    verdict.position = place->position;
    verdict.user = place->node;
    verdict.why = "graph input: " + because(place->position, *place->node);
  }
  if (byName)
    verdict.why += ", by --params";
  verdict.role = verdict.position == Position::Mean       ? Role::Mean
                 : verdict.position == Position::Variance ? Role::Variance
                                                          : Role::Parameter;
  bool kept = matches(options->freeze, name) || (onlyTrainable && !matches(trainable, name));
  if (verdict.role == Role::Parameter && kept)
    verdict.role = Role::Frozen;
  return verdict;
}

//===-- Initial values -------------------------------------------------------------===//

/// The numbers of inputs and outputs of a linear map with these weights (fan-in, fan-out).
static std::pair<double, double> fans(const Verdict &verdict, ArrayRef<int64_t> shape) {
  auto product = [&](ArrayRef<int64_t> dims) {
    double result = 1;
    for (int64_t d : dims)
      result *= double(d);
    return std::max(result, 1.0);
  };
  if (shape.size() < 2)
    return {product(shape), product(shape)};
  std::string op = verdict.user ? verdict.user->op_type() : "";
  bool inOut = op == "MatMul"; // [in, out]
  if (verdict.user && op == "Gemm") {
    inOut = true;
    for (const auto &attribute : verdict.user->attribute())
      if (attribute.name() == "transB" && attribute.i() != 0)
        inOut = false;
  }
  double rows = double(shape[shape.size() - 2]), columns = double(shape.back());
  if (inOut)
    return {std::max(rows, 1.0), std::max(columns, 1.0)};
  double window = product(shape.drop_front(2));
  return {product(shape.drop_front(1)), std::max(double(shape[0]), 1.0) * window};
}

Attribute Roles::initialValue(const Verdict &verdict, ArrayRef<int64_t> shape, const ImportOptions &options,
                              MLIRContext *context) {
  auto fill = [&](double value) { return train::FillAttr::get(context, value); };
  switch (verdict.position) {
  case Position::Bias:
  case Position::Mean:
  case Position::Add:
    return fill(0);
  case Position::Scale:
  case Position::Variance:
  case Position::Mul:
    return fill(1);
  case Position::Slope:
    return fill(0.25); // He et al. 2015, section 2.1
  case Position::Embedding:
    return train::NormalAttr::get(context, 0, options.init == "normal" ? 0.02 : 1.0);
  default:
    break;
  }
  if (shape.size() < 2)
    return fill(0);
  auto [fanIn, fanOut] = fans(verdict, shape);
  if (options.init == "xavier") { // Glorot & Bengio 2010, equation 16
    double bound = std::sqrt(6.0 / (fanIn + fanOut));
    return train::UniformAttr::get(context, -bound, bound);
  }
  if (options.init == "normal")
    return train::NormalAttr::get(context, 0, 0.02);
  return train::NormalAttr::get(context, 0, std::sqrt(2.0 / fanIn)); // kaiming: He et al. 2015, equation 10
}
