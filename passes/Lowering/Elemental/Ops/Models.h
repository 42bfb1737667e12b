//===- Models.h - how the families attach their elemental models --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A family file defines one overload for each of its ops,
//   static Value emit(graph::XOp op, unsigned result, ArrayRef<Index> index, ElementEmitter &e);
// and attaches them with MPC_ATTACH_ELEMENTAL(context, graph::XOp), or with MPC_ATTACH_ELEMENTAL_OF(context,
// graph::XOp, cost) where an element takes little code.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_LOWERING_ELEMENTAL_OPS_MODELS_H
#define MPC_LOWERING_ELEMENTAL_OPS_MODELS_H
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Kernel/Analysis/BlockMemory.h"
#include "passes/Lowering/Elemental/ElementEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace mpc {

template <typename OpT, auto Emit, ElementCost Cost>
struct ElementalModel : ElementalOpInterface::ExternalModel<ElementalModel<OpT, Emit, Cost>, OpT> {
  mlir::Value emitElement(mlir::Operation *op, unsigned result, llvm::ArrayRef<Index> index, ElementEmitter &e) const {
    return Emit(mlir::cast<OpT>(op), result, index, e);
  }
  ElementCost getElementCost(mlir::Operation *) const { return Cost; }
};
#define MPC_ATTACH_ELEMENTAL_OF(context, OP, COST)                                                                     \
  OP::attachInterface<                                                                                                 \
      ElementalModel<OP, static_cast<Value (*)(OP, unsigned, ArrayRef<Index>, ElementEmitter &)>(emit), COST>>(        \
      *(context))
#define MPC_ATTACH_ELEMENTAL(context, OP) MPC_ATTACH_ELEMENTAL_OF(context, OP, ElementCost::Long)

// Each family file defines one of these.
void attachUnaryModels(mlir::MLIRContext *);
void attachActivationModels(mlir::MLIRContext *);
void attachBinaryModels(mlir::MLIRContext *);
void attachCastModels(mlir::MLIRContext *);
void attachRandomModels(mlir::MLIRContext *);
void attachTensorModels(mlir::MLIRContext *);
void attachReduceModels(mlir::MLIRContext *);
void attachPoolModels(mlir::MLIRContext *);
void attachResizeModels(mlir::MLIRContext *);

using kernel::accumulatorType;
/// The neutral element of a reduction in its accumulator type, and one step of it. With `mayReorder` sums and products
/// of floats carry the flag `reassoc`, which lets LLVM vectorise a loop over them: it then adds in several lanes.
mlir::Value reductionInit(mlir::Operation *reduction, ElementEmitter &e);
mlir::Value reductionStep(mlir::Operation *reduction, mlir::Value accumulator, mlir::Value element, ElementEmitter &e,
                          bool mayReorder = false);
/// Combines two accumulators, each of which has some of the elements.
mlir::Value reductionCombine(mlir::Operation *reduction, mlir::Value a, mlir::Value b, ElementEmitter &e,
                             bool mayReorder = false);
/// Converts the accumulator to the result's register: divides for a mean, and rounds once.
mlir::Value reductionFinish(mlir::Operation *reduction, mlir::Value accumulator, ElementEmitter &e);

} // namespace mpc
#endif
