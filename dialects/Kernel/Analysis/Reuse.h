//===- Reuse.h - which results of a loop dispatch may overwrite which inputs ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_KERNEL_ANALYSIS_REUSE_H
#define MPC_KERNEL_ANALYSIS_REUSE_H
#include "dialects/Kernel/Analysis/Space.h"

namespace mpc::kernel {

/// Where the elements of a value lie that a kernel needs for one point of its space. "The element with number n" counts
/// in row-major order.
enum class Reads : uint8_t {
  Nothing,  ///< the kernel does not read the value
  Point,    ///< the element with the point's number
  Row,      ///< the element with the number of the point's row
  Elsewhere ///< other elements, or elements in other places for several readers
};

/// What a loop dispatch reads, from one walk over its body against the order of its ops.
class ReadAnalysis {
public:
  /// The dispatch has the space.
  ReadAnalysis(DispatchOp dispatch, const Space &space);

  /// Returns where the kernel reads an argument of the body.
  Reads of(mlir::BlockArgument argument) const { return needs.lookup(argument).reads; }
  /// Returns whether an argument is needed for each point of a row, and not only for results that a row has one element
  /// of. On a GPU many threads read it then for the same row.
  bool isReadInsideRows(mlir::BlockArgument argument) const { return needs.lookup(argument).insideRows; }
  /// Returns whether each reduction is needed for its own row only, so that the kernel computes it once for each row.
  bool isRegular() const { return regular; }

private:
  struct Need {
    Reads reads = Reads::Nothing;
    bool insideRows = false;
  };
  void add(mlir::Value v, Need need);
  void addOperands(mlir::Operation *op, const Space &space);

  llvm::DenseMap<mlir::Value, Need> needs;
  bool regular = true;
};

/// Returns whether the kernel of a loop dispatch computes each reduction once for each row. One that
/// computes nothing does.
bool isRegular(DispatchOp dispatch);

/// For each result of a dispatch: the numbers of the inputs whose buffer it may take over.
using Reuses = llvm::SmallVector<llvm::SmallVector<int64_t>>;

/// Returns the reuses that are safe in every order in which the points may be computed, on the host and on GPUs: input
/// and result have cells of one size, and no point reads a cell that another one writes. (The kernels compute all
/// results of a point before they store the first one, and all reductions of a row before the row's results.) In a
/// batch, no other member may read the input. Contractions and scatters have none.
Reuses reusableInputs(DispatchOp dispatch);

/// Returns whether two inputs of a dispatch are views of the storage (graph::storageOf). A kernel that writes through
/// one of them could assume that nothing writes the other.
bool readsTwice(DispatchOp dispatch, mlir::Value storage);

} // namespace mpc::kernel
#endif
