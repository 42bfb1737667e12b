//===- LoopForm.h - which dispatches loops can compute well ------------------===//
//
// The answers of a rehearsal, a dry run of emission that records which addresses a kernel reads and writes
// (Rehearsal.cpp): the form that a dispatch will have, and which results may lie in an operand's buffer.
// Memory planning asks for them. Fusion has rules of its own, and tests compare its dispatches with these
// answers. The answers hold for every target, since all emit from the same plan (Plan.h).
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
  Special    ///< graph.gather_grad (scatter-add), which has loops of its own (Slices.cpp)
};
/// The form in which a dispatch (not a `library` one) is emitted well: every reduction becomes a loop of the
/// nest and runs once for each row, not once for each use. Nullopt where the dispatch would be slow, or is
/// not a loop dispatch at all.
std::optional<LoopForm> classify(kernel::DispatchOp dispatch);

/// For each result of a dispatch: the inputs whose buffer it may take over.
using Reuses = llvm::SmallVector<llvm::SmallVector<int64_t>>;
/// The reuses that the order of loops allows, on any target: the elements have the same size, and the kernel
/// does not read an element of the input after it, or another slice of the grid, has written that address.
/// Empty for dispatches that are special or irregular (Plan.h).
Reuses reusableInputs(kernel::DispatchOp dispatch);

} // namespace mpc
#endif
