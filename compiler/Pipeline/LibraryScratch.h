//===- LibraryScratch.h - memory that library calls need ----------------------------===//
#ifndef MPC_PIPELINE_LIBRARYSCRATCH_H
#define MPC_PIPELINE_LIBRARYSCRATCH_H
#include "compiler/Pipeline/Pipeline.h"

namespace mpc {

/// mpc-library-scratch: sets `scratch_bytes` on every library dispatch of the host whose primitive needs any: the memory plan has to know. Fails with a diagnostic at a
/// dispatch that is no library call, or that no provider computes. Without a function nothing needs any.
std::unique_ptr<mlir::Pass> createLibraryScratchPass(LibraryScratchFn scratch);

} // namespace mpc
#endif
