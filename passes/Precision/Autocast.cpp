//===- Autocast.cpp - each op's precision, and the fewest casts ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pass walks over every entry once, in program order: an op's class and its operands' types decide the type that
// the op computes in, its operands are cast to that type, and its results get it. Passes.td has the rules and the IR
// before and after.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Support/Diagnostics.h"
#include "dialects/Train/IR/Names.h"
#include "dialects/Train/IR/VariableTable.h"
#include "passes/Precision/Caster.h"
#include "passes/Precision/LowStorage.h"
#include "passes/Precision/Passes.h"
#include "passes/Precision/PrecisionPolicy.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
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

/// Returns whether a constant would lose more than its last digits in the low type: one number becomes infinite, or the
/// largest becomes zero or a subnormal of fewer digits (the epsilon of a norm). Losing last digits is accepted, because
/// numbers written into the graph are exact in no type.
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

/// Inserts the casts of one entry, or of the body of a scan.
class BlockCaster {
public:
  BlockCaster(Block &block, PrecisionPolicy &policy, const train::VariableTable &variables, bool cache)
      : block(block), policy(policy), variables(variables), cache(cache), caster(cache),
        f32(Float32Type::get(block.front().getContext())) {}

  /// The block returns values of these types; a null type is that of whatever it returns.
  void run(ArrayRef<Type> resultTypes);

  unsigned numLow = 0, numUnknown = 0, numCasts = 0;

private:
  void findReachesLow();
  Type computeType(Operation *op, const Decision &decision);
  Type widest(Operation *op);
  bool widens(Operation *op, unsigned i);
  /// Returns whether a value is a parameter, possibly reshaped, or made of parts and sums of parameters, as the biases
  /// of recurrent networks are.
  bool isParameter(Value v, int depth = 0) const;
  std::string reason(Operation *op, const Decision &decision, Type type);
  void castOp(Operation *op);
  void castScan(ScanOp scan);
  bool isLow(Operation *op);
  void retype(Operation *op, Type type);
  void restoreResults(ArrayRef<Type> types);
  void eraseDead();

  Block &block;
  PrecisionPolicy &policy;
  const train::VariableTable &variables;
  bool cache;
  Caster caster;
  Type f32;
  /// The ops that are low (matmul, convolution) or have a low op downstream.
  llvm::DenseSet<Operation *> reachesLow;
};

bool BlockCaster::isParameter(Value v, int depth) const {
  constexpr int deepest = 8; // exporters write the parts of gates in four ops
  v = stripMoves(v);
  if (auto argument = dyn_cast<BlockArgument>(v))
    if (auto scan = dyn_cast<ScanOp>(argument.getOwner()->getParentOp()))
      return scan.isInvariant(argument.getArgNumber()) && isParameter(scan.getOperand(argument.getArgNumber()));
  if (Operation *op = v.getDefiningOp(); isa_and_nonnull<SliceOp, ConcatOp, AddOp>(op))
    return depth < deepest && llvm::all_of(op->getOperands(), [&](Value part) { return isParameter(part, depth + 1); });
  auto read = v.getDefiningOp<train::ReadOp>();
  train::VariableOp variable = read ? variables.lookup(read.getVariableAttr()) : train::VariableOp();
  return variable && variable.getRole() == train::Role::parameter;
}

/// Returns whether an op computes in the low precision; a scan does if an op of its body does.
bool BlockCaster::isLow(Operation *op) {
  if (auto scan = dyn_cast<ScanOp>(op))
    return llvm::any_of(scan.getBlock(), [&](Operation &inner) { return isLow(&inner); });
  return llvm::any_of(op->getOperands(), isFloatTensor) && policy.classify(op).precision == PrecisionClass::Low;
}

void BlockCaster::findReachesLow() {
  for (Operation &op : llvm::reverse(block)) {
    if (isLow(&op) || llvm::any_of(op.getUsers(), [&](Operation *user) { return reachesLow.contains(user); }))
      reachesLow.insert(&op);
  }
}

