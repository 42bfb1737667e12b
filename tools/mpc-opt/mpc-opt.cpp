//===- mpc-opt.cpp - runs passes and pipelines on IR ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Pipeline/Pipeline.h"
#include "tools/mpc/HostLibrary.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mpc::registerAllDialects(registry);
  mpc::registerAllPasses(mpc::tool::runtimeHooks());
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "mpc optimizer driver\n", registry));
}
