//===- DeviceToEmulator.cpp - signature, types and description of emulated kernels ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Before:  llvm.func @k(%x: !llvm.ptr<1>) attributes {kernel.entry = #kernel.entry<threads = 128>}
// After:   llvm.func @k(%thread: !llvm.ptr, %buffers: !llvm.ptr)
//          llvm.mlir.global constant @k.about("mpc-emulated 1\0Athreads 128\0A…")
//
// Addresses of all spaces become plain pointers that hold device addresses; the arithmetic on them does not change.
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/DeviceToEmulator/DeviceToEmulator.h"
#include "dialects/Support/Diagnostics.h"
#include "passes/Lowering/DeviceToEmulator/Rewriter.h"
#include "mlir/IR/AttrTypeSubElements.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::emulator;

KernelRewriter::KernelRewriter(ModuleOp module, LLVM::LLVMFuncOp kernel)
    : module(module), kernel(kernel), about(kernel::EntryAttr::of(kernel)), b(kernel.getContext()),
      loc(kernel.getLoc()) {}

Value KernelRewriter::i32(int64_t value) {
  return LLVM::ConstantOp::create(b, loc, b.getI32Type(), b.getI32IntegerAttr(int32_t(value)));
}

Value KernelRewriter::field(unsigned offset) {
  return LLVM::GEPOp::create(b, loc, thread.getType(), b.getI8Type(), thread, ArrayRef<LLVM::GEPArg>{int32_t(offset)});
}
Value KernelRewriter::readRegister(unsigned number, Type type) {
  return LLVM::LoadOp::create(b, loc, type, field(kRegisters + 4 * number));
}
void KernelRewriter::writeRegister(unsigned number, Value value) {
  LLVM::StoreOp::create(b, loc, value, field(kRegisters + 4 * number));
}

Value KernelRewriter::call(StringRef name, Type result, ValueRange operands, bool pure) {
  std::string symbol = ("mpc_emu_" + name).str();
  SmallVector<Value> arguments;
  if (!pure)
    arguments.push_back(thread);
  // Device addresses are declared as pointers whatever their address space; eraseAddressSpaces makes that true.
  SmallVector<Type> types;
  for (Value v : operands)
    arguments.push_back(v);
  for (Value v : arguments)
    types.push_back(isa<LLVM::LLVMPointerType>(v.getType()) ? LLVM::LLVMPointerType::get(b.getContext()) : v.getType());
  if (!module.lookupSymbol(symbol)) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    // The functions have no attributes, since the calls read and write memory and other threads run inside them.
    LLVM::LLVMFuncOp::create(
        b, module.getLoc(), symbol,
        LLVM::LLVMFunctionType::get(result ? result : LLVM::LLVMVoidType::get(b.getContext()), types));
  }
  auto op = LLVM::CallOp::create(b, loc, result ? TypeRange(result) : TypeRange(), symbol, arguments);
  return result ? op.getResult() : Value();
}

Value KernelRewriter::site(Operation *op) {
  std::string text = locationName(op->getLoc()) + ": " + op->getName().getStringRef().str();
  auto [entry, isNew] = siteNumbers.try_emplace(text, sites.size());
  if (isNew)
    sites.push_back(text);
  return i32(entry->second);
}

void KernelRewriter::rewriteSignature() {
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  Block &entry = kernel.getBody().front();
  buffers = entry.getNumArguments();
  thread = entry.addArgument(pointer, loc);
  Value table = entry.addArgument(pointer, loc);
  b.setInsertionPointToStart(&entry);
  for (unsigned i = 0; i < buffers; ++i) {
    Value place = LLVM::GEPOp::create(b, loc, pointer, pointer, table, ArrayRef<LLVM::GEPArg>{int32_t(i)});
    // The pointer still has its address space, by which rewriteAccess recognises it.
    entry.getArgument(i).replaceAllUsesWith(LLVM::LoadOp::create(b, loc, entry.getArgument(i).getType(), place));
  }
  entry.eraseArguments(0, buffers);
  kernel.setFunctionType(LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), {pointer, pointer}));
  kernel.removeArgAttrsAttr();
}

