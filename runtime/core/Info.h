// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `info`: describes a program.
#pragma once

#include "runtime/core/Program.h"

namespace mpc::rt {

/// Describes model, precision, inputs, outputs, parameters, hyperparameters, memory plan, launches and kernel objects
/// as text for people, or as one JSON object.
std::string describeProgram(const Program &program, bool json);

} // namespace mpc::rt
