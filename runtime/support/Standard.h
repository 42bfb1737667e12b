// The standard descriptors of a program.
#pragma once

namespace mpc::rt {

/// Gives those of the descriptors 0 to 2 that are closed a file, so that no file that is opened later becomes the standard
/// output. They cannot be used: a result that is printed to a closed output is still lost with an error. The first thing that a
/// program does.
void openStandardDescriptors();

/// Whether all that was printed to stdout has arrived there.
bool standardOutputIsWritten();

} // namespace mpc::rt
