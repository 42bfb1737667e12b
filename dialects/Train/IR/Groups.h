//===- Groups.h - which parameter is in which parameter group ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_TRAIN_IR_GROUPS_H
#define MPC_TRAIN_IR_GROUPS_H
#include "dialects/Train/IR/Train.h"
#include "llvm/Support/Regex.h"

namespace mpc::train {

/// Finds the group of each parameter of a step.
class Groups {
public:
  explicit Groups(StepOp step);
  /// Returns the first group whose pattern matches the name by which the user knows the parameter; null when none does.
  GroupAttr of(VariableOp parameter) const;

private:
  llvm::SmallVector<std::pair<llvm::Regex, GroupAttr>> groups;
};

/// The parameters of one group; those of a null group are in none.
struct GroupMembers {
  GroupAttr group;
  llvm::SmallVector<llvm::StringRef> parameters; ///< the names by which the user knows them
};
/// Returns the groups of a step that have members, in their order, and last the parameters that are in no group.
llvm::SmallVector<GroupMembers> groupMembers(StepOp step);

} // namespace mpc::train
#endif
