//===- KernelLowering.h - lowers the device ops of one kernel -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_LOWERING_DEVICETONVVM_KERNELLOWERING_H
#define MPC_LOWERING_DEVICETONVVM_KERNELLOWERING_H
#include "dialects/Kernel/IR/SharedMemory.h"
#include "dialects/Kernel/Target/GpuArch.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mpc::kernel {

/// Lowers one kernel; `failed` is true after a diagnostic.
struct KernelLowering {
  mlir::LLVM::LLVMFuncOp function;
  mlir::ModuleOp module;
  const GpuArch &arch;
  EntryAttr entry;
  bool failed = false;
  // Where the shared memory does not fit into what a block has without asking for more, it is one dynamic array.
  mlir::Operation *dynamicShared = nullptr;
  SharedMemory placed = SharedMemory(); ///< the dynamic allocations so far
  unsigned sharedPieces = 0;
  unsigned firstTensorMap = 0; ///< the parameter that map 0 became

  mlir::Value i32(mlir::ImplicitLocOpBuilder &b, int64_t v) {
    return mlir::LLVM::ConstantOp::create(b, b.getI32Type(), b.getI32IntegerAttr(int32_t(v)));
  }
  mlir::Value i64(mlir::ImplicitLocOpBuilder &b, int64_t v) {
    return mlir::LLVM::ConstantOp::create(b, b.getI64Type(), b.getI64IntegerAttr(v));
  }
  mlir::Value allLanes(mlir::ImplicitLocOpBuilder &b) { return i32(b, -1); }

  /// Emits an error where the architecture lacks the instruction.
  void require(mlir::Operation *op, bool GpuArch::*instruction);
  bool lowerShared();
  void lower(mlir::Operation *op);

  // DeviceToNvvm.cpp lowers the ops that architectures up to sm_80 have.
  mlir::Value lower(mlir::ImplicitLocOpBuilder &b, ThreadIdOp op);
  mlir::Value lower(mlir::ImplicitLocOpBuilder &b, BlockIdOp op);
  mlir::Value lower(mlir::ImplicitLocOpBuilder &b, GridSizeOp op);
  mlir::Value lower(mlir::ImplicitLocOpBuilder &b, ShuffleOp op);
  mlir::Value lower(mlir::ImplicitLocOpBuilder &b, VoteOp op);
  mlir::Value lower(mlir::ImplicitLocOpBuilder &b, ApproxOp op);
  mlir::Value lower(mlir::ImplicitLocOpBuilder &b, RoundBF16Op op);
  mlir::Value lower(mlir::ImplicitLocOpBuilder &b, SharedOp op);
  void lower(mlir::ImplicitLocOpBuilder &b, BarrierOp op);
  void lower(mlir::ImplicitLocOpBuilder &b, CopyAsyncOp op);
  void lower(mlir::ImplicitLocOpBuilder &b, LoadMatrixOp op);
  void lower(mlir::ImplicitLocOpBuilder &b, MmaOp op);

  // Float8.cpp
  /// Lowers encode_f8 and decode_f8 where the architecture has instructions for them; MathApprox lowers the others.
  void lowerFloat8();

  // Hopper.cpp lowers the ops of sm_90a.
  /// Adds a parameter for each tensor map of the entry, behind the pointers: 128 bytes, which are written
  /// before the launch.
  void addTensorMaps();
  /// Lowers and erases an op of HopperOps.td; returns false for any other op.
  bool lowerHopper(mlir::Operation *op);
};

} // namespace mpc::kernel
#endif
