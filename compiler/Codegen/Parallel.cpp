//===- Parallel.cpp - modules of kernels on several threads -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Codegen/Parallel.h"
#include "dialects/Kernel/IR/Kernel.h"
#include "mlir/IR/Builders.h"
#include <atomic>
#include <thread>

using namespace mlir;
using namespace mpc;

/// Copies these kernels, and everything that they use, from the module into a new one.
static OwningOpRef<ModuleOp> extract(ModuleOp source, const SymbolTable &symbols,
                                     llvm::SmallVector<Operation *> kernels) {
  OwningOpRef<ModuleOp> result(ModuleOp::create(source.getLoc()));
  if (auto target = kernel::TargetAttr::of(source))
    (*result)->setAttr(kernel::TargetAttr::name, target);
  llvm::DenseSet<Operation *> wanted(llvm::from_range, kernels);
  while (!kernels.empty()) {
    auto uses = SymbolTable::getSymbolUses(kernels.pop_back_val());
    if (!uses)
      continue;
    for (SymbolTable::SymbolUse use : *uses)
      if (Operation *definition = symbols.lookup(use.getSymbolRef().getRootReference());
          definition && wanted.insert(definition).second)
        kernels.push_back(definition);
  }
  OpBuilder b(result->getBodyRegion());
  for (Operation &op : source.getOps())
    if (wanted.contains(&op))
      b.clone(op);
  return result;
}

std::vector<OwningOpRef<ModuleOp>> mpc::dealKernels(ModuleOp kernels, size_t parts) {
  std::vector<llvm::SmallVector<Operation *>> dealt(std::max<size_t>(parts, 1));
  size_t count = 0;
  for (Operation &op : kernels.getOps())
    if (kernel::isDeviceKernel(&op))
      dealt[count++ % dealt.size()].push_back(&op);
  dealt.resize(std::min(count, dealt.size()));
  SymbolTable symbols(kernels);
  std::vector<OwningOpRef<ModuleOp>> result;
  for (auto &part : dealt)
    result.push_back(extract(kernels, symbols, std::move(part)));
  return result;
}

void mpc::onThreads(MLIRContext *context, size_t count, unsigned threads, llvm::function_ref<void(size_t)> work) {
  threads = unsigned(std::min<size_t>(std::max(threads, 1u), count));
  // A context that was created for one thread does not use its locks.
  bool locked = context->isMultithreadingEnabled();
  if (threads > 1 && !locked)
    context->enableMultithreading();
  std::atomic<size_t> next = 0;
  auto loop = [&] {
    for (size_t i; (i = next++) < count;)
      work(i);
  };
  std::vector<std::thread> pool;
  for (unsigned t = 1; t < threads; ++t)
    pool.emplace_back(loop);
  loop();
  for (std::thread &thread : pool)
    thread.join();
  if (threads > 1 && !locked)
    context->disableMultithreading();
}
