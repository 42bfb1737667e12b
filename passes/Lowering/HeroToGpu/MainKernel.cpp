//===- MainKernel.cpp - the emitters of the mainloops ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/HeroToGpu/MainKernel.h"
#include "passes/Lowering/HeroToGpu/Mma.h"
#include "passes/Lowering/HeroToGpu/Simt.h"
#include "passes/Lowering/HeroToGpu/Wgmma.h"

using namespace mpc;
using namespace mpc::hero;

namespace {
struct Row {
  Mainloop mainloop;
  MainloopEmitter emitter;
};
constexpr Row table[] = {{Mainloop::Simt, emitSimt}, {Mainloop::Mma, emitMma}, {Mainloop::Wgmma, emitWgmma}};
static_assert(kernel::hasRowOfEachMainloop(table));
} // namespace

MainloopEmitter mpc::hero::emitterOf(Mainloop mainloop) { return table[size_t(mainloop)].emitter; }
