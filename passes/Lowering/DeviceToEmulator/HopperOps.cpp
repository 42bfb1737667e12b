//===- HopperOps.cpp - sm_90a's asynchronous units as calls of the emulator ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Before:  %d:64 = kernel.wgmma f16 %a[0] #la, %b[0] #lb (%c#0, …)
// After:   llvm.store %c#0, %sums[0] …
//          llvm.call @mpc_emu_wgmma(%thread, %a, 0, …, %b, 0, …, %sums, %site)
//          %d#0 = llvm.load %sums[0] …
//
// %sums is an array on the thread's stack; wgmmas that pass their sums on to each other share it.
//
//===----------------------------------------------------------------------===//
#include "dialects/Support/Diagnostics.h"
#include "passes/Lowering/DeviceToEmulator/Rewriter.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::emulator;

static constexpr size_t kRank = 5, kSpatial = 3; ///< the most dimensions of a tensor map, and the most spatial ones

LogicalResult KernelRewriter::verifySums() {
  // The work list has values that hold sums under way; loops and branches pass them on.
  SmallVector<Value> work;
  DenseSet<Value> seen;
  auto add = [&](Value v) {
    if (seen.insert(v).second)
      work.push_back(v);
  };
  kernel.getBody().walk([&](Operation *op) {
    auto wait = dyn_cast<kernel::WgmmaWaitOp>(op);
    if (isa<kernel::WgmmaOp>(op) || (wait && wait.getPending() != 0))
      for (Value result : op->getResults())
        add(result);
  });
  while (!work.empty()) {
    for (OpOperand &use : work.pop_back_val().getUses()) {
      Operation *user = use.getOwner();
      if (isa<kernel::WgmmaOp, kernel::WgmmaWaitOp>(user))
        continue;
      unsigned number = use.getOperandNumber();
      if (auto loop = dyn_cast<scf::ForOp>(user); loop && number >= loop.getNumControlOperands()) {
        add(loop.getRegionIterArgs()[number - loop.getNumControlOperands()]);
        add(loop.getResult(number - loop.getNumControlOperands()));
        continue;
      }
      if (auto yield = dyn_cast<scf::YieldOp>(user)) {
        Operation *parent = yield->getParentOp();
        if (auto loop = dyn_cast<scf::ForOp>(parent))
          add(loop.getRegionIterArgs()[number]);
        if (isa<scf::ForOp, scf::IfOp>(parent)) {
          add(parent->getResult(number));
          continue;
        }
      }
      return emitErrorWithHint(user->getLoc(),
                               "'" + user->getName().getStringRef() + "' uses a sum of wgmma that is still under way",
                               "use what a kernel.wgmma_wait 0 gives");
    }
  }
  return success();
}

Value KernelRewriter::sumsOf(kernel::WgmmaOp op) {
  // The preceding wgmma has been rewritten already, so its sums are loads.
  if (auto load = op.getC().empty() ? LLVM::LoadOp() : op.getC().front().getDefiningOp<LLVM::LoadOp>())
    if (auto element = load.getAddr().getDefiningOp<LLVM::GEPOp>())
      if (auto array = element.getBase().getDefiningOp<LLVM::AllocaOp>();
          array && arrays.lookup(array) == op.getNumResults())
        return array;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&kernel.getBody().front());
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  Value array = LLVM::AllocaOp::create(b, loc, pointer, b.getF32Type(), i32(op.getNumResults()));
  arrays[array] = op.getNumResults();
  return array;
}

void KernelRewriter::rewriteWgmma(kernel::WgmmaOp op) {
  Value sums = sumsOf(op);
  auto place = [&](size_t i) {
    return LLVM::GEPOp::create(b, loc, sums.getType(), b.getF32Type(), sums, ArrayRef<LLVM::GEPArg>{int32_t(i)});
  };
  for (auto [i, c] : llvm::enumerate(op.getC()))
    LLVM::StoreOp::create(b, loc, c, place(i));
  SmallVector<Value> operands;
  auto add = [&](Value pointer, int64_t offset, kernel::MatrixLayoutAttr layout) {
    int64_t form = int64_t(layout.getSwizzle()) | int64_t(layout.getTransposed()) << 8;
    operands.append({pointer, i32(offset), i32(form), i32(layout.getLeading()), i32(layout.getStride())});
  };
  if (op.getA()) {
    add(op.getA(), *op.getAOffset(), *op.getALayout());
  } else {
    for (auto [i, v] : llvm::enumerate(op.getARegisters()))
      writeRegister(i, v);
    Value none = LLVM::ZeroOp::create(b, loc, LLVM::LLVMPointerType::get(b.getContext()));
    operands.append({none, i32(0), i32(kInRegisters), i32(0), i32(0)});
  }
  add(op.getB(), op.getBOffset(), op.getBLayout());
  operands.append({i32(int64_t(op.getElement())), i32(int64_t(op.typeOfB())), i32(int64_t(op.getNumResults()) * 2),
                   i32(op.getC().empty()), sums, site(op)});
  call("wgmma", {}, operands);
  for (auto [i, result] : llvm::enumerate(op.getD()))
    result.replaceAllUsesWith(LLVM::LoadOp::create(b, loc, b.getF32Type(), place(i)));
}

