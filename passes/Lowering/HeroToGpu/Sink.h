//===- Sink.h - where a kernel's sums go ------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_LOWERING_HEROTOGPU_SINK_H
#define MPC_LOWERING_HEROTOGPU_SINK_H
#include "passes/Lowering/Elemental/ElementEmitter.h"
#include "passes/Lowering/HeroToGpu/Gather.h"

namespace mpc::hero {

/// A sink is where a mainloop's sums go. It takes elements of C from the threads that have computed them. What a thread
/// has to remember from one row to the next (sums over rows) is the
/// *state* of its columns, which the mainloop carries.
class Sink {
public:
  virtual ~Sink() = default;
  /// Initial accumulators of `columns` columns; empty where there is nothing to remember.
  virtual Values initial(int columns) { return {}; }
  /// Takes C(m, n), C(m, n + 1), ...; n is a multiple of their number. m and n (i32) may lie beyond C, and
  /// then nothing is stored. Returns the state behind this row.
  virtual Values put(mlir::Value m, mlir::Value n, llvm::ArrayRef<mlir::Value> sums, mlir::ValueRange state) = 0;
  /// Takes the state of columns n, n + 1, ... behind the last row of a part (Tile::rowsPerPart). `part` (i32) is the
  /// part's number in its matrix.
  virtual void finish(mlir::Value part, mlir::Value n, mlir::ValueRange state) {}
};

/// Where the sums over rows go: scratch memory as [columnSums, parts, n] of the accumulator's type.
struct RowParts {
  mlir::Value scratch; ///< null where there are no column sums
  int64_t count = 0;   ///< parts of all matrices
};

/// Stores the dispatch's results: each sum is rounded once to the hero's type, and the ops behind the hero
/// are computed from it.
class Epilogue : public Sink {
public:
  /// `results` has a buffer for each of the problem's full results. `spanM` and `spanN` are the multiples that m and
  /// n are rounded up to. `neighbours` sums come at once.
  Epilogue(const Problem &problem, ElementEmitter &e, llvm::SmallVector<Buffer> results, mlir::Value z, int64_t spanM,
           int64_t spanN, int neighbours, RowParts parts = {});
  Values initial(int columns) override;
  Values put(mlir::Value m, mlir::Value n, llvm::ArrayRef<mlir::Value> sums, mlir::ValueRange state) override;
  void finish(mlir::Value part, mlir::Value n, mlir::ValueRange state) override;
  /// The elements of the results that belong to `neighbours` sums, one list for each result; they have arbitrary
  /// values where C has no such element. The last digit of n must be a multiple of `neighbours`.
  llvm::SmallVector<Values> values(mlir::Value m, mlir::Value n, llvm::ArrayRef<mlir::Value> sums);

private:
  using Symbols = llvm::SmallVector<SymbolId, 4>;
  /// Symbols for C's digits of an axis, bound to `number`; along n the last digit counts in units of `vector`.
  Symbols symbolsOf(Axis axis, mlir::Value number);
  /// The index of C(m, n + neighbour) in the hero's result.
  IndexVector indexOf(mlir::Value m, mlir::Value n, int64_t neighbour);
  struct Elements {
    llvm::SmallVector<std::pair<Index, mlir::Value>>
        stores;   ///< for each sum, for each full result: its index and value
    Values terms; ///< for each column sum, for each sum: what it adds
  };
  /// Computes the epilogue of C(m, n), ..., which exist.
  Elements elements(mlir::Value m, mlir::Value n, llvm::ArrayRef<mlir::Value> sums);

  const Problem &problem;
  ElementEmitter &e;
  llvm::SmallVector<Buffer> results;
  int64_t spanM, spanN;
  int vector;
  RowParts parts;
  mlir::Value matrix; ///< i32, the number z
  Symbols z;
  llvm::DenseMap<mlir::Value, Symbols> known; ///< keyed by the number that is split
};

/// Stores sums into scratch memory as [splits, z, m, n] of the accumulator's type.
class Partials : public Sink {
public:
  Partials(const Problem &problem, Code c, mlir::Value scratch, const BlockPlace &place, int neighbours);
  Values put(mlir::Value m, mlir::Value n, llvm::ArrayRef<mlir::Value> sums, mlir::ValueRange state) override;

private:
  const Problem &problem;
  Code c;
  mlir::Value first;
  int64_t spanM, spanN;
  int vector;
};

} // namespace mpc::hero
#endif
