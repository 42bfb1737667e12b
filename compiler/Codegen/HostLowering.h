//===- HostLowering.h - kernel functions to LLVM IR and objects ---------------------===//
#ifndef MPC_CODEGEN_HOSTLOWERING_H
#define MPC_CODEGEN_HOSTLOWERING_H
#include "compiler/Codegen/HostCodegen.h"
#include "mlir/IR/BuiltinOps.h"

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
} // namespace llvm

namespace mpc {

/// Expands math, lowers scf, arith and math to the llvm dialect. Fails with a diagnostic when an op is left.
mlir::LogicalResult lowerToLLVMDialect(mlir::ModuleOp module);

/// What a GPU and its emulator do instead of the first half, so that both compute the same bits: math without libm, and sums in the order that the kernel gives them (host loops
/// may be reassociated to be vectorised).
void lowerDeviceArithmetic(mlir::ModuleOp module);

/// The second half of it: scf, cf, arith and what LLVM has intrinsics for of math. nvvm ops stay.
mlir::LogicalResult convertToLLVMDialect(mlir::ModuleOp module);

/// What LLVM knows of a CPU; null and `error` when it does not know it.
std::unique_ptr<llvm::TargetMachine> createTargetMachine(const HostCpu &cpu, std::string &error);
/// Vectorises loops and optimises for speed.
void optimize(llvm::Module &module, llvm::TargetMachine &machine);
/// The bytes of a relocatable object.
std::string emitObject(llvm::Module &module, llvm::TargetMachine &machine);

} // namespace mpc
#endif
