//===- Passes.td - GPU kernels for the emulator ---------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_DEVICETOEMULATOR_PASSES
#define MPC_DEVICETOEMULATOR_PASSES
include "mlir/Pass/PassBase.td"

def DeviceToEmulatorPass : Pass<"mpc-device-to-emulator", "::mlir::ModuleOp"> {
  let summary = "Turns GPU kernels into the code of one thread that calls the emulator";
  let description = [{
    Rewrites every `llvm.func` with `kernel.entry` into the form of runtime/abi/mpc/emulator.h: its parameters are (thread, buffers), and device ops become
    calls of `mpc_emu_*`. Before a load, store or atomic of global or shared memory a call checks the access and turns the device address into memory. The
    pass puts the text `@k.about` next to `@k`. An op without an emulated form (inline assembly, generic pointers, memory intrinsics) is a located error.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
  let statistics = [Statistic<"numAccesses", "accesses", "Memory accesses with a check">];
}
#endif
