//===- MinimumCut.cpp - the cheapest cut between two nodes of a graph -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The maximum flow is found by shortest augmenting paths (Edmonds and Karp, 1972). Each of them usually
// saturates a value that has to be saved, so there are about as many paths as saved values.
//
//===----------------------------------------------------------------------===//
#include "passes/Memory/MinimumCut.h"
#include <algorithm>

using namespace mpc::memory;

void CutGraph::addEdge(unsigned from, unsigned to, int64_t capacity) {
  edgesOf[from].push_back(edges.size());
  edges.push_back({to, capacity});
  edgesOf[to].push_back(edges.size());
  edges.push_back({from, 0});
}

bool CutGraph::augment() {
  constexpr unsigned none = ~0u;
  std::vector<unsigned> arrivedBy(edgesOf.size(), none);
  llvm::SmallVector<unsigned> work{source};
  for (size_t i = 0; i < work.size() && arrivedBy[sink] == none; ++i)
    for (unsigned e : edgesOf[work[i]])
      if (edges[e].left > 0 && edges[e].to != source && arrivedBy[edges[e].to] == none) {
        arrivedBy[edges[e].to] = e;
        work.push_back(edges[e].to);
      }
  if (arrivedBy[sink] == none)
    return false;
  int64_t flow = unlimited;
  auto forEachEdge = [&](auto fn) {
    for (unsigned node = sink; node != source; node = edges[arrivedBy[node] ^ 1].to)
      fn(arrivedBy[node]);
  };
  forEachEdge([&](unsigned e) { flow = std::min(flow, edges[e].left); });
  forEachEdge([&](unsigned e) { edges[e].left -= flow, edges[e ^ 1].left += flow; });
  return true;
}

llvm::BitVector CutGraph::cutNearSink() {
  while (augment()) {
  }
  llvm::BitVector side(edgesOf.size());
  llvm::SmallVector<unsigned> work{sink};
  side.set(sink);
  for (size_t i = 0; i < work.size(); ++i)
    for (unsigned e : edgesOf[work[i]])
      if (edges[e ^ 1].left > 0 && !side.test(edges[e].to)) {
        side.set(edges[e].to);
        work.push_back(edges[e].to);
      }
  return side;
}
