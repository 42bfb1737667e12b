// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `info`: describes a program.
#pragma once

#include "runtime/core/Program.h"

namespace mpc::rt {

/// Describes how a program was compiled to train, in lines of `info`: precision, loss, and each step's optimizer and
/// groups of parameters.
std::string describeTraining(const Manifest &);

/// Describes model, precision, inputs, outputs, parameters, hyperparameters, memory plan, launches and kernel objects
/// as text for people, or as one JSON object.
std::string describeProgram(const Program &program, bool json);

} // namespace mpc::rt
