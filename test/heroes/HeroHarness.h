//===- HeroHarness.h - heroes as GPU kernels on the emulator, against the evaluator ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All cases of a batch are emitted into one module and compiled into one object. They run on random data
// under two orders of threads, and the results are compared, element by element, with the enclosure
// (test/dispatch) of the evaluator's results.
//
//===------------------------------------------------------------------------------------------===//
#ifndef MPC_TEST_HEROES_HEROHARNESS_H
#define MPC_TEST_HEROES_HEROHARNESS_H
#include "passes/Lowering/HeroToGpu/Emit.h"
#include "test/codegen/KernelHarness.h"
#include <random>

namespace mpc::test {

/// A dispatch whose first op is a hero.
using HeroCase = Case;

/// Makes the case [m, k] x [k, n], both stored as the flags say. `batchA` and `batchB` are "" or such as "2x3x".
HeroCase matmulCase(const std::string &element, int m, int n, int k, bool transposeA = false, bool transposeB = false,
                    const std::string &batchA = "", const std::string &batchB = "");

/// Makes the case a[m, k] x b[n, k] transposed, of 8-bit floats. `element` is that of the result.
HeroCase float8Case(const std::string &a, const std::string &b, const std::string &element, int m, int n, int k,
                    const std::string &batchA = "", const std::string &batchB = "");

/// A convolution of one to three spatial dimensions.
struct Window {
  std::vector<int64_t> in, kernel, strides, dilations, padLow, padHigh;
  int64_t batch = 1, channels = 1, outChannels = 1, groups = 1;
  bool weightChannelsLast = false;
  std::vector<int64_t> out() const;
};
enum class ConvKind { Forward, InputGrad, WeightGrad };
HeroCase convCase(ConvKind kind, const std::string &element, const Window &window);

/// Ops after the hero: a bias along the last dimension, relu, a residual of the hero's type.
struct EpilogueOps {
  bool bias = false, relu = false, residual = false, cast = false;
  bool keep = false; ///< relu's operand is a result too
  bool gelu = false; ///< the value and its GELU, in the form with tanh, are results
};
HeroCase withEpilogue(HeroCase c, EpilogueOps ops);

/// Draws random shapes.
class Random {
public:
  explicit Random(uint64_t seed) : engine(seed) {}
  int64_t operator()(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(engine); }
  template <typename T>
  const T &of(const std::vector<T> &choices) {
    return choices[(*this)(0, choices.size() - 1)];
  }

private:
  std::mt19937_64 engine;
};
EpilogueOps randomEpilogue(Random &random);

/// Adds three results to a case whose last dimension is the columns of its product: the sums over all other
/// dimensions of its first result, in the element type and in f32, and of the result's square. Without `keep` these
/// are the only results.
HeroCase withColumnSums(HeroCase c, bool keep = true);

class HeroBatch {
public:
  explicit HeroBatch(llvm::StringRef arch);
  ~HeroBatch();
  /// Adds a case with the schedule that the compiler chooses.
  void add(const HeroCase &c);
  /// Adds a case with the `tile`-th of the tiles that fit (modulo their number) and as many splits of k,
  /// unless some would be empty.
  void add(const HeroCase &c, size_t tile, int64_t splits);
  /// Does the same with the tiles of one mainloop, and fails where there are none. With `clustered` the
  /// blocks form clusters of two, where that is possible.
  void add(const HeroCase &c, hero::Mainloop mainloop, size_t tile, int64_t splits, bool clustered = false);
  /// Compiles and checks all cases. Failures name the case.
  void run();
  size_t size() const;

private:
  struct Forced {
    std::optional<hero::Mainloop> mainloop;
    size_t tile;
    int64_t splits;
    bool clustered = false;
  };
  void add(const HeroCase &c, std::optional<Forced> forced);
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace mpc::test
#endif
