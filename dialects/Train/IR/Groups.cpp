// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Train/IR/Groups.h"
#include "dialects/Train/IR/Names.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

Groups::Groups(StepOp step) {
  if (ArrayAttr attributes = step.getGroupsAttr())
    for (auto group : attributes.getAsRange<GroupAttr>())
      groups.emplace_back(llvm::Regex(group.getMatch()), group);
}

GroupAttr Groups::of(VariableOp parameter) const {
  auto group = llvm::find_if(groups, [&](const auto &candidate) { return candidate.first.match(userName(parameter)); });
  return group == groups.end() ? GroupAttr() : group->second;
}

SmallVector<GroupMembers> train::groupMembers(StepOp step) {
  SmallVector<GroupMembers> members;
  if (ArrayAttr attributes = step.getGroupsAttr())
    for (auto group : attributes.getAsRange<GroupAttr>())
      members.push_back({group, {}});
  members.push_back({GroupAttr(), {}});
  Groups groups(step);
  for (auto name : step.getParameters().getAsRange<FlatSymbolRefAttr>())
    if (auto parameter = SymbolTable::lookupNearestSymbolFrom<VariableOp>(step->getParentOp(), name)) {
      GroupAttr group = groups.of(parameter);
      llvm::find_if(members, [&](const GroupMembers &each) {
        return each.group == group;
      })->parameters.push_back(userName(parameter));
    }
  llvm::erase_if(members, [](const GroupMembers &each) { return each.parameters.empty(); });
  return members;
}
