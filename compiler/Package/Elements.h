//===- Elements.h - bytes of constants and types ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PACKAGE_ELEMENTS_H
#define MPC_PACKAGE_ELEMENTS_H
#include "mpc/kernel.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include <string>

namespace mpc {

/// The row-major little-endian bytes of a constant; an i1 takes a byte (0 or 1).
std::string bytesOfElements(mlir::ElementsAttr elements);
/// The ABI's code and name ("f16", "bool") of an element type. 8-bit floats are bytes in the ABI, since only
/// kernels compute with them.
mpc_dtype dtypeOf(mlir::Type element);
llvm::StringRef dtypeName(mlir::Type element);

} // namespace mpc
#endif
