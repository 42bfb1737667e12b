// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Train/IR/Groups.h"
#include "dialects/Support/Diagnostics.h"
#include "dialects/Support/Pattern.h"
#include "dialects/Train/IR/Names.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

ArrayRef<ParameterKind> train::parameterKinds() {
  static constexpr ParameterKind all[] = {kNorms, kBiases, kEmbeddings};
  return all;
}

GroupPattern::GroupPattern(StringRef text) {
  if (namesKinds(text))
    text.split(kinds, ',');
  else
    regex.emplace(text);
}

bool GroupPattern::matches(VariableOp parameter) const {
  if (regex)
    return regex->match(userName(parameter));
  auto own = parameter->getAttrOfType<ArrayAttr>(kKindsAttr);
  return own && llvm::any_of(own.getAsRange<StringAttr>(),
                             [&](StringAttr kind) { return llvm::is_contained(kinds, kind.getValue()); });
}

LogicalResult GroupPattern::verify(EmitError emitError, StringRef text) {
  if (!namesKinds(text))
    return compilePattern(emitError, text);
  auto names = llvm::map_range(parameterKinds(), [](const ParameterKind &kind) { return kind.name; });
  for (StringRef kind : llvm::split(text, ','))
    if (!llvm::is_contained(names, kind))
      return emitErrorWithHint(emitError, "'" + kind + "' is no kind of parameters",
                               "the kinds are " + llvm::join(names, ", ") +
                                   "; a regular expression stands alone, and one for names that begin with '@' "
                                   "begins with '[@]'");
  return success();
}

Groups::Groups(StepOp step) {
  if (ArrayAttr attributes = step.getGroupsAttr())
    for (auto group : attributes.getAsRange<GroupAttr>())
      groups.emplace_back(GroupPattern(group.getMatch()), group);
}

GroupAttr Groups::of(VariableOp parameter) const {
  auto group = llvm::find_if(groups, [&](const auto &candidate) { return candidate.first.matches(parameter); });
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
