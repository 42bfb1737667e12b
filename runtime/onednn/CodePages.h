//===- CodePages.h - Small pages for generated code -------------*- C++ -*-===//
#ifndef MPC_RUNTIME_ONEDNN_CODEPAGES_H
#define MPC_RUNTIME_ONEDNN_CODEPAGES_H

namespace mpc::onednn {

/// Keeps the process's generated code (anonymous mappings with code) in small pages. oneDNN maps every kernel
/// on its own, mostly empty; where the system takes transparent huge pages for everything, its merging of
/// pages fills the gaps: 53 MB for the kernels of a ResNet-18.
void keepCodeInSmallPages();

} // namespace mpc::onednn

#endif
