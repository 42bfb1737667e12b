//===- Autocast.cpp - each op's precision, and the fewest casts ------------------------------===//
//
// The pass walks over every entry once, in program order: an op's class and its operands' types decide the type that the op
// computes in, its operands are cast to that type, and its results get it. Passes.td has the rules and the IR before and after.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Support/Diagnostics.h"
#include "dialects/Train/IR/Names.h"
#include "dialects/Train/IR/VariableTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/Precision/Caster.h"
#include "passes/Precision/LowStorage.h"
#include "passes/Precision/Passes.h"
#include "passes/Precision/PrecisionPolicy.h"
#include "llvm/ADT/SmallBitVector.h"

namespace mpc {
#define GEN_PASS_DEF_AUTOCASTPASS
#include "passes/Precision/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::precision;

namespace {

std::string typeName(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

bool isFloatTensor(Value v) {
  auto type = dyn_cast<RankedTensorType>(v.getType());
  return type && isFloat(type.getElementType());
}

bool isFp32Operand(Operation *op, unsigned i) {
  auto stated = dyn_cast<PrecisionOpInterface>(op);
  return stated && stated.isFp32Operand(i);
}

/// Returns whether a constant would lose more than its last digits in the low type: one number becomes infinite, or the largest becomes zero or a
/// subnormal of fewer digits (the epsilon of a norm). Losing last digits is accepted, because numbers written into the graph are exact in no type.
bool leavesRange(DenseElementsAttr constant, FloatType low) {
  bool underflows = false;
  std::optional<APFloat> largest;
  auto look = [&](APFloat value) {
    if (!value.isFinite())
      return false;
    APFloat magnitude = llvm::abs(value), rounded = magnitude;
    bool losesInfo;
    APFloat::opStatus status = rounded.convert(low.getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
    if (!rounded.isFinite())
      return true;
    if (!largest || magnitude > *largest) {
      largest = magnitude;
      underflows = status & APFloat::opUnderflow;
    }
    return false;
  };
  if (constant.isSplat() ? look(constant.getSplatValue<APFloat>()) : llvm::any_of(constant.getValues<APFloat>(), look))
    return true;
  return underflows;
}

/// Inserts the casts of one entry.
class EntryCaster {
public:
  EntryCaster(FunctionOpInterface entry, PrecisionPolicy &policy, const train::VariableTable &variables, bool cache)
      : entry(entry), block(entry.getFunctionBody().front()), policy(policy), variables(variables), caster(cache),
        f32(Float32Type::get(entry.getContext())) {}

  void run();

  Caster &casts() { return caster; }
  unsigned numLow = 0, numUnknown = 0;

private:
  void findReachesLow();
  Type computeType(Operation *op, const Decision &decision);
  Type widest(Operation *op);
  bool widens(Operation *op, unsigned i);
  /// Returns whether a value is a parameter, possibly reshaped.
  bool isParameter(Value v) const;
  std::string reason(Operation *op, const Decision &decision, Type type);
  void castOp(Operation *op);
  void retype(Operation *op, Type type);
  void restoreResults();
  void eraseDead();

  FunctionOpInterface entry;
  Block &block;
  PrecisionPolicy &policy;
  const train::VariableTable &variables;
  Caster caster;
  Type f32;
  /// The ops that are low (matmul, convolution) or have a low op downstream.
  llvm::DenseSet<Operation *> reachesLow;
};

bool EntryCaster::isParameter(Value v) const {
  auto read = stripMoves(v).getDefiningOp<train::ReadOp>();
  train::VariableOp variable = read ? variables.lookup(read.getVariableAttr()) : train::VariableOp();
  return variable && variable.getRole() == train::Role::parameter;
}

void EntryCaster::findReachesLow() {
  for (Operation &op : llvm::reverse(block)) {
    bool low = llvm::any_of(op.getOperands(), isFloatTensor) &&
               policy.classify(&op).precision == PrecisionClass::Low;
    if (low || llvm::any_of(op.getUsers(), [&](Operation *user) { return reachesLow.contains(user); }))
      reachesLow.insert(&op);
  }
}

/// Returns whether operand i counts for the type of a promoting or following op.
bool EntryCaster::widens(Operation *op, unsigned i) {
  Value v = op->getOperand(i);
  if (!isFloatTensor(v) || isFp32Operand(op, i))
    return false;
  if (auto constant = v.getDefiningOp<ConstantOp>()) {
    auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
    return !dense || leavesRange(dense, policy.low);
  }
  // The bias of a matrix product or convolution is part of the op in torch, and an addition of its own here.
  if (isa<AddOp>(op) && isParameter(v)) {
    Operation *other = stripMoves(op->getOperand(1 - i)).getDefiningOp();
    return !other || policy.classify(other).precision != PrecisionClass::Low;
  }
  return true;
}

/// Returns the widest type among the operands that count, or among all operands if none counts.
Type EntryCaster::widest(Operation *op) {
  llvm::SmallBitVector says(op->getNumOperands());
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    says[i] = widens(op, i);
  Type result;
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    Value v = op->getOperand(i);
    if (says.any() ? !says[i] : !isFloatTensor(v) || isFp32Operand(op, i))
      continue;
    Type type = elementOf(v);
    // In a cast model, inputs and parameters are low wherever a low op follows.
    Value source = stripMoves(v);
    if (policy.castsModel && reachesLow.contains(op) && type == f32 &&
        (isa<BlockArgument>(source) || source.getDefiningOp<train::ReadOp>()))
      type = policy.low;
    result = !result || result == type ? type : f32;
  }
  return result;
}

Type EntryCaster::computeType(Operation *op, const Decision &decision) {
  switch (decision.precision) {
  case PrecisionClass::Low:
    return policy.low;
  case PrecisionClass::Fp32Range:
    return f32;
  case PrecisionClass::Fp32:
    // Inside a cast model only the storage is low: softmax computes in fp32 whatever it reads.
    if (policy.castsModel && reachesLow.contains(op) && !decision.listed && !decision.unknown)
      return widest(op);
    return f32;
  case PrecisionClass::Promote:
  case PrecisionClass::Follow:
    return widest(op);
  case PrecisionClass::Neutral:
    return {};
  }
  llvm_unreachable("all classes are handled");
}

std::string EntryCaster::reason(Operation *op, const Decision &decision, Type type) {
  std::string name = op->getName().stripDialect().str();
  if (decision.listed)
    return name + " is listed as " + stringify(decision.precision).str();
  if (decision.unknown)
    return name + " has no precision class";
  if (decision.precision == PrecisionClass::Low)
    return name + " computes in " + typeName(type);
  bool fp32 = decision.precision == PrecisionClass::Fp32 || decision.precision == PrecisionClass::Fp32Range;
  if (fp32 && type == f32)
    return name + " needs f32";
  if (type == f32)
    return name + " takes the widest of its operands' types, f32";
  if (policy.castsModel)
    return "the model is " + typeName(type) + " at " + policy.level;
  return name + " computes in its input's type, " + typeName(type);
}

/// Gives the results the types that belong to operands of `type`.
void EntryCaster::retype(Operation *op, Type type) {
  SmallVector<Type> types;
  if (auto infer = dyn_cast<InferTypeOpInterface>(op);
      infer && succeeded(infer.inferReturnTypes(op->getContext(), op->getLoc(), op->getOperands(),
                                                op->getAttrDictionary(), op->getPropertiesStorage(),
                                                op->getRegions(), types))) {
    for (auto [result, inferred] : llvm::zip_equal(op->getResults(), types))
      result.setType(inferred);
    return;
  }
  for (Value result : op->getResults())
    if (isFloatTensor(result))
      result.setType(typeOf(result).clone(type));
}

void EntryCaster::castOp(Operation *op) {
  bool floats = llvm::any_of(op->getOperands(), isFloatTensor);
  bool wide =
      llvm::any_of(op->getOperands(), [](Value v) { return isFloatTensor(v) && elementOf(v).isF64(); });
  if (!floats || wide || op->getDialect()->getNamespace() == train::TrainDialect::getDialectNamespace())
    return;
  Decision decision = policy.classify(op);
  if (decision.unknown) {
    op->emitWarning() << "'" << op->getName() << "' has no precision class: it computes in fp32";
    ++numUnknown;
  }
  Type type = computeType(op, decision);
  if (!type)
    return;
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    Value v = op->getOperand(i);
    if (!isFloatTensor(v))
      continue;
    if (!isFp32Operand(op, i)) {
      op->setOperand(i, caster.get(v, type, op, reason(op, decision, type)));
      continue;
    }
    // The operand is on the statistics' side of a normalisation. The user may want parameters there to have been rounded to the low type.
    if (policy.castsModel && !policy.keepsBatchNorm && elementOf(v) == f32 && isParameter(v))
      v = caster.get(v, policy.low, op, "keep-batchnorm-fp32 is off");
    op->setOperand(
        i, caster.get(v, f32, op, op->getName().stripDialect() + " takes operand " + Twine(i) + " in f32"));
  }
  retype(op, type);
  numLow += llvm::any_of(op->getResults(),
                         [](Value v) { return isFloatTensor(v) && isLowPrecision(elementOf(v)); });
}

/// Gives what leaves the entry the type it had.
void EntryCaster::restoreResults() {
  Operation *terminator = block.getTerminator();
  for (auto [i, type] : llvm::enumerate(entry.getResultTypes())) {
    Value v = terminator->getOperand(i);
    if (v.getType() != type)
      terminator->setOperand(i, caster.get(v, llvm::cast<RankedTensorType>(type).getElementType(), terminator,
                                           "results of an entry keep their type"));
  }
  for (train::AssignOp assign : block.getOps<train::AssignOp>()) {
    train::VariableOp variable = variables.lookup(assign.getVariableAttr());
    if (variable && assign.getValue().getType() != variable.getType())
      assign->setOperand(0, caster.get(assign.getValue(), variable.getTensorType().getElementType(), assign,
                                       "@" + train::userName(variable) + " keeps its type"));
  }
}

/// Erases reshapes, constants and casts of which only the low-precision twin is used.
void EntryCaster::eraseDead() {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op) && isa<ReshapeOp, TransposeOp, BroadcastOp, ConstantOp, CastOp>(op))
      op.erase();
}

