//===- MasterWeights.cpp - low-precision copies of parameters as variables -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Passes.td for the IR before and after.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Train/IR/VariableTable.h"
#include "passes/Precision/Passes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace mpc {
#define GEN_PASS_DEF_MASTERWEIGHTSPASS
#include "passes/Precision/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

namespace {

class MasterWeightsPass : public mpc::impl::MasterWeightsPassBase<MasterWeightsPass> {
public:
  using Base::Base;

  void runOnOperation() override {
    SmallVector<graph::CastOp> casts;
    getOperation().walk([&](graph::CastOp cast) {
      auto read = cast.getX().getDefiningOp<train::ReadOp>();
      if (read && graph::elementOf(read).isF32() && graph::isLowPrecision(graph::elementOf(cast.getY())))
        casts.push_back(cast);
    });
    variables.emplace(getOperation());
    for (graph::CastOp cast : casts)
      replace(cast);
    for (Operation &entry : *getOperation().getBody())
      if (auto step = dyn_cast<train::StepOp>(entry))
        assignCopies(step);
  }

private:
  void replace(graph::CastOp cast) {
    auto read = cast.getX().getDefiningOp<train::ReadOp>();
    train::VariableOp master = variables->lookup(read.getVariableAttr());
    if (master.getRole() != train::Role::parameter)
      return;
    auto type = llvm::cast<RankedTensorType>(cast.getType());
    StringRef suffix = type.getElementType().isF16() ? "/f16" : "/bf16";
    auto of = FlatSymbolRefAttr::get(master.getSymNameAttr());
    train::VariableOp copy = variables->getOrCreate(master.getSymName() + suffix, train::Role::copy, type,
                                                    train::CopyOfAttr::get(&getContext(), of), of);
    SmallVector<train::VariableOp> &known = copies[master];
    if (!llvm::is_contained(known, copy)) {
      known.push_back(copy);
      ++numCopies;
      copyBytes += uint64_t(type.getNumElements()) * type.getElementTypeBitWidth() / 8;
    }
    OpBuilder b(read);
    cast.replaceAllUsesWith(train::readVariable(b, cast.getLoc(), copy));
    cast.erase();
    if (read.use_empty())
      read.erase();
    ++numReplaced;
  }

  void assignCopies(train::StepOp step) {
    Block &block = step.getBody().front();
    OpBuilder b(block.getTerminator());
    llvm::DenseSet<Attribute> assigned;
    for (train::AssignOp assign : block.getOps<train::AssignOp>())
      assigned.insert(assign.getVariableAttr());
    for (train::AssignOp assign : llvm::to_vector(block.getOps<train::AssignOp>())) {
      train::VariableOp master = variables->lookup(assign.getVariableAttr());
      for (train::VariableOp copy : copies.lookup(master)) {
        if (assigned.contains(FlatSymbolRefAttr::get(copy.getSymNameAttr())))
          continue;
        Value rounded = graph::castTo(b, assign.getLoc(), assign.getValue(), copy.getTensorType().getElementType());
        train::assignVariable(b, assign.getLoc(), copy, rounded);
      }
    }
  }

  std::optional<train::VariableTable> variables;
  /// The copies of each master.
  llvm::DenseMap<Operation *, SmallVector<train::VariableOp>> copies;
};

} // namespace
