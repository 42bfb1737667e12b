//===- Pass.cpp - mpc-device-to-emulator ---------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/DeviceToEmulator/DeviceToEmulator.h"
#include "passes/Lowering/DeviceToEmulator/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_DEVICETOEMULATORPASS
#include "passes/Lowering/DeviceToEmulator/Passes.h.inc"
} // namespace mpc

namespace {
struct DeviceToEmulator : mpc::impl::DeviceToEmulatorPassBase<DeviceToEmulator> {
  void runOnOperation() override {
    auto accesses = mpc::lowerToEmulator(getOperation());
    if (failed(accesses))
      return signalPassFailure();
    numAccesses += *accesses;
  }
};
} // namespace