/// Returns whether operand i counts for the type of a promoting or following op.
bool BlockCaster::widens(Operation *op, unsigned i) {
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
Type BlockCaster::widest(Operation *op) {
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

Type BlockCaster::computeType(Operation *op, const Decision &decision) {
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
    // Integers are made from the bits of this type.
    return isa<BitcastOp>(op) && elementOf(op->getResult(0)).getIntOrFloatBitWidth() == 32 ? f32 : Type();
  case PrecisionClass::Body:
    return {};
  }
  llvm_unreachable("all classes are handled");
}

std::string BlockCaster::reason(Operation *op, const Decision &decision, Type type) {
  std::string name = op->getName().stripDialect().str();
  if (decision.listed)
    return name + " is listed as " + stringify(decision.precision).str();
  if (decision.unknown)
    return name + " has no precision class";
  if (decision.precision == PrecisionClass::Low)
    return name + " computes in " + typeName(type);
  bool fp32 = decision.precision == PrecisionClass::Fp32 || decision.precision == PrecisionClass::Fp32Range;
  if (type == f32 && (fp32 || isa<BitcastOp>(op)))
    return name + " needs f32";
  if (type == f32)
    return name + " takes the widest of its operands' types, f32";
  if (policy.castsModel)
    return "the model is " + typeName(type) + " at " + policy.level;
  return name + " computes in its input's type, " + typeName(type);
}

/// Gives the results the types that belong to operands of `type`.
void BlockCaster::retype(Operation *op, Type type) {
  SmallVector<Type> types;
  if (auto infer = dyn_cast<InferTypeOpInterface>(op);
      infer &&
      succeeded(infer.inferReturnTypes(op->getContext(), op->getLoc(), op->getOperands(), op->getAttrDictionary(),
                                       op->getPropertiesStorage(), op->getRegions(), types))) {
    for (auto [result, inferred] : llvm::zip_equal(op->getResults(), types))
      result.setType(inferred);
    return;
  }
  for (Value result : op->getResults())
    if (isFloatTensor(result))
      result.setType(typeOf(result).clone(type));
}

/// Carried values keep their type, so that they are not rounded in each iteration. What a body reads has the type in
/// which it was computed, and so have the slices that it returns.
void BlockCaster::castScan(ScanOp scan) {
  SmallVector<Type> types;
  for (auto [i, argument] : llvm::enumerate(scan.getBlock().getArguments())) {
    Value v = scan.getOperand(i);
    if (!scan.isCarried(i))
      argument.setType(scan.isStacked(i) ? ScanOp::sliceType(v.getType()) : v.getType());
    else if (isFloatTensor(v))
      scan->setOperand(i,
                       caster.get(v, elementOf(argument), scan, "graph.scan carries " + typeName(elementOf(argument))));
    if (scan.isCarried(i))
      types.push_back(argument.getType());
  }
  types.resize(scan.getNumResults());
  BlockCaster body(scan.getBlock(), policy, variables, cache);
  body.run(types);
  for (auto [i, v] : llvm::enumerate(scan.yielded()))
    if (!scan.isCarried(i))
      scan.getResult(i).setType(ScanOp::stackType(scan.getTrips(), v.getType()));
  numCasts += body.numCasts;
  numLow += body.numLow;
  numUnknown += body.numUnknown;
}

void BlockCaster::castOp(Operation *op) {
  if (auto scan = dyn_cast<ScanOp>(op))
    return castScan(scan);
  bool floats = llvm::any_of(op->getOperands(), isFloatTensor);
  bool wide = llvm::any_of(op->getOperands(), [](Value v) { return isFloatTensor(v) && elementOf(v).isF64(); });
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
    // The operand is on the statistics' side of a normalisation. The user may want parameters there to have been
    // rounded to the low type.
    if (policy.castsModel && !policy.keepsBatchNorm && elementOf(v) == f32 && isParameter(v))
      v = caster.get(v, policy.low, op, "keep-batchnorm-fp32 is off");
    op->setOperand(i, caster.get(v, f32, op, op->getName().stripDialect() + " takes operand " + Twine(i) + " in f32"));
  }
  retype(op, type);
  numLow += llvm::any_of(op->getResults(), [](Value v) { return isFloatTensor(v) && isLowPrecision(elementOf(v)); });
}

/// Gives what leaves the block the type it had.
void BlockCaster::restoreResults(ArrayRef<Type> types) {
  Operation *terminator = block.getTerminator();
  StringRef why =
      isa<ScanOp>(block.getParentOp()) ? "carried values keep their type" : "results of an entry keep their type";
  for (auto [i, type] : llvm::enumerate(types)) {
    Value v = terminator->getOperand(i);
    if (type && v.getType() != type)
      terminator->setOperand(i, caster.get(v, llvm::cast<RankedTensorType>(type).getElementType(), terminator, why));
  }
  for (train::AssignOp assign : block.getOps<train::AssignOp>()) {
    train::VariableOp variable = variables.lookup(assign.getVariableAttr());
    if (variable && assign.getValue().getType() != variable.getType())
      assign->setOperand(0, caster.get(assign.getValue(), variable.getTensorType().getElementType(), assign,
                                       "@" + train::userName(variable) + " keeps its type"));
  }
}

/// Erases reshapes, constants and casts of which only the low-precision twin is used.
void BlockCaster::eraseDead() {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op) && (rearranges(&op) || isOfKind(&op, LoopKind::Generator) || isa<CastOp>(op)))
      op.erase();
}

void BlockCaster::run(ArrayRef<Type> resultTypes) {
  findReachesLow();
  // A cast is inserted behind the value that it casts, never between an op and a successor that has not been seen.
  for (Operation *op : llvm::map_to_vector(block.without_terminator(), [](Operation &op) { return &op; }))
    castOp(op);
  restoreResults(resultTypes);
  eraseDead();
  numCasts += caster.numCasts;
}

class AutocastPass : public mpc::impl::AutocastPassBase<AutocastPass> {
public:
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<PrecisionPolicy> policy =
        PrecisionPolicy::create(module, {type, optLevel, keepBatchnormFp32, masterWeights, *allow, *deny, *infer});
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
      BlockCaster entryCaster(entry.getFunctionBody().front(), *policy, variables, castCache);
      entryCaster.run(llvm::to_vector(entry.getResultTypes()));
      numCasts += entryCaster.numCasts;
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
          if (auto read = isFp32Operand(op, i) ? stripMoves(op->getOperand(i)).getDefiningOp<train::ReadOp>() : nullptr)
            ofNorms.insert(read.getVariableAttr());
      });
    storeLow(module, policy.low, [&](train::VariableOp variable) {
      return ofNorms.contains(FlatSymbolRefAttr::get(variable.getSymNameAttr()));
    });
  }
};

} // namespace
