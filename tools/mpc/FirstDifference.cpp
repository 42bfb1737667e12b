// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/mpc/FirstDifference.h"
#include "compiler/Evaluator/Evaluator.h"
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Support/Diagnostics.h"
#include "dialects/Train/IR/Names.h"
#include "runtime/support/Error.h"
#include "tools/mpc/VerifyStep.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mlir;

namespace mpc::tool {
namespace {

/// Values may differ by this, relative to their norm: both sides compute in float64, but the file has its constants in
/// float32 (6e-8), which a network amplifies.
constexpr double kRelative = 1e-4;
/// A difference below this, relative to the largest norm among the node's operands, is the rounding of a result that
/// cancels (x - x).
constexpr double kCancelled = 1e-10;
/// Larger numbers are those of masks, the lowest number of a type, which is another in float64.
constexpr double kMask = 1e30;

Fingerprint fingerprintOf(const HostTensor &tensor) {
  Fingerprint sums = {};
  for (auto [i, x] : llvm::enumerate(tensor.values)) {
    sums[0] += std::fabs(x);
    sums[1] += x * x;
    sums[2] += x * std::cos(double(i));
  }
  sums[1] = std::sqrt(sums[1]);
  return sums;
}

/// Whether a and b may be the fingerprints of one tensor; `scale` is the largest norm among what it is made from.
bool agree(const Fingerprint &a, const Fingerprint &b, double scale) {
  const double norm = std::max(std::fabs(a[1]), std::fabs(b[1]));
  if (!(std::fabs(a[1]) < kMask) || !(std::fabs(b[1]) < kMask))
    return !(std::fabs(a[1]) < kMask) && !(std::fabs(b[1]) < kMask);
  const double rounding = kCancelled * scale;
  auto close = [](double x, double y, double by) { return std::fabs(x - y) <= by; };
  return close(a[0], b[0], kRelative * std::max(a[0], b[0]) + rounding * std::max(1.0, a[0] / (norm + rounding))) &&
         close(a[1], b[1], kRelative * norm + rounding) && close(a[2], b[2], kRelative * norm + rounding);
}

class Forward {
public:
  Forward(ModuleOp module, const ImportReport &imported, const Reference &reference)
      : module(module), function(module.lookupSymbol<func::FuncOp>("forward")), reference(reference) {
    for (const ModelValue &value : imported.values) {
      if (Operation *op = value.value.getDefiningOp())
        made[op].push_back(&value);
      ops.try_emplace(value.node, value.op);
    }
  }

  void compare(ForwardComparison &result);
  std::optional<ForwardComparison::Reader> nearestOf(ArrayRef<std::string> parameters);

private:
  FailureOr<SmallVector<HostTensor>> inputs(std::string &why);
  void look(Operation *op, ArrayRef<HostTensor> operands, ArrayRef<HostTensor> results, ForwardComparison &result);

