//===- Mainloop.cpp - the table of mainloops ----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/Schedule/Mainloop.h"
#include "dialects/Kernel/Target/Blocks.h"

using namespace mpc;
using namespace mpc::hero;

namespace {
struct Row {
  Mainloop mainloop;
  const MainloopFacts &facts;
};
constexpr Row table[] = {{Mainloop::Simt, simtFacts}, {Mainloop::Mma, mmaFacts}, {Mainloop::Wgmma, wgmmaFacts}};
static_assert(kernel::hasRowOfEachMainloop(table));
} // namespace

const MainloopFacts &mpc::hero::factsOf(Mainloop mainloop) { return table[size_t(mainloop)].facts; }

int Tile::threads() const {
  const MainloopFacts &facts = factsOf(mainloop);
  return workers() * facts.partThreads + facts.producerThreads;
}

int Tile::rowsPerPart() const { return partM / std::max(factsOf(mainloop).partThreads / int(warpThreads), 1); }
