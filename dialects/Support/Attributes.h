//===- Attributes.h - what an attribute holds ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_SUPPORT_ATTRIBUTES_H
#define MPC_SUPPORT_ATTRIBUTES_H
#include "mlir/IR/Attributes.h"
#include <optional>

namespace mpc {

/// Returns the number that a float or integer attribute holds, and nullopt for any other attribute,
/// including truth values.
std::optional<double> asNumber(mlir::Attribute attr);

} // namespace mpc
#endif
