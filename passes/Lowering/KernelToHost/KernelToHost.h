//===- KernelToHost.h - one dispatch becomes one host kernel -----------------===//
//
// What fusion may ask (which dispatches can be emitted well), what memory planning may ask (which results may lie in an
// operand's buffer), and the emission itself.
//
// Attributes that are read from a `kernel.dispatch`:
//   in_place : array<i64>, one entry per result: the input whose buffer the result shares, or -1. Absent: all -1.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_LOWERING_KERNELTOHOST_KERNELTOHOST_H
#define MPC_LOWERING_KERNELTOHOST_KERNELTOHOST_H
#include "dialects/Kernel/IR/Kernel.h"
#include "mlir/IR/BuiltinOps.h"
#include <optional>

namespace mpc {

/// How fusion should think of an op inside a loop dispatch.
enum class LoopRole {
  Inline,    ///< computed per element wherever it is used: elementwise, data movement, pooling, resize, gather, constants
  Reduction, ///< reduce_*: gives a nest its reduced dimensions
  Special,   ///< a kernel of its own form; it must be the only yielded op (its operands may be inlined): gather_grad
  Composite, ///< has to be decomposed before (mpc-decompose)
  Library,   ///< matmul and convolutions: never in a loop dispatch
  Unknown    ///< no elemental model
};
LoopRole loopRole(mlir::Operation *op);

/// The forms of loop nests.
enum class LoopForm {
  Pointwise, ///< no reduction; all results have equally many elements, in row-major correspondence
  Reduction, ///< results are functions of reductions over the same dimensions of one space
  Row,       ///< as Reduction, but some results range over the full space (softmax, normalisation)
  Special
};
/// The form in which a dispatch (not `library`) is emitted well: every reduction becomes a loop of the nest and runs once
/// per row, not once per use. nullopt: do not form this dispatch.
std::optional<LoopForm> classify(kernel::DispatchOp dispatch);

/// Whether `result` may share the buffer of `input`: same size of elements, and the kernel reads no element of the input
/// after it, or another slice of the grid, has written that address.
bool mayShareBuffer(kernel::DispatchOp dispatch, unsigned result, unsigned input);

/// grid: length of the kernel's grid; grain: smallest slice of it that is worth a thread (runtime/abi/README.md).
struct LaunchShape {
  int64_t grid = 1, grain = 1;
};
/// Appends `llvm.func @symbol(%buffers: !llvm.ptr, %begin: i64, %end: i64)` to the module (contract: runtime/abi/mpc/kernel.h; buffers: the
/// inputs, then the results). The body is scf, arith, math and llvm ops. Fails with a diagnostic at an op that has no elemental model.
mlir::FailureOr<LaunchShape> emitHostKernel(kernel::DispatchOp dispatch, mlir::ModuleOp module, llvm::StringRef symbol);

} // namespace mpc
#endif
