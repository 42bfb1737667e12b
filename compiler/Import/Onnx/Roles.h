//===- Roles.h - what is trained, what is data ----------------------------------===//
//
// Trained: float initializers of rank >= 1 in parameter positions (weights, biases, scales, embeddings,
// operands of matrix products, additions and products), directly or through views (Reshape, Transpose, ...).
// Never running statistics, exponents, bounds or scalars. `trainable` and `freeze` decide where they match.
// Graph inputs are data unless `params` matches, or, without it, when nothing but parameter positions use
// them.
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
  Position position = Position::Data; // the one that decided
  const onnx::NodeProto *user = nullptr;
  bool unusual = false; // a float that is used, but where no parameter stands
};

class Roles {
public:
  /// Looks at all uses. Bad regular expressions become problems of the report.
  void analyse(const Model &, const ImportOptions &, ImportReport &);

  /// Of an initializer.
  Verdict ofInitializer(const std::string &name, mlir::Type element, llvm::ArrayRef<int64_t> shape) const;
  /// Of a graph input without an initializer.
  Verdict ofInput(const std::string &name, mlir::Type element, llvm::ArrayRef<int64_t> shape,
                  std::optional<int64_t> batch) const;
  /// How a parameter or buffer without a value starts.
  static mlir::Attribute initialValue(const Verdict &, llvm::ArrayRef<int64_t> shape, const ImportOptions &,
                                      mlir::MLIRContext *);

private:
  struct Use {
    Position position;
    const onnx::NodeProto *node;
  };
  std::unordered_map<std::string, std::vector<Use>> uses; // through views
  std::unordered_map<std::string, std::vector<std::pair<const onnx::NodeProto *, size_t>>> direct;
  std::unordered_map<const onnx::NodeProto *, int64_t> opsets;
  const ImportOptions *options = nullptr;
  std::string trainable;      // the expression of --trainable
  bool onlyTrainable = false; // whether what it does not match is not trained
  const torch::Restored *module = nullptr; // what torch's exporter says of the initializers
  bool weightsAreInputs = false; // some graph input can be nothing but a weight

  void collect(const onnx::NodeProto &, int64_t opset);
  std::vector<Use> usesOf(const std::string &name) const;
  bool matches(const std::string &regex, const std::string &name) const;
};

} // namespace mpc::onnx_import
#endif
