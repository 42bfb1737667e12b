//===- Attributes.h - what an attribute holds ---------------------------------===//
#ifndef MPC_SUPPORT_ATTRIBUTES_H
#define MPC_SUPPORT_ATTRIBUTES_H
#include "mlir/IR/Attributes.h"
#include <optional>

namespace mpc {

/// The number that a float or an integer attribute holds; nothing for others, truth values among them.
std::optional<double> asNumber(mlir::Attribute attr);

} // namespace mpc
#endif
