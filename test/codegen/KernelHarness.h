//===- KernelHarness.h - compiles dispatches and compares them with the evaluator ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A case is a dispatch in MLIR text. All cases of a batch are compiled into one shared object, which is opened from
// memory. Each kernel runs on random data in slices of its grid, and the results are compared, element by element, with
// those of the evaluator in Rounded mode on the same inputs. GPU kernels of the same cases run on the emulator and are
// compared in the same way.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_TEST_CODEGEN_KERNELHARNESS_H
#define MPC_TEST_CODEGEN_KERNELHARNESS_H
#include "Kernels.h"
#include "compiler/Evaluator/HostTensor.h"
#include "passes/Lowering/LoopPlan/Plan.h"
#include "runtime/abi/mpc/kernel.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <functional>
#include <random>

namespace mpc::test {

/// The memory of a tensor, 64-byte aligned, with a guard zone after it.
class Memory {
public:
  explicit Memory(mlir::RankedTensorType type);
  Memory(const HostTensor &tensor);
  HostTensor read() const;
  /// Returns the same storage as a tensor of another type with as many bytes.
  Memory as(mlir::RankedTensorType other) const;
  bool guardIntact() const;
  void *data() const { return base; }

private:
  void set(size_t i, double v);
  mlir::RankedTensorType type;
  size_t bytes;
  std::shared_ptr<char> storage;
  char *base;
};

/// How the data of an input is drawn at random.
struct Draw {
  double low = -4, high = 4; ///< floats: uniform; integers: uniform in [low, high]
  bool specials = false;     ///< every 7th float is one of 0, -0, inf, -inf, NaN, subnormal, huge
};

struct Case {
  std::string name;
  std::vector<std::string> inputs; ///< types of %0, %1, ...
  std::string body;                ///< ops that use the inputs
  std::vector<std::string> yields; ///< yielded values, such as "%r : tensor<...>"
  /// How far the result may be off because f32 arithmetic rounds, in units in the last place of the
  /// result's element type.
  double ulps = 0;
  /// Absolute error that is allowed besides, for sums, whose error is relative to the largest partial sum.
  double absolute = 0;
  std::vector<Draw> draws = {}; ///< one for each input; the last one serves for all further inputs
  std::vector<int64_t> inPlace = {};
  std::optional<kernel::Form> form = {}; ///< the form that the dispatch must get
};

/// A shared object opened from memory.
class Library {
public:
  explicit Library(const std::string &bytes);
  ~Library();
  Library(const Library &) = delete;
  mpc_kernel_fn find(const std::string &symbol) const;

private:
  void *handle = nullptr;
};

/// Runs the kernel of a loop dispatch on these inputs, in slices of unequal length and out of order, as threads might.
/// Results are computed in the buffers of inputs where `in_place` says so. A write beyond a buffer fails the test.
std::vector<HostTensor> runKernel(mpc_kernel_fn kernel, kernel::LaunchAttr launch, kernel::DispatchOp dispatch,
                                  llvm::ArrayRef<HostTensor> inputs);

class Batch {
public:
  Batch();
  ~Batch();
  void add(const Case &c);
  /// Compiles and checks every case. Failures are GoogleTest failures that name the case and the element.
  void run();

  mlir::MLIRContext *context();

private:
  /// Runs each case by `execute` and compares its results with the evaluator's.
  using Execute = std::function<std::vector<HostTensor>(size_t item, llvm::ArrayRef<HostTensor> inputs)>;
  void check(const Execute &execute);
  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// Makes a context with all dialects that the tests parse.
std::unique_ptr<mlir::MLIRContext> makeContext();
/// Parses "module { func.func @f(...) { kernel.dispatch ... } }" made from a case. The dispatch gets the form
/// that its body has.
mlir::OwningOpRef<mlir::ModuleOp> parseCase(mlir::MLIRContext *context, const Case &c);
kernel::DispatchOp dispatchOf(mlir::ModuleOp module);
/// Compiles the module of a case for a GPU from now on: sets its target, and the form that the body of its
/// dispatch has there.
void setTarget(mlir::ModuleOp module, llvm::StringRef arch);
HostTensor draw(mlir::RankedTensorType type, const Draw &how, std::mt19937_64 &random);
/// Returns |a - b| in units in the last place of `element` at b.
double ulpDistance(mlir::Type element, double a, double b);

} // namespace mpc::test
#endif
