// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The standard descriptors of a program.
#pragma once

namespace mpc::rt {

/// Opens a file for those of the descriptors 0 to 2 that are closed, so that no file that is opened later becomes the
/// standard output. These descriptors cannot be used: a result that is printed to a closed output is still lost with an
/// error. A program must call this before anything else.
void openStandardDescriptors();

/// Returns whether everything that was printed to stdout has arrived there.
bool standardOutputIsWritten();

} // namespace mpc::rt
