//===- Register.cpp - attaches all elemental models ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/Elemental/Ops/Models.h"
#include "mlir/IR/DialectRegistry.h"

using namespace mlir;

void mpc::registerElementalModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, graph::GraphDialect *) {
    attachUnaryModels(context);
    attachActivationModels(context);
    attachBinaryModels(context);
    attachCastModels(context);
    attachRandomModels(context);
    attachTensorModels(context);
    attachReduceModels(context);
    attachPoolModels(context);
    attachResizeModels(context);
  });
}
