//===- mpc-opt.cpp - runs passes and pipelines on IR -----------------------===//
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Kernel/IR/Kernel.h"
#include "dialects/Train/IR/Train.h"
#include "passes/Autodiff/Passes.h"
#include "passes/Fusion/Passes.h"
#include "passes/Layout/Passes.h"
#include "passes/Decompose/Passes.h"
#include "passes/Lowering/DeviceToEmulator/Passes.h"
#include "passes/Lowering/DeviceToNvvm/Passes.h"
#include "passes/Lowering/Elemental/ElementEmitter.h"
#include "passes/Lowering/EmitKernels/Passes.h"
#include "passes/Lowering/HeroToGpu/Passes.h"
#include "passes/Memory/Passes.h"
#include "passes/Optimizers/Passes.h"
#include "passes/Precision/Passes.h"
#include "passes/Simplify/Passes.h"
#include "passes/Target/Passes.h"
#include "passes/Training/Passes.h"
#include "tools/mpc/HostLibrary.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::func::FuncDialect, mpc::graph::GraphDialect, mpc::train::TrainDialect, mpc::kernel::KernelDialect>();
  // Kernels consist of ops of these dialects.
  registry.insert<mlir::arith::ArithDialect, mlir::LLVM::LLVMDialect, mlir::math::MathDialect, mlir::NVVM::NVVMDialect, mlir::scf::SCFDialect>();
  mpc::registerElementalModels(registry);
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  mpc::layout::registerMpcLayoutPasses();
  mpc::fusion::registerMpcFusionPasses();
  mpc::memory::registerMpcMemoryPasses();
  mpc::registerMpcDecomposePasses();
  mpc::registerMpcHeroToGpuPasses();
  mpc::registerMpcEmitKernelsPasses();
  mpc::registerMpcTargetPasses();
  mpc::registerMpcDeviceToEmulatorPasses();
  mpc::registerMpcDeviceToNvvmPasses();
  mpc::registerTrainingPasses();
  mpc::registerAutodiffPasses();
  mpc::registerPrecisionPasses();
  mpc::registerOptimizersPasses();
  mpc::registerSimplifyPasses();
  // These pipelines, mpc-training, mpc-host and mpc-gpu, are the ones that `mpc compile` runs.
  mpc::registerPipelines(mpc::tool::libraryScratch());
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "mpc optimizer driver\n", registry));
}
