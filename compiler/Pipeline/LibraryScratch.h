//===- LibraryScratch.h - memory that library calls need ----------------------------===//
#ifndef MPC_PIPELINE_LIBRARYSCRATCH_H
#define MPC_PIPELINE_LIBRARYSCRATCH_H
#include "compiler/Pipeline/Pipeline.h"

namespace mpc {

/// mpc-library-scratch sets `scratch_bytes` on every library dispatch of the host whose primitive needs
/// scratch, because the memory plan must know it. Fails with a diagnostic at a dispatch that is not a library
/// call, or that no provider computes. Without a function no dispatch needs scratch.
std::unique_ptr<mlir::Pass> createLibraryScratchPass(LibraryScratchFn scratch);

} // namespace mpc
#endif
