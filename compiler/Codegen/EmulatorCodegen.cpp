//===- EmulatorCodegen.cpp - GPU kernels as an x86 object for the emulator -----------===//
#include "compiler/Codegen/EmulatorCodegen.h"
#include "compiler/Codegen/HostLowering.h"
#include "compiler/Codegen/LinkShared.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "passes/Lowering/DeviceToEmulator/DeviceToEmulator.h"
#include "passes/Lowering/DeviceToEmulator/Rewriter.h"
#include "runtime/abi/mpc/emulator.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace mpc;

// The pass does not include the runtime; here both are seen.
static_assert(emulator::kBias == MPC_EMU_BIAS && emulator::kOffsetBits == MPC_EMU_OFFSET_BITS);
static_assert(emulator::kMaxPieces == MPC_EMU_MAX_PIECES && emulator::kMaxThreads == MPC_EMU_MAX_THREADS);
static_assert(emulator::kBlockField == offsetof(mpc_emu_thread, block) && emulator::kRegisters == offsetof(mpc_emu_thread, registers));
static_assert(emulator::Read == int(MPC_EMU_READ) && emulator::Write == int(MPC_EMU_WRITE) && emulator::Atomic == int(MPC_EMU_ATOMIC));

FailureOr<std::string> mpc::emitEmulatorObject(ModuleOp kernels, const HostCpu &cpu) {
  // What the lowerings create.
  kernels.getContext()->loadDialect<arith::ArithDialect, cf::ControlFlowDialect, LLVM::LLVMDialect, math::MathDialect, scf::SCFDialect>();
  OwningOpRef<ModuleOp> module(kernels.clone());
  lowerDeviceArithmetic(*module);
  if (failed(lowerToEmulator(*module)) || failed(convertToLLVMDialect(*module)))
    return failure();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> ir = translateModuleToLLVMIR(*module, context);
  if (!ir)
    return failure();
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine = createTargetMachine(cpu, error);
  if (!machine)
    return emitError(kernels.getLoc(), error), failure();
  optimize(*ir, *machine);
  return linkShared(kernels.getLoc(), emitObject(*ir, *machine), "emulator.so");
}
