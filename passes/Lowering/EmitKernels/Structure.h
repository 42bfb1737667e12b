//===- Structure.h - when two dispatches are one kernel ---------------------------===//
#ifndef MPC_LOWERING_EMITKERNELS_STRUCTURE_H
#define MPC_LOWERING_EMITKERNELS_STRUCTURE_H
#include "dialects/Kernel/IR/Kernel.h"

namespace mpc {

/// The dispatch as text without its name and locations: equal texts make equal kernels.
std::string structureOf(kernel::DispatchOp dispatch);

} // namespace mpc
#endif
