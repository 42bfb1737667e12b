//===- EntryPlanner.h - the buffers, places and copies of one entry ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PASSES_MEMORY_ENTRYPLANNER_H
#define MPC_PASSES_MEMORY_ENTRYPLANNER_H

#include "dialects/Graph/IR/Storage.h"
#include "dialects/Kernel/IR/Kernel.h"
#include "dialects/Train/IR/VariableTable.h"
#include "passes/Memory/Offsets.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>
#include <tuple>
#include <utility>

namespace mpc::memory {

/// The place of a value that has no buffer of its own: that of a variable, or that of another value, from some byte on.
/// In the body of a scan the place of a slice moves by `step` bytes from one iteration to the next. With `inTrail` the
/// place is counted from the begin of the trail of `of`, a value that a scan carries.
struct Home {
  mlir::Operation *variable = nullptr;
  mlir::Value of;
  int64_t start = 0, step = 0;
  bool inTrail = false;
  bool operator==(const Home &other) const {
    return std::tie(variable, of, start, step, inTrail) ==
           std::tie(other.variable, other.of, other.start, other.step, other.inTrail);
  }
};

/// An offset in the arena in the first iteration, and by how much it moves to the next.
struct Place {
  int64_t offset, step;
};

/// Checks that an entry is one block whose arguments are tensors of known size; reports an error otherwise. (A GPU
/// kernel, which is a function too, takes pointers.)
mlir::LogicalResult verifyTakesTensors(mlir::FunctionOpInterface entry);

/// Plans the memory of one entry. Positions number its dispatches in program order, those in the bodies of scans among
/// them; a scan has one more at its begin and one at its end. The terminator comes after all of them.
class EntryPlanner {
public:
  EntryPlanner(mlir::FunctionOpInterface entry, const train::VariableTable &variables)
      : entry(entry), variables(variables) {}

  /// Adds launches that copy for assignments and results that cannot be in place. Returns the number of copies.
  int64_t insertCopies();
  /// Decides buffers and lifetimes. Returns the number of results that took over a buffer.
  int64_t assignBuffers();
  /// Places the temporaries from `base` on; returns the end of the last one.
  int64_t place(int64_t base) { return packIntervals(intervals, base, graph::kTensorAlignment); }
  /// Writes the places of arguments, results, and of what launches read and write, as attributes.
  void annotate();
  /// The bytes of temporaries that the forward pass (everything that the first result needs) leaves to other launches.
  int64_t savedBytes();

private:
  /// Calls `dispatch` for each dispatch that is launched, and `scan` for each scan before its dispatches.
  void forEach(
      llvm::function_ref<void(kernel::DispatchOp)> dispatch,
      llvm::function_ref<void(graph::ScanOp)> scan = [](graph::ScanOp) {});
  void number();
  int64_t lastUse(mlir::Value storage, mlir::Operation *besides = nullptr);
  train::VariableOp variableOf(train::ReadOp read) const { return variables.lookup(read.getVariableAttr()); }

  // EntryCopies.cpp
  void hoistReads();
  int64_t insertScanCopies(graph::ScanOp scan);
  int64_t layTrail(graph::ScanOp scan, unsigned carried);
  bool canComputeInPlace(mlir::Value v, mlir::ValueRange olds);
  bool ownsBuffer(mlir::OpOperand &init);

  // EntryBuffers.cpp
  void assignBuffers(graph::ScanOp scan);
  int64_t assignBuffers(kernel::DispatchOp dispatch);
  unsigned newInterval(int64_t bytes, int64_t first, int64_t last);
  Place placeOf(mlir::Value v);
  /// The interval in which a storage lies, if it lies in one.
  std::optional<unsigned> intervalOf(mlir::Value storage) const;

  mlir::FunctionOpInterface entry;
  const train::VariableTable &variables;
  llvm::DenseMap<mlir::Operation *, int64_t> positions;
  /// Maps a variable to its reads.
  llvm::DenseMap<mlir::Attribute, llvm::SmallVector<train::ReadOp, 1>> reads;
  int64_t numLaunches = 0;
  llvm::SmallVector<Interval> intervals;
  /// Maps a storage value to its interval; values that lie elsewhere are in `homes` instead.
  llvm::MapVector<mlir::Value, unsigned> buffers;
  llvm::DenseMap<mlir::Value, Home> homes;
  /// Maps a result that a scan carried to the interval of its trail: the slices of the value before the first and after
  /// each iteration, side by side, so that stacks of it lie there too and no iteration copies it.
  llvm::DenseMap<mlir::Value, unsigned> trails;
  /// The positions of a scan's begin and end.
  llvm::DenseMap<mlir::Operation *, std::pair<int64_t, int64_t>> spans;
  llvm::DenseMap<mlir::Operation *, unsigned> scratches;
};

} // namespace mpc::memory

#endif // MPC_PASSES_MEMORY_ENTRYPLANNER_H