void KernelRewriter::eraseAddressSpaces() {
  AttrTypeReplacer replacer;
  replacer.addReplacement([](LLVM::LLVMPointerType type) { return LLVM::LLVMPointerType::get(type.getContext()); });
  replacer.recursivelyReplaceElementsIn(kernel, /*replaceAttrs=*/true, /*replaceLocs=*/false, /*replaceTypes=*/true);
}

/// The registers that ptxas can give each thread at the start. CUDA C++ Programming Guide, "Compute
/// Capabilities", compute capability 9.0: an SM has 65536 registers, a thread at most 255, in steps of 8.
int64_t KernelRewriter::initialRegisters() {
  int64_t threads = about.getThreads() * std::max<int64_t>(about.getMinBlocks(), 1);
  return std::min<int64_t>(65536 / threads, 255) / 8 * 8;
}

void KernelRewriter::describe() {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "mpc-emulated 1\nthreads " << about.getThreads() << "\nbuffers " << buffers << "\ngranule " << granule
         << "\n";
  for (auto [bytes, alignment] : pieces)
    stream << "shared " << bytes << " " << alignment << "\n";
  if (about.getCluster() > 1)
    stream << "cluster " << about.getCluster() << "\n";
  for (kernel::TensorMapAttr map : about.getMaps())
    describeMap(stream, map);
  if (asynchronous)
    stream << "asynchronous " << initialRegisters() << "\n";
  for (const std::string &site : sites)
    stream << "site " << site << "\n";
  text.push_back('\0');
  b.setInsertionPointAfter(kernel);
  auto type = LLVM::LLVMArrayType::get(b.getI8Type(), text.size());
  LLVM::GlobalOp::create(b, loc, type, /*isConstant=*/true, LLVM::Linkage::External,
                         (kernel.getName() + ".about").str(), b.getStringAttr(text));
}

LogicalResult KernelRewriter::run() {
  if (about.getCluster() > kMaxCluster)
    return kernel.emitOpError("has clusters of ") << about.getCluster() << " blocks: 1 to " << kMaxCluster;
  if (kernel.isExternal() || !isa<LLVM::LLVMVoidType>(kernel.getFunctionType().getReturnType()))
    return kernel.emitOpError("is not a kernel: it has no body, or returns a value");
  for (Type type : kernel.getFunctionType().getParams())
    if (auto pointer = dyn_cast<LLVM::LLVMPointerType>(type); !pointer || pointer.getAddressSpace() != kGlobalSpace)
      return kernel.emitOpError("has a parameter of type ")
             << type << ": the parameters of a kernel are buffers, !llvm.ptr<1>";
  SmallVector<Operation *> ops;
  kernel.getBody().walk([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : ops)
    if (failed(verify(op)))
      return failure();
  if (failed(verifySums()))
    return failure();
  rewriteSignature();
  for (Operation *op : ops) {
    b.setInsertionPoint(op);
    loc = op->getLoc();
    bool isDeviceOp = isa<kernel::KernelDialect>(op->getDialect());
    if (failed(isDeviceOp ? rewriteDeviceOp(op) : rewriteAccess(op)))
      return failure();
  }
  loc = kernel.getLoc();
  eraseAddressSpaces();
  describe();
  kernel->removeAttr(kernel::EntryAttr::name);
  return success();
}

FailureOr<int64_t> mpc::lowerToEmulator(ModuleOp module) {
  SmallVector<LLVM::LLVMFuncOp> kernels;
  for (auto function : module.getOps<LLVM::LLVMFuncOp>())
    if (kernel::isDeviceKernel(function))
      kernels.push_back(function);
  for (auto table : module.getOps<LLVM::GlobalOp>())
    table.setAddrSpace(0);
  int64_t accesses = 0;
  for (LLVM::LLVMFuncOp kernel : kernels) {
    KernelRewriter rewriter(module, kernel);
    if (failed(rewriter.run()))
      return failure();
    accesses += rewriter.accesses();
  }
  return accesses;
}
