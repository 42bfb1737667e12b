//===- MainKernel.cpp - the emitters of the mainloops ---------------------------------------------------===//
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
static_assert(std::size(table) == std::size(kernel::allMainloops), "every mainloop has an emitter");
} // namespace

MainloopEmitter mpc::hero::emitterOf(Mainloop mainloop) {
  return llvm::find_if(table, [&](const Row &row) { return row.mainloop == mainloop; })->emitter;
}
