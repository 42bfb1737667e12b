//===- Variables.cpp - finding and making variables ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Train/IR/VariableTable.h"
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

VariableTable::VariableTable(Operation *from) : module(dyn_cast<ModuleOp>(from)) {
  if (!module)
    module = from->getParentOfType<ModuleOp>();
  for (VariableOp variable : module.getOps<VariableOp>()) {
    variables[variable.getSymNameAttr()] = variable;
    last = variable;
  }
}

VariableOp VariableTable::getOrCreate(const Twine &name, Role role, RankedTensorType type, Attribute init,
                                      FlatSymbolRefAttr of, FlatSymbolRefAttr step) {
  OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
  StringAttr symbol = b.getStringAttr(name);
  if (VariableOp existing = variables.lookup(symbol))
    return existing;
  if (last)
    b.setInsertionPointAfter(last);
  auto made = VariableOp::create(b, NameLoc::get(symbol), symbol.getValue(), role, type, init, of, step);
  last = made;
  return variables[symbol] = made;
}

VariableOp VariableTable::getOrCreateState(StepOp step, VariableOp parameter, StringRef suffix, Role role,
                                           RankedTensorType type, Attribute init) {
  auto owner = FlatSymbolRefAttr::get(step.getContext(), stateOwner(step));
  std::string name = (parameter.getSymName() + "/" + suffix).str();
  if (VariableOp existing = lookup(FlatSymbolRefAttr::get(step.getContext(), name));
      existing && existing.getStepAttr() != owner)
    name = (parameter.getSymName() + "/" + owner.getValue() + "/" + suffix).str();
  return getOrCreate(name, role, type, init, FlatSymbolRefAttr::get(parameter.getSymNameAttr()), owner);
}

VariableOp mpc::train::getOrCreateVariable(Operation *from, const Twine &name, Role role, RankedTensorType type,
                                           Attribute init, FlatSymbolRefAttr of, FlatSymbolRefAttr step) {
  return VariableTable(from).getOrCreate(name, role, type, init, of, step);
}

VariableOp VariableTable::getOrCreateScalar(StepOp step, StringRef suffix, Role role, Type element, double init) {
  StringRef owner = stateOwner(step);
  return getOrCreate(owner + "/" + suffix, role, RankedTensorType::get({}, element),
                     FillAttr::get(step.getContext(), init), {}, FlatSymbolRefAttr::get(step.getContext(), owner));
}

VariableOp mpc::train::getOrCreateScalar(StepOp step, StringRef suffix, Role role, Type element, double init) {
  return VariableTable(step).getOrCreateScalar(step, suffix, role, element, init);
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
