// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Train/IR/VariableTable.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mpc::train;

#include "dialects/Train/IR/TrainDialect.cpp.inc"
#include "dialects/Train/IR/TrainEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Train/IR/TrainAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/Train/IR/TrainOps.cpp.inc"

void TrainDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Train/IR/TrainOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Train/IR/TrainAttrs.cpp.inc"
      >();
}

RankedTensorType VariableOp::getLogicalType() {
  auto permutation = (*this)->getAttrOfType<DenseI64ArrayAttr>(kPermutationAttr);
  if (!permutation)
    return getTensorType();
  SmallVector<int64_t> shape(permutation.size());
  for (auto [stored, logical] : llvm::enumerate(permutation.asArrayRef()))
    shape[logical] = getTensorType().getDimSize(stored);
  return getTensorType().clone(shape);
}

LogicalResult VariableOp::verify() {
  if (auto permutation = (*this)->getAttrOfType<DenseI64ArrayAttr>(kPermutationAttr))
    if (int64_t(permutation.size()) != getTensorType().getRank() || !isPermutationVector(permutation.asArrayRef()))
      return emitOpError("stores ") << getType() << " by " << permutation
                                    << ", which is no permutation of its dimensions";
  Attribute init = getInit();
  if (auto elements = dyn_cast<ElementsAttr>(init)) {
    if (elements.getType() != getLogicalType())
      return emitOpError("initial value has type ") << elements.getType() << ", not " << getLogicalType();
    return success();
  }
  if (!isa<FillAttr, NormalAttr, UniformAttr, CopyOfAttr>(init))
    return emitOpError("cannot start as ") << init;
  return success();
}

/// Checks the symbols that say where the variable belongs and what it is a copy of.
LogicalResult VariableOp::verifySymbolUses(SymbolTableCollection &tables) {
  if (FlatSymbolRefAttr of = getOfAttr()) {
    auto parameter = tables.lookupNearestSymbolFrom<VariableOp>(*this, of);
    if (!parameter || parameter.getRole() != Role::parameter)
      return emitOpError("belongs to ") << of << ", which is not a parameter";
  }
  if (FlatSymbolRefAttr step = getStepAttr(); step && !tables.lookupNearestSymbolFrom<StepOp>(*this, step))
    return emitOpError("is state of ") << step << ", which is not a train.step";
  auto copy = dyn_cast<CopyOfAttr>(getInit());
  if (!copy)
    return success();
  auto source = tables.lookupNearestSymbolFrom<VariableOp>(*this, copy.getSource());
  if (!source)
    return emitOpError("copies ") << copy.getSource() << ", which is not a variable";
  bool isCopy = isa<CopyOfAttr>(source.getInit());
  if (!isCopy && source.getLogicalType().getShape() == getLogicalType().getShape())
    return success();
  InFlightDiagnostic diagnostic = emitOpError("copies ") << copy.getSource();
  if (isCopy)
    diagnostic << ", which is a copy itself";
  else
    diagnostic << " as " << getLogicalType() << ", but it is " << source.getLogicalType();
  diagnostic.attachNote(source.getLoc()) << "variable is here";
  return diagnostic;
}

/// Checks that a symbol names a variable of this type.
static LogicalResult verifyUse(Operation *op, SymbolTableCollection &tables, FlatSymbolRefAttr name, Type type) {
  auto variable = tables.lookupNearestSymbolFrom<VariableOp>(op, name);
  if (!variable)
    return op->emitOpError("no variable ") << name;
  if (variable.getType() != type) {
    InFlightDiagnostic diagnostic = op->emitOpError("uses ")
                                    << name << " as " << type << ", but it is " << variable.getType();
    diagnostic.attachNote(variable.getLoc()) << "variable is here";
    return diagnostic;
  }
  return success();
}
LogicalResult ReadOp::verifySymbolUses(SymbolTableCollection &tables) {
  return verifyUse(*this, tables, getVariableAttr(), getValue().getType());
}
/// Checks that an entry assigns each variable at most once. The first assignment of a block checks the whole
/// block, and the others only look back to the one before, so that a block takes time linear in its length.
static LogicalResult verifyAssignedOnce(AssignOp first) {
  for (Operation *op = first->getPrevNode(); op; op = op->getPrevNode())
    if (isa<AssignOp>(op))
      return success();
  llvm::SmallDenseMap<Attribute, Operation *> assigned;
  for (auto assign : first->getBlock()->getOps<AssignOp>()) {
    auto [it, isNew] = assigned.try_emplace(assign.getVariableAttr(), assign);
    if (isNew)
      continue;
    InFlightDiagnostic diagnostic = assign.emitOpError("gives ")
                                    << assign.getVariableAttr() << " a second value in this entry";
    diagnostic.attachNote(it->second->getLoc()) << "the first is here";
    return diagnostic;
  }
  return success();
}
LogicalResult AssignOp::verifySymbolUses(SymbolTableCollection &tables) {
  if (failed(verifyAssignedOnce(*this)))
    return failure();
  return verifyUse(*this, tables, getVariableAttr(), getValue().getType());
}
LogicalResult UpdateOp::verifySymbolUses(SymbolTableCollection &tables) {
  auto type = cast<RankedTensorType>(getGradient().getType());
  auto variable = tables.lookupNearestSymbolFrom<VariableOp>(*this, getParameterAttr());
  // An unscaled gradient is f32, whatever the parameter is stored in.
  if (variable && type.getElementType().isF32())
    type = type.clone(variable.getTensorType().getElementType());
  return verifyUse(*this, tables, getParameterAttr(), type);
}

ParseResult StepOp::parse(OpAsmParser &parser, OperationState &result) {
  auto buildType = [](Builder &b, ArrayRef<Type> inputs, ArrayRef<Type> results, function_interface_impl::VariadicFlag,
                      std::string &) { return b.getFunctionType(inputs, results); };
  SMLoc where = parser.getCurrentLocation();
  if (function_interface_impl::parseFunctionOp(parser, result, /*allowVariadic=*/false,
                                               getFunctionTypeAttrName(result.name), buildType,
                                               getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name)))
    return failure();
  // An attribute of another type than the op declares would be dropped in silence otherwise.
  return verifyInherentAttrs(result.name, result.attributes,
                             [&] { return parser.emitError(where) << "'" << result.name.getStringRef() << "' op "; });
}
void StepOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(printer, *this, /*isVariadic=*/false, getFunctionTypeAttrName(),
                                           getArgAttrsAttrName(), getResAttrsAttrName());
}
LogicalResult YieldOp::verify() {
  auto step = cast<StepOp>((*this)->getParentOp());
  if (getOperandTypes() != step.getResultTypes())
    return emitOpError("yields other types than the results of @") << step.getSymName();
  return success();
}

LogicalResult StepOp::verify() {
  if (getAccumulate() < 1)
    return emitOpError("accumulates at least one batch");
  for (FloatAttr bound : {getClipNormAttr(), getClipValueAttr()})
    if (bound && !(bound.getValueAsDouble() > 0))
      return emitOpError("clips at a positive number");

  VariableTable variables(*this);
  llvm::SmallDenseSet<Attribute> trained;
  for (Attribute parameter : getParameters()) {
    VariableOp variable = variables.lookup(cast<FlatSymbolRefAttr>(parameter));
    if (!variable || variable.getRole() != Role::parameter)
      return emitOpError("trains ") << parameter << ", which is not a parameter";
    if (!trained.insert(parameter).second)
      return emitOpError("trains ") << parameter << " twice";
  }
  return success();
}
