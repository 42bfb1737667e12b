//===- Kernel.td - all of the kernel dialect -----------------------*- tablegen -*-===//
include "dialects/Kernel/IR/KernelOps.td"
include "dialects/Kernel/IR/DeviceOps.td"
include "dialects/Kernel/IR/HopperOps.td"
