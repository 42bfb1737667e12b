//===- Pass.cpp - mpc-device-to-nvvm ----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/DeviceToNvvm/DeviceToNvvm.h"
#include "passes/Lowering/DeviceToNvvm/Passes.h"

using namespace mlir;

namespace mpc {
#define GEN_PASS_DEF_DEVICETONVVMPASS
#include "passes/Lowering/DeviceToNvvm/Passes.h.inc"
} // namespace mpc

namespace {
struct DeviceToNvvm : mpc::impl::DeviceToNvvmPassBase<DeviceToNvvm> {
  using Base::Base;
  void runOnOperation() override {
    if (failed(mpc::lowerDeviceOps(getOperation())))
      signalPassFailure();
  }
};
} // namespace
