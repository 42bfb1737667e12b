//===- CodePages.h - Small pages for generated code -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_RUNTIME_ONEDNN_CODEPAGES_H
#define MPC_RUNTIME_ONEDNN_CODEPAGES_H

namespace mpc::onednn {

/// Keeps the process's generated code (anonymous mappings with code) in small pages. oneDNN maps every kernel
/// separately, and the mappings are mostly empty. If the system uses transparent huge pages for everything, merging
/// pages fills the gaps: that took 53 MB for the kernels of a ResNet-18.
void keepCodeInSmallPages();

} // namespace mpc::onednn

#endif
