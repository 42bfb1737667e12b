//===- LossWeights.h - class weights from a file ---------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_TOOLS_MPC_LOSSWEIGHTS_H
#define MPC_TOOLS_MPC_LOSSWEIGHTS_H
#include <string>

namespace mpc::tool {

/// Writes the numbers of `weight=FILE.npy` and `pos_weight=FILE.npy` into the text of --loss or --step, because the
/// compiler's passes do not read arrays. Prints an error and returns false for a file that is not one array of numbers.
bool expandLossWeights(std::string &text);

} // namespace mpc::tool
#endif
