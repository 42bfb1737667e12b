//===- DeviceOps.cpp - device ops as calls of the emulator --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Support/Diagnostics.h"
#include "passes/Lowering/DeviceToEmulator/Rewriter.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::emulator;

// Matrix operations pass their registers through the thread's record: A is in 0 to 3, B in 4 and 5, C and D
// in 6 to 9.
static constexpr unsigned kRegistersOfB = 4, kRegistersOfC = 6;

void KernelRewriter::rewriteLoadMatrix(kernel::LoadMatrixOp op) {
  shareGranule(16);
  call("load_matrix", {}, {op.getRow(), i32(op.getRegisters().size()), i32(op.getTranspose()), site(op)});
  for (auto [i, result] : llvm::enumerate(op.getRegisters()))
    result.replaceAllUsesWith(readRegister(i, result.getType()));
}

void KernelRewriter::rewriteMma(kernel::MmaOp op) {
  for (auto [i, v] : llvm::enumerate(op.getA()))
    writeRegister(i, v);
  for (auto [i, v] : llvm::enumerate(op.getB()))
    writeRegister(kRegistersOfB + i, v);
  for (auto [i, v] : llvm::enumerate(op.getC()))
    writeRegister(kRegistersOfC + i, v);
  call("mma", {}, {i32(int64_t(op.getElement())), i32(op.getK()), site(op)});
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    result.replaceAllUsesWith(readRegister(kRegistersOfC + i, result.getType()));
}

LogicalResult KernelRewriter::rewriteDeviceOp(Operation *op) {
  Type word = b.getI32Type();
  bool known =
      TypeSwitch<Operation *, bool>(op)
          .Case([&](kernel::ThreadIdOp id) {
            id.getResult().replaceAllUsesWith(LLVM::LoadOp::create(b, loc, word, field(0)));
            return true;
          })
          .Case([&](kernel::BlockIdOp id) {
            id.getResult().replaceAllUsesWith(
                LLVM::LoadOp::create(b, loc, word, field(kBlockField + 4 * unsigned(id.getAxis()))));
            return true;
          })
          .Case([&](kernel::GridSizeOp size) {
            size.getResult().replaceAllUsesWith(LLVM::LoadOp::create(b, loc, word, field(kGridField)));
            return true;
          })
          .Case([&](kernel::BarrierOp barrier) {
            call("barrier", {}, {i32(barrier.getId()), i32(barrier.getThreads().value_or(0)), site(op)});
            return true;
          })
          .Case([&](kernel::WarpSyncOp) {
            call("warp_sync", {}, {site(op)});
            return true;
          })
          .Case([&](kernel::ShuffleOp shuffle) {
            Value value = shuffle.getValue();
            Type type = value.getType();
            if (type != word)
              value = LLVM::BitcastOp::create(b, loc, word, value);
            Value result =
                call("shuffle", word, {i32(int64_t(shuffle.getMode())), value, shuffle.getOffset(), site(op)});
            if (type != word)
              result = LLVM::BitcastOp::create(b, loc, type, result);
            shuffle.getResult().replaceAllUsesWith(result);
            return true;
          })
          .Case([&](kernel::VoteOp vote) {
            Value predicate = LLVM::ZExtOp::create(b, loc, word, vote.getPredicate());
            Value result = call("vote", word, {i32(int64_t(vote.getMode())), predicate, site(op)});
            vote.getResult().replaceAllUsesWith(LLVM::TruncOp::create(b, loc, b.getI1Type(), result));
            return true;
          })
          .Case([&](kernel::SharedOp shared) {
            // The address has the number of the allocation and its first byte; see MPC_EMU_SHARED.
            uint64_t address = uint64_t(1) << 63 | uint64_t(pieces.size()) << kOffsetBits | kBias;
            pieces.push_back({int64_t(shared.getBytes()), int64_t(shared.getAlignment())});
            Value bits = LLVM::ConstantOp::create(b, loc, b.getI64Type(), b.getI64IntegerAttr(int64_t(address)));
            shared.getResult().replaceAllUsesWith(LLVM::IntToPtrOp::create(b, loc, shared.getType(), bits));
            return true;
          })
          .Case([&](kernel::CopyAsyncOp copy) {
            int64_t bytes = copy.getBytes();
            shareGranule(bytes);
            Value valid = copy.getValid() ? copy.getValid() : i32(bytes);
            call("copy_async", {}, {copy.getTo(), copy.getFrom(), i32(bytes), valid, site(op)});
            ++numAccesses;
            return true;
          })
          .Case([&](kernel::CopyAsyncCommitOp) {
            call("copy_async_commit", {}, {});
            return true;
          })
          .Case([&](kernel::CopyAsyncWaitOp wait) {
            call("copy_async_wait", {}, {i32(wait.getPending())});
            return true;
          })
          .Case([&](kernel::LoadMatrixOp load) {
            rewriteLoadMatrix(load);
            ++numAccesses;
            return true;
          })
          .Case([&](kernel::MmaOp mma) {
            rewriteMma(mma);
            return true;
          })
          .Case([&](kernel::ApproxOp approx) {
            approx.getResult().replaceAllUsesWith(
                call("approx", approx.getType(), {i32(int64_t(approx.getFunction())), approx.getX()}, /*pure=*/true));
            return true;
          })
          .Default([&](Operation *other) { return rewriteHopperOp(other); });
  if (!known)
    return emitErrorWithHint(loc, "'" + op->getName().getStringRef() + "' has no emulated form",
                             "add it to runtime/abi/mpc/emulator.h and passes/Lowering/DeviceToEmulator");
  if (pieces.size() > kMaxPieces)
    return op->emitOpError("exceeds the limit of ") << kMaxPieces << " shared allocations";
  op->erase();
  return success();
}
