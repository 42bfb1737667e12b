//===- Pass.cpp - mpc-device-to-nvvm ----------------------------------------------===//
#include "passes/Lowering/DeviceToNvvm/DeviceToNvvm.h"
#include "passes/Lowering/DeviceToNvvm/Passes.h"
#include "dialects/Kernel/Target/GpuArch.h"

using namespace mlir;

namespace mpc {
#define GEN_PASS_DEF_DEVICETONVVMPASS
#include "passes/Lowering/DeviceToNvvm/Passes.h.inc"
} // namespace mpc

namespace {
struct DeviceToNvvm : mpc::impl::DeviceToNvvmPassBase<DeviceToNvvm> {
  using Base::Base;
  void runOnOperation() override {
    const mpc::GpuArch *target = mpc::findGpuArch(arch);
    if (!target) {
      emitError(getOperation().getLoc(), "unknown architecture '") << arch << "'; known are " << mpc::gpuArchNames();
      return signalPassFailure();
    }
    if (failed(mpc::lowerDeviceOps(getOperation(), *target)))
      signalPassFailure();
  }
};
} // namespace