/// Adds the coordinates as five operands, and `spatial` offsets, with zeros for those that the map does not have.
void KernelRewriter::addPosition(SmallVectorImpl<Value> &operands, ValueRange coordinates, ValueRange offsets,
                                 size_t spatial) {
  llvm::append_range(operands, coordinates);
  operands.append(kRank - coordinates.size(), i32(0));
  for (Value offset : offsets)
    operands.push_back(LLVM::ZExtOp::create(b, loc, b.getI32Type(), offset));
  operands.append(spatial - offsets.size(), i32(0));
}

void mpc::emulator::describeMap(llvm::raw_ostream &stream, kernel::TensorMapAttr map) {
  stream << "map " << map.getParameter() << " " << map.getElement().getIntOrFloatBitWidth() / 8 << " "
         << int(map.getSwizzle()) << " " << map.getPixels() << " " << map.getSizes().size();
  for (ArrayRef<int64_t> list :
       {map.getSizes(), map.getStrides(), map.getBox(), map.getSteps(), map.getLower(), map.getUpper()})
    for (int64_t v : list)
      stream << " " << v;
  stream << "\n";
}

bool KernelRewriter::rewriteHopperOp(Operation *op) {
  bool known =
      TypeSwitch<Operation *, bool>(op)
          .Case([&](kernel::MbarrierInitOp init) {
            shareGranule(8);
            call("mbarrier_init", {}, {init.getBarrier(), i32(init.getCount()), site(op)});
            return true;
          })
          .Case([&](kernel::MbarrierFenceOp) {
            call("mbarrier_fence", {}, {});
            return true;
          })
          .Case([&](kernel::MbarrierArriveOp arrive) {
            Value block = arrive.getBlock() ? arrive.getBlock() : i32(kOwnBlock);
            call("mbarrier_arrive", {}, {arrive.getBarrier(), block, site(op)});
            return true;
          })
          .Case([&](kernel::MbarrierExpectOp expect) {
            call("mbarrier_expect", {}, {expect.getBarrier(), i32(expect.getBytes()), site(op)});
            return true;
          })
          .Case([&](kernel::MbarrierWaitOp wait) {
            call("mbarrier_wait", {}, {wait.getBarrier(), wait.getParity(), site(op)});
            return true;
          })
          .Case([&](kernel::TensorLoadOp load) {
            SmallVector<Value> operands = {load.getTo(), load.getBarrier(), i32(load.getMap())};
            addPosition(operands, load.getCoordinates(), load.getOffsets(), kSpatial);
            operands.push_back(load.getBlocks() ? Value(LLVM::ZExtOp::create(b, loc, b.getI32Type(), load.getBlocks()))
                                                : i32(0));
            operands.push_back(site(op));
            shareGranule(16);
            call("tensor_load", {}, operands);
            return true;
          })
          .Case([&](kernel::TensorPrefetchOp) { return true; }) // it is only a hint
          .Case([&](kernel::TensorStoreOp store) {
            SmallVector<Value> operands = {store.getFrom(), i32(store.getMap())};
            addPosition(operands, store.getCoordinates(), {}, 0);
            operands.push_back(site(op));
            shareGranule(16);
            call("tensor_store", {}, operands);
            return true;
          })
          .Case([&](kernel::TensorStoreCommitOp) {
            call("tensor_store_commit", {}, {});
            return true;
          })
          .Case([&](kernel::TensorStoreWaitOp wait) {
            // `read` makes no difference, since the emulator reads the source when it writes the tensor.
            call("tensor_store_wait", {}, {i32(wait.getPending())});
            return true;
          })
          .Case([&](kernel::StoreMatrixOp store) {
            shareGranule(16);
            for (auto [i, v] : llvm::enumerate(store.getRegisters()))
              writeRegister(i, v);
            call("store_matrix", {},
                 {store.getRow(), i32(store.getRegisters().size()), i32(store.getTranspose()), site(op)});
            return true;
          })
          .Case([&](kernel::ClusterRankOp rank) {
            rank.getRank().replaceAllUsesWith(call("cluster_rank", b.getI32Type(), {}));
            return true;
          })
          .Case([&](kernel::ClusterBarrierOp) {
            call("cluster_barrier", {}, {site(op)});
            return true;
          })
          .Case([&](kernel::AsyncFenceOp) {
            call("async_fence", {}, {});
            return true;
          })
          .Case([&](kernel::SetRegistersOp set) {
            call("set_registers", {}, {i32(set.getCount()), i32(set.getIncrease()), site(op)});
            return true;
          })
          .Case([&](kernel::WgmmaFenceOp) {
            call("wgmma_fence", {}, {site(op)});
            return true;
          })
          .Case([&](kernel::WgmmaOp product) {
            shareGranule(16);
            rewriteWgmma(product);
            return true;
          })
          .Case([&](kernel::WgmmaCommitOp) {
            call("wgmma_commit", {}, {site(op)});
            return true;
          })
          .Case([&](kernel::WgmmaWaitOp wait) {
            call("wgmma_wait", {}, {i32(wait.getPending()), site(op)});
            op->replaceAllUsesWith(wait.getSums());
            return true;
          })
          .Default([](Operation *) { return false; });
  asynchronous |= known;
  return known;
}
