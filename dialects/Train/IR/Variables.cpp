//===- Variables.cpp - finding and making variables ---------------------------===//
#include "dialects/Train/IR/Train.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace mpc::train;

VariableOp mpc::train::lookupVariable(Operation *from, FlatSymbolRefAttr name) {
  return SymbolTable::lookupNearestSymbolFrom<VariableOp>(from, name);
}

VariableOp mpc::train::lookupVariable(Operation *from, StringRef name) {
  return lookupVariable(from, FlatSymbolRefAttr::get(from->getContext(), name));
}

VariableOp mpc::train::getOrCreateVariable(Operation *from, const Twine &name, Role role,
                                           RankedTensorType type, Attribute init, FlatSymbolRefAttr of,
                                           FlatSymbolRefAttr step) {
  std::string text = name.str();
  if (VariableOp existing = lookupVariable(from, text))
    return existing;
  auto module = from->getParentOfType<ModuleOp>();
  OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
  for (VariableOp variable : module.getOps<VariableOp>())
    b.setInsertionPointAfter(variable);
  auto loc = NameLoc::get(b.getStringAttr(text));
  return VariableOp::create(b, loc, text, role, type, init, of, step);
}

VariableOp mpc::train::getOrCreateState(StepOp step, VariableOp parameter, StringRef suffix, Role role,
                                        RankedTensorType type, Attribute init) {
  auto owner = FlatSymbolRefAttr::get(step.getContext(), stateOwner(step));
  std::string name = (parameter.getSymName() + "/" + suffix).str();
  if (VariableOp existing = lookupVariable(step, name); existing && existing.getStepAttr() != owner)
    name = (parameter.getSymName() + "/" + owner.getValue() + "/" + suffix).str();
  return getOrCreateVariable(step, name, role, type, init, FlatSymbolRefAttr::get(parameter.getSymNameAttr()),
                             owner);
}

VariableOp mpc::train::getOrCreateScalar(StepOp step, StringRef suffix, Role role, Type element,
                                         double init) {
  StringRef owner = stateOwner(step);
  return getOrCreateVariable(step, owner + "/" + suffix, role, RankedTensorType::get({}, element),
                             FillAttr::get(step.getContext(), init), {},
                             FlatSymbolRefAttr::get(step.getContext(), owner));
}

Value mpc::train::readVariable(OpBuilder &b, Location loc, VariableOp variable) {
  return ReadOp::create(b, loc, variable.getTensorType(), FlatSymbolRefAttr::get(variable.getSymNameAttr()));
}

void mpc::train::assignVariable(OpBuilder &b, Location loc, VariableOp variable, Value value) {
  AssignOp::create(b, loc, FlatSymbolRefAttr::get(variable.getSymNameAttr()), value);
}

StringRef mpc::train::stateOwner(StepOp step) {
  StringRef name = step.getSymName();
  if (step.getTrace())
    name.consume_back(kTraceSuffix);
  return name;
}
