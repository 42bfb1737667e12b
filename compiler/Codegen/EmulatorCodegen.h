//===- EmulatorCodegen.h - GPU kernels as an x86 object for the emulator ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_CODEGEN_EMULATORCODEGEN_H
#define MPC_CODEGEN_EMULATORCODEGEN_H
#include "compiler/Codegen/HostCodegen.h"
#include "mlir/IR/BuiltinOps.h"

namespace mpc {

/// Compiles the GPU kernels of a module (llvm.func with `kernel.entry`, see dialects/Kernel/IR/DeviceOps.td) for the
/// emulator. Returns an ELF shared object with the symbols `k` and `k.about` of each kernel
/// (runtime/abi/mpc/emulator.h), which runtime/emulator's Module loads. The kernels are dealt out to at most `modules`
/// LLVM modules and compiled on `threads` threads; the result does not depend on `threads`. The module does not change.
/// Fails with a located diagnostic.
mlir::FailureOr<std::string> emitEmulatorObject(mlir::ModuleOp kernels, const HostCpu &cpu = HostCpu::oldest(),
                                                size_t modules = hostUnits, unsigned threads = 2);

} // namespace mpc
#endif
