//===- Names.h - what variables stand for in the user's model ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A variable bears the name of the initializer (or graph input) that its values come from. Where its
// symbol differs because an entry already has that name, `train.name` holds the initializer's name.
//
// Where one initializer became several variables, or the values do not come from an initializer, a variable serves one
// input of one node:
//   train.variable @"mean@bn2" buffer : ... {train.name = "mean", train.node = "y2", train.input = 3 : i64}
// `train.node` is the name of the node's first output ("" in the body of a function,
// which other calls share), and `train.name` tells what the model has at that input.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_TRAIN_IR_NAMES_H
#define MPC_TRAIN_IR_NAMES_H
#include "dialects/Train/IR/Train.h"

namespace mpc::train {

/// Variables have these attributes beside kNameAttr.
inline constexpr llvm::StringLiteral kNodeAttr = "train.node", kInputAttr = "train.input";

/// Returns the name that the user knows a variable by: the initializer's name where the variable stands for one,
/// else its symbol.
llvm::StringRef userName(VariableOp variable);

} // namespace mpc::train
#endif
