//===- ManifestParts.h - the parts of a manifest, as JSON -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// runtime/abi/README.md describes the fields. Only the files of the manifest include this header, because JSON needs
// exceptions.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_PACKAGE_MANIFESTPARTS_H
#define MPC_COMPILER_PACKAGE_MANIFESTPARTS_H
#include "compiler/Package/Manifest.h"
#include <nlohmann/json.hpp>

namespace mpc {

/// The bytes of variables and constants, which follow the manifest in the program's file.
struct DataSection {
  std::string bytes;
  /// Appends at the next multiple of 64 bytes; returns that offset.
  int64_t append(const std::string &added);
};

/// Type, shape and size in bytes of a tensor.
nlohmann::json tensorJson(mlir::Type type);
/// The variables of a program with their first values; values that were trained before go to `data`.
nlohmann::json variablesJson(mlir::ModuleOp module, DataSection &data);
/// The steps of a program: their optimizers, hyperparameters and loss scalers.
nlohmann::json stepsJson(mlir::ModuleOp module);
/// Adds the launches of a block's dispatches, in order, and those of its scans, as loops. Fails with an error where a
/// library cannot be called.
llvm::LogicalResult addLaunches(mlir::Block &block, const TargetPlan &plan, nlohmann::json &list);

} // namespace mpc
#endif
