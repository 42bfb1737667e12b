//===- Passes.h - device ops to PTX's dialect --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_LOWERING_DEVICETONVVM_PASSES_H
#define MPC_LOWERING_DEVICETONVVM_PASSES_H
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mpc {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Lowering/DeviceToNvvm/Passes.h.inc"
} // namespace mpc
#endif