  ModuleOp module;
  func::FuncOp function;
  const Reference &reference;
  DenseMap<Operation *, SmallVector<const ModelValue *, 1>> made;
  std::map<std::string, std::string> ops; // by node
};

FailureOr<SmallVector<HostTensor>> Forward::inputs(std::string &why) {
  SmallVector<HostTensor> tensors;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    const std::string name = "input/" + function.getArgAttrOfType<StringAttr>(i, train::kNameAttr).str();
    auto type = cast<RankedTensorType>(function.getArgument(i).getType());
    if (!reference.has(name)) {
      why = "the reference has no array '" + name + "'";
      return failure();
    }
    rt::Array array = reference.array(name);
    if (array.elements() != type.getNumElements()) {
      why = "the array '" + name + "' has another shape";
      return failure();
    }
    HostTensor &tensor = tensors.emplace_back(type);
    for (int64_t e = 0; e < array.elements(); ++e)
      tensor.values[size_t(e)] = rt::loadDouble(array.dtype, array.data, size_t(e));
  }
  return tensors;
}

void Forward::look(Operation *op, ArrayRef<HostTensor> operands, ArrayRef<HostTensor> results,
                   ForwardComparison &result) {
  auto values = made.find(op);
  if (values == made.end() || result.first)
    return;
  double scale = 0;
  for (const HostTensor &operand : operands)
    if (isa<FloatType>(operand.element))
      if (double norm = fingerprintOf(operand)[1]; std::isfinite(norm))
        scale = std::max(scale, norm);
  for (const ModelValue *value : values->second) {
    const std::string array = "value/" + value->name;
    if (!reference.has(array))
      continue;
    ++result.compared;
    const Fingerprint ours = fingerprintOf(results[cast<OpResult>(value->value).getResultNumber()]);
    const std::vector<double> theirs = reference.values(array, {int64_t(ours.size())});
    if (!agree(ours, {theirs[0], theirs[1], theirs[2]}, scale)) {
      result.first = {value->name, value->node, value->op, ours[1], theirs[1]};
      return;
    }
  }
}

void Forward::compare(ForwardComparison &result) {
  FailureOr<SmallVector<HostTensor>> arguments = inputs(result.skipped);
  if (failed(arguments))
    return;
  Evaluator evaluator(module, EvalMode::Exact);
  evaluator.observer = [&](Operation *op, ArrayRef<HostTensor> operands, ArrayRef<HostTensor> results) {
    look(op, operands, results, result);
  };
  SmallVector<HostTensor> results;
  if (failed(evaluator.run("forward", *arguments, results)) && !result.first)
    result.skipped = "the reference evaluator cannot run this network";
}

std::optional<ForwardComparison::Reader> Forward::nearestOf(ArrayRef<std::string> parameters) {
  std::map<std::string, std::string> wanted; // symbol to name
  for (auto variable : module.getOps<train::VariableOp>())
    if (std::string name = train::userName(variable).str(); llvm::is_contained(parameters, name))
      wanted[variable.getSymName().str()] = name;
  // A node may be several ops, of which the first reads the weight.
  std::optional<ForwardComparison::Reader> nearest;
  for (Operation &reader : llvm::reverse(function.front())) {
    if (reader.getNumOperands() == 0)
      continue;
    const std::string node = locationName(reader.getLoc());
    if (nearest && nearest->node != node)
      break;
    bool found = false;
    reader.walk([&](Operation *op) {
      for (Value operand : op->getOperands())
        if (auto read = operand.getDefiningOp<train::ReadOp>(); read && !found)
          if (auto name = wanted.find(read.getVariable().str()); name != wanted.end()) {
            nearest = {name->second, node, ops[node]};
            found = true;
          }
    });
  }
  return nearest;
}

} // namespace

ForwardComparison compareForward(const std::string &model, const ImportOptions &given, const Reference &reference,
                                 ArrayRef<std::string> parameters, double multiplyAdds) {
  // The context of the compilation cannot serve: models are attached before dialects are loaded.
  DialectRegistry registry;
  registerAllDialects(registry);
  registerEvaluatorModels(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  ScopedDiagnosticHandler silent(&context, [](Diagnostic &) { return success(); }); // the first import has said it all

  ForwardComparison result;
  ImportOptions options = given;
  options.recordValues = true;
  ImportReport imported;
  OwningOpRef<ModuleOp> module = importOnnx(context, model, options, &imported);
  if (!module) {
    result.skipped = "the model cannot be imported again";
    return result;
  }
  if (reference.dropoutOff)
    replaceDropout(*module, &imported);
  Forward forward(*module, imported, reference);
  result.nearest = forward.nearestOf(parameters);
  if (reference.names("value").empty())
    result.skipped = "the reference has no values of the forward pass";
  else if (multiplyAdds > kMostMultiplyAdds)
    result.skipped =
        llvm::formatv("the forward pass has {0:e1} multiply-adds, too many for the reference evaluator", multiplyAdds)
            .str();
  else
    forward.compare(result);
  return result;
}

} // namespace mpc::tool
