// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GradientCase.h"
#include "mlir/IR/Verifier.h"
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace mpc;
using namespace mpc::test;

const std::vector<Case> &test::allCases() {
  static const std::vector<Case> cases = [] {
    std::vector<Case> all;
    addUnaryCases(all);
    addBinaryCases(all);
    addReduceCases(all);
    addTensorCases(all);
    addMatmulCases(all);
    addPoolingCases(all);
    addNormalizationCases(all);
    addAttentionCases(all);
    addScanCases(all);
    return all;
  }();
  return cases;
}

//===-- Inputs ---------------------------------------------------------------------===//

static std::mt19937_64 &generator() {
  static std::mt19937_64 g(20260101);
  return g;
}
double test::uniformNumber(double low, double high) {
  return low + (high - low) * double(generator()() >> 11) * 0x1p-53;
}
static int64_t sizeOf(const Shape &shape) {
  int64_t n = 1;
  for (int64_t extent : shape)
    n *= extent;
  return n;
}
Input test::uniform(Shape shape, double low, double high, std::vector<double> kinks, double margin) {
  std::vector<double> values;
  while (int64_t(values.size()) < sizeOf(shape)) {
    double v = uniformNumber(low, high);
    if (llvm::all_of(kinks, [&](double kink) { return std::abs(v - kink) > margin; }))
      values.push_back(v);
  }
  return {std::move(shape), Input::Float, std::move(values)};
}
Input test::distinct(Shape shape, double offset) {
  std::vector<double> values(sizeOf(shape));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = 0.1 * (double(i) - double(values.size()) / 2) + offset;
    std::swap(values[i], values[generator()() % (i + 1)]);
  }
  return {std::move(shape), Input::Float, std::move(values)};
}
Input test::numbers(Shape shape, std::vector<double> values) {
  return {std::move(shape), Input::Float, std::move(values)};
}
Input test::integers(Shape shape, std::vector<double> values) {
  return {std::move(shape), Input::I64, std::move(values)};
}
Input test::frozen(Input input) {
  input.frozen = true;
  return input;
}
Input test::stat(Input input) {
  input.kind = Input::Stat;
  return input;
}

//===-- IR ----------------------------------------------------------------------------===//

MLIRContext &test::testContext() {
  static MLIRContext *context = [] {
    DialectRegistry registry;
    registry.insert<func::FuncDialect, graph::GraphDialect>();
    registerEvaluatorModels(registry);
    auto *c = new MLIRContext(registry);
    c->loadAllAvailableDialects();
    return c;
  }();
  return *context;
}

static RankedTensorType inputType(const Input &input, FloatType element) {
  MLIRContext *context = element.getContext();
  switch (input.kind) {
  case Input::Float:
    return RankedTensorType::get(input.shape, element);
  case Input::Stat:
    return RankedTensorType::get(input.shape, graph::computeType(element));
  case Input::I64:
    return RankedTensorType::get(input.shape, IntegerType::get(context, 64));
  case Input::I16:
    return RankedTensorType::get(input.shape, IntegerType::get(context, 16));
  case Input::I1:
    return RankedTensorType::get(input.shape, IntegerType::get(context, 1));
  }
  llvm_unreachable("all kinds are handled");
}
HostTensor test::inputTensor(const Input &input, FloatType element) {
  return HostTensor(inputType(input, element), input.values);
}

FailureOr<BuiltCase> test::buildCase(const Case &c, FloatType element, function_ref<bool(unsigned)> needed) {
  MLIRContext *context = element.getContext();
  Location loc = NameLoc::get(StringAttr::get(context, c.name));
  OpBuilder b(context);
  BuiltCase built;
  built.module = ModuleOp::create(loc);

  // The functions' types are set once the op has been built, since its results decide them.
  SmallVector<Type> types;
  for (const Input &input : c.inputs)
    types.push_back(inputType(input, element));
  auto begin = [&](StringRef name) {
    b.setInsertionPointToEnd(built.module->getBody());
    auto function = func::FuncOp::create(b, loc, name, b.getFunctionType(types, {}));
    Block *entry = function.addEntryBlock();
    b.setInsertionPointToEnd(entry);
    return function;
  };
  auto finish = [&](func::FuncOp function, ValueRange results) {
    func::ReturnOp::create(b, loc, results);
    function.setFunctionType(b.getFunctionType(function.getBody().getArgumentTypes(), results.getTypes()));
  };

  func::FuncOp primal = begin("primal");
  built.primal = c.build(b, loc, primal.getArguments());
  finish(primal, built.primal->getResults());

  func::FuncOp vjp = begin("vjp");
  Operation *op = c.build(b, loc, vjp.getArguments());
  SmallVector<Value> cotangents;
  for (OpResult result : op->getResults()) {
    bool has = graph::isFloat(result) && result.getResultNumber() < c.firstResultsOnly;
    cotangents.push_back(has ? Value(vjp.getBody().front().addArgument(result.getType(), loc)) : Value());
    if (has)
      built.cotangents.push_back(graph::typeOf(result));
  }
  SmallVector<bool> mask;
  for (Value operand : op->getOperands()) {
    auto argument = dyn_cast<BlockArgument>(operand);
    mask.push_back(argument && graph::isFloat(operand) && !c.inputs[argument.getArgNumber()].frozen &&
                   needed(argument.getArgNumber()));
  }
  VjpContext ctx(op, b, cotangents, mask, graph::adaptContribution);
  if (failed(cast<DifferentiableOpInterface>(op).buildVjp(ctx)))
    return failure();
  SmallVector<Value> gradients;
  for (unsigned i = 0; i < mask.size(); ++i)
    if (mask[i] && ctx.gradient(i)) {
      gradients.push_back(ctx.gradient(i));
      built.gradientOf.push_back(cast<BlockArgument>(op->getOperand(i)).getArgNumber());
    }
  finish(vjp, gradients);
  if (failed(verify(*built.module)))
    return failure();
  return built;
}

void test::forEachOpRun(llvm::function_ref<void(Operation *, ArrayRef<HostTensor>)> visit) {
  FloatType element = Float64Type::get(&testContext());
  for (const Case &c : allCases()) {
    SCOPED_TRACE(c.name);
    auto built = buildCase(c, element, [](unsigned) { return true; });
    ASSERT_TRUE(succeeded(built));
    std::vector<HostTensor> arguments;
    for (const Input &input : c.inputs)
      arguments.push_back(inputTensor(input, element));
    for (RankedTensorType type : built->cotangents) {
      arguments.emplace_back(type);
      for (auto [i, v] : llvm::enumerate(arguments.back().values))
        v = 0.25 + double(i % 7);
    }
    std::vector<std::pair<Operation *, SmallVector<HostTensor>>> ran;
    Evaluator evaluator(*built->module, EvalMode::Exact);
    evaluator.observer = [&](Operation *op, ArrayRef<HostTensor> operands, ArrayRef<HostTensor>) {
      ran.emplace_back(op, SmallVector<HostTensor>(operands));
    };
    SmallVector<HostTensor> results;
    ASSERT_TRUE(succeeded(evaluator.run("vjp", arguments, results)));
    ASSERT_TRUE(succeeded(evaluator.run("primal", ArrayRef(arguments).take_front(c.inputs.size()), results)));
    for (auto &[op, operands] : ran) {
      SCOPED_TRACE(op->getName().getStringRef().str());
      visit(op, operands);
      if (testing::Test::HasFatalFailure())
        return;
    }
  }
}
