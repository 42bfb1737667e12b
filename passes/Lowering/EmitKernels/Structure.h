//===- Structure.h - when two dispatches share one kernel -------------------------===//
#ifndef MPC_LOWERING_EMITKERNELS_STRUCTURE_H
#define MPC_LOWERING_EMITKERNELS_STRUCTURE_H
#include "dialects/Kernel/IR/Kernel.h"

namespace mpc {

/// The dispatch as text without its name and locations; dispatches with equal texts have equal kernels.
std::string structureOf(kernel::DispatchOp dispatch);

} // namespace mpc
#endif