void EntryCaster::run() {
  findReachesLow();
  // A cast is inserted behind the value that it casts, never between an op and a successor that has not been seen.
  for (Operation *op : llvm::map_to_vector(block.without_terminator(), [](Operation &op) { return &op; }))
    castOp(op);
  restoreResults();
  eraseDead();
}

class AutocastPass : public mpc::impl::AutocastPassBase<AutocastPass> {
public:
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<PrecisionPolicy> policy = PrecisionPolicy::create(
        module, {type, optLevel, keepBatchnormFp32, masterWeights, *allow, *deny, *infer});
    if (failed(policy))
      return signalPassFailure();
    policy->warnOfUnmatched(module);
    if (!policy->low)
      return;
    if (policy->storesLow)
      storeParametersLow(module, *policy);
    train::VariableTable variables(module);
    for (auto entry : module.getOps<FunctionOpInterface>()) {
      if (entry.isExternal())
        continue;
      EntryCaster entryCaster(entry, *policy, variables, castCache);
      entryCaster.run();
      numCasts += entryCaster.casts().numCasts;
      numLow += entryCaster.numLow;
      numUnknown += entryCaster.numUnknown;
    }
  }

private:
  static void storeParametersLow(ModuleOp module, PrecisionPolicy &policy) {
    llvm::DenseSet<Attribute> ofNorms;
    if (policy.keepsBatchNorm)
      module.walk([&](Operation *op) {
        for (unsigned i = 0; i < op->getNumOperands(); ++i)
          if (auto read = isFp32Operand(op, i) ? stripMoves(op->getOperand(i)).getDefiningOp<train::ReadOp>()
                                               : nullptr)
            ofNorms.insert(read.getVariableAttr());
      });
    storeLow(module, policy.low, [&](train::VariableOp variable) {
      return ofNorms.contains(FlatSymbolRefAttr::get(variable.getSymNameAttr()));
    });
  }
};

} // namespace
