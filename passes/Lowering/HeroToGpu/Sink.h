//===- Sink.h - where sums go ----------------------------------------------------------------===//
#ifndef MPC_LOWERING_HEROTOGPU_SINK_H
#define MPC_LOWERING_HEROTOGPU_SINK_H
#include "passes/Lowering/Elemental/ElementEmitter.h"
#include "passes/Lowering/HeroToGpu/Gather.h"

namespace mpc::hero {

/// Takes the elements of C from the threads that have them.
class Sink {
public:
  virtual ~Sink() = default;
  /// C(m, n), C(m, n + 1), ...; n is a multiple of their number. m and n (i32) may lie beyond C.
  virtual void put(mlir::Value m, mlir::Value n, llvm::ArrayRef<mlir::Value> sums) = 0;
};

/// The dispatch's results: each sum is rounded once to the hero's type, then come the ops behind it.
class Epilogue : public Sink {
public:
  /// `results`: by result of the dispatch. `spanM`, `spanN`: what m and n are rounded up to. `neighbours`: so
  /// many sums come at once.
  Epilogue(const Problem &problem, ElementEmitter &e, llvm::SmallVector<Buffer> results, mlir::Value z,
           int64_t spanM, int64_t spanN, int neighbours);
  void put(mlir::Value m, mlir::Value n, llvm::ArrayRef<mlir::Value> sums) override;
  /// Of `neighbours` sums the elements of the results, by result; any values where C has no such element.
  /// For n that are whole `neighbours`.
  llvm::SmallVector<Values> values(mlir::Value m, mlir::Value n, llvm::ArrayRef<mlir::Value> sums);

private:
  using Symbols = llvm::SmallVector<SymbolId, 4>;
  /// Symbols of C's digits of an axis, bound to their number; the last digit in units of `vector` along n.
  Symbols symbolsOf(Axis axis, mlir::Value number);
  /// The index of C(m, n + neighbour) in the hero's result.
  IndexVector indexOf(mlir::Value m, mlir::Value n, int64_t neighbour);
  /// The epilogue of C(m, n), ..., which are there: index and value of each result, by sum.
  llvm::SmallVector<std::pair<Index, mlir::Value>> elements(mlir::Value m, mlir::Value n,
                                                            llvm::ArrayRef<mlir::Value> sums);

  const Problem &problem;
  ElementEmitter &e;
  llvm::SmallVector<Buffer> results;
  int64_t spanM, spanN;
  int vector;
  Symbols z;
  llvm::DenseMap<mlir::Value, Symbols> known; ///< by number
};

/// Scratch memory: sums [splits, z, m, n] of the accumulator's type.
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
