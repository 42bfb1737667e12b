//===- HostLowering.h - kernel functions to LLVM IR and objects ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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

/// Expands math and lowers scf, arith and math to the llvm dialect. Fails with a diagnostic when any other op
/// is left.
mlir::LogicalResult lowerToLLVMDialect(mlir::ModuleOp module);

/// Replaces the first half of lowerToLLVMDialect for a GPU and its emulator, so that both compute the same
/// bits: math uses no libm, and sums have the order that the kernel gives them (sums in host loops may be
/// reassociated for vectorisation).
void lowerDeviceArithmetic(mlir::ModuleOp module);

/// The second half of lowerToLLVMDialect: lowers scf, cf, arith and those math ops that LLVM has intrinsics
/// for. nvvm ops stay.
mlir::LogicalResult convertToLLVMDialect(mlir::ModuleOp module);

/// LLVM's description of a CPU; where LLVM does not know the CPU, returns null and sets `error`.
std::unique_ptr<llvm::TargetMachine> createTargetMachine(const HostCpu &cpu, std::string &error);
/// Optimises loops, with the costs of the machine's CPU, as far as that is of use to other CPUs, too: copies of the
/// module then have their loops vectorised for one CPU each.
void optimizeLoops(llvm::Module &module, llvm::TargetMachine &machine);
/// Vectorises loops that `optimizeLoops` has seen, and optimises the result for the machine's CPU.
void vectorizeLoops(llvm::Module &module, llvm::TargetMachine &machine);
/// Returns the bytes of a relocatable object.
std::string emitObject(llvm::Module &module, llvm::TargetMachine &machine);

} // namespace mpc
#endif
