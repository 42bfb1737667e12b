// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/mpc/VerifyStep.h"
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Support/Diagnostics.h"
#include "dialects/Train/IR/Names.h"
#include "runtime/core/StepLoop.h"
#include "runtime/support/Error.h"
#include "tools/mpc/Common.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace mlir;

namespace mpc::tool {

//===-- Before the compilation: random numbers ---------------------------------------------===//

int replaceDropout(ModuleOp module, ImportReport *imported) {
  int dropouts = 0;
  module.walk([&](graph::DropoutOp dropout) {
    if (imported)
      for (ModelValue &value : imported->values)
        if (value.value == dropout.getY())
          value.value = dropout.getX();
    dropout.getY().replaceAllUsesWith(dropout.getX());
    dropout.erase();
    ++dropouts;
  });
  return dropouts;
}

LogicalResult refuseRandomNumbers(ModuleOp module) {
  // A random number that reaches no result belonged to the mask of a dropout.
  auto forward = module.lookupSymbol<func::FuncOp>("forward");
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(forward.front())))
    if (isOpTriviallyDead(&op))
      op.erase();
  WalkResult walk = module.walk([&](Operation *op) -> WalkResult {
    if (isa<graph::DropoutOp>(op))
      return emitErrorWithHint(op->getLoc(), "drops elements, and the reference was not made with dropout off",
                               "write the reference again with tools/torch/export.py --reference, which switches "
                               "dropout off on both sides; or, if the module drops nothing, take --mode=as-exported");
    if (isa<graph::RandomOp>(op))
      return emitErrorWithHint(op->getLoc(), "is a random op other than dropout, and PyTorch draws other numbers",
                               "give them to the module as an input, and export it again");
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

std::map<std::string, std::string> runningVariances(ModuleOp module) {
  std::map<std::string, std::string> variances;
  module.walk([&](graph::BatchNormOp norm) {
    auto nameOf = [&](StringRef attribute) -> std::string {
      auto symbol = norm->getAttrOfType<FlatSymbolRefAttr>(attribute);
      auto variable = symbol ? module.lookupSymbol<train::VariableOp>(symbol.getAttr()) : nullptr;
      return variable ? train::userName(variable).str() : "";
    };
    variances[nameOf(train::kRunningMeanAttr)] = nameOf(train::kRunningVarianceAttr);
  });
  return variances;
}

//===-- The step -------------------------------------------------------------------------------===//

/// A dynamic scale has left the range of f32 after so many overflows.
static constexpr int kMostOverflows = 160;

/// The multiply-adds of the entry that predicts; the manifest has two operations for each.
static double multiplyAddsOf(const rt::Plan &plan) {
  double operations = 0;
  if (const rt::Entry *forward = plan.entryOfKind("predict"))
    for (const rt::Launch &launch : forward->launches)
      operations += launch.flops;
  return operations / 2;
}

namespace {
class StepRun {
public:
  StepRun(rt::Session &session, const Reference &reference)
      : session(session), reference(reference), loop(session, {{"lr", 0.0}}, {}, /*gradients=*/true) {
    for (const rt::Port &port : entry().inputs)
      inputs.emplace(port.name, read(entry(), port));
  }

  StepNumbers run() {
    StepNumbers numbers;
    predict(numbers);
    rt::StepReport report = step();
    for (; report.skipped && std::isfinite(report.loss) && isDynamic() && numbers.overflows < kMostOverflows;
         report = step())
      ++numbers.overflows;
    numbers.loss = report.loss;
    if (session.manifest().steps.front().scaler)
      numbers.scale = report.scale;
    for (const rt::Port &port : entry().outputs)
      if (port.role == "grad")
        numbers.gradients[port.of.empty() ? port.name : session.manifest().variable(port.of)->userName()] =
            session.read(port);
    for (const rt::Storage &storage : session.plan().storage) {
      const rt::Variable &variable = *session.manifest().variable(storage.variable);
      if (reference.has("buffer/" + variable.userName()))
        numbers.buffers[variable.userName()] = session.variable(variable.name);
    }
    if (reference.has("loss/2"))
      numbers.secondLoss = step().loss;
    return numbers;
  }

private:
  const rt::Entry &entry() const { return *loop.entries().front(); }
  bool isDynamic() const {
    const std::optional<rt::Scaler> &scaler = session.manifest().steps.front().scaler;
    return scaler && scaler->kind != "static";
  }
  /// Computes the outputs of eval mode. Forward updates its buffers in the step, so that this comes before it.
  void predict(StepNumbers &numbers) {
    const rt::Entry *forward = session.plan().entryOfKind("predict");
    const std::vector<std::string> names = reference.names("eval");
    if (!forward || names.empty())
      return;
    // `read` writes an input to check its values. The inputs are written again together, as a run needs them.
    std::map<std::string, rt::Array> arrays;
    for (const rt::Port &port : forward->inputs)
      arrays.emplace(port.name, read(*forward, port));
    for (const auto &[name, array] : arrays)
      session.setInput(*forward, name, array.view());
    session.run(*forward);
    for (const rt::Port &port : forward->outputs)
      if (llvm::is_contained(names, port.name))
        numbers.evaluated[port.name] = session.read(port);
  }
  /// Reads an input, and checks that the program takes its shape and its values.
  rt::Array read(const rt::Entry &entry, const rt::Port &port) {
    const std::string name = "input/" + port.name, where = reference.path + ": " + name;
    if (!reference.has(name))
      rt::fail(reference.path, rt::concat("has no array '", name, "', which the step needs"),
               "write it again with the --loss that is trained, by tools/torch/export.py --reference");
    // The shape is checked first, because a small file may unpack to more than the memory holds.
    rt::Array array = reference.array(name, [&](mpc_dtype, const rt::Shape &shape) {
      if (auto error = rt::attempt([&] { session.inputFor(entry, port.name, shape); }))
        rt::fail(where, error->clause(),
                 "leave --batch and --dim out: the reference says which it was made with; or write it again for these");
    });
    if (auto error = rt::attempt([&] { session.setInput(entry, port.name, array.view()); }))
      rt::fail(where, error->clause(), "write the reference again with inputs that the loss and the network allow");
    return array;
  }
  rt::StepReport step() {
    auto load = [&](const rt::Entry &entry) {
      for (const auto &[name, array] : inputs)
        session.setInput(entry, name, array.view());
    };
    return loop.run(iteration++, load, [](const rt::Entry &) {}).front();
  }

  rt::Session &session;
  const Reference &reference;
  rt::StepLoop loop;
  std::map<std::string, rt::Array> inputs;
  int64_t iteration = 0;
};
} // namespace

StepNumbers runStep(CompiledProgram &&program, const Reference &reference, const rt::SessionOptions &options) {
  rt::Session session(programInMemory(std::move(program)), options);
  StepNumbers numbers = StepRun(session, reference).run();
  numbers.device = session.device().description();
  numbers.multiplyAdds = multiplyAddsOf(session.plan());
  return numbers;
}

} // namespace mpc::tool
