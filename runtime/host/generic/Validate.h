//===- Validate.h - Checks of a library description -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_RUNTIME_HOST_GENERIC_VALIDATE_H
#define MPC_RUNTIME_HOST_GENERIC_VALIDATE_H

#include "mpc/library.h"

namespace mpc::generic {

/// Returns null when the description keeps the contract of mpc/library.h, else one sentence that says which part
/// does not.
const char *validate(const mpc_library_desc &);

} // namespace mpc::generic

#endif
