//===- Roles.h - decides what is trained and what is data -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Float initializers of rank >= 1 in parameter positions are trained (weights, biases, scales, embeddings,
// operands of matrix products, additions and products), directly or through views (Reshape, Transpose, ...).
// Running statistics, exponents, bounds and scalars are never trained. Where `trainable` and `freeze` match,
// they decide. Graph inputs are data unless `params` matches, or, without it, unless they are used only in
// parameter positions.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_IMPORT_ONNX_ROLES_H
#define MPC_IMPORT_ONNX_ROLES_H
#include "compiler/Import/Onnx/Model.h"
#include "compiler/Import/Onnx/Registry.h"
#include "dialects/Train/IR/Train.h"
#include <unordered_map>

namespace mpc::onnx_import {

enum class Role { Data, Parameter, Mean, Variance, Frozen, Constant };

struct Verdict {
  Role role = Role::Constant;
  std::string why;
  Position position = Position::Data; // the position that decided
  const onnx::NodeProto *user = nullptr;
  bool unusual = false; // a float that is used, but not where a parameter stands
};

class Roles {
public:
  /// Analyses all uses. Bad regular expressions become problems of the report.
  void analyse(const Model &, const ImportOptions &, ImportReport &);

  /// The verdict on an initializer.
  Verdict ofInitializer(const std::string &name, mlir::Type element, llvm::ArrayRef<int64_t> shape) const;
  /// The verdict on a graph input without an initializer.
  Verdict ofInput(const std::string &name, mlir::Type element, llvm::ArrayRef<int64_t> shape,
                  std::optional<int64_t> batch) const;
  /// The initial value of a parameter or buffer that has none.
  static mlir::Attribute initialValue(const Verdict &, llvm::ArrayRef<int64_t> shape, const ImportOptions &,
                                      mlir::MLIRContext *);

private:
  struct Use {
    Position position;
    const onnx::NodeProto *node;
  };
  std::unordered_map<std::string, std::vector<Use>> uses; // includes uses through views
  std::unordered_map<std::string, std::vector<std::pair<const onnx::NodeProto *, size_t>>> direct;
  std::unordered_map<const onnx::NodeProto *, int64_t> opsets;
  const ImportOptions *options = nullptr;
  std::string trainable;                   // the expression of --trainable
  bool onlyTrainable = false;              // whether initializers that it does not match are not trained
  const torch::Restored *module = nullptr; // the roles of initializers according to torch's exporter
  bool weightsAreInputs = false;           // whether some graph input can be nothing but a weight

  void collect(const onnx::NodeProto &, int64_t opset);
  std::vector<Use> usesOf(const std::string &name) const;
  bool matches(const std::string &regex, const std::string &name) const;
};

} // namespace mpc::onnx_import
#endif
