// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Interfaces/Differentiable.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
#include "dialects/Interfaces/Differentiable.cpp.inc"

void mpc::VjpContext::set(unsigned i, Value value) {
  if (!needed[i])
    return;
  gradients[i] = adapt(builder, loc, value, cast<RankedTensorType>(op->getOperand(i).getType()));
}
