//===- Groups.h - which parameter is in which parameter group ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_TRAIN_IR_GROUPS_H
#define MPC_TRAIN_IR_GROUPS_H
#include "dialects/Train/IR/Train.h"
#include "llvm/Support/Regex.h"

namespace mpc::train {

/// The kinds of parameters that a group may name in place of a regular expression, and what is of the kind.
struct ParameterKind {
  llvm::StringLiteral name, doc;
};
inline constexpr ParameterKind kNorms{"@norms", "scales and shifts of norms"},
    kBiases{"@biases", "vectors that are added, as those of convolutions and products"},
    kEmbeddings{"@embeddings", "tables that are looked up"};
/// Returns all kinds.
llvm::ArrayRef<ParameterKind> parameterKinds();

/// A parameter of some kinds has this attribute, an array of their names, where groups name kinds.
inline constexpr llvm::StringLiteral kKindsAttr = "train.kinds";

/// Returns whether a group's text names kinds. A regular expression that begins with `@` is written `[@]...`.
inline bool namesKinds(llvm::StringRef text) { return text.starts_with("@"); }

/// Says which parameters a text means: those whose name matches a regular expression, or those of one of the kinds in
/// `@norms,@biases`.
class GroupPattern {
public:
  /// `text` is valid, see verify().
  explicit GroupPattern(llvm::StringRef text);
  bool matches(VariableOp parameter) const;
  /// Reports a text that neither is a regular expression nor names kinds.
  static mlir::LogicalResult verify(EmitError emitError, llvm::StringRef text);

private:
  llvm::SmallVector<llvm::StringRef> kinds;
  std::optional<llvm::Regex> regex; ///< where no kinds are named
};

/// Finds the group of each parameter of a step.
class Groups {
public:
  explicit Groups(StepOp step);
  /// Returns the first group that matches the parameter; null when none does.
  GroupAttr of(VariableOp parameter) const;

private:
  llvm::SmallVector<std::pair<GroupPattern, GroupAttr>> groups;
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
