//===- Equation.h - the equations of Einsum --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_IMPORT_ONNX_OPS_EQUATION_H
#define MPC_IMPORT_ONNX_OPS_EQUATION_H
#include "compiler/Import/Onnx/Node.h"

namespace mpc::onnx_import {

/// A dimension is named by a letter, or by -d if it is the d-th from the end of those that an ellipsis stands for.
using Labels = llvm::SmallVector<int>;

/// An equation such as bij,bjk->bik. Once it is read, no ellipsis is left, and the result is stated.
class Equation {
public:
  /// Reads the equation of a node, for the ranks of its inputs; fails at the node where it is malformed.
  explicit Equation(Node &);
  [[noreturn]] void malformed(const llvm::Twine &why) const;

  llvm::SmallVector<Labels> terms;
  Labels result;

private:
  Labels parseTerm(llvm::StringRef) const;
  /// Puts labels of dimensions in the place of each ellipsis, and adds the result where the equation has none.
  void resolve(bool hasResult);

  Node &n;
  const std::string text;
};

} // namespace mpc::onnx_import
#endif
