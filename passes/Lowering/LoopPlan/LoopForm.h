//===- LoopForm.h - which dispatches loops can compute well ------------------===//
//
// What a rehearsal of the emission tells (Rehearsal.cpp): the form a dispatch will have, and which results
// may lie in an operand's buffer. Memory planning asks; fusion forms by rules of its own, and tests hold its
// dispatches to these answers. They are true of every target: all emit from the same plan (Plan.h).
//
//===----------------------------------------------------------------------===//
#ifndef MPC_LOWERING_LOOPPLAN_LOOPFORM_H
#define MPC_LOWERING_LOOPPLAN_LOOPFORM_H
#include "dialects/Kernel/IR/Kernel.h"
#include <optional>

namespace mpc {

/// The forms of loop nests.
enum class LoopForm {
  Pointwise, ///< no reduction; all results have equally many elements, in row-major correspondence
  Reduction, ///< results are functions of reductions over the same dimensions of one space
  Row,       ///< as Reduction, but some results range over the full space (softmax, normalisation)
  Special
};
/// The form in which a dispatch (not `library`) is emitted well: every reduction becomes a loop of the nest
/// and runs once per row, not once per use. nullopt: it is slow, or no loop dispatch at all.
std::optional<LoopForm> classify(kernel::DispatchOp dispatch);

/// By result of a dispatch: the inputs whose buffer it may take over.
using Reuses = llvm::SmallVector<llvm::SmallVector<int64_t>>;
/// The reuses that the order of loops allows, on any target: elements of the same size, and the kernel reads no
/// element of the input after it, or another slice of the grid, has written that address. None for dispatches that are no regular loops.
Reuses reusableInputs(kernel::DispatchOp dispatch);

} // namespace mpc
#endif
