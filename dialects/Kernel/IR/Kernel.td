//===- Kernel.td - all of the kernel dialect -----------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
include "dialects/Kernel/IR/KernelOps.td"
include "dialects/Kernel/IR/DeviceOps.td"
include "dialects/Kernel/IR/HopperOps.td"
