//===- Rewriter.h - state of the rewriting of one kernel --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_LOWERING_DEVICETOEMULATOR_REWRITER_H
#define MPC_LOWERING_DEVICETOEMULATOR_REWRITER_H
#include "dialects/Kernel/IR/Kernel.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace mpc::emulator {

/// Rewrites the ops of one kernel; Accesses.cpp, DeviceOps.cpp and HopperOps.cpp share it.
class KernelRewriter {
public:
  KernelRewriter(mlir::ModuleOp module, mlir::LLVM::LLVMFuncOp kernel);
  mlir::LogicalResult run();
  int64_t accesses() const { return numAccesses; }

private:
  // Accesses.cpp
  /// Rewrites `op` if it accesses device memory. Fails with a diagnostic where it does so in a way that has
  /// no emulated form.
  mlir::LogicalResult rewriteAccess(mlir::Operation *op);
  /// Rejects ops that a kernel may not contain.
  mlir::LogicalResult verify(mlir::Operation *op);
  void check(mlir::Operation *op, mlir::OpOperand &address, mlir::Type type, std::optional<uint64_t> alignment,
             unsigned kind);

  // DeviceOps.cpp
  mlir::LogicalResult rewriteDeviceOp(mlir::Operation *op);
  void rewriteLoadMatrix(kernel::LoadMatrixOp op);
  void rewriteMma(kernel::MmaOp op);

  // HopperOps.cpp
  /// Rewrites an op of HopperOps.td; returns false for any other op.
  bool rewriteHopperOp(mlir::Operation *op);
  void rewriteWgmma(kernel::WgmmaOp op);
  void addPosition(llvm::SmallVectorImpl<mlir::Value> &operands, mlir::ValueRange coordinates, mlir::ValueRange offsets,
                   size_t spatial);
  /// The array through which a wgmma's sums pass: that of the wgmma that they come from, or a new one.
  mlir::Value sumsOf(kernel::WgmmaOp op);
  /// Verifies that sums are used only after a wgmma_wait has returned them.
  mlir::LogicalResult verifySums();

  // DeviceToEmulator.cpp
  void rewriteSignature();
  void eraseAddressSpaces();
  void describe();
  int64_t initialRegisters();

  mlir::Value i32(int64_t value);
  /// A field of the thread, by its offset in bytes (mpc_emu_thread).
  mlir::Value field(unsigned offset);
  mlir::Value readRegister(unsigned number, mlir::Type type);
  void writeRegister(unsigned number, mlir::Value value);
  /// Calls mpc_emu_<name>(thread, operands...), without the thread if `pure`. Returns the result, if there is one.
  mlir::Value call(llvm::StringRef name, mlir::Type result, mlir::ValueRange operands, bool pure = false);
  /// The number of the op's site, by which the emulator's messages name a place in the code.
  mlir::Value site(mlir::Operation *op);
  void shareGranule(uint64_t bytes) { granule = std::min(granule, bytes); }

  mlir::ModuleOp module;
  mlir::LLVM::LLVMFuncOp kernel;
  kernel::EntryAttr about;
  mlir::OpBuilder b;
  mlir::Location loc;
  mlir::Value thread;
  unsigned buffers = 0;
  uint64_t granule = 16;
  llvm::SmallVector<std::pair<int64_t, int64_t>> pieces; ///< bytes and alignment
  llvm::SmallVector<std::string> sites;
  llvm::StringMap<unsigned> siteNumbers;
  bool asynchronous = false; ///< whether it has an op of HopperOps.td that the emulator must prepare for
  llvm::DenseMap<mlir::Value, unsigned> arrays; ///< the arrays of sums, with their sizes
  int64_t numAccesses = 0;
};

/// Prints the line that describes a tensor map.
void describeMap(llvm::raw_ostream &stream, kernel::TensorMapAttr map);

/// These are constants of runtime/abi/mpc/emulator.h; compiler/Codegen checks that they agree.
constexpr uint64_t kBias = uint64_t(1) << 40;
constexpr unsigned kOffsetBits = 48, kBlockField = 4, kRegisters = 16, kGridField = 64, kMaxPieces = 256,
                   kMaxCluster = 8;
constexpr int64_t kOwnBlock = -1;
constexpr int64_t kInRegisters = 1 << 16;
enum AccessKind : unsigned { Read, Write, Atomic };
constexpr unsigned kGlobalSpace = 1, kSharedSpace = 3;

} // namespace mpc::emulator
#endif
