//===- VerifyReference.h - PyTorch's numbers for one step -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_TOOLS_MPC_VERIFYREFERENCE_H
#define MPC_TOOLS_MPC_VERIFYREFERENCE_H
#include "runtime/core/data/Npz.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mpc::tool {

/// What a file of `tools/torch/export.py --reference` holds. Its arrays are read when they are asked for. Everything
/// here throws rt::Error, which names the file and the array.
class Reference {
public:
  /// Opens the file, reads `meta` and checks that nothing is missing that every reference has.
  explicit Reference(const std::string &path);

  const std::string path;
  // The members of `meta`.
  std::string torch, loss, precision;
  std::map<std::string, int64_t> dims;
  bool dropoutOff = false;

  /// Returns the names of the arrays PREFIX/NAME, without the prefix.
  std::vector<std::string> names(const std::string &prefix) const;
  bool has(const std::string &array) const { return file.contains(array); }
  rt::Array array(const std::string &name, const rt::ArrayCheck &check = {}) const { return file.read(name, check); }
  /// Returns the elements of an array, which must have the shape; an array without dimensions has the shape [].
  std::vector<double> values(const std::string &array, const rt::Shape &shape) const;
  double number(const std::string &array) const { return values(array, {})[0]; }
  std::optional<double> numberIfAny(const std::string &array) const;
  rt::Shape shapeOf(const std::string &array) const { return file.shapeOf(array); }

private:
  void readMeta();

  rt::NpzReader file;
};

} // namespace mpc::tool
#endif
