//===- EmulatorCodegen.cpp - GPU kernels as an x86 object for the emulator -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Codegen/EmulatorCodegen.h"
#include "compiler/Codegen/HostLowering.h"
#include "compiler/Codegen/LinkShared.h"
#include "compiler/Codegen/Parallel.h"
#include "dialects/Kernel/Target/Blocks.h"
#include "passes/Lowering/DeviceToEmulator/DeviceToEmulator.h"
#include "passes/Lowering/DeviceToEmulator/Rewriter.h"
#include "passes/Lowering/MathApprox/MathApprox.h"
#include "runtime/abi/mpc/emulator.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace mpc;

// The pass must not include the runtime's headers; this file sees both, so it can compare the constants.
static_assert(emulator::kBias == MPC_EMU_BIAS && emulator::kOffsetBits == MPC_EMU_OFFSET_BITS);
static_assert(emulator::kMaxPieces == MPC_EMU_MAX_PIECES && mostBlockThreads == MPC_EMU_MAX_THREADS);
static_assert(emulator::kMaxCluster == MPC_EMU_MAX_CLUSTER && uint32_t(emulator::kOwnBlock) == MPC_EMU_OWN_BLOCK &&
              emulator::kInRegisters == MPC_EMU_IN_REGISTERS);
static_assert(emulator::kBlockField == offsetof(mpc_emu_thread, block) &&
              emulator::kRegisters == offsetof(mpc_emu_thread, registers));
static_assert(emulator::kGridField == offsetof(mpc_emu_thread, grid));
static_assert(emulator::Read == int(MPC_EMU_READ) && emulator::Write == int(MPC_EMU_WRITE) &&
              emulator::Atomic == int(MPC_EMU_ATOMIC));

/// Returns the object of a module, which is lowered in place; empty after an error, for which there is a
/// diagnostic or the text in `error`.
static std::string compileModule(ModuleOp module, const HostCpu &cpu, std::string &error) {
  approximateExp(module);
  lowerDeviceArithmetic(module);
  if (failed(lowerToEmulator(module)) || failed(convertToLLVMDialect(module)))
    return {};
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> ir = translateModuleToLLVMIR(module, context);
  if (!ir) {
    error = "internal error: a kernel does not translate to LLVM IR";
    return {};
  }
  std::unique_ptr<llvm::TargetMachine> machine = createTargetMachine(cpu, error);
  if (!machine)
    return {};
  optimizeLoops(*ir, *machine);
  vectorizeLoops(*ir, *machine);
  return emitObject(*ir, *machine);
}

FailureOr<std::string> mpc::emitEmulatorObject(ModuleOp kernels, const HostCpu &cpu, size_t modules, unsigned threads) {
  // These are the dialects whose ops the lowerings create.
  MLIRContext *context = kernels.getContext();
  context->loadDialect<arith::ArithDialect, cf::ControlFlowDialect, LLVM::LLVMDialect, math::MathDialect,
                       scf::SCFDialect>();
  auto parts = dealKernels(kernels, modules);
  std::vector<std::string> objects(parts.size()), errors(parts.size());
  onThreads(context, parts.size(), threads, [&](size_t i) { objects[i] = compileModule(*parts[i], cpu, errors[i]); });
  bool failed = false;
  for (auto [object, error] : llvm::zip_equal(objects, errors)) {
    failed |= object.empty();
    if (!error.empty())
      return emitError(kernels.getLoc(), error), failure();
  }
  if (failed)
    return failure();
  return linkShared(kernels.getLoc(), objects, "emulator.so");
}
