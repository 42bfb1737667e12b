//===- Passes.td - GPU kernels for the emulator ---------------------*- tablegen -*-===//
#ifndef MPC_DEVICETOEMULATOR_PASSES
#define MPC_DEVICETOEMULATOR_PASSES
include "mlir/Pass/PassBase.td"

def DeviceToEmulatorPass : Pass<"mpc-device-to-emulator", "::mlir::ModuleOp"> {
  let summary = "GPU kernels become code of one thread that calls the emulator";
  let description = [{
    Rewrites every `llvm.func` with `kernel.threads` into the form of runtime/abi/mpc/emulator.h: parameters (thread, buffers), device ops as calls of `mpc_emu_*`,
    loads, stores and atomics of global and shared memory behind a checking call that turns the device address into memory. Next to `@k` it puts the text `@k.about`.
    An op without an emulated form (inline assembly, generic pointers, memory intrinsics) is a located error.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
  let statistics = [Statistic<"numAccesses", "accesses", "Memory accesses with a check">];
}
#endif
