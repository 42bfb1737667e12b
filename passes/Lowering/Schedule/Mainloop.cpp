//===- Mainloop.cpp - the table of mainloops ----------------------------------------------===//
#include "passes/Lowering/Schedule/Mainloop.h"

using namespace mpc;
using namespace mpc::hero;

static constexpr const MainloopFacts *table[] = {&wgmmaFacts, &mmaFacts, &simtFacts};
static_assert(std::size(table) == std::size(kernel::allMainloops), "every mainloop has a row");

llvm::ArrayRef<const MainloopFacts *> mpc::hero::allMainloopFacts() { return table; }

const MainloopFacts &mpc::hero::factsOf(Mainloop mainloop) {
  return **llvm::find_if(table, [&](const MainloopFacts *facts) { return facts->mainloop == mainloop; });
}

int Tile::threads() const {
  const MainloopFacts &facts = factsOf(mainloop);
  return workers() * facts.partThreads + facts.producerThreads;
}

int Tile::rowsPerPart() const {
  constexpr int warp = 32;
  return partM / std::max(factsOf(mainloop).partThreads / warp, 1);
}
