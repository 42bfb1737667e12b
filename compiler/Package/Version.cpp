//===- Version.cpp - the version of mpc ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Package/Version.h"

const char *mpc::producer() { return "mpc " MPC_VERSION; }
