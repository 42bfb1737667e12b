//===- Sink.h - where a kernel's sums go ------------------------------------------------------===//
#ifndef MPC_LOWERING_HEROTOGPU_SINK_H
#define MPC_LOWERING_HEROTOGPU_SINK_H
#include "passes/Lowering/Elemental/ElementEmitter.h"
#include "passes/Lowering/HeroToGpu/Gather.h"

namespace mpc::hero {

/// A sink is where a mainloop's sums go. It takes elements of C from the threads that have computed them.
class Sink {
public:
  virtual ~Sink() = default;
  /// Takes C(m, n), C(m, n + 1), ...; n is a multiple of their number. m and n (i32) may lie beyond C, and
  /// then nothing is stored.
  virtual void put(mlir::Value m, mlir::Value n, llvm::ArrayRef<mlir::Value> sums) = 0;
};

/// Stores the dispatch's results: each sum is rounded once to the hero's type, and the ops behind the hero
/// are computed from it.
class Epilogue : public Sink {
public:
  /// `results` has a buffer for each result of the dispatch. `spanM` and `spanN` are the multiples that m and
  /// n are rounded up to. `neighbours` sums come at once.
  Epilogue(const Problem &problem, ElementEmitter &e, llvm::SmallVector<Buffer> results, mlir::Value z,
           int64_t spanM, int64_t spanN, int neighbours);
  void put(mlir::Value m, mlir::Value n, llvm::ArrayRef<mlir::Value> sums) override;
  /// The elements of the results that belong to `neighbours` sums, one list for each result; they have arbitrary
  /// values where C has no such element. The last digit of n must be a multiple of `neighbours`.
  llvm::SmallVector<Values> values(mlir::Value m, mlir::Value n, llvm::ArrayRef<mlir::Value> sums);

private:
  using Symbols = llvm::SmallVector<SymbolId, 4>;
  /// Symbols for C's digits of an axis, bound to `number`; along n the last digit counts in units of
  /// `vector`.
  Symbols symbolsOf(Axis axis, mlir::Value number);
  /// The index of C(m, n + neighbour) in the hero's result.
  IndexVector indexOf(mlir::Value m, mlir::Value n, int64_t neighbour);
  /// Computes the epilogue of C(m, n), ..., which exist: the index and the value of each result, for each
  /// sum.
  llvm::SmallVector<std::pair<Index, mlir::Value>> elements(mlir::Value m, mlir::Value n,
                                                            llvm::ArrayRef<mlir::Value> sums);

  const Problem &problem;
  ElementEmitter &e;
  llvm::SmallVector<Buffer> results;
  int64_t spanM, spanN;
  int vector;
  Symbols z;
  llvm::DenseMap<mlir::Value, Symbols> known; ///< keyed by the number that is split
};

/// Stores sums into scratch memory as [splits, z, m, n] of the accumulator's type.
class Partials : public Sink {
public:
  Partials(const Problem &problem, Code c, mlir::Value scratch, const BlockPlace &place, int neighbours);
  void put(mlir::Value m, mlir::Value n, llvm::ArrayRef<mlir::Value> sums) override;

private:
  const Problem &problem;
  Code c;
  mlir::Value first;
  int64_t spanM, spanN;
  int vector;
};

} // namespace mpc::hero
#endif
